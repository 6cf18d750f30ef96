"""The examples that come with Placer as a table."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import STRONG
from placer_cli.draw.tables import table_without_empty_columns
from placer_cli.examples import BundledExample


def draw_bundled_examples(
    examples: Sequence[BundledExample], canvas: WidthAndMarks
) -> RenderableType:
    """Return a row for each example."""
    rows = [(Text(one.name, STRONG), one.shows) for one in examples]
    return table_without_empty_columns(("example", "shows"), rows, canvas.width, wrap={"shows": 20})
