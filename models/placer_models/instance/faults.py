"""Places in documents, and the list of what was found wrong at them."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer_models.instance.documents import Document
from placer_models.instance.errors import InputError
from placer_models.instance.tree import Path, describe, field_name, line_of, part_at, steps


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a document, for messages."""

    document: Document
    path: Path = ()

    def at(self, *more: str | int) -> "Place":
        """Return the place of a part of this part."""
        return Place(self.document, (*self.path, *more))

    @property
    def exists(self) -> bool:
        """Whether something is written there."""
        walked = steps(self.document.tree, self.path)
        return tuple(step for step, _, _ in walked) == self.path

    @property
    def line(self) -> int:
        """The line it is written on; of what holds it, where it is left out."""
        return line_of(self.document.tree, self.path)

    @property
    def value(self) -> str:
        """What is written there, as messages show it."""
        return describe(part_at(self.document.tree, self.path))

    @property
    def where(self) -> str:
        """File and line, for messages about two places."""
        return f"{self.document.file}:{self.line}"


class Faults:
    """Gathers all that is wrong, and raises what comes first in the files."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._order = {
            file: i for i, file in enumerate(dict.fromkeys(doc.file for doc in documents))
        }
        self._found: list[tuple[int, int, int, InputError]] = []

    def add(self, place: Place, message: str) -> None:
        """Note what is wrong at a place."""
        file, line = place.document.file, place.line
        fault = InputError(file, line, field_name(place.path), message)
        self._found.append((self._order.get(file, 0), line, len(self._found), fault))

    def raise_first(self) -> None:
        """Raise the first fault, which says how many there are; do nothing without any.

        Raises:
            InputError: Something is wrong.

        """
        if self._found:
            first = min(self._found)[-1]
            raise InputError(
                first.file, first.line, first.field, first.message, more=len(self._found) - 1
            )
