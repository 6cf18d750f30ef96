"""A cluster at a glance: one line a node, equal neighbours folded."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from placer_cli.draw.bars import bar
from placer_cli.draw.canvas import Canvas, Marks
from placer_cli.draw.mig import IN_MIG_MODE, broken_words, has_broken
from placer_cli.draw.palette import (
    ACCENT,
    BAD,
    FRAME,
    QUIET,
    STRONG,
    owner_marks,
    owner_style,
)
from placer_cli.draw.residents import Resident, amount_taken, is_pod, pods_on
from placer_cli.draw.tables import table
from placer_cli.draw.text_flow import columns_of, flow
from placer_cli.draw.texts import by_default, count, cpus, fold_names, memory, named, plain
from placer_cli.draw.threads import StyledMark
from placer_cli.draw.waiting import all_waiting, left_out_said, waiting
from placer_models.cluster import Instance, Node
from placer_models.device import GPU
from placer_models.policy import QosClass
from placer_models.taints import UNSCHEDULABLE

BAR_COLUMNS = range(4, 21)
"""Widths of a bar, in columns; without room for the least there are numbers alone."""


def draw_cluster(
    instance: Instance, residents: Mapping[str, Sequence[Resident]], canvas: Canvas
) -> RenderableType:
    """Draw all nodes of an instance with who is there, and then who waits."""
    return Group(*_parts(instance, residents, canvas))


def _parts(
    instance: Instance, residents: Mapping[str, Sequence[Resident]], canvas: Canvas
) -> Iterator[RenderableType]:
    parties = _parties(instance, residents)
    yield _headline(instance, residents, canvas)
    yield ""
    drawn = _nodes(instance, residents, parties, _Bars(0, canvas.marks), canvas.width)
    room = (canvas.width - columns_of(drawn)) // 2 - 1
    if room >= BAR_COLUMNS[0]:
        bars = _Bars(min(room, BAR_COLUMNS[-1]), canvas.marks)
        drawn = _nodes(instance, residents, parties, bars, canvas.width)
    yield drawn
    yield _key(instance, parties, canvas)
    placed = {resident.pod.key for tenants in residents.values() for resident in tenants}
    left = waiting(instance, placed, canvas.width)
    if left is not None:
        yield ""
        yield left


def _headline(
    instance: Instance, residents: Mapping[str, Sequence[Resident]], canvas: Canvas
) -> Text:
    machines = {node.machine.name for node in instance.nodes}
    nodes = count(len(instance.nodes), "node")
    facts = [f"{nodes} of {machines.pop()}" if len(machines) == 1 else nodes]
    if running := sum(is_pod(one.pod) for one in instance.running):
        facts.append(count(running, "running pod"))
    placed = sum(len(tenants) for tenants in residents.values()) - len(instance.running)
    pods = all_waiting(instance)
    waits = f"{placed:,} of {count(pods, 'pod')} placed" if placed else f"{pods:,} waiting"
    facts.append(f"{waits}{left_out_said(instance)}")
    facts += by_default(instance.common_defaults)
    pieces = [Text(instance.name or "cluster", STRONG), *(Text(fact, QUIET) for fact in facts)]
    return flow(pieces, canvas.width, f" {canvas.marks.dot} ")


def _nodes(
    instance: Instance,
    residents: Mapping[str, Sequence[Resident]],
    parties: Mapping[str, StyledMark],
    bars: "_Bars",
    width: int,
) -> Table:
    """Return the table of nodes; neighbours that look the same share a row."""
    one_machine = len({node.machine.name for node in instance.nodes}) == 1
    lines = [
        (node.name, _cells(node, residents.get(node.name, ()), parties, bars, one_machine))
        for node in instance.nodes
    ]
    rows = []
    for _, same in groupby(lines, key=lambda line: [cell.markup for cell in line[1]]):
        names, cells = zip(*same, strict=True)
        rows.append([Text(fold_names(names)), *cells[0]])
    head = ("node", "in", "machine", "CPU", "memory", "GPU", "other", "pods", "")
    return table(
        head,
        rows,
        width,
        numbers=("pods",),
        wrap={"node": 12, "other": 16},
        spare=("machine", "other", "pods", "in"),
    )


def _parties(
    instance: Instance, residents: Mapping[str, Sequence[Resident]]
) -> dict[str, StyledMark]:
    """Give each gang and each set of replicas that holds GPUs a mark, in node order."""
    names = [
        resident.party
        for node in instance.nodes
        for resident in residents.get(node.name, ())
        if resident.place.minors(GPU)
    ]
    ordered = list(dict.fromkeys(names))
    return {
        name: StyledMark(mark, owner_style(number))
        for number, (name, mark) in enumerate(zip(ordered, owner_marks(len(ordered)), strict=True))
    }


@dataclass(frozen=True, slots=True)
class _Bars:
    """The width of bars in columns, 0 for no bars, and their marks."""

    columns: int
    marks: Marks

    def draw(
        self, parts: Sequence[tuple[int, StyledMark]], total: int, words: str, of: str
    ) -> Text:
        """Draw a bar, then in words how much is taken of how much."""
        picture = bar(parts, total, self.columns, self.marks.empty)
        return Text.assemble(picture, " " if self.columns else "", words, (f"/{of}", QUIET))


def _cells(
    node: Node,
    tenants: Sequence[Resident],
    parties: Mapping[str, StyledMark],
    bars: _Bars,
    one_machine: bool,
) -> tuple[Text, ...]:
    return (
        Text(", ".join(f"{level} {domain}" for level, domain in node.domains)),
        Text("" if one_machine else node.machine.name, QUIET),
        _cpu(node, tenants, bars),
        _memory(node, tenants, bars),
        _gpus(node, tenants, parties, bars.marks),
        _others(tenants, node),
        _pods(node, tenants),
        _standing(node),
    )


def _cpu(node: Node, tenants: Sequence[Resident], bars: _Bars) -> Text:
    """Draw the CPUs that pods own, then those that the pods of the pools ask for."""
    allocatable = node.machine.topology.online - node.reserved_cpus
    owned = 1000 * len({cpu for t in tenants if t.owns_cpus for cpu in t.place.cpuset})
    ls, be = (
        sum(t.pod.spec.requests.cpu_milli for t in tenants if t.pod.spec.qos is qos)
        for qos in (QosClass.LS, QosClass.BE)
    )
    parts = (
        (owned, StyledMark(bars.marks.full, ACCENT)),
        (ls, StyledMark(bars.marks.shared, ACCENT)),
        (be, StyledMark(bars.marks.best_effort, FRAME)),
    )
    return bars.draw(parts, 1000 * len(allocatable), cpus(owned + ls), str(len(allocatable)))


def _memory(node: Node, tenants: Sequence[Resident], bars: _Bars) -> Text:
    total = node.machine.topology.memory_bytes
    taken = sum(amount for t in tenants for _, amount in t.place.memory_bytes)
    parts = [(taken, StyledMark(bars.marks.full, ACCENT))]
    return bars.draw(parts, total, memory(taken), memory(total))


def _gpus(
    node: Node, tenants: Sequence[Resident], parties: Mapping[str, StyledMark], marks: Marks
) -> Text:
    holder = {minor: parties[t.party] for t in tenants for minor in t.place.minors(GPU)}
    width = max((len(cell.mark) for cell in parties.values()), default=1)
    text = Text(no_wrap=True)
    for device in node.machine.devices:
        if device.type != GPU:
            continue
        cell = holder.get(device.minor, StyledMark(marks.free, QUIET))
        if device.minor in dict(node.mig):
            cell = StyledMark(IN_MIG_MODE, QUIET)
        elif not node.is_healthy(device):
            cell = StyledMark(marks.broken, BAD)
        text.append(cell.mark.ljust(width), cell.style)
    return text


def _pods(node: Node, tenants: Sequence[Resident]) -> Text:
    """Count the pods, of as many as the node takes where it says so."""
    pods, most = pods_on(node, tenants)
    if most is None:
        return Text(str(pods or ""))
    return Text.assemble(str(pods), (f"/{most:,}", QUIET))


def _standing(node: Node) -> Text:
    """Say what is out of the ordinary about who may come, and what that costs."""
    cordoned = node.cordoned or UNSCHEDULABLE in node.taints
    kept_out = "closed" if node.closed else "cordoned" if cordoned else ""
    if node.offered:
        return Text.assemble(("offered", QUIET), (f" {kept_out}" if kept_out else "", BAD))
    return Text(kept_out, BAD)


def _others(tenants: Sequence[Resident], node: Node) -> Text:
    """Count the devices of other types, where pods hold any of them, and plain amounts."""
    held = {(g.type, g.minor) for t in tenants for g in t.place.devices if g.type != GPU}
    taken = Counter(kind for kind, _ in held)
    present = Counter(device.type for device in node.devices)
    words = [f"{kind} {taken[kind]}/{present[kind]}" for kind in sorted(taken)]
    words += [
        f"{name} {plain(name, amount_taken(tenants, name))}/{plain(name, has)}"
        for name, has in named(node.extended)
    ]
    return Text(", ".join(words))


def _key(instance: Instance, parties: Mapping[str, StyledMark], canvas: Canvas) -> Text:
    marks = canvas.marks
    pieces = [Text.assemble((cell.mark, cell.style), f" {name}") for name, cell in parties.items()]
    pieces += [
        Text.assemble((marks.full, ACCENT), (" owned", QUIET)),
        Text.assemble((marks.shared, ACCENT), (" asked for in the shared pool", QUIET)),
        Text.assemble((marks.best_effort, FRAME), (" best effort", QUIET)),
        Text(f"{marks.free} free", QUIET),
    ]
    if any(node.mig for node in instance.nodes):
        pieces.append(Text(f"{IN_MIG_MODE} in MIG mode", QUIET))
    if any(has_broken(node) for node in instance.nodes):
        pieces.append(Text.assemble((marks.broken, BAD), (broken_words(instance.nodes), QUIET)))
    return flow(pieces, canvas.width)
