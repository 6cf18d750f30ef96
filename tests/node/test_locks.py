"""One Placer at a time for the cgroups below a root, whatever folder its state is in."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from node.fake_cgroupfs import FakeV1, FakeV2
from placer.node import locks
from placer.node.cgroup_files import KernelCgroupFilesystem
from placer.node.cgroups import CgroupReader
from placer.node.errors import HostCannotApplyError

Locked = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Locked:
    """Hold a root of one tree of cgroups; the folder of locks is a fresh one."""
    monkeypatch.setattr(locks, "RUN", tmp_path / "run")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "user"))
    kernel = CgroupReader(FakeV2())

    def hold(root: str, cgroups: CgroupReader = kernel) -> AbstractContextManager[None]:
        return locks.locked_cgroup_root(cgroups, root, tmp_path / "state")

    return hold


@pytest.mark.parametrize(
    ("first", "second"),
    [("placer", "placer"), ("placer", "placer/a"), ("a/b", "a"), ("a", "a/b/c"), ("a/b", "a/b")],
)
def test_a_root_is_held_by_one_with_all_below_it(locked: Locked, first: str, second: str) -> None:
    """
    Who has a root removes what is below it and not in its document, another root's cgroups too.
    """
    why = r"another Placer works with the cgroups below /.* \('fuser .*' tells which process\)"
    with locked(first):
        with pytest.raises(HostCannotApplyError, match=why), locked(second):
            pass
        with pytest.raises(HostCannotApplyError, match=why), locked(second):
            pass  # who was refused holds nothing, and lets go of nothing
    with locked(second):
        pass


def test_other_roots_and_other_machines_are_free(locked: Locked) -> None:
    """
    Roots beside each other, names that only begin alike, and cgroups of another tree.
    """
    others = [locked("a/b", CgroupReader(FakeV1())), locked("a", CgroupReader(FakeV2()))]

    with locked("a/b"), locked("a/c"), locked("a/bb"), locked("placer"), others[0], others[1]:
        pass


def test_a_tree_is_the_same_wherever_it_is_mounted(tmp_path: Path) -> None:
    """
    The kernel's number of its top tells, not its path.
    """
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "one")
    one, two, again = (
        KernelCgroupFilesystem(2, {"": tmp_path / name}).identity()
        for name in ("one", "two", "link")
    )

    assert one == again
    assert one != two


def test_a_killed_one_holds_nothing(locked: Locked, tmp_path: Path) -> None:
    """
    Its files stay, and bind nobody.
    """
    script = (
        "import os, sys; from pathlib import Path; from placer.node import locks\n"
        "class Tree:\n"
        "    version = 2\n"
        "    def identity(self): return 'x'\n"
        "from placer.node.cgroups import CgroupReader\n"
        f"locks.RUN = Path({str(tmp_path / 'run')!r})\n"
        "with locks.locked_cgroup_root(CgroupReader(Tree()), 'a/b', locks.RUN):\n"
        "    os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    tree = FakeV2()
    tree.identity = lambda: "x"

    left = sorted(path.name for path in tmp_path.glob("*/*.lock"))
    with locked("a/b", CgroupReader(tree)):
        pass

    assert len(left) == 2
    assert len(sorted(tmp_path.glob("*/*.lock"))) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="the folder is another one for other users")
def test_a_folder_of_locks_that_others_may_write_is_refused(locked: Locked, tmp_path: Path) -> None:
    """
    They could take the locks away.
    """
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o777)

    with (
        pytest.raises(HostCannotApplyError, match=r"others may write .*/run; 'chmod 700"),
        locked("a"),
    ):
        pass
