"""Inotify watch for writes to cgroup files, cgroups that come or go, and new documents.

The kernel reports writes to cgroup files as those to any file. It does not report what it does
on its own, such as taking a CPU away, so a wait lasts `POLL_S` at most.
"""

import errno
import logging
import os
import re
import select
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from enum import IntFlag
from pathlib import Path

from placer.node.cgroup_files import LIBC, checked_libc_answer

log = logging.getLogger(__name__)

POLL_S = 0.5
SETTLE_S = 0.02
"""Changes within this many seconds after a first one are taken together with it."""

_PROCESSES = frozenset({"cgroup.procs", "cgroup.events"})
"""Cgroup files that change when a container starts or ends."""

_SETTINGS = frozenset(
    {
        "cgroup.subtree_control",
        "cpu.cfs_period_us",
        "cpu.cfs_quota_us",
        "cpu.max",
        "cpu.shares",
        "cpu.weight",
        "cpuset.cpu_exclusive",
        "cpuset.cpus",
        "cpuset.cpus.exclusive",
        "cpuset.cpus.partition",
        "cpuset.memory_migrate",
        "cpuset.mems",
        "memory.limit_in_bytes",
        "memory.max",
        "memory.memsw.limit_in_bytes",
        "memory.swap.max",
        "pids.max",
    }
)
"""Cgroup files whose change may be drift."""

_HUGEPAGES = re.compile(r"hugetlb\.\d+[KMG]B\.(rsvd\.)?(max|limit_in_bytes)")
"""Names of such files that exist once for each page size."""

ANYTHING = "*"
"""Stands for all paths, if changes cannot be watched or too many came at once."""

_NOT_WATCHED = (errno.ENOENT, errno.ENODEV, errno.ENOTDIR, errno.ENAMETOOLONG)
"""What the kernel answers for a folder that went, or that is nested too deep."""

_EVENT = struct.Struct("iIII")  # watch, what happened, cookie, length of the name that follows
_READ_BYTES = 1 << 16


class _Happened(IntFlag):
    """Events and flags of inotify(7)."""

    MODIFY = 0x2
    ATTRIB = 0x4
    CLOSE_WRITE = 0x8
    MOVED_FROM = 0x40
    MOVED_TO = 0x80
    CREATE = 0x100
    DELETE = 0x200
    OVERFLOW = 0x4000
    IGNORED = 0x8000  # the watch is gone, with the folder
    ONLY_FOLDERS = 0x1000000
    FOLLOW_NO_LINK = 0x2000000
    IS_FOLDER = 0x40000000


_MOVED = _Happened.MOVED_FROM | _Happened.MOVED_TO
_IN_CGROUPS = (
    _MOVED
    | _Happened.MODIFY
    | _Happened.CREATE
    | _Happened.DELETE
    | _Happened.ONLY_FOLDERS
    | _Happened.FOLLOW_NO_LINK
)
_IN_DOCUMENTS = (
    _MOVED | _Happened.CLOSE_WRITE | _Happened.DELETE | _Happened.ATTRIB | _Happened.ONLY_FOLDERS
)


def is_cgroup_process_file(path: str) -> bool:
    """Return whether a path is a file that changes when a container starts or ends."""
    return path.rpartition("/")[2] in _PROCESSES


def is_cgroup_setting_file(path: str) -> bool:
    """Return whether a path is a file that says what a cgroup may use."""
    name = path.rpartition("/")[2]
    return name in _SETTINGS or bool(_HUGEPAGES.fullmatch(name))


