"""Text in a narrow cell: names break after their hyphens and slashes, not in mid-word."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.text import Text

_BREAK = re.compile(r"(?<=\S)(?:\s+|/|-(?!\d))")
"""Where a line may end. Ranges such as ``0-3`` and numbers of replicas stay whole."""


@dataclass(frozen=True, slots=True)
class Breaking:
    """Text that breaks at blanks, hyphens and slashes, and elsewhere only if it must."""

    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the text with its line breaks."""
        lines = self.text.split("\n", allow_blank=True)
        parts = (
            part for line in lines for part in line.divide(_cuts(line.plain, options.max_width))
        )
        yield Text("\n").join(parts)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that the text itself wants."""
        return Measurement.get(console, options, self.text)


def _cuts(line: str, width: int) -> list[int]:
    """Return where the line is cut so that each part fits the width."""
    cuts, start, fits = [], 0, 0
    for end in (*(match.end() for match in _BREAK.finditer(line)), len(line)):
        if len(line[start:end].rstrip()) > width and fits > start:
            cuts.append(fits)
            start = fits
        while len(line[start:end].rstrip()) > width:
            start += width
            cuts.append(start)
        fits = end
    return cuts
