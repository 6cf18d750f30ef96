"""Where the programs of a control plane are kept, and what is said where there are none."""

import subprocess
import sys
from pathlib import Path

import pytest

from containers.runtimes import MissingError
from e2e.binaries import CACHE_VARIABLE, KUBERNETES, PROGRAMS, cache_folder, missing, path_of

RUN = Path(__file__).parent / "run.py"


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({CACHE_VARIABLE: "/chosen", "XDG_CACHE_HOME": "/caches"}, "/chosen"),
        ({"XDG_CACHE_HOME": "/caches"}, "/caches/placer/e2e"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/placer/e2e"),
        ({}, "~/.cache/placer/e2e"),
    ],
)
def test_the_cache_is_where_the_user_wants_it(variables: dict[str, str], folder: str) -> None:
    """
    The variable of ours, else the user's cache; each version has a folder of its own.
    """
    assert cache_folder(variables) == Path(folder).expanduser() / KUBERNETES


def test_an_empty_cache_lacks_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A program that is missing is named, with the command that builds it.
    """
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))

    assert missing() == list(PROGRAMS)
    with pytest.raises(MissingError, match=r"kube-apiserver is missing; make e2e builds it"):
        path_of("kube-apiserver")
    with pytest.raises(MissingError, match=r"kube-filter-[0-9a-f]+ is missing"):
        path_of("kube-filter")


@pytest.mark.parametrize(("more", "code"), [([], 0), (["--must-have"], 1)])
def test_nothing_is_run_without_programs(
    more: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The tests are not run, which is said, and a failure only where it is asked for.
    """
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))

    done = subprocess.run([sys.executable, RUN, "test", *more], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith(f"NOT RUN: no {', '.join(PROGRAMS)} in {tmp_path}")
    assert list(tmp_path.iterdir()) == []
