"""Turning a GGUF file into a model folder: whole or not at all, and never over something that is there."""

import pytest

from playground.cli import main
from playground.errors import ModelNotFound, ServiceUnavailable
from playground.runs import conversion
from playground.setup import catalog
from tests import gguf_made

pytestmark = pytest.mark.usefixtures("service_here")


@pytest.fixture
def file(tmp_path):
    gguf_made.write(tmp_path / "tiny.gguf", template="{{ 1 }}")
    return tmp_path / "tiny.gguf"


def test_the_command_writes_a_folder_that_is_a_model_here(file, capsys):
    with pytest.raises(ModelNotFound, match=f"python -m playground convert {file}"):
        catalog.model_folder(str(file))
    with pytest.raises(ModelNotFound, match=r"There is no file /nowhere/x.GGUF"):
        catalog.model_folder("/nowhere/x.GGUF")
    with pytest.raises(SystemExit) as ended:
        main(["convert", str(file)])
    out, err = capsys.readouterr()
    assert (ended.value.code, out.strip()) == (0, str(file.with_suffix("")))
    assert "converting tiny.gguf" in err
    assert catalog.files(catalog.model_folder(out.strip())).architecture.layers == 2
    assert [path.name for path in file.parent.iterdir() if path.name.startswith(".")] == []
    with pytest.raises(SystemExit) as ended:
        main(["convert", str(file)])
    assert ended.value.code == 1
    assert "exists already" in capsys.readouterr().err


def stop(text):
    raise InterruptedError(text)


@pytest.mark.parametrize(
    ("progress", "error", "words"),
    [(stop, InterruptedError, "converting"), (lambda text: None, ServiceUnavailable, "ZeroDivisionError")],
)
def test_a_conversion_that_is_broken_off_or_goes_wrong_leaves_nothing(
    file, tmp_path, monkeypatch, progress, error, words
):
    monkeypatch.setattr("playground.training.models.gguf_conversion.save_file", lambda *args, **options: 1 / 0)
    with pytest.raises(error, match=words):
        conversion.convert(file, tmp_path / "made" / "model", progress)
    assert list((tmp_path / "made").iterdir()) == []


def test_what_is_no_file_is_said_and_what_to_give_instead(tmp_path):
    for path in (tmp_path, tmp_path / "absent.gguf"):
        with pytest.raises(ModelNotFound, match=r"cannot be read: .*\. Give the path of a GGUF file"):
            conversion.convert(path, tmp_path / "made")
    (tmp_path / "other.gguf").write_bytes(b"PK")
    with pytest.raises(ModelNotFound, match="it is no GGUF file"):
        conversion.convert(tmp_path / "other.gguf", tmp_path / "made")
