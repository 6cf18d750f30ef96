"""The pieces of messages: quoted values, counts with their nouns, the name that was meant."""

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from placer_models.cpuset import format_cpu_list

_SHOWN_CHARACTERS = 60
_SHOWN_NAMES = 3


def printable(text: str) -> str:
    """Return the text with whatever does not print written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escaped_value_text(value: object) -> str:
    """Return a value as messages show it: escaped, and cut short when it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3]}..."


def in_quotes(text: str) -> str:
    """Return a value as messages show it: in quotes, cut short when it is long."""
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]}…"
    return f"'{text}'"


def listed_in_sentence(parts: Sequence[str], last: str = "and") -> str:
    """Return parts of a sentence one after the other: ``a, b and c``, or with another last word."""
    return f" {last} ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def spelling_suggestion(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return ``; did you mean 'x'?`` for the nearest known name, or nothing."""
    lowered = {word.lower(): word for word in sorted(known, reverse=True)}
    close = get_close_matches(name.lower()[:_SHOWN_CHARACTERS], lowered, n=1, cutoff=cutoff)
    return f"; did you mean '{lowered[close[0]]}'?" if close else ""


def near_or_first_names_text(name: str, known: Iterable[str]) -> str:
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


def count_with_noun(number: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 CPU``, ``1,024 pods``, ``0.5 CPUs``."""
    text = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{text} {noun if number == 1 else plural or noun + 's'}"


def cpu_ids_with_noun(cpus: Collection[int]) -> str:
    """Return ``CPU 3`` or ``CPUs 3-5``."""
    return f"CPU{'' if len(cpus) == 1 else 's'} {format_cpu_list(cpus)}"


def cpu_ids_with_verb(cpus: Collection[int]) -> str:
    """Return ``CPU 3 is`` or ``CPUs 3-5 are``."""
    return f"{cpu_ids_with_noun(cpus)} {'is' if len(cpus) == 1 else 'are'}"
