"""Files that Placer keeps on a node: the journal of what it is doing, and what it did last.

    journal.json      what is being done; before the commit a restart takes it back
    committed.json    the same after the commit: a restart finishes it
    applied.json      the document that was applied last
    observe-only      why nothing may be written until somebody has looked
    cleared.json      what was moved off owned CPUs, and where it was before

Every file is written whole or not at all: to a temporary file, synced, renamed, and the folder
synced. The commit is a rename, which needs no room on the disk.
"""

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from placer.node.errors import HostCannotApplyError, ObserveOnlyError
from placer.node.locks import locked_state_folder
from placer.node.operations import CgroupOperation, CgroupOperationKind
from placer.node.plan import CgroupPlan
from placer_models.files.documents import documents_in_text
from placer_models.files.errors import InputError
from placer_models.instance.node_file import (
    node_placement_document_to_dict,
    read_node_placement_document,
)
from placer_models.node_placement import NodePlacement

JOURNAL, COMMITTED, APPLIED, OBSERVE_ONLY = (
    "journal.json",
    "committed.json",
    "applied.json",
    "observe-only",
)

CLEARED = "cleared.json"

_FORMAT = 1
_HEAD = re.compile(rb"placer-journal ([0-9]{1,9}) ")


class AppliedStateFolder:
    """The folder of these files, which nobody else may write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._last: tuple[bytes, NodePlacement] | None = None  # read or written once
        self._text: tuple[NodePlacement, str] | None = None  # a document, and how it is written

    def locked(self) -> AbstractContextManager[None]:
        """Hold the folder for one Placer at a time.

        Raises:
            HostCannotApplyError: Another one holds it, or the folder is not ours alone.

        """
        return locked_state_folder(self.folder)

    def begin(self, document: NodePlacement, plan: CgroupPlan) -> None:
        """Note what is about to be done, before the first operation."""
        body = (
            f'{{"document":{self._written(document)},"operations":{_written(plan.operations)},'
            f'"finish":{_written(plan.finish)}}}'
        )
        self._write(JOURNAL, _sealed(body))

    def commit(self) -> None:
        """Note that all of it is done: from here on it is finished, never taken back."""
        self._rename(JOURNAL, COMMITTED)

    def abandon(self) -> None:
        """Forget what was being done, which has been taken back."""
        self._remove(COMMITTED)
        self._remove(JOURNAL)

    def finished(self, document: NodePlacement) -> None:
        """Note what was applied, and forget the rest."""
        if self._last is None or document is not self._last[1]:  # else it says so already
            data = _sealed(self._written(document))
            self._write(APPLIED, data)
            self._last = data, document
        self._remove(COMMITTED)

    def unfinished(self) -> tuple[NodePlacement, CgroupPlan] | None:
        """Return what was begun and not committed, or None."""
        return self._read_journal(JOURNAL)

    def committed(self) -> tuple[NodePlacement, CgroupPlan] | None:
        """Return what was committed and not finished, or None."""
        return self._read_journal(COMMITTED)

    def applied(self) -> NodePlacement | None:
        """Return the document that was applied last, or None if there was none."""
        data = self._read(APPLIED)
        if data is None:
            self._last = None
            return None
        if self._last is None or self._last[0] != data:
            self._last = data, self._document(self._tree(APPLIED, data), APPLIED)
        return self._last[1]

    def was_applied(self, document: NodePlacement) -> bool:
        """Return whether this very document was applied last."""
        if document is self.applied():
            return True
        return self._last is not None and self._last[0] == _sealed(self._written(document))

    def cleared(self) -> list[dict[str, str]]:
        """Return what was moved off owned CPUs, as it was noted.

        Raises:
            ObserveOnlyError: The note was changed.

        """
        data = self._read(CLEARED)
        return [] if data is None else list(self._tree(CLEARED, data))

    def note_cleared(self, moved: Sequence[dict[str, str]]) -> None:
        """Note what is moved off owned CPUs, before it is; nothing removes the note."""
        if moved:
            self._write(CLEARED, _sealed(json.dumps(moved, separators=(",", ":"))))
        else:
            self._remove(CLEARED)

    def stop_writing(self, why: str) -> None:
        """Note that nothing may be written here until somebody has looked."""
        with suppress(OSError):  # if the disk is full, the journal, which stays, says it too
            self._write(OBSERVE_ONLY, f"{why}\n".encode())

    def check_may_write(self) -> None:
        """Refuse if an earlier undo failed.

        Raises:
            ObserveOnlyError: Somebody has to look first.

        """
        try:
            data = self._read(OBSERVE_ONLY)
        except HostCannotApplyError as error:
            raise ObserveOnlyError(str(error)) from None
        if data is not None:
            why = data.decode(errors="replace").strip()
            raise ObserveOnlyError(
                f"Placer only observes this node: {why}; look at it, then remove "
                f"{self.folder / OBSERVE_ONLY}"
            )

    def _written(self, document: NodePlacement) -> str:
        """Return a document as text; that of the last document is cached."""
        if self._text is None or self._text[0] is not document:
            tree = node_placement_document_to_dict(document)
            self._text = document, json.dumps(tree, separators=(",", ":"))
        return self._text[1]

    def _read_journal(self, name: str) -> tuple[NodePlacement, CgroupPlan] | None:
        data = self._read(name)
        if data is None:
            return None
        tree = self._tree(name, data)
        try:
            plan = CgroupPlan(_operations(tree["operations"]), _operations(tree["finish"]))
            return self._document(tree["document"], name), plan
        except (KeyError, TypeError, ValueError) as error:
            raise self._unreadable(name, f"{type(error).__name__}: {error}") from None

    def _document(self, tree: object, name: str) -> NodePlacement:
        try:
            return read_node_placement_document(
                documents_in_text(json.dumps(tree), self.folder / name)[0]
            )
        except InputError as error:
            raise self._unreadable(name, str(error)) from None

    def _unreadable(self, name: str, why: str) -> ObserveOnlyError:
        return ObserveOnlyError(
            f"{self.folder / name} is cut short or was changed ({why}): what was being done on "
            "this node is not known, so nothing is written; compare the cgroups with the "
            f"document, then remove {self.folder / name}"
        )

    def _read(self, name: str) -> bytes | None:
        # Without O_NONBLOCK, opening a pipe waits for somebody who writes to it.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(self.folder / name, flags)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ENXIO:  # a socket
                raise self._no_file(name) from None
            raise HostCannotApplyError(
                f"{self.folder / name} cannot be read: {error.strerror}; run as its owner"
            ) from None
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise self._no_file(name)
            with os.fdopen(os.dup(file), "rb") as stream:
                return stream.read()
        finally:
            os.close(file)

    def _no_file(self, name: str) -> ObserveOnlyError:
        return ObserveOnlyError(
            f"{self.folder / name} is no regular file (a pipe, a socket or a folder), and so none "
            "that Placer wrote: what was being done on this node is not known, so nothing is "
            "written; look at what put it there, then remove it"
        )

    def _tree(self, name: str, data: bytes) -> Any:
        """Return what a file says, after checking that it is as it was written."""
        head, _, body = data.partition(b"\n")
        found = _HEAD.match(head)
        if found and int(found[1]) != _FORMAT:
            file = self.folder / name
            raise ObserveOnlyError(
                f"{file} is of format {int(found[1])}, and this Placer reads format {_FORMAT}: "
                "another version of Placer wrote it, so nothing is written; run that version once, "
                f"or compare the cgroups with the document, then remove {file}"
            )
        if head != _head(body):
            raise self._unreadable(name, "its checksum differs")
        try:
            return json.loads(body)
        except ValueError as error:
            raise self._unreadable(name, str(error)) from None

    def _write(self, name: str, data: bytes) -> None:
        temporary = self.folder / f".{name}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            temporary.unlink(missing_ok=True)  # a run that was killed left it
            with os.fdopen(os.open(temporary, flags, 0o600), "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(self.folder / name)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        self._sync()

    def _rename(self, name: str, to: str) -> None:
        (self.folder / name).replace(self.folder / to)
        self._sync()

    def _remove(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
        self._sync()

    def _sync(self) -> None:
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _head(body: bytes) -> bytes:
    return f"placer-journal {_FORMAT} sha256 {hashlib.sha256(body).hexdigest()}".encode()


def _sealed(text: str) -> bytes:
    """Return a text as bytes, with a line before it that has its checksum."""
    body = f"{text}\n".encode()
    return _head(body) + b"\n" + body


def _written(operations: Sequence[CgroupOperation]) -> str:
    names = [field.name for field in fields(CgroupOperation)]
    trees = [{name: getattr(one, name) for name in names} for one in operations]
    return json.dumps(trees, separators=(",", ":"))


def _operations(trees: Sequence[dict[str, Any]]) -> tuple[CgroupOperation, ...]:
    return tuple(
        CgroupOperation(**{**tree, "kind": CgroupOperationKind(tree["kind"])}) for tree in trees
    )
