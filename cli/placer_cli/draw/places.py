"""The places of pods as a table; when many run, equal ones share a row."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from placer.search.reasons.sentences import reason_sentences
from placer.search.reasons.text import FEW_KINDS
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.legend import PLACE_WRAPS, container_legend_rows, held_resource_texts
from placer_cli.draw.palette import QUIET, STRONG
from placer_cli.draw.plain import (
    PLAIN_HEAD,
    are_qos_classes_worth_showing,
    pod_request_texts,
    zone_label_of_node,
)
from placer_cli.draw.residents import DrawnPod
from placer_cli.draw.tables import TableCell, table_without_empty_columns
from placer_cli.draw.texts import names_as_host_lists
from placer_cli.draw.waiting import pod_request_summary_text
from placer_models.cluster import Instance, Node
from placer_models.kubernetes.insides import are_node_devices_known, is_node_topology_known
from placer_models.message_text import count_with_noun
from placer_models.network import NODE_LEVEL
from placer_models.placement import Move, Unplaced, pod_or_gang_title
from placer_models.pod import Gang, Pod, pods_of_gangs, without_replica_number

MOST_ROWS = 60
"""A longer table of pods is folded: pods of one spec on one node share a row."""


@dataclass(frozen=True, slots=True)
class _View:
    """What decides how a place is told.

    Attributes:
        ids: Whether some row names CPUs or devices by their ids. Amounts then say what they count.
        classes: Whether classes say anything.

    """

    nodes: Mapping[str, Node]
    canvas: WidthAndMarks
    ids: bool
    classes: bool

    @classmethod
    def of(cls, instance: Instance, names: Iterable[str], canvas: WidthAndMarks) -> "_View":
        """Return the view of places on the nodes of these names."""
        nodes = {node.name: node for node in instance.nodes}
        ids = any(
            is_node_topology_known(nodes[name]) or are_node_devices_known(nodes[name])
            for name in names
        )
        return cls(nodes, canvas, ids, are_qos_classes_worth_showing(instance))

    def class_of(self, pod: Pod) -> str:
        """Return the class of a pod, where classes say anything."""
        return pod.spec.qos.value if self.classes else ""

    def zone_of(self, name: str) -> str:
        """Return the zone of a node whose inside is not known."""
        node = self.nodes[name]
        return "" if is_node_topology_known(node) else zone_label_of_node(node)


def draw_newly_placed_pods(
    instance: Instance, residents: Mapping[str, Sequence[DrawnPod]], canvas: WidthAndMarks
) -> RenderableType:
    """Return a table of the newly placed pods, in the order in which they waited."""
    order = {pod.key: i for i, pod in enumerate(pods_of_gangs(instance.gangs))}
    levels = {gang.key: _levels_of(gang) for gang in instance.gangs}
    placed = sorted(
        (r for tenants in residents.values() for r in tenants if not r.running),
        key=lambda r: order[r.pod.key],
    )
    view = _View.of(instance, (r.place.node for r in placed), canvas)
    if len(placed) <= MOST_ROWS:
        return _one_by_one(placed, levels, view)
    by_node = _fold(placed, lambda r: (_kind(r), r.place.node))
    if len(by_node) <= MOST_ROWS:
        return _folded(by_node, view)
    return _folded(_fold(placed, _kind), view)


def draw_moves(instance: Instance, moves: Sequence[Move], canvas: WidthAndMarks) -> RenderableType:
    """Return a table of the running pods that get another place: where from, and what there.

    Where one broke a rule that is mended by its move, that is named.
    """
    pods = {running.pod.key: running.pod for running in instance.running}
    view = _View.of(instance, (move.place.node for move in moves), canvas)
    rows = []
    mending = any(move.mends for move in moves)
    for home, place, mends in moves:
        pod = pods[place.key]
        resident = DrawnPod(pod, place, without_replica_number(pod.name), running=True)
        (node, zone, _, *held), _ = _where(resident, (), view)
        mended = (", ".join(mends),) if mending else ()
        rows.append([pod.title, home.node, node, zone, *mended, *held])
    where = _head(view)[4:]
    head = ("pod", "from", "to", "zone", *(("mends",) if mending else ()), *where)
    wraps = {**PLACE_WRAPS, "from": 12, "to": 12, "mends": 16}
    return table_without_empty_columns(
        head, rows, canvas.width, wrap=wraps, spare=("QoS", "links", "zone")
    )


def draw_unplaced(
    unplaced: Sequence[Unplaced], instance: Instance, canvas: WidthAndMarks, *, every: bool = False
) -> RenderableType:
    """Return a table of the pods left out and why; equal reasons are said once.

    Args:
        unplaced: The pods.
        instance: The instance in which they wait.
        canvas: Where they are drawn.
        every: Whether all reasons on nodes are told; else those on few nodes are counted together.

    """
    specs = {pod.key: pod.spec for pod in pods_of_gangs(instance.gangs)}

    def told(one: Unplaced) -> tuple[str | None, Sequence[str]]:
        spec = specs.get(one.key)
        if every or spec is None or not one.why:
            return one.gang, one.reasons
        return one.gang, tuple(reason_sentences(one.why, spec, few=FEW_KINDS))

    rows = []
    for (gang, reasons), same in groupby(unplaced, key=told):
        names = names_as_host_lists([pod.title for pod in same])
        rows.append((names, gang or "", "\n".join(reasons)))
    head = ("pod", "gang", "why it has no place")
    wrap = {"pod": 16, "gang": 12, head[2]: 20}
    return table_without_empty_columns(
        head, rows, canvas.width, wrap=wrap, spare=("gang",), sentences=head[2]
    )


def _one_by_one(
    placed: Sequence[DrawnPod],
    levels: Mapping[tuple[str, str], Sequence[str]],
    view: _View,
) -> RenderableType:
    """Return a row for each pod, or for a few alike; a gang's members stand below its name."""
    rows: list[list[TableCell]] = []
    head = _head(view)
    for (namespace, gang), members in groupby(
        placed, key=lambda r: (r.place.namespace, r.place.gang)
    ):
        if gang is not None:
            title = Text(pod_or_gang_title(namespace, gang), STRONG)
            rows.append([title, *[""] * (len(head) - 1)])
        indent = "" if gang is None else "  "
        asked_levels = levels.get((namespace, gang or ""), ())
        described = [(resident, *_where(resident, asked_levels, view)) for resident in members]
        # Pods of one pool often differ by nothing but their name.
        for (_, where, parts), alike in groupby(described, key=lambda d: (_kind(d[0]), *d[1:])):
            names = names_as_host_lists(
                [r.place.name if indent else r.pod.title for r, *_ in alike]
            )
            rows.append([indent + names, *where])
            rows += [[f"{indent}  {name}", *[""] * 4, *held] for name, *held in parts]
    numbers = () if view.ids else PLAIN_HEAD[:3]
    spare = ("QoS", "in", "links", "zone")
    return table_without_empty_columns(
        head, rows, view.canvas.width, numbers=numbers, wrap=PLACE_WRAPS, spare=spare
    )


