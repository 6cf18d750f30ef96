"""Errors of input: what a person is told, in one message on one line."""

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from placer_models.cpuset import format_cpu_list

_SHOWN_CHARACTERS = 60
_SHOWN_NAMES = 3


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

    def __init__(self, errors: Sequence[InputError]) -> None:
        first = errors[0]
        super().__init__(first.file, first.line, first.field, first.message, more=len(errors) - 1)
        self.errors = tuple(errors)

    @property
    def messages(self) -> tuple[str, ...]:
        """All that a person is told, a line each."""
        return tuple(str(error) for error in self.errors)


def printable(text: str) -> str:
    """Return the text with whatever does not print written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def in_quotes(text: str) -> str:
    """Return a value as messages show it: in quotes, cut short when it is long."""
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]}…"
    return f"'{text}'"


def spelling_suggestion(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return ``; did you mean 'x'?`` for the nearest known name, or nothing."""
    lowered = {word.lower(): word for word in sorted(known, reverse=True)}
    close = get_close_matches(name.lower()[:_SHOWN_CHARACTERS], lowered, n=1, cutoff=cutoff)
    return f"; did you mean '{lowered[close[0]]}'?" if close else ""


def near_or_first_names(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?``, or the first few names if none is near.

    The names keep the order given, that of the file. A set has no order: its names are sorted.
    """
    names = sorted(known) if isinstance(known, set | frozenset) else list(known)
    if not names:
        return "; there are none"
    if hint := spelling_suggestion(name, names):
        return hint
    first = ", ".join(in_quotes(one) for one in names[:_SHOWN_NAMES])
    more = len(names) - _SHOWN_NAMES
    return f"; there {'is' if len(names) == 1 else 'are'} {first}" + (
        f" and {more:,} more" if more > 0 else ""
    )


def number_with_noun(number: float, noun: str) -> str:
    """Return ``1 CPU``, ``2 CPUs`` or ``0.5 CPUs``."""
    text = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{text} {noun}" if number == 1 else f"{text} {noun}s"


def cpu_ids_text(cpus: Collection[int]) -> str:
    """Return ``CPU 3`` or ``CPUs 3-5``."""
    return f"CPU{'' if len(cpus) == 1 else 's'} {format_cpu_list(cpus)}"


def cpu_ids_with_verb(cpus: Collection[int]) -> str:
    """Return ``CPU 3 is`` or ``CPUs 3-5 are``."""
    return f"{cpu_ids_text(cpus)} {'is' if len(cpus) == 1 else 'are'}"
