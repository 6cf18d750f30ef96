"""What a person is told when input is refused: one message, on one line."""

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN_CHARACTERS = 60


class InputError(Exception):
    """Input that is refused. ``str()`` is the whole message, on one line.

    Attributes:
        file: The file as it was given; ``standard input`` for ``-``.
        line: The line, from 1; None where the file as a whole is meant.
        field: Path of the field, such as ``pods[3].requests.cpu``; may be empty.
        message: What is wrong, what is allowed, and the mend.
        more: How many further faults were found.

    """

    def __init__(
        self, file: str, line: int | None, field: str, message: str, *, more: int = 0
    ) -> None:
        super().__init__(file, line, field, message, more)
        self.file = file
        self.line = line
        self.field = field
        self.message = message
        self.more = more

    def __str__(self) -> str:
        place = one_line(self.file) if self.line is None else f"{one_line(self.file)}:{self.line}"
        field = f" {one_line(self.field)}:" if self.field else ""
        more = f" (and {self.more} more)" if self.more else ""
        return f"{place}:{field} {one_line(self.message)}{more}"


def one_line(text: str) -> str:
    """Return the text with whatever does not print written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(text: str) -> str:
    """Return a value as messages show it: in quotes, cut short when it is long."""
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]}…"
    return f"'{text}'"


def suggestion(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return ``; did you mean 'x'?`` for the nearest known name, or nothing."""
    lowered = {word.lower(): word for word in sorted(known, reverse=True)}
    close = get_close_matches(name.lower()[:_SHOWN_CHARACTERS], lowered, n=1, cutoff=cutoff)
    return f"; did you mean '{lowered[close[0]]}'?" if close else ""
