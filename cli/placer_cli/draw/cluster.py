"""A cluster at a glance: one line a node, equal neighbours folded."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from placer_cli.draw.bars import draw_bar
from placer_cli.draw.canvas import MarkCharacters, WidthAndMarks
from placer_cli.draw.palette import ACCENT, BAD, FRAME, QUIET, STRONG, owner_marks, owner_style
from placer_cli.draw.plain import (
    amounts_besides_gpus,
    gpu_count_asked_by_pod,
    gpu_count_of_node,
    node_cpu_milli_asked_and_allocatable,
    zone_label_of_node,
)
from placer_cli.draw.residents import (
    DrawnPod,
    extended_amount_asked_by_pods,
    is_non_system_pod,
    pod_count_and_limit,
)
from placer_cli.draw.shares import IN_MIG_MODE, broken_device_legend, has_broken_device
from placer_cli.draw.tables import drawn_table_column_count, table_without_empty_columns
from placer_cli.draw.text_flow import natural_drawing_width, stack_yielded_drawings, wrap_pieces
from placer_cli.draw.texts import (
    amount_text,
    amounts_without_cpu_sum,
    memory_text,
    names_as_host_lists,
    policy_defaults_in_words,
)
from placer_cli.draw.threads import StyledMark
from placer_cli.draw.waiting import (
    left_out_count_text,
    pods_left_out_before_solve_table,
    waiting_pod_count,
    waiting_pods_table,
)
from placer_models.cluster import Instance, Node
from placer_models.device import GPU
from placer_models.kubernetes.insides import are_node_devices_known, is_node_topology_known
from placer_models.kubernetes.names import INSTANCE_TYPES
from placer_models.message_text import count_with_noun
from placer_models.policy import QosClass
from placer_models.quantity import cpu_milli_text
from placer_models.taints import UNSCHEDULABLE

BAR_COLUMNS = range(4, 21)
"""Widths of a bar, in columns; without room for the least there are numbers alone."""


@stack_yielded_drawings
def draw_cluster(
    instance: Instance, residents: Mapping[str, Sequence[DrawnPod]], canvas: WidthAndMarks
) -> Iterator[RenderableType]:
    """Draw all nodes of an instance with who is there, and then who waits."""
    parties = _parties(instance, residents)
    yield _headline(instance, residents, canvas)
    yield ""
    yield _nodes_with_bars(instance, residents, parties, canvas)
    yield _key(instance, parties, canvas)
    arrived = (r for tenants in residents.values() for r in tenants if not r.running)
    placed = {resident.pod.key for resident in arrived}
    left = waiting_pods_table(instance, placed, canvas.width)
    for drawn in (left, pods_left_out_before_solve_table(instance, canvas.width)):
        if drawn is not None:
            yield ""
            yield drawn


def _nodes_with_bars(
    instance: Instance,
    residents: Mapping[str, Sequence[DrawnPod]],
    parties: Mapping[str, StyledMark],
    canvas: WidthAndMarks,
) -> RenderableType:
    """Return the table of nodes, with bars as long as there is room for beside all else."""

    def drawn(columns: int) -> RenderableType:
        bars = _Bars(columns, canvas.marks)
        return _nodes(instance, residents, parties, bars, canvas.width)

    plain = drawn(0)
    barred = 2 if all(map(is_node_topology_known, instance.nodes)) else 3
    room = (canvas.width - natural_drawing_width(plain)) // barred - 1
    if room >= BAR_COLUMNS[0]:
        return drawn(min(room, BAR_COLUMNS[-1]))
    # Names may be shorter than they are there.
    shorter = drawn(BAR_COLUMNS[0])
    return (
        shorter if drawn_table_column_count(shorter) == drawn_table_column_count(plain) else plain
    )


def _headline(
    instance: Instance, residents: Mapping[str, Sequence[DrawnPod]], canvas: WidthAndMarks
) -> Text:
    machines = {node.machine.name for node in instance.nodes}
    nodes = count_with_noun(len(instance.nodes), "node")
    facts = [f"{nodes} of {machines.pop()}" if len(machines) == 1 else nodes]
    if running := sum(is_non_system_pod(one.pod) for one in instance.running):
        facts.append(count_with_noun(running, "running pod"))
    placed = sum(len(tenants) for tenants in residents.values()) - len(instance.running)
    pods = waiting_pod_count(instance)
    waits = (
        f"{placed:,} of {count_with_noun(pods, 'pod')} placed" if placed else f"{pods:,} waiting"
    )
    facts.append(f"{waits}{left_out_count_text(instance)}")
    facts += policy_defaults_in_words(instance.common_defaults)
    pieces = [Text(instance.name or "cluster", STRONG), *(Text(fact, QUIET) for fact in facts)]
    return wrap_pieces(pieces, canvas.width, f" {canvas.marks.dot} ")


def _nodes(
    instance: Instance,
    residents: Mapping[str, Sequence[DrawnPod]],
    parties: Mapping[str, StyledMark],
    bars: "_Bars",
    width: int,
) -> RenderableType:
    """Return the table of nodes; neighbours that look the same share a row."""
    more_machines = len({node.machine.name for node in instance.nodes}) > 1
    lines = [
        (node.name, _cells(node, residents.get(node.name, ()), parties, bars, more_machines))
        for node in instance.nodes
    ]
    rows = []
    for _, same in groupby(lines, key=lambda line: [cell.markup for cell in line[1]]):
        names, cells = zip(*same, strict=True)
        rows.append([names_as_host_lists(names), *cells[0]])
    head = ("node", "zone", "in", "machine", "CPU", "memory", "GPU", "other", "pods", "")
    return table_without_empty_columns(
        head,
        rows,
        width,
        numbers=("pods",),
        wrap={"node": 12, "other": 16},
        spare=("machine", "other", "pods", "in", "zone"),
    )


def _parties(
    instance: Instance, residents: Mapping[str, Sequence[DrawnPod]]
) -> dict[str, StyledMark]:
    """Give each gang and each set of replicas that holds GPUs a mark, in node order."""
    names = [
        resident.party
        for node in instance.nodes
        for resident in residents.get(node.name, ())
        if resident.place.minors(GPU) or gpu_count_asked_by_pod(resident.pod.spec)
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
    marks: MarkCharacters

    def draw(
        self, parts: Sequence[tuple[int, StyledMark]], total: int, words: str, of: str
    ) -> Text:
        """Draw a bar, then in words how much is taken of how much."""
        picture = draw_bar(parts, total, self.columns, self.marks.empty)
        return Text.assemble(picture, " " if self.columns else "", words, (f"/{of}", QUIET))


def _cells(
    node: Node,
    tenants: Sequence[DrawnPod],
    parties: Mapping[str, StyledMark],
    bars: _Bars,
    more_machines: bool,
) -> tuple[Text, ...]:
    known = is_node_topology_known(node)
    return (
        Text("" if known else zone_label_of_node(node)),
        Text(", ".join(f"{level} {domain}" for level, domain in node.domains)),
        Text(_machine(node) if more_machines else "", QUIET),
        _cpu(node, tenants, bars) if known else _cpu_amount(node, tenants, bars),
        _memory(node, tenants, bars),
        _gpus(node, tenants, parties, bars.marks)
        if are_node_devices_known(node)
        else _gpu_amount(node, tenants, parties, bars.marks),
        _others(tenants, node),
        _pods(node, tenants, bars),
        _standing(node),
    )


def _cpu_amount(node: Node, tenants: Sequence[DrawnPod], bars: _Bars) -> Text:
    """Draw what pods ask for of the CPUs of a node whose inside is not known."""
    asked, has = node_cpu_milli_asked_and_allocatable(node, tenants)
    return bars.draw(
        [(asked, StyledMark(bars.marks.full, ACCENT))],
        has,
        cpu_milli_text(asked),
        cpu_milli_text(has),
    )


def _gpu_amount(
    node: Node,
    tenants: Sequence[DrawnPod],
    parties: Mapping[str, StyledMark],
    marks: MarkCharacters,
) -> Text:
    """Draw as many cells as a node has GPUs, and who has how many of them."""
    total = gpu_count_of_node(node)
    if not total:
        return Text()
    held = [(n, parties[t.party]) for t in tenants if (n := gpu_count_asked_by_pod(t.pod.spec))]
    cells = draw_bar(held, total, min(total, BAR_COLUMNS[-1]), marks.free)
    return Text.assemble(cells, f" {sum(n for n, _ in held)}", (f"/{total}", QUIET))


def _machine(node: Node) -> str:
    """Name the machine; nothing where the name is made up of what other columns say."""
    named = is_node_topology_known(node) or any(key in INSTANCE_TYPES for key, _ in node.labels)
    return node.machine.name if named else ""


def _cpu(node: Node, tenants: Sequence[DrawnPod], bars: _Bars) -> Text:
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
    return bars.draw(
        parts, 1000 * len(allocatable), cpu_milli_text(owned + ls), str(len(allocatable))
    )


def _memory(node: Node, tenants: Sequence[DrawnPod], bars: _Bars) -> Text:
    total = node.machine.topology.memory_bytes
    taken = sum(amount for t in tenants for _, amount in t.place.memory_bytes)
    parts = [(taken, StyledMark(bars.marks.full, ACCENT))]
    return bars.draw(parts, total, memory_text(taken), memory_text(total))


def _gpus(
    node: Node,
    tenants: Sequence[DrawnPod],
    parties: Mapping[str, StyledMark],
    marks: MarkCharacters,
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


def _pods(node: Node, tenants: Sequence[DrawnPod], bars: _Bars) -> Text:
    """Count the pods, of as many as the node takes where it says so."""
    pods, most = pod_count_and_limit(node, tenants)
    if most is None:
        return Text(str(pods or ""))
    if is_node_topology_known(node):
        return Text.assemble(str(pods), (f"/{most:,}", QUIET))
    parts = [(pods, StyledMark(bars.marks.full, ACCENT))]
    return bars.draw(parts, most, str(pods), f"{most:,}")


def _standing(node: Node) -> Text:
    """Say what is out of the ordinary about who may come, and what that costs."""
    cordoned = node.cordoned or UNSCHEDULABLE in node.taints
    kept_out = "closed" if node.closed else "cordoned" if cordoned else ""
    if node.offered:
        return Text.assemble(("offered", QUIET), (f" {kept_out}" if kept_out else "", BAD))
    return Text(kept_out, BAD)


def _others(tenants: Sequence[DrawnPod], node: Node) -> Text:
    """Count the devices of other types, where pods hold any of them, and plain amounts."""
    held = {(g.type, g.minor) for t in tenants for g in t.place.devices if g.type != GPU}
    taken = Counter(kind for kind, _ in held)
    present = Counter(device.type for device in node.devices)
    words = [f"{kind} {taken[kind]}/{present[kind]}" for kind in sorted(taken)]
    shown = amounts_without_cpu_sum if is_node_topology_known(node) else amounts_besides_gpus
    for name, has in shown(node.extended):
        asked = extended_amount_asked_by_pods(tenants, name)
        words.append(f"{name} {amount_text(name, asked)}/{amount_text(name, has)}")
    return Text(", ".join(words))


def _key(instance: Instance, parties: Mapping[str, StyledMark], canvas: WidthAndMarks) -> Text:
    marks = canvas.marks
    pieces = [Text.assemble((cell.mark, cell.style), f" {name}") for name, cell in parties.items()]
    known = [is_node_topology_known(node) for node in instance.nodes]
    owned = [" owned"] * any(known) + [" asked for"] * (not all(known))
    pieces.append(Text.assemble((marks.full, ACCENT), (" or".join(owned), QUIET)))
    if any(known):
        pieces += [
            Text.assemble((marks.shared, ACCENT), (" asked for in the shared pool", QUIET)),
            Text.assemble((marks.best_effort, FRAME), (" best effort", QUIET)),
        ]
    pieces.append(Text(f"{marks.free} free", QUIET))
    if any(node.mig for node in instance.nodes):
        pieces.append(Text(f"{IN_MIG_MODE} in MIG mode", QUIET))
    if any(has_broken_device(node) for node in instance.nodes):
        pieces.append(
            Text.assemble((marks.broken, BAD), (broken_device_legend(instance.nodes), QUIET))
        )
    return wrap_pieces(pieces, canvas.width)