def _head(view: _View) -> tuple[str, ...]:
    cpu, memory, gpu, other = ("CPUs", "memory", "GPU", "other") if view.ids else PLAIN_HEAD
    return ("pod", "node", "zone", "in", "QoS", cpu, memory, gpu, "links", other)


def _levels_of(gang: Gang) -> tuple[str, ...]:
    """Return the levels of the network that a gang asks for, besides nodes."""
    return tuple(dict.fromkeys(r.level for r in gang.levels if r.level != NODE_LEVEL))


def _where(
    resident: DrawnPod, levels: Sequence[str], view: _View
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the cells of a pod, and what each of its containers has where that is told."""
    node = view.nodes[resident.place.node]
    place = (
        node.name,
        view.zone_of(node.name),
        ", ".join(f"{level} {node.domain(level) or '-'}" for level in levels),
        view.class_of(resident.pod),
    )
    if is_node_topology_known(node):
        held = held_resource_texts(resident.place, node, view.canvas, own=resident.owns_cpus)
        return (*place, *held), container_legend_rows(resident, node, view.canvas)
    cpu, memory, gpus, other = pod_request_texts(resident, node)
    if view.ids:
        cpu = f"{cpu} {'CPU' if cpu == '1' else 'CPUs'}" if cpu else ""
        gpus = (
            count_with_noun(int(gpus), "GPU") if gpus and not are_node_devices_known(node) else gpus
        )
    return (*place, cpu, memory, gpus, "", other), []


def _kind(resident: DrawnPod) -> tuple[Hashable, ...]:
    pod = resident.pod
    return resident.place.gang or without_replica_number(pod.name), pod.namespace, pod.spec


def _fold(placed: Sequence[DrawnPod], key: Callable[[DrawnPod], Hashable]) -> list[list[DrawnPod]]:
    groups: dict[Hashable, list[DrawnPod]] = {}
    for resident in placed:
        groups.setdefault(key(resident), []).append(resident)
    return list(groups.values())


def _folded(groups: Sequence[Sequence[DrawnPod]], view: _View) -> RenderableType:
    rows = []
    for members in groups:
        first = members[0]
        nodes = sorted({resident.place.node for resident in members})
        zones = filter(None, dict.fromkeys(map(view.zone_of, nodes)))
        words = (
            first.place.gang or "",
            names_as_host_lists([resident.pod.title for resident in members]),
            names_as_host_lists(nodes),
            ", ".join(zones),
            view.class_of(first.pod),
        )
        rows.append((*words, Text(pod_request_summary_text(first.pod.spec), QUIET)))
    head = ("gang", "pod", "node", "zone", "QoS", "each asks for")
    wrap = {"gang": 12, "pod": 16, "node": 16, "each asks for": 16}
    return table_without_empty_columns(
        head, rows, view.canvas.width, wrap=wrap, spare=("QoS", "zone")
    )
