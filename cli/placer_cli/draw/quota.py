"""An encoded number as a table: each device, its bits and its quota."""

from rich.console import Group, RenderableType
from rich.text import Text

from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import QUIET, STRONG
from placer_cli.draw.tables import table_without_empty_columns
from placer_models.message_text import count_with_noun
from placer_models.quota import BitPackedQuotas, quota_quantity_text

MOST_DIGITS = 40
"""A longer field of bits is not written out."""


def draw_quotas(encoded: BitPackedQuotas, canvas: WidthAndMarks) -> RenderableType:
    """Return the number, and a row for each device, lowest bits first."""
    bits = encoded.bits
    rows = [
        (
            Text(str(device), STRONG),
            f"{(device - 1) * bits}-{device * bits - 1}",
            Text(f"{quota:0{bits}b}" if bits <= MOST_DIGITS else "", QUIET),
            str(quota),
        )
        for device, quota in enumerate(encoded.quotas, start=1)
    ]
    head = Text.assemble(
        (quota_quantity_text(encoded.number), STRONG),
        f" = {count_with_noun(len(rows), 'device')} x {count_with_noun(bits, 'bit')}, ",
        f"{count_with_noun(len(encoded.words), 'word')} of 64 bits: ",
        " ".join(f"{word:#x}" for word in encoded.words),
    )
    columns = ("device", "bits", "field", "quota")
    return Group(
        head,
        "",
        table_without_empty_columns(
            columns, rows, canvas.width, numbers=("device", "quota"), spare=("field",)
        ),
    )
