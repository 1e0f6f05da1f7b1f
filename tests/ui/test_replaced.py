"""What is put in the place of parts of Gradio: it is what this version has, and a page says where it is not."""

import hashlib
import inspect

import gradio as gr
import pytest
from gradio.state_holder import SessionState

from playground.errors import InvalidConfig
from playground.ui import page
from playground.ui.auth import gradio_parts
from tests.security import pages

# Of each part's source, in the version that requirements.txt names. Where one changes with another version: read what
# it does now and who calls it, see that tests/security still holds, then write down the new one.
SEEN = {
    "async_ssrf_protected_download": "01dca5b9abc4",
    "_update_value_in_config": "7e5b61f747b0",
    "GradioMultiPartParser": "26110d85a616",
    "config_values": "1b2ea21dc42c",
    "create_app": "24a2d31a4bda",
    "postprocess_output_data": "210203ddf313",
    "_get_or_create_client": "b7259076c489",
}
CALLERS = {  # by these names Gradio looks them up each time, so that what is put there is called
    "async_ssrf_protected_download": (gr.blocks, "processing_utils.async_ssrf_protected_download("),
    "_update_value_in_config": (gr.blocks, "._update_value_in_config("),
    "GradioMultiPartParser": (gr.route_utils, "GradioMultiPartParser("),
    "config_values": (gr.state_holder, "self.config_values = {"),
    "create_app": (gr.blocks, "App.create_app("),
    "postprocess_output_data": (gr.mcp, "self.postprocess_output_data("),
    "_get_or_create_client": (gr.mcp, "(self._get_or_create_client)"),
}


ORIGINALS = {
    part.name: part.owner.__init__ if part.of_each else getattr(part.owner, part.name) for part in gradio_parts.PARTS
}  # at import, before a page of this process has replaced them


@pytest.mark.parametrize("part", gradio_parts.PARTS, ids=lambda part: part.name)
def test_each_part_is_as_it_was_when_it_was_replaced(part):
    original = ORIGINALS[part.name]
    assert part.is_there
    found = hashlib.sha256(inspect.getsource(original).encode()).hexdigest()[:12]
    assert found == SEEN[part.name], f"{part.name} of Gradio {gr.__version__} has changed: see the comment above"
    module, words = CALLERS[part.name]
    assert words in inspect.getsource(module)
    if inspect.isfunction(part.instead):
        assert len(inspect.signature(original).parameters) == len(inspect.signature(part.instead).parameters)


def test_a_page_that_is_served_holds_them(tmp_path):
    with pages.served("local", tmp_path / "outputs", tmp_path) as page:
        assert all(getattr(part.owner, part.name) is part.instead for part in gradio_parts.PARTS)
        assert SessionState(page.running.demo).config_values == {}


@pytest.mark.parametrize("lacking", ["a part", "the queue"])
def test_a_gradio_without_them_is_named_and_serves_nobody_else(tmp_path, monkeypatch, lacking):
    if lacking == "a part":
        monkeypatch.setattr(
            gradio_parts, "PARTS", (*gradio_parts.PARTS, gradio_parts.Replacement(gr.utils, "of_a_later_version", None))
        )
    else:
        monkeypatch.setattr(gradio_parts, "QUEUE", (*gradio_parts.QUEUE, "of_a_later_version"))
    demo = page.build(tmp_path)
    assert "of_a_later_version" in gradio_parts.warning(demo, "local")
    for mode in ("classroom", "space"):
        with pytest.raises(InvalidConfig, match="of_a_later_version"):
            gradio_parts.warning(demo, mode)
    gradio_parts.replace()
    assert not hasattr(gr.utils, "of_a_later_version")
