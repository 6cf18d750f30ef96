"""Locks: one Placer at a time for a folder of state, and for the cgroups below a root.

The lock of a root is a file in a folder that only its user can write, so that nobody else can
hold it. The cgroup's own directory could be locked by whoever may read it.
"""

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import accumulate
from pathlib import Path

from placer.node.cgroups import CgroupReader, as_proc_cgroup_path, child_cgroup_path
from placer.node.errors import HostCannotApplyError

RUN = Path("/run/placer")
"""The folder of root's locks; systemd makes it for the service."""


def locked_state_folder(folder: Path) -> AbstractContextManager[None]:
    """Hold a folder of state for one Placer at a time.

    Raises:
        HostCannotApplyError: Another one holds it, or the folder is not ours alone.

    """
    taken = f"another Placer works with {folder}; wait for it, or stop it"
    return _held(folder, "lock", fcntl.LOCK_EX, taken)


@contextmanager
def locked_cgroup_root(cgroups: CgroupReader, root: str, state: Path) -> Iterator[None]:
    """Hold the cgroups below a root for one Placer at a time, whatever folder its state is in.

    A root above another one counts as the same: its Placer would remove what the other makes.

    Args:
        cgroups: The cgroups of the machine.
        root: The cgroup below which our own cgroups are.
        state: The folder of the state; locks are there if the user has no folder for locks.

    Raises:
        HostCannotApplyError: Another one holds them, or the folder of the locks is not ours alone.

    """
    folder = _folder(state)
    parts = list(accumulate(root.split("/"), child_cgroup_path))
    with ExitStack() as held:
        for cgroup in parts:
            told = hashlib.sha256(f"{cgroups.files.identity()} {cgroup}".encode()).hexdigest()
            name = f"cgroup-{told[:16]}.lock"
            taken = (
                f"another Placer works with the cgroups below {as_proc_cgroup_path(cgroup)} "
                f"('fuser {folder / name}' tells which process); "
                "wait for it, stop it, or name another root by --root"
            )
            how = fcntl.LOCK_EX if cgroup == root else fcntl.LOCK_SH
            held.enter_context(_held(folder, name, how, taken))
        held.callback((folder / name).unlink, missing_ok=True)  # while it is still held
        yield


def _folder(state: Path) -> Path:
    """Return the folder of the locks of this user's roots."""
    if os.geteuid() == 0:
        return RUN
    run = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(run) / "placer" if run else state


@contextmanager
def _held(folder: Path, name: str, how: int, taken: str) -> Iterator[None]:
    """Hold a lock, shared or alone."""
    lock = _locked(folder, folder / name, how, taken)
    try:
        yield
    finally:
        os.close(lock)


def _locked(folder: Path, path: Path, how: int, taken: str) -> int:
    """Return the locked file, which is still the one at the path."""
    while True:
        lock = _opened(folder, path)
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):  # who held it has just removed it
                if os.path.samestat(os.fstat(lock), path.lstat()):
                    return lock
        except BlockingIOError:
            os.close(lock)
            raise HostCannotApplyError(taken) from None
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _opened(folder: Path, path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        lock = os.open(path, flags, 0o600)
    except OSError as error:
        raise HostCannotApplyError(
            f"{folder}: {error.strerror}; name another folder, or run as its owner"
        ) from None
    try:
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise HostCannotApplyError(f"{folder} is not a folder of this user; name another one")
        if found.st_mode & 0o022:
            raise HostCannotApplyError(
                f"others may write {folder}; 'chmod 700 {folder}', and look at it"
            )
    except HostCannotApplyError:
        os.close(lock)
        raise
    return lock
