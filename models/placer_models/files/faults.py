"""Locations in documents, and the list of what was found wrong at them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from placer_models.files.documents import DocumentInFile
from placer_models.files.errors import InputError, SeveralInputError
from placer_models.files.tree import (
    Path,
    deepest_part_on_path,
    describe_part,
    field_line_number,
    field_path_text,
    steps_along_path,
)
from placer_models.message_text import near_or_first_names_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DocumentLocation:
    """A part of a document, for messages."""

    document: DocumentInFile
    faults: "FileFaults"
    path: Path = ()

    def at(self, *more: str | int) -> "DocumentLocation":
        """Return the location of a part of this part."""
        return DocumentLocation(self.document, self.faults, (*self.path, *more))

    def fault(
        self,
        message: str,
        *,
        name: str = "",
        known: Iterable[str] = (),
        more: int = 0,
        illegal: bool = False,
    ) -> None:
        """Note what is wrong here.

        Args:
            message: What is wrong, in our words.
            name: A name that is not known; the message ends with the nearest known ones.
            known: The known names.
            more: How many further faults stand behind this one.
            illegal: Whether it can be read what a pod asks for here, and no pod may ask for it.

        Raises:
            InputError: There are too many faults by now.

        """
        self.faults.add(_Fault(self, message, name, known, more, illegal))

    def parsed(self, parse: Callable[[str], T], text: str, otherwise: T) -> T:
        """Return what a parser makes of the text, or note its ValueError and return `otherwise`."""
        try:
            return parse(text)
        except ValueError as error:
            self.fault(str(error))
            return otherwise

    @property
    def exists(self) -> bool:
        """Whether something is written there."""
        walked = steps_along_path(self.document.tree, self.path)
        return tuple(step for step, _, _ in walked) == self.path

    @property
    def line(self) -> int:
        """The line of this part, or of what would hold it if it is left out."""
        return field_line_number(self.document.tree, self.path)

    @property
    def value(self) -> str:
        """What is written there, as messages show it."""
        return describe_part(deepest_part_on_path(self.document.tree, self.path))

    @property
    def where(self) -> str:
        """File and line, for messages about two places."""
        return f"{self.document.file}:{self.line}"


MAX_FAULTS = 100
"""Most faults that are gathered: work on a hopeless file ends there."""


class FileFaults:
    """Gathers what is wrong, and raises what comes first in the files."""

    def __init__(self, documents: Sequence[DocumentInFile], most: int | None = MAX_FAULTS) -> None:
        """Begin with no fault.

        Args:
            documents: The documents, in their order.
            most: How many faults end the work; None for no end.

        """
        self._most = most
        self._order = {
            file: i for i, file in enumerate(dict.fromkeys(doc.file for doc in documents))
        }
        self._found: list[_Fault] = []

    def add(self, fault: "_Fault") -> None:
        """Note a fault.

        Raises:
            InputError: There are too many faults by now.

        """
        self._found.append(fault)
        if len(self._found) == self._most:
            self.raise_first()

    def hand_over(
        self, to: "FileFaults", keeps: Callable[[DocumentLocation], bool] = lambda _: True
    ) -> None:
        """Note these faults, which were gathered apart, among others.

        Where something cannot be read, what is illegal may follow from it alone, and is not noted.

        Args:
            to: Where they are noted.
            keeps: Whether faults at a place are noted.

        Raises:
            InputError: There are too many faults by now.

        """
        read = self._all_illegal
        for fault in self._found:
            if (read or not fault.illegal) and keeps(fault.place):
                to.add(fault)

    def found_at(self, place: DocumentLocation) -> bool:
        """Return whether a fault is noted at the very place."""
        return any(
            fault.place.document is place.document and fault.place.path == place.path
            for fault in self._found
        )

    def only_illegal(self) -> InputError | None:
        """Return the error of the first fault if there are any, and all can be read."""
        return self._error() if self._found and self._all_illegal else None

    @property
    def _all_illegal(self) -> bool:
        return all(fault.illegal for fault in self._found)

    def raise_first(self) -> None:
        """Raise the first fault, which says how many there are; do nothing if there is none.

        Raises:
            InputError: Something is wrong.

        """
        if self._found:
            raise self._error()

    def all_of_them(self) -> SeveralInputError | None:
        """Return the error of all faults, each told by itself in the order of the files.

        What is found again, as where one entry is read for each of its replicas, is told once.
        """
        found = sorted(self._found, key=self._order_of)
        told = {str(error): error for one in found for error in (self._told(one, one.more),)}
        return SeveralInputError(tuple(told.values())) if told else None

    def _error(self) -> InputError:
        first = min(self._found, key=self._order_of)
        return self._told(first, len(self._found) - 1 + sum(fault.more for fault in self._found))

    def _told(self, fault: "_Fault", more: int) -> InputError:
        return InputError(
            fault.place.document.file,
            fault.place.line,
            field_path_text(fault.place.path),
            # Only now, because comparing with many names takes long.
            fault.message
            + (near_or_first_names_text(fault.name, fault.known) if fault.name else ""),
            more=more,
            illegal=self._all_illegal,
        )

    def _order_of(self, fault: "_Fault") -> tuple[int, int]:
        return self._order.get(fault.place.document.file, 0), fault.place.line


class _Fault(NamedTuple):
    place: DocumentLocation
    message: str
    name: str
    known: Iterable[str]
    more: int
    illegal: bool = False
