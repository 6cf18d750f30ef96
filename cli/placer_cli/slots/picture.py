"""A compiled job as an SVG graph: regions as bands, chains as boxes in their group's colour."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from placer.slots.compiled import (
    CompiledDataflowJob,
    EdgeBetweenChains,
    Fractions,
    OperatorMemoryFractions,
)
from placer.slots.graph import EdgeExchangeMode
from placer_cli.draw.svg import COLOURS, svg_text
from placer_models.message_text import count_with_noun

BOX = 210
COLUMN = BOX + 60
LINE = 16
TITLE = 24
GAP = 14
MARGIN = 16
BAND_TITLE = 26
HEAD = 58
MOST_LETTERS = 22

_text = partial(svg_text, size=12, colour="#222")

_DASHES = {
    EdgeExchangeMode.BLOCKING: "6 4",
    EdgeExchangeMode.HYBRID_FULL: "2 3",
    EdgeExchangeMode.HYBRID_SELECTIVE: "2 3",
}


@dataclass(frozen=True, slots=True)
class _Box:
    """Where a chain is drawn."""

    x: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class _Band:
    """Where a region is drawn."""

    region: int
    y: int
    height: int


def compiled_job_svg(job: CompiledDataflowJob) -> str:
    """Return the picture of a compiled job."""
    boxes, bands, width, height = _laid_out(job)
    parts = [
        *_head(job, width),
        *(part for band in bands for part in _band(job, band, width)),
        *(_link(link, boxes) for link in job.links),
        *(part for chain, box in boxes.items() for part in _box(job, chain, box)),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _laid_out(job: CompiledDataflowJob) -> tuple[dict[int, _Box], list[_Band], int, int]:
    """Return boxes by chain, bands, and the size of the picture.

    Bands stand below one another, in an order in which the regions can run; a chain stands
    to the right of those that it reads from.
    """
    column = _columns(job)
    boxes: dict[int, _Box] = {}
    bands = []
    top = HEAD
    for gang in job.gangs:
        for region in gang.regions:
            bottoms: dict[int, int] = {}
            for chain in job.regions[region].chains:
                at = column[chain]
                y = bottoms.get(at, top + BAND_TITLE)
                height = TITLE + LINE * len(job.chains[chain].operators) + 8
                boxes[chain] = _Box(2 * MARGIN + at * COLUMN, y, height)
                bottoms[at] = y + height + GAP
            band = _Band(region, top, max(bottoms.values()) - top)
            bands.append(band)
            top += band.height + GAP
    right = max(box.x for box in boxes.values()) + BOX
    return boxes, bands, max(right + 2 * MARGIN, 3 * COLUMN), top + MARGIN


def _columns(job: CompiledDataflowJob) -> list[int]:
    """Return each chain's column: one more than the last that it reads from."""
    column = [0] * len(job.chains)
    inputs: dict[int, list[int]] = {}
    for link in job.links:
        inputs.setdefault(link.consumer, []).append(link.producer)
    # Chains are numbered in the order of the data, so producers have their column already.
    for chain in range(len(job.chains)):
        column[chain] = max((column[i] + 1 for i in inputs.get(chain, ())), default=0)
    return column


def _head(job: CompiledDataflowJob, width: int) -> Iterator[str]:
    title = (
        f"{job.name or 'job'}: {count_with_noun(len(job.operators), 'operator')}, "
        f"{count_with_noun(len(job.chains), 'chain')}, "
        f"{count_with_noun(len(job.regions), 'region')}, "
        f"{count_with_noun(job.slots_needed, 'slot')} needed"
    )
    yield _text(MARGIN, 22, title, size=15, bold=True)
    x = MARGIN
    for i, group in enumerate(job.groups):
        label = f"{group.name}: {count_with_noun(group.slots, 'slot')}"
        if x + 7 * len(label) > width - 60:
            yield _text(x, 45, "…", colour="#555")
            return
        yield f'<rect x="{x}" y="35" width="12" height="12" fill="{_colour(i)}"/>'
        yield _text(x + 17, 45, label)
        x += 7 * len(label) + 40


def _band(job: CompiledDataflowJob, band: _Band, width: int) -> Iterator[str]:
    yield (
        f'<rect x="{MARGIN}" y="{band.y}" width="{width - 2 * MARGIN}" height="{band.height}" '
        'rx="8" fill="#f5f5f2" stroke="#ccc"/>'
    )
    in_cycle = any(band.region in cycle.regions for cycle in job.cycles)
    note = " · waits in a cycle" if in_cycle else ""
    colour = "#c0392b" if in_cycle else "#777"
    yield _text(MARGIN + 10, band.y + 17, f"region {band.region}{note}", colour=colour)


def _box(job: CompiledDataflowJob, chain: int, box: _Box) -> Iterator[str]:
    group = job.group_of[chain]
    yield (
        f'<rect x="{box.x}" y="{box.y}" width="{BOX}" height="{box.height}" rx="5" '
        f'fill="#fff" stroke="{_colour(group)}" stroke-width="2"/>'
    )
    parallelism = f"× {job.chains[chain].parallelism:,}"
    yield _text(box.x + 9, box.y + 17, _cut(job.groups[group].name), colour="#777")
    yield _text(box.x + BOX - 9, box.y + 17, parallelism, bold=True, end=True)
    for i, operator in enumerate(job.chains[chain].operators):
        y = box.y + TITLE + LINE * i
        yield _text(box.x + 9, y + 12, _cut(job.operators[operator]))
        part = _part(job.fractions[operator])
        if part:
            yield (
                f'<rect x="{box.x + BOX - 49}" y="{y + 4}" width="40" height="8" fill="#e6e6e6">'
                f"<title>{part:.4g} of the slot's managed memory</title></rect>"
                f'<rect x="{box.x + BOX - 49}" y="{y + 4}" width="{40 * min(part, 1):.1f}" '
                f'height="8" fill="{_colour(group)}" pointer-events="none"/>'
            )


def _link(link: EdgeBetweenChains, boxes: dict[int, _Box]) -> str:
    a, b = boxes[link.producer], boxes[link.consumer]
    x1, y1, x2, y2 = a.x + BOX, a.y + a.height // 2, b.x, b.y + b.height // 2
    bend = max(30, abs(x2 - x1) // 2)
    dash = _DASHES.get(link.exchange)
    style = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}" fill="none" '
        f'stroke="#555" stroke-width="1.5"{style} marker-end="url(#tip)">'
        f"<title>{link.partition}, {link.exchange}</title></path>"
    )


def _part(fractions: Fractions) -> float:
    """Return the larger of an operator's fractions: one bar says how much it is."""
    if isinstance(fractions, OperatorMemoryFractions):
        return max(float(fractions.on_heap), float(fractions.off_heap))
    return sum(fraction.of_slot for fraction in fractions)


def _cut(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def _colour(group: int) -> str:
    return COLOURS[group % len(COLOURS)]
