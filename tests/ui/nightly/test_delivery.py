"""More of test_delivery.py."""

from tests.support import wait_until
from tests.ui.conftest import visit


def test_a_page_at_rest_draws_no_frames(site, make_page):
    """Each would have the browser look at the whole page: Gradio's loader asked for sixty a second, for ever."""
    opened = make_page()
    opened.add_init_script(
        "window.frames_asked = 0; { const frame = window.requestAnimationFrame.bind(window); "
        "window.requestAnimationFrame = (call) => { window.frames_asked += 1; return frame(call); }; }"
    )
    visit(opened, site)

    def in_a_second():
        before = opened.evaluate("window.frames_asked")
        opened.wait_for_timeout(1000)
        return opened.evaluate("window.frames_asked") - before

    wait_until(lambda: in_a_second() < 5)
