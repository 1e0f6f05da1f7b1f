"""A CPU Space, as one is started: user 1000, a home that cannot be written; a visitor trains a run there."""

from contextlib import closing

from playground.runs.folder.directory import RunDirectory
from tests.spaces import visitors
from tests.spaces.test_cpu_space import space  # noqa: F401
from tests.support import wait_until
from tests.ui.conftest import free_port


def test_a_visitor_of_a_space_trains_a_run_where_only_the_outputs_can_be_written(space):  # noqa: F811
    port = free_port()
    page = space.start(port)
    try:
        with closing(visitors.opened(f"http://127.0.0.1:{port}/", lambda: page.poll() is None)) as visitor:
            name, problems = visitors.start(visitor)
            assert name is not None, problems
            run = RunDirectory(space.volumes[0] / name)
            wait_until(lambda: run.status().ended, 300)
            again, refused = visitors.start(visitor, model__source="openai-community/gpt2")
            assert again is None
            assert refused[0]["field"] == "model.source"
        assert run.status().state == "finished"
        assert run.config().max_minutes == 30
        assert run.status().update == 1
    finally:
        page.terminate()
        page.wait()
    log = space.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log
    assert "ermission" not in log, log
    places = (space.home, space.root, space.app, *space.volumes, space.temporary)
    assert [path for path in places if space.can_write(path)] == [*space.volumes, space.temporary]