class AgentWaitInterrupter:
    """An alarm that ends the wait under way, or else the next one."""

    def __init__(self) -> None:
        self._file = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def ring(self) -> None:
        """End the wait, from any thread or signal handler."""
        os.eventfd_write(self._file, 1)

    def quiet(self) -> None:
        """Forget that it rang."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._file)

    def fileno(self) -> int:
        """Return the file descriptor that can be read while the alarm rings."""
        return self._file

    def close(self) -> None:
        """Ring no more."""
        os.close(self._file)


class CgroupWatch:
    """Watches all cgroups below some mounts, and one folder of documents."""

    def __init__(
        self, mounts: Sequence[Path], documents: Path, alarm: AgentWaitInterrupter
    ) -> None:
        """Begin to watch; if that is impossible, each wait reports `ANYTHING`."""
        self._mounts = mounts
        self._documents = documents
        self._alarm = alarm
        self._folders: dict[int, str] = {}
        self._inotify: int | None = None
        self._documents_watched = False
        self._poll = select.poll()
        self._poll.register(alarm, select.POLLIN)
        self._open()

    def close(self) -> None:
        """Watch nothing any more."""
        if self._inotify is not None:
            self._poll.unregister(self._inotify)
            os.close(self._inotify)
        self._inotify = None
        self._folders.clear()

    def changes(self, timeout_s: float = POLL_S) -> frozenset[str]:
        """Wait for changes, and return their paths; none if the time is up or the alarm rang."""
        if self._inotify is not None and not self._documents_watched:
            self._watch_documents()  # the folder went, and may be there again
        until = time.monotonic() + timeout_s
        found: set[str] = set()
        while not found:
            ready = self._poll.poll(max(0.0, until - time.monotonic()) * 1000)
            if not ready or any(file == self._alarm.fileno() for file, _ in ready):
                self._alarm.quiet()
                break
            found = self._read()
        if found:
            time.sleep(SETTLE_S)
        if self._inotify is None:
            return frozenset({ANYTHING})
        return frozenset(found | self._read())

    def _read(self) -> set[str]:
        """Return the paths changed since the last call, and watch new cgroups."""
        found: set[str] = set()
        try:
            for number, happened, name in self._events():
                moved = happened & _MOVED and happened & _Happened.IS_FOLDER
                if happened & _Happened.OVERFLOW or moved:
                    self.close()
                    self._open()
                    return {ANYTHING}
                found.update(self._meant(number, happened, name))
        except OSError as error:
            self._give_up(error)
            return {ANYTHING}
        return found

    def _meant(self, number: int, happened: int, name: str) -> Iterator[str]:
        """Yield the paths that one event is about, if they matter."""
        if happened & _Happened.IGNORED:
            if self._folders.pop(number, None) == str(self._documents):
                self._documents_watched = False
            return
        if (folder := self._folders.get(number)) is None:
            return
        if happened & _Happened.MODIFY and not (
            is_cgroup_setting_file(name) or is_cgroup_process_file(name)
        ):
            return
        path = f"{folder}/{name}"
        yield path
        if happened & _Happened.CREATE and happened & _Happened.IS_FOLDER:
            yield from self._add_tree(path)

    def _events(self) -> Iterator[tuple[int, int, str]]:
        assert self._inotify is not None
        while True:
            try:
                data = os.read(self._inotify, _READ_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, happened, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                name = data[at : at + length].rstrip(b"\0")
                at += length
                yield number, happened, os.fsdecode(name)

    def _open(self) -> None:
        """Watch everything from the beginning."""
        try:
            self._inotify = checked_libc_answer(LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
            self._poll.register(self._inotify, select.POLLIN)
            self._watch_documents()
            for mount in self._mounts:
                for _ in self._add_tree(str(mount)):
                    pass
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.close()
        log.warning(
            "changes cannot be watched, so everything is looked at every %.1f s: %s; raise "
            "fs.inotify.max_user_watches",
            POLL_S,
            error.strerror,
        )

    def _watch_documents(self) -> None:
        self._documents_watched = self._add(str(self._documents), _IN_DOCUMENTS)

    def _add_tree(self, folder: str) -> Iterator[str]:
        """Watch a cgroup and those below it, and yield them: some may be older than the watch.

        Who may make cgroups may nest them as deep as they like. No container is so deep that the
        kernel does not take its path: what is, is not watched.
        """
        waiting = [folder]
        while waiting:
            if self._add(at := waiting.pop(), _IN_CGROUPS):
                yield at
                waiting += _folders_in(at)

    def _add(self, folder: str, happened: _Happened) -> bool:
        """Watch a folder, and return whether it exists."""
        assert self._inotify is not None
        try:
            number = checked_libc_answer(
                LIBC.inotify_add_watch(self._inotify, os.fsencode(folder), int(happened))
            )
        except OSError as error:
            if error.errno in _NOT_WATCHED:
                return False
            raise
        self._folders[number] = folder
        return True


def _folders_in(folder: str) -> Iterable[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        if error.errno in _NOT_WATCHED:
            return ()
        raise
