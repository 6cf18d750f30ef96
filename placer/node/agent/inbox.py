"""Inbox: the folder in which documents arrive; the newest one for this node is taken.

A document arrives by rename, so that half a document is never read. A file that is still being
written, or was changed in place, is refused and reported. Removing a file changes nothing.
"""

import errno
import fcntl
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from placer.node.errors import HostCannotApplyError
from placer_models.files.documents import documents_in_text
from placer_models.files.errors import InputError
from placer_models.instance.node_file import read_node_placement_document
from placer_models.node_placement import NodePlacement

MAX_DOCUMENT_BYTES = 4 << 20
"""The largest document that is read: one of 5,000 pods has less than 1 MiB, and 4 MiB of anything
take at most 80 MiB of memory to read."""

_ENDINGS = (".json", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it was read.

    Attributes:
        version: Identifies the content of the file.
        document: The document, or None if the file is refused.
        fault: Why it is refused, in words.
        foreign: Whether it is refused because it is for another node.

    """

    inode: tuple[int, int]
    version: tuple[int, int]
    document: NodePlacement | None = None
    fault: str = ""
    foreign: bool = False


class AgentDocumentFolderReader:
    """A reader of the folder, which does not read unchanged files again.

    Attributes:
        foreign: Files for other nodes that the last look refused, in words.

    """

    def __init__(self, folder: Path, node: str) -> None:
        self.folder = folder
        self._node = node
        self._seen: dict[str, _Seen] = {}
        self.foreign: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse a folder into which others could put documents.

        Raises:
            HostCannotApplyError: The folder is missing, not ours, or writable by others.

        """
        try:
            found = self.folder.lstat()
        except OSError as error:
            raise HostCannotApplyError(
                f"{self.folder}: {error.strerror}; make it: 'install -d -m 0700 {self.folder}'"
            ) from None
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise HostCannotApplyError(
                f"{self.folder} is not a folder of this user; name another one"
            )
        if found.st_mode & 0o077:
            raise HostCannotApplyError(
                f"others may use {self.folder} (mode {stat.S_IMODE(found.st_mode):04o}); "
                f"'chmod 0700 {self.folder}', and look at what is in it"
            )

    def newest(self) -> tuple[NodePlacement | None, tuple[str, ...]]:
        """Return the document of the highest generation for this node, and what was refused.

        Raises:
            HostCannotApplyError: The folder is not there any more, or not ours alone.

        """
        self.check()
        names = sorted(
            name
            for name in os.listdir(self.folder)  # noqa: PTH208 - names are what is wanted
            if name.endswith(_ENDINGS) and not name.startswith(".")
        )
        self._seen = {
            name: seen for name in names if (seen := self._look(name, self._seen.get(name)))
        }
        faults = tuple(seen.fault for seen in self._seen.values() if seen.fault)
        self.foreign = tuple(seen.fault for seen in self._seen.values() if seen.foreign)
        documents = {name: seen.document for name, seen in self._seen.items() if seen.document}
        if not documents:
            return None, faults
        last = max(one.generation for one in documents.values())
        newest = {name: one for name, one in documents.items() if one.generation == last}
        first, document = next(iter(newest.items()))
        for name, other in newest.items():
            if other != document:
                fault = (
                    f"{self.folder}: {first} and {name} are both of generation {last}, and differ; "
                    "remove one, or give the one that is meant a higher generation"
                )
                return None, (*faults, fault)
        return document, faults

    def _look(self, name: str, before: _Seen | None) -> _Seen | None:
        path = self.folder / name
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None  # it was removed meanwhile
        except OSError as error:
            return _Seen((0, 0), (0, 0), None, f"{path}: {error.strerror}")
        try:
            found = os.fstat(file)
            inode = (found.st_dev, found.st_ino)
            version = (found.st_mtime_ns, found.st_size)
            if before is not None and (before.inode, before.version) == (inode, version):
                return before
            if fault := self._fault(file, found):
                return _Seen(inode, (0, 0), None, f"{path}: {fault}")  # no version: look again
            if found.st_size > MAX_DOCUMENT_BYTES:
                fault = (
                    f"it has {found.st_size:,} bytes, and a document of one node at most "
                    f"{MAX_DOCUMENT_BYTES:,}; remove it, or write the document alone"
                )
                return _Seen(inode, version, None, f"{path}: {fault}")
            if before is not None and before.inode == inode and before.document is not None:
                fault = "it was changed in place; write a new file, and rename it to this name"
                return _Seen(inode, version, None, f"{path}: {fault}")
            with os.fdopen(os.dup(file), encoding="utf-8", errors="replace") as reader:
                text = reader.read(MAX_DOCUMENT_BYTES)
        finally:
            os.close(file)
        try:
            document = read_node_placement_document(documents_in_text(text, path)[0])
        except InputError as error:
            return _Seen(inode, version, None, str(error))
        if document.node.name != self._node:
            fault = f"the document is for node {document.node.name!r}, and this is {self._node!r}"
            return _Seen(inode, version, None, f"{path}: {fault}", foreign=True)
        return _Seen(inode, version, document)

    def _fault(self, file: int, found: os.stat_result) -> str:
        """Return why a file must not be read, in words, or an empty text if it may be read."""
        if not stat.S_ISREG(found.st_mode):
            return "it is no regular file; rename one to this name"
        if found.st_uid != os.geteuid() or found.st_mode & 0o022:
            return "others may write it, or own it; 'chmod go-w' it, and look at what it says"
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return "it is still being written; write another file, and rename it to this name"
        return ""
