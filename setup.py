"""The package (`pip install .`): what pyproject.toml cannot say of it.

The files of the project that it needs at work become `playground/project/` (`playground.PROJECT_FILES`). What it runs
on is what requirements*.txt pin, and nothing else.
"""

from pathlib import Path

from setuptools import find_packages, setup


def pins(name: str) -> list[str]:
    """The lines of a file of requirements."""
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


setup(
    packages=[*find_packages(include=["playground", "playground.*"]), "playground.project"],
    package_dir={"playground.project": "."},
    package_data={
        "playground": ["**/*"],
        "playground.project": ["presets/**/*", "lessons/**/*.yaml", "examples/*.py", "requirements*.txt"],
    },
    exclude_package_data={"": ["*.pyc"]},
    include_package_data=False,
    install_requires=pins("requirements.txt"),
    extras_require={
        **{extra: pins(f"requirements-{extra}.txt") for extra in ("mcp", "ray")},
        **{tracker: [tracker] for tracker in ("trackio", "wandb")},
    },
)
