"""Compiled code is that of the sources as they are, whichever of them has changed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba", reason="compiled code needs Numba: pip install 'placer[fast]'")

COMPILED = """\
import numba
from placer.compiled import remove_code_of_other_sources
from {package}.numbers_of import FACTOR, Pair

@numba.njit(cache=True)
def _multiplied(pair):
    return pair.one * FACTOR

def multiplied(one):
    return _multiplied(Pair(one))

remove_code_of_other_sources(__name__)
"""

NUMBERS = """\
from typing import NamedTuple

class {name}(NamedTuple):
    one: int

Pair = {name}
FACTOR = {factor}
"""

CALL = """\
from placer.compiled import compiled_or_plain
print(compiled_or_plain(None, "{package}.compiled", "multiplied")(7))
"""


def said(folder: Path, package: str) -> str:
    """Return what a new process says that compiles, or takes what an earlier one kept."""
    command = [sys.executable, "-c", CALL.format(package=package)]
    env = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("in_tree", [True, False])
def test_code_is_compiled_anew_once_a_module_that_it_takes_from_has_changed(
    in_tree: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Numba looks at the compiled module's own file: it would go on with an old number, and would
    not find a class that has another name by now.
    """
    if not in_tree:
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "some_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "compiled.py").write_text(COMPILED.format(package=folder.name))
    numbers = folder / "numbers_of.py"

    numbers.write_text(NUMBERS.format(name="First", factor=2))
    assert [said(tmp_path, folder.name) for _ in range(2)] == ["14", "14"]
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.nbi")}
    assert kept

    numbers.write_text(NUMBERS.format(name="First", factor=3))
    assert said(tmp_path, folder.name) == "21"
    numbers.write_text(NUMBERS.format(name="Second", factor=3))
    assert said(tmp_path, folder.name) == "21"

    now = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.nbi")}
    assert said(tmp_path, folder.name) == "21"
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.nbi")} == now
