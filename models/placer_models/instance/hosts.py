"""Host lists, as Slurm writes them: ``gpu-[00-03],cpu-[1,3-5]``."""

import re
from collections.abc import Iterator
from itertools import product

from placer_models.message_text import in_quotes

MAX_HOSTS = 100_000
"""Most names that one list may stand for."""

_ELEMENT = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def expand_hosts(text: str) -> tuple[str, ...]:
    """Return the names that a host list stands for, in its order.

    A number keeps the width it is written with: ``[08-11]`` is 08, 09, 10, 11.

    Raises:
        ValueError: The text is not a host list, or stands for too many names.

    """
    names: list[str] = []
    for element in _elements(text):
        pieces: list[tuple[str, ...]] = []
        count = 1
        for match in _PIECE.finditer(element):
            pieces.append(_numbers(match, text) if match[2] is None else (match[2],))
            count *= len(pieces[-1])
            if len(names) + count > MAX_HOSTS:
                raise ValueError(_too_many(text))
        names.extend("".join(parts) for parts in product(*pieces))
    return tuple(names)


def _elements(text: str) -> Iterator[str]:
    at = 0
    while True:
        match = _ELEMENT.match(text, at)
        if match is None:
            raise ValueError(f"host list {in_quotes(text)}: expected a name such as gpu-[00-03]")
        yield match[0]
        at = match.end()
        if at == len(text):
            return
        if text[at] != ",":
            raise ValueError(
                f"host list {in_quotes(text)}: the bracket at character {at + 1} has no pair"
            )
        at += 1


def _numbers(bracket: re.Match[str], text: str) -> tuple[str, ...]:
    numbers: list[str] = []
    for part in bracket[1].split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(
                f"host list {in_quotes(text)}: "
                f"{in_quotes(part)} is neither a number nor a range such as 00-03"
            )
        first, last = match[1], match[2] or match[1]
        padded = first.startswith("0") and len(first) > 1
        if int(last) < int(first):
            raise ValueError(
                f"host list {in_quotes(text)}: the range {in_quotes(part)} runs backwards"
            )
        if padded and len(last) != len(first):
            raise ValueError(
                f"host list {in_quotes(text)}: the ends of {in_quotes(part)} differ in width"
            )
        if len(numbers) + int(last) - int(first) >= MAX_HOSTS:
            raise ValueError(_too_many(text))
        width = len(first) if padded else 0
        numbers.extend(f"{n:0{width}d}" for n in range(int(first), int(last) + 1))
    return tuple(numbers)


def _too_many(text: str) -> str:
    return f"host list {in_quotes(text)}: stands for more than {MAX_HOSTS:,} names"
