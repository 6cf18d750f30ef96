"""Cgroup files of the kernel: all reads and writes of them go through here.

A path names a file beneath its hierarchy's root, with ``/`` between the parts and no ``..``:
``kubepods/pod1/cpuset.cpus``. On version 1 its first part is the controller, each of which has
a hierarchy of its own: ``cpuset/kubepods/pod1/cpuset.cpus``. The root itself is the empty path
(version 2) or the controller alone (version 1).
"""

import ctypes
import errno
import os
import stat
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol

CGROUP_MAGIC: dict[int, int] = {1: 0x27E0EB, 2: 0x63677270}
"""Version -> the magic number of its file system, as statfs(2) returns it."""

LIBC = ctypes.CDLL(None, use_errno=True)
"""The C library, for what Python does not call; `checked_libc_answer` says if it failed."""

_READ_BYTES = 1 << 16
_LONGEST_PATH = 4000
"""The kernel takes paths of 4,095 bytes at once; cgroups may be nested deeper."""

_OPEN_TO_READ = 0o755
_OPENAT2 = 437  # the number of the system call, the same on every architecture
_STRICTLY_BENEATH = 0x0F  # RESOLVE_NO_XDEV, NO_MAGICLINKS, NO_SYMLINKS and BENEATH


class CgroupFilesystem(Protocol):
    """The cgroup files of one node; every method raises OSError with the kernel's errno."""

    version: Literal[1, 2]

    def read(self, path: str) -> str:
        """Return what a file says, without the line end behind it."""

    def write(self, path: str, text: str) -> None:
        """Write the text and a line end, in one system call."""

    def make_directory(self, path: str) -> None:
        """Make a cgroup; the one above it must be there."""

    def remove_directory(self, path: str) -> None:
        """Remove a cgroup that has no cgroups below it and no processes."""

    def children(self, path: str) -> list[str]:
        """Return the names of the cgroups directly below a cgroup, ascending."""

    def exists(self, path: str) -> bool:
        """Return whether there is such a file or cgroup."""

    def owner(self, path: str) -> tuple[int, int]:
        """Return the uid of the owner of a file or cgroup, and its mode: the permission bits."""

    def identity(self) -> str:
        """Return what tells this tree of cgroups from any other, wherever it is mounted."""


