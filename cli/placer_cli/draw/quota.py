"""An encoded number as a table: each device, its bits and its quota."""

from rich.console import Group, RenderableType
from rich.text import Text

from placer_cli.draw.canvas import Canvas
from placer_cli.draw.palette import QUIET, STRONG
from placer_cli.draw.tables import table
from placer_cli.draw.texts import count_text
from placer_models.quota import BitPackedQuotas, quota_quantity_text

MOST_DIGITS = 40
"""A longer field of bits is not written out."""


def draw_quotas(encoded: BitPackedQuotas, canvas: Canvas) -> RenderableType:
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
        f" = {count_text(len(rows), 'device')} x {count_text(bits, 'bit')}, ",
        f"{count_text(len(encoded.words), 'word')} of 64 bits: ",
        " ".join(f"{word:#x}" for word in encoded.words),
    )
    columns = ("device", "bits", "field", "quota")
    return Group(
        head, "", table(columns, rows, canvas.width, numbers=("device", "quota"), spare=("field",))
    )
