"""Errors of input: what a person is told, in one message on one line."""

from collections.abc import Sequence

from placer_models.message_text import printable


class InputError(Exception):
    """Input that is refused. ``str()`` is the whole message, on one line.

    Attributes:
        file: The file as it was given; ``standard input`` for ``-``.
        line: The line, from 1; None where the file as a whole is meant.
        field: Path of the field, such as ``pods[3].requests.cpu``; may be empty.
        message: What is wrong, what is allowed, and how to mend it.
        more: How many further faults were found.
        illegal: Whether nothing is wrong but that pods ask for what no pod may ask for. Who reads
            the files with `skip_illegal` gets all others.

    """

    def __init__(
        self,
        file: str,
        line: int | None,
        field: str,
        message: str,
        *,
        more: int = 0,
        illegal: bool = False,
    ) -> None:
        super().__init__(file, line, field, message, more)
        self.file = file
        self.line = line
        self.field = field
        self.message = message
        self.more = more
        self.illegal = illegal

    def __str__(self) -> str:
        place = printable(self.file) if self.line is None else f"{printable(self.file)}:{self.line}"
        field = f" {printable(self.field)}:" if self.field else ""
        more = f" (and {self.more} more)" if self.more else ""
        return f"{place}:{field} {printable(self.message)}{more}"

    @property
    def messages(self) -> tuple[str, ...]:
        """All that a person is told, a line each."""
        return (str(self),)


class SeveralInputError(InputError):
    """Several errors of input, each with a message of its own."""

    def __init__(self, faults: Sequence[InputError]) -> None:
        first = faults[0]
        super().__init__(first.file, first.line, first.field, first.message, more=len(faults) - 1)
        self.faults = tuple(faults)

    @property
    def messages(self) -> tuple[str, ...]:
        """All that a person is told, a line each."""
        return tuple(str(fault) for fault in self.faults)
