"""The lead of a report: the sentences that a terminal shows first."""

import io

from rich.console import Console, RenderableType

_COLUMNS = 4_000
"""So wide that no sentence is broken."""


def lead_of(drawing: RenderableType) -> list[str]:
    """Return the lines of a drawing up to its first empty one."""
    text = io.StringIO()
    console = Console(file=text, width=_COLUMNS, markup=False, highlight=False, emoji=False)
    console.print(drawing)
    found = []
    for line in text.getvalue().splitlines():
        if not line.strip():
            break
        found.append(line.rstrip())
    return found
