"""Texts as nvidia-smi prints them, made to measure."""

from collections.abc import Sequence

LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
  NV#  = Connection traversing a bonded set of # NVLinks
"""


def topo(
    rows: Sequence[str],
    *,
    headings: str = "CPU Affinity\tNUMA Affinity",
    columns: Sequence[str] | None = None,
    lead: str = "\t",
) -> str:
    """Return a table with tabs: each row is its cells, then what stands behind them.

    Args:
        rows: ``GPU0: X NV1 | 0-7 | 0``, a bar for each tab behind the links.
        headings: What the header says behind the devices.
        columns: The devices of the header; None: those of the rows.
        lead: What stands before the first device of the header.

    """
    names = [row.partition(":")[0] for row in rows]
    lines = [lead + "\t".join([*(columns or names), headings])]
    for name, row in zip(names, rows, strict=True):
        links, *rest = (part.strip() for part in row.partition(":")[2].split("|"))
        lines.append(
            "\t".join([name, *(f" {c} " if c == "X" else c for c in links.split()), *rest])
        )
    return "\n".join(lines) + "\n"


FOUR = topo(
    [
        "GPU0: X NV4 SYS SYS | 0-7,16-23 | 0",
        "GPU1: NV4 X SYS SYS | 0-7,16-23 | 0",
        "GPU2: SYS SYS X NV4 | 8-15,24-31 | 1",
        "GPU3: SYS SYS NV4 X | 8-15,24-31 | 1",
    ]
)
"""Two bridged pairs on two sockets with two threads a core."""
