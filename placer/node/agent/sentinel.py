"""Sentinel: files that are read again and again to see whether their contents changed.

They stay open, so that reading one takes a few microseconds and the sets of hundreds of
containers can be checked at hardly any cost.
"""

import os
import resource
from collections.abc import Iterable
from pathlib import Path

_LONGEST = 1 << 16


class FileChangeDetector:
    """The contents of files as they were when watching began or was renewed."""

    def __init__(self) -> None:
        self._files: dict[Path, tuple[int, bytes | None]] = {}

    def watch(self, paths: Iterable[Path]) -> None:
        """Watch these files, and no others."""
        wanted = dict.fromkeys(paths)
        for path in self._files.keys() - wanted.keys():
            os.close(self._files.pop(path)[0])
        for path in wanted:
            if path not in self._files and (file := _opened(path)) is not None:
                self._files[path] = (file, _read(file))

    def renew(self) -> None:
        """Take the current contents of the files as the expected ones.

        Call it before looking at what the files stand for, never after: a change made meanwhile
        is then still noticed.
        """
        for path, (file, _) in list(self._files.items()):
            text = _read(file)
            if text is None:  # the cgroup went, and may have come back
                os.close(self._files.pop(path)[0])
            else:
                self._files[path] = (file, text)

    def changed(self) -> bool:
        """Return whether the contents of any file have changed, or a file is gone."""
        return any(_read(file) != text for file, text in self._files.values())

    def close(self) -> None:
        """Stop watching."""
        self.watch(())


def raise_open_files_limit() -> None:
    """Raise this process's limit of open files as far as it may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None


def _read(file: int) -> bytes | None:
    try:
        return os.pread(file, _LONGEST, 0)
    except OSError:
        return None