class KernelCgroupFilesystem:
    """The kernel's own cgroup files.

    A path is walked part by part from the mount, without following a symbolic link and
    without leaving the mount, which must be a cgroup file system.

    Attributes:
        mounts: Controller -> mount point on version 1; ``""`` -> mount point on version 2.

    """

    def __init__(self, version: Literal[1, 2], mounts: Mapping[str, Path]) -> None:
        self.version = version
        self.mounts = dict(mounts)
        self._bases: dict[Path, int] = {}

    def read(self, path: str) -> str:
        """Return what a file says, without the line end behind it."""
        file = self._file(path, os.O_RDONLY)
        try:
            parts = []
            while part := os.read(file, _READ_BYTES):
                parts.append(part)
        except OSError as error:
            raise _with_path(error, path) from None
        finally:
            os.close(file)
        return b"".join(parts).decode().removesuffix("\n")

    def write(self, path: str, text: str) -> None:
        """Write the text and a line end, in one system call."""
        file = self._file(path, os.O_WRONLY)
        try:
            os.write(file, f"{text}\n".encode())
        except OSError as error:
            raise _with_path(error, path) from None
        finally:
            os.close(file)

    def make_directory(self, path: str) -> None:
        """Make a cgroup; the one above it must be there."""
        with self._parent(path) as (directory, name):
            os.mkdir(name, _OPEN_TO_READ, dir_fd=directory)
            # Undo the umask: processes in the cgroup look up their limits there.
            os.chmod(name, _OPEN_TO_READ, dir_fd=directory)

    def remove_directory(self, path: str) -> None:
        """Remove a cgroup that has no cgroups below it and no processes."""
        with self._parent(path) as (directory, name):
            os.rmdir(name, dir_fd=directory)

    def children(self, path: str) -> list[str]:
        """Return the names of the cgroups directly below a cgroup, ascending."""
        directory = self._file(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with _named(path), os.scandir(directory) as entries:
                return sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
        finally:
            os.close(directory)

    def exists(self, path: str) -> bool:
        """Return whether there is such a file or cgroup."""
        try:
            os.close(self._file(path, os.O_PATH))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def owner(self, path: str) -> tuple[int, int]:
        """Return the uid of the owner of a file or cgroup, and its mode: the permission bits."""
        file = self._file(path, os.O_PATH)
        try:
            found = os.fstat(file)
        finally:
            os.close(file)
        return found.st_uid, stat.S_IMODE(found.st_mode)

    def identity(self) -> str:
        """Return what tells this tree of cgroups from any other, wherever it is mounted."""
        top = self.mounts["" if self.version == 2 else "cpuset"].stat()
        return f"{top.st_dev}:{top.st_ino}"

    def _parts(self, path: str) -> tuple[Path, list[str]]:
        """Return the mount of a path and the parts of the path below it."""
        parts = path.split("/") if path else []
        if any(part in ("", ".", "..") for part in parts) or "\0" in path:
            raise ValueError(f"got the path {path!r}; expected names with one '/' between them")
        controller = parts.pop(0) if self.version == 1 and parts else ""
        if controller not in self.mounts:
            message = f"no cgroup file system of the controller {controller!r} is mounted"
            raise FileNotFoundError(errno.ENOENT, message, path)
        return self.mounts[controller], parts

    def _file(self, path: str, flags: int) -> int:
        """Open a file or directory: in one system call, where the kernel can do that safely."""
        mount, parts = self._parts(path)
        if not parts or not _HAS_OPENAT2 or len(os.fsencode(path)) > _LONGEST_PATH:
            if not parts and flags & (os.O_PATH | os.O_DIRECTORY):
                with self._directory(path) as directory:
                    return os.dup(directory)
            with self._parent(path) as (directory, name):
                return _open(name, flags, directory)
        try:
            return _openat2(self._base(mount), os.fsencode("/".join(parts)), flags)
        except OSError as error:
            raise error if error.filename else _with_path(error, path) from None

    def _base(self, mount: Path) -> int:
        """Return the open mount, checked to be a cgroup file system; it stays open."""
        if (base := self._bases.get(mount)) is None:
            base = os.open(mount, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _check_magic(base, self.version, mount)
            except OSError:
                os.close(base)
                raise
            self._bases[mount] = base
            weakref.finalize(self, os.close, base)
        return base

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        mount, parts = self._parts(path)
        if not parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        with self._walk(mount, parts[:-1]) as directory, _named(path):
            yield directory, parts[-1]

    @contextmanager
    def _directory(self, path: str) -> Iterator[int]:
        mount, parts = self._parts(path)
        with self._walk(mount, parts) as directory, _named(path):
            yield directory

    @contextmanager
    def _walk(self, mount: Path, parts: list[str]) -> Iterator[int]:
        """Open the directory below the mount, safe against links that are changed meanwhile."""
        flags = os.O_RDONLY | os.O_DIRECTORY
        directory = os.open(mount, flags | os.O_CLOEXEC)
        try:
            _check_magic(directory, self.version, mount)
            device = os.fstat(directory).st_dev
            for i, part in enumerate(parts):
                with _named("/".join([str(mount), *parts[: i + 1]])):
                    below = _open(part, flags, directory)
                os.close(directory)
                directory = below
                if os.fstat(directory).st_dev != device:
                    message = "another file system is mounted inside the cgroup file system"
                    raise OSError(errno.EXDEV, message, str(mount / "/".join(parts[: i + 1])))
            yield directory
        finally:
            os.close(directory)


def _open(name: str, flags: int, directory: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Let errors name the whole path, not only its last part."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename2 is not None:
            raise
        raise _with_path(error, path) from None


def _with_path(error: OSError, path: str) -> OSError:
    code = error.errno or 0
    return OSError(code, os.strerror(code), path)


def _openat2(directory: int, path: bytes, flags: int) -> int:
    """Open a path beneath a directory without following links or entering other file systems."""
    how = (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, 0, _STRICTLY_BENEATH)
    return checked_libc_answer(LIBC.syscall(_OPENAT2, directory, path, how, ctypes.sizeof(how)))


def _check_magic(directory: int, version: int, mount: Path) -> None:
    """Refuse a directory that only looks like a cgroup file system."""
    if (found := file_system_magic_of(directory)) != CGROUP_MAGIC[version]:
        what = f"is no cgroup v{version} file system (statfs says {found:#x})"
        raise OSError(errno.EMEDIUMTYPE, f"{mount} {what}", str(mount))


def file_system_magic_of(directory: int) -> int:
    """Return the magic number of the file system: the first word of struct statfs."""
    buffer = (ctypes.c_long * 64)()
    checked_libc_answer(LIBC.fstatfs(directory, ctypes.byref(buffer)))
    return int(buffer[0]) & 0xFFFFFFFF


def checked_libc_answer(answer: int) -> int:
    """Return what a function of the C library answered.

    Raises:
        OSError: It failed.

    """
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(answer)


def _has_openat2() -> bool:
    """Return whether there is openat2(2): not before Linux 5.6, nor where it is filtered."""
    here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(_openat2(here, b".", os.O_PATH))
    except OSError:
        return False
    finally:
        os.close(here)
    return True


_HAS_OPENAT2 = _has_openat2()
