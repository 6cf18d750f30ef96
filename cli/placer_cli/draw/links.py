"""The links between the GPUs of a machine, as a matrix coloured by bandwidth."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from string import ascii_lowercase

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, QUIET, STRONG, link_styles_by_bandwidth
from placer_cli.draw.text_flow import wrap_pieces
from placer_cli.draw.texts import gb_per_s_text, ids_text
from placer_cli.draw.threads import StyledMark
from placer_models.cluster import Machine
from placer_models.device import GPU, Device, GpuLinkMatrix

MOST_OF_ONE_CLASS = 8
"""A larger matrix of equal cells is left out: its key says it all."""

OwnerOf = Callable[[int], StyledMark | None]
"""The mark of the pod that holds the GPU of the minor, if any."""


@dataclass(frozen=True, slots=True)
class DrawnEqualGpuLinks:
    """Links of one name and one bandwidth."""

    kind: str
    centi_gb_per_s: int
    pairs: int

    @property
    def words(self) -> str:
        """Name and bandwidth: ``NV12 300 GB/s``."""
        if not self.centi_gb_per_s:
            return self.kind
        return f"{self.kind} {gb_per_s_text(self.centi_gb_per_s)} GB/s"


def gpu_link_kinds_with_pair_counts(links: GpuLinkMatrix) -> tuple[DrawnEqualGpuLinks, ...]:
    """Return the classes of links between two GPUs, fastest first."""
    found = Counter(
        (links.kinds[i][j], links.centi_gb_per_s[i][j])
        for i, j in combinations(range(len(links.minors)), 2)
    )
    ordered = sorted(found.items(), key=lambda item: (-item[0][1], item[0][0]))
    return tuple(DrawnEqualGpuLinks(kind, value, pairs) for (kind, value), pairs in ordered)


def pair_bandwidths(links: GpuLinkMatrix, minors: tuple[int, ...]) -> tuple[int, ...]:
    """Return the bandwidth of every two of the GPUs; unknown links count as 0."""
    at = {minor: i for i, minor in enumerate(links.minors)}
    return tuple(
        links.centi_gb_per_s[at[a]][at[b]] if a in at and b in at else 0
        for a, b in combinations(minors, 2)
    )


def draw_links(
    machine: Machine,
    canvas: WidthAndMarks,
    owner_of: OwnerOf | None = None,
    broken: frozenset[int] = frozenset(),
) -> RenderableType:
    """Draw the matrix, as wide as the canvas allows, and what its marks mean.

    With owners, the links inside one pod's set stand out and the others step back.
    GPUs whose minors are ``broken`` are marked: they must not be given out.
    """
    links = machine.gpu_links
    if links is None or len(links.minors) < 2:
        return Text("links between its GPUs are not known" if links is None else "", QUIET)
    classes = gpu_link_kinds_with_pair_counts(links)
    styles = link_styles_by_bandwidth([c.centi_gb_per_s for c in classes])
    gpus = {device.minor: device for device in machine.devices if device.type == GPU}
    columns = max(len(c.kind) for c in classes)
    head = 6 + (2 if owner_of else 0)
    facts = [_facts(gpus.get(minor), machine) for minor in links.minors]
    tail = max(map(len, facts)) + 2
    named = head + len(links.minors) * (columns + 1) + tail <= canvas.width
    marks = {c: c.kind for c in classes} if named else _shades(classes, canvas)
    columns = columns if named else 1
    said_already = len(classes) == 1 and len(links.minors) > MOST_OF_ONE_CLASS
    if said_already or head + len(links.minors) * (columns + 1) > canvas.width:
        return Group(_key(classes, {}, styles, links, canvas))
    matrix = _Matrix(links, {(c.kind, c.centi_gb_per_s): m for c, m in marks.items()}, styles)
    rows = [matrix.head(columns, owner_of)]
    for i, minor in enumerate(links.minors):
        rows.append(
            Text.assemble(
                matrix.label(minor, minor in broken, owner_of),
                matrix.row(i, columns, owner_of, canvas),
                (f"  {facts[i]}" if tail > 2 and head + tail <= canvas.width else "", QUIET),
            )
        )
    text = Text("\n", no_wrap=True, overflow="crop").join(rows)
    return Group(text, _key(classes, {} if named else marks, styles, links, canvas))


@dataclass(frozen=True, slots=True)
class _Matrix:
    links: GpuLinkMatrix
    marks: dict[tuple[str, int], str]
    styles: dict[int, Style]

    def head(self, columns: int, owner_of: OwnerOf | None) -> Text:
        """Return the minors above their columns; in narrow columns, digit below digit."""
        digits = 1 if columns > 1 else max(len(str(minor)) for minor in self.links.minors)
        lines = []
        for place in range(digits):
            line = Text(" " * (8 if owner_of else 6))
            for minor in self.links.minors:
                text = str(minor) if columns > 1 else str(minor).rjust(digits)[place]
                line.append(f" {text:>{columns}}", STRONG)
            lines.append(line)
        return Text("\n").join(lines)

    def label(self, minor: int, broken: bool, owner_of: OwnerOf | None) -> Text:
        text = Text(f"GPU {minor:<2}", BAD if broken else STRONG)
        if owner_of is not None:
            owner = owner_of(minor) or StyledMark("", Style())
            text.append(owner.mark.ljust(2)[:2].rstrip() or " ", owner.style)
            text.append(" " * (8 - len(text)))
        return text

    def row(self, i: int, columns: int, owner_of: OwnerOf | None, canvas: WidthAndMarks) -> Text:
        text = Text()
        mine = owner_of(self.links.minors[i]) if owner_of else None
        for j, other in enumerate(self.links.minors):
            value = self.links.centi_gb_per_s[i][j]
            if i == j:
                text.append(f" {canvas.marks.dot:>{columns}}", QUIET)
                continue
            mark = self.marks[self.links.kinds[i][j], value]
            style = self.styles[value]
            if owner_of is not None:
                theirs = owner_of(other)
                together = mine is not None and theirs is not None and mine.mark == theirs.mark
                style = mine.style if together and mine else QUIET
            text.append(" " * (1 + columns - len(mark)))
            text.append(mark, style)
        return text


def _shades(
    classes: tuple[DrawnEqualGpuLinks, ...], canvas: WidthAndMarks
) -> dict[DrawnEqualGpuLinks, str]:
    """Return one mark a class: shades while they last, else letters, fastest first."""
    shades = canvas.marks.shades
    marks = shades if len(classes) <= len(shades) else ascii_lowercase
    return {c: marks[min(rank, len(marks) - 1)] for rank, c in enumerate(classes)}


def _facts(gpu: Device | None, machine: Machine) -> str:
    """Return what the end of a GPU's row says: its NUMA node, and NICs on its switch."""
    if gpu is None:
        return ""
    numa = "" if gpu.numa_node is None else f"NUMA {gpu.numa_node}"
    near = [
        device.minor
        for device in machine.devices
        if device.type != GPU and gpu.pcie_switch and device.pcie_switch == gpu.pcie_switch
    ]
    return f"{numa}  NIC {ids_text(near, 9)}" if near else numa


def _key(
    classes: tuple[DrawnEqualGpuLinks, ...],
    marks: dict[DrawnEqualGpuLinks, str],
    styles: dict[int, Style],
    links: GpuLinkMatrix,
    canvas: WidthAndMarks,
) -> Text:
    pieces = [
        Text(f"{marks[link]} {link.words}" if marks else link.words, styles[link.centi_gb_per_s])
        for link in classes
    ]
    if any(link.centi_gb_per_s for link in classes):
        pieces.append(Text("per direction, nominal", QUIET))
    if links.shared_egress:
        pieces.append(Text("the pairs of a GPU share its egress", QUIET))
    return wrap_pieces(pieces, canvas.width)
