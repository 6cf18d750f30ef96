"""What reaches a user's site-packages, and whether these tests look at that."""

import importlib
import importlib.metadata
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
SHELVES = {"placer": "", "placer_models": "models", "placer_cli": "cli"}


def _is_editable(distribution: importlib.metadata.Distribution) -> bool:
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable", False))


@pytest.mark.parametrize("package", SHELVES)
def test_the_installed_package_is_the_one_tested(package: str) -> None:
    """
    An editable install answers from the checkout, a wheel from site-packages, never a mix.
    """
    distribution = importlib.metadata.distribution("placer")
    shelf = CHECKOUT / SHELVES[package]
    home = shelf if _is_editable(distribution) else Path(str(distribution.locate_file("")))
    ask = f"import {package}; print({package}.__file__)"

    answer = subprocess.run(
        [sys.executable, "-c", ask], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )

    assert Path(answer.stdout.strip()) == home / package / "__init__.py"
    assert importlib.import_module(package).__file__ == answer.stdout.strip()


@pytest.mark.parametrize("package", SHELVES)
def test_a_package_says_that_it_is_typed(package: str) -> None:
    """
    Each package carries py.typed, so that a guest's type checker believes its types.
    """
    assert (Path(str(importlib.import_module(package).__file__)).parent / "py.typed").is_file()


@pytest.mark.parametrize("package", SHELVES)
def test_every_module_can_be_imported(package: str) -> None:
    """
    No module of what is installed needs a file or a name that is only in the checkout.
    """
    home = importlib.import_module(package)

    names = [module.name for module in pkgutil.walk_packages(home.__path__, f"{package}.")]

    assert names
    for name in names:
        importlib.import_module(name)


def test_the_version_is_said_in_one_place() -> None:
    """
    pyproject.toml says the version; the code asks the installed distribution for it.
    """
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    literal = re.compile(r"(?i)^_*version_*\s*(?::\s*\w+\s*)?=\s*[\"']", re.MULTILINE)

    assert importlib.metadata.version("placer") == project["version"]
    for package, shelf in SHELVES.items():
        for file in (CHECKOUT / shelf / package).rglob("*.py"):
            assert not literal.search(file.read_text("utf-8")), f"{file} says a version"


def test_every_direct_dependency_is_pinned() -> None:
    """
    constraints.txt names one exact version of each package that pyproject.toml asks for.
    """
    pins = re.findall(r"^([\w.-]+)==\S+$", (CHECKOUT / "constraints.txt").read_text(), re.MULTILINE)
    pyproject = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    asked = [*pyproject["build-system"]["requires"], *pyproject["project"]["dependencies"]]
    for group in pyproject["dependency-groups"].values():
        asked += [entry for entry in group if isinstance(entry, str)]
    names = {_normal(re.split(r"[<>=!~;\[ ]", entry)[0]) for entry in asked}

    assert names <= {_normal(pin) for pin in pins}


def test_the_oldest_versions_are_those_that_the_project_allows() -> None:
    """
    `make oldest` tries each dependency at the very version that pyproject.toml starts from.
    """
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    optional = [entry for name in ("agent", "dask", "fast", "systemd") for entry in extras[name]]
    needed = [*project["dependencies"], *optional]
    bounds = [re.split(r"[><=,]+", entry)[:2] for entry in needed]
    oldest = (CHECKOUT / "constraints-oldest.txt").read_text("utf-8")
    pins = dict(line.split("==") for line in oldest.splitlines() if "==" in line)

    assert set(pins) == {name for name, _ in bounds}
    for name, bound in bounds:
        assert f"{pins[name]}.".startswith(f"{bound}."), f"{name}: {pins[name]} is not {bound}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
