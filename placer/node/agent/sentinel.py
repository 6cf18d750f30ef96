"""Files that are read again and again, and tell when what they say is another thing.

They stay open: to read one costs a few microseconds, so that the sets of hundreds of
containers can be looked at without anybody noticing.
"""

import os
import resource
from collections.abc import Iterable
from pathlib import Path

_LONGEST = 1 << 16


class Sentinel:
    """Remembers what files said when they were put under watch, or renewed."""

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
        """Take what the files say now for what they are to say.

        Before one looks at what they stand for, never after: what changes while one looks is
        then seen later.
        """
        for path, (file, _) in list(self._files.items()):
            text = _read(file)
            if text is None:  # the cgroup went, and may have come back
                os.close(self._files.pop(path)[0])
            else:
                self._files[path] = (file, text)

    def changed(self) -> bool:
        """Return whether any of the files says another thing, or is no more."""
        return any(_read(file) != text for file, text in self._files.values())

    def close(self) -> None:
        """Watch nothing any more."""
        self.watch(())


def allow_many_files() -> None:
    """Let this process keep as many files open as it may at all."""
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
