"""What the Dockerfile of a CPU Space says, its steps done in a folder. It is started in nightly/test_hosted.py."""

import subprocess

import pytest

from playground.models import real_model
from tests.hub_server import header_of
from tests.spaces import container
from tests.spaces.container import Container
from tests.support import PROJECT

COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")  # that the hub takes


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    folder = tmp_path_factory.mktemp("space")
    for parent in (folder, folder.parent, folder.parent.parent):
        parent.chmod(0o755)  # pytest's are for this user alone
    built = Container(folder / "root")
    yield built
    built.remove()


def test_the_container_installs_the_cpu_build_of_pytorch(space):
    """A Space of the Gradio SDK would install requirements.txt from PyPI, where torch for Linux is the CUDA build."""
    first, second = [line for line in space.planned.splitlines() if "pip install" in line]
    assert "/whl/cpu" in first
    assert "--no-deps" in first
    assert "torch==" in space.planned
    assert second.endswith("pip install -r requirements.txt -c requirements.lock")


@pytest.mark.parametrize("index", ["pypi", ""])
def test_a_gpu_space_says_by_a_variable_that_it_wants_the_cuda_build(index):
    """Variables of a Space are arguments of its build, in which there is no GPU to be seen."""
    make = ["make", "--always-make", "--dry-run", ".venv/.run-ready", f"TORCH_INDEX={index}"]
    plan = subprocess.run(make, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    installing = [line for line in plan.splitlines() if "--extra-index-url" in line]
    assert all(line.startswith('[ -z "" ] ||') for line in installing)
    assert installing
    assert "ARG TORCH_INDEX" in container.DOCKERFILE.read_text(encoding="utf-8")


def test_the_container_has_what_runs_and_nothing_else_and_downloads_from_the_hub_lie_in_a_volume(space):
    names = {path.name for path in space.app.iterdir()}
    assert names >= {"app.py", "playground", "presets", "README.md"}
    assert not {".git", "tests", "node_modules"} & names
    assert (space.app / "playground/pocket/models/pocket-1m/model.safetensors").is_file()
    assert space.root / space.environment["HF_HOME"].lstrip("/") in space.volumes
    real_models = space.root / space.environment[real_model.FOLDER_VARIABLE].lstrip("/")
    assert any(volume in real_models.parents for volume in space.volumes), "SmolLM2 outlives the container"


def test_the_header_of_the_readme_is_one_of_a_docker_space_on_the_port_that_the_container_opens():
    header = header_of((PROJECT / "README.md").read_text(encoding="utf-8"))
    last = {word: rest[-1] for word, rest in container.steps().items()}
    assert (header["sdk"], str(header["app_port"])) == ("docker", last["EXPOSE"])
    assert f'"--port", "{header["app_port"]}"' in last["CMD"]
    assert {header["colorFrom"], header["colorTo"]} <= set(COLOURS)
    assert len(header["short_description"]) <= 60
    assert not {"sdk_version", "app_file", "python_version"} & header.keys()  # of other kinds of Space


def test_no_file_that_installs_names_the_host_of_a_registry():
    """But for PyTorch's index of CPU builds, which the Makefile names once."""
    hosts = ("pypi.org", "pythonhosted", "docker.io", "ghcr.io", "npmjs", "debian.org", "--index-url")
    for name in ("Dockerfile", "Makefile", "package-lock.json", *(path.name for path in PROJECT.glob("require*"))):
        text = (PROJECT / name).read_text(encoding="utf-8")
        assert [host for host in hosts if host in text.replace("--extra-index-url", "")] == [], name
        assert "://" not in text.replace("http://127.0.0.1", "") or name in ("Makefile", "package-lock.json"), name
