"""A CPU Space, as one is started: the Dockerfile's own steps, user 1000, a home that cannot be written."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest
import yaml

from playground.runs.folder.directory import RunDirectory
from tests.spaces import container, visitors
from tests.spaces.container import Container
from tests.support import PROJECT
from tests.ui.conftest import free_port

COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")  # that the hub knows
README = (PROJECT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    folder = tmp_path_factory.mktemp("space")
    for parent in (folder, folder.parent, folder.parent.parent):
        parent.chmod(0o755)  # pytest's are for this user alone
    made = Container(folder / "root")
    yield made
    made.remove()


def test_a_visitor_of_a_space_trains_a_run_where_only_the_outputs_can_be_written(space: Container) -> None:
    port = free_port()
    page = space.start(port)
    try:
        with closing(visitors.opened(f"http://127.0.0.1:{port}/", lambda: page.poll() is None)) as visitor:
            run, problems = visitors.start(visitor)
            assert run is not None, problems
            assert visitors.finished(visitor, run) == "finished"
            again, refused = visitors.start(visitor, model__source="openai-community/gpt2")
            assert again is None
            assert refused[0]["field"] == "model.source"
        found = RunDirectory(space.volumes[0] / run)
        assert found.config().max_minutes == 30
        assert found.status().update == 1
    finally:
        page.terminate()
        page.wait(30)
    log = space.log.read_text(encoding="utf-8")
    assert "Traceback" not in log and "ermission" not in log, log
    places = (space.home, space.root, space.app, *space.volumes, space.temporary)
    assert [path for path in places if space.can_write(path)] == [*space.volumes, space.temporary]


def test_what_is_downloaded_from_the_hub_lies_in_a_volume(space: Container) -> None:
    assert space.root / space.environment["HF_HOME"].lstrip("/") in space.volumes


def test_the_container_installs_the_cpu_build_of_pytorch(space: Container) -> None:
    """A Space of the Gradio SDK would install requirements.txt from PyPI, where torch for Linux is the CUDA build."""
    first, second = [line for line in space.planned.splitlines() if "pip install" in line]
    assert "/whl/cpu" in first
    assert "--no-deps" in first
    assert "torch==" in space.planned
    assert second.endswith("pip install -r requirements.txt -c requirements.lock")


@pytest.mark.parametrize("index", ["pypi", ""])
def test_a_gpu_space_says_by_a_variable_that_it_wants_the_cuda_build(index: str) -> None:
    """Variables of a Space are arguments of its build, in which there is no GPU to be seen."""
    make = ["make", "--always-make", "--dry-run", ".venv/.run-ready", f"TORCH_INDEX={index}"]
    plan = subprocess.run(make, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    installing = [line for line in plan.splitlines() if "--extra-index-url" in line]
    assert all(line.startswith('[ -z "" ] ||') for line in installing)
    assert installing
    assert "ARG TORCH_INDEX" in container.DOCKERFILE.read_text(encoding="utf-8")


def test_what_the_project_does_not_need_to_run_stays_out_of_the_container(space: Container) -> None:
    app = space.app
    assert {"app.py", "playground", "presets", "README.md"} <= {path.name for path in app.iterdir()}
    assert not {".git", "tests", "node_modules"} & {path.name for path in app.iterdir()}
    assert (app / "playground/pocket/models/pocket-1m/model.safetensors").is_file()


def test_the_header_of_the_readme_is_one_of_a_docker_space_on_the_port_that_the_container_opens() -> None:
    _, header, _ = README.split("---\n", 2)
    found = yaml.safe_load(header)
    made = {word: rest[-1] for word, rest in container.steps().items()}
    assert found["sdk"] == "docker"
    assert str(found["app_port"]) == made["EXPOSE"]
    assert f'"--port", "{found["app_port"]}"' in made["CMD"]
    assert {found["colorFrom"], found["colorTo"]} <= set(COLOURS)
    assert not {"sdk_version", "app_file", "python_version"} & found.keys()  # of other kinds of Space


def test_no_file_that_installs_names_the_host_of_a_registry() -> None:
    """But for PyTorch's index of CPU builds, which the Makefile names once."""
    hosts = ("pypi.org", "pythonhosted", "docker.io", "ghcr.io", "npmjs", "debian.org", "--index-url")
    for name in ("Dockerfile", "Makefile", "package-lock.json", *(path.name for path in PROJECT.glob("require*"))):
        text = (PROJECT / name).read_text(encoding="utf-8")
        assert [host for host in hosts if host in text.replace("--extra-index-url", "")] == [], name
        assert "://" not in text.replace("http://127.0.0.1", "") or name in ("Makefile", "package-lock.json"), name
