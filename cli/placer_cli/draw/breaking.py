"""Text in a narrow cell: names break after their hyphens, dots and slashes, never in mid-word."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.text import Text

_BREAK = re.compile(r"(?<=\S)(?:\s+|=|[-./:](?!\d)|,(?!\d{3}(?![\d-])))")
"""Where a line may end. Ranges such as ``0-3``, numbers, and those of replicas stay whole."""


@dataclass(frozen=True, slots=True)
class WrappingText:
    """Text that breaks at blanks, and after hyphens, dots, slashes and commas.

    What has none of them goes over the edge: whoever copies it has it whole.
    """

    text: Text

    def lines(self, width: int | None) -> Iterator[Text]:
        """Yield the lines in a width; None: any."""
        for line in self.text.split("\n", allow_blank=True):
            cuts = [] if width is None else _cuts(line.plain, width)
            for part in line.divide(cuts):
                part.rstrip()
                yield part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the text with its line breaks."""
        yield Text("\n", no_wrap=True, overflow="ignore").join(self.lines(options.max_width))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that the text itself wants."""
        wide = max((len(line) for line in self.text.plain.split("\n")), default=0)
        return Measurement(least_text_width(self.text.plain), wide).with_maximum(options.max_width)


def least_text_width(text: str) -> int:
    """Return the fewest columns in which a text has no line that runs over the edge."""
    return max((len(text[a:b].rstrip()) for a, b in _pieces(text)), default=0)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _BREAK.finditer(text):
        yield start, match.end()
        start = match.end()
    yield start, len(text)


def _cuts(line: str, width: int) -> list[int]:
    """Return where the line is cut so that each part fits the width, as far as it can."""
    cuts: list[int] = []
    start = 0
    for begin, end in _pieces(line):
        if begin > start and len(line[start:end].rstrip()) > width:
            cuts.append(begin)
            start = begin
    return cuts
