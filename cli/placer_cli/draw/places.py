"""The places of pods as a table; when many run, equal ones share a row."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from placer_cli.draw.canvas import Canvas
from placer_cli.draw.legend import PLACE_WRAPS, containers_of, held_of
from placer_cli.draw.palette import QUIET, STRONG
from placer_cli.draw.residents import Resident
from placer_cli.draw.tables import table
from placer_cli.draw.texts import fold_names, stem, title_of
from placer_cli.draw.waiting import asked
from placer_models.cluster import Instance, Node
from placer_models.network import NODE_LEVEL
from placer_models.placement import Move, Unplaced
from placer_models.pod import Gang, pods_of

HEAD = ("pod", "node", "in", "QoS", "CPUs", "memory", "GPU", "links", "other")

MOST_ROWS = 60
"""A longer table of pods is folded: pods of one spec on one node share a row."""


def draw_places(
    instance: Instance, residents: Mapping[str, Sequence[Resident]], canvas: Canvas
) -> RenderableType:
    """Return a table of the newly placed pods, in the order in which they waited."""
    order = {pod.key: i for i, pod in enumerate(pods_of(instance.gangs))}
    nodes = {node.name: node for node in instance.nodes}
    levels = {gang.key: _levels_of(gang) for gang in instance.gangs}
    placed = sorted(
        (r for tenants in residents.values() for r in tenants if not r.running),
        key=lambda r: order[r.pod.key],
    )
    if len(placed) <= MOST_ROWS:
        return _one_by_one(placed, nodes, levels, canvas)
    by_node = _fold(placed, lambda r: (_kind(r), r.place.node))
    if len(by_node) <= MOST_ROWS:
        return _folded(by_node, canvas)
    return _folded(_fold(placed, _kind), canvas)


def draw_moves(instance: Instance, moves: Sequence[Move], canvas: Canvas) -> RenderableType:
    """Return a table of the running pods that get another place: where from, and what there.

    Where one broke a rule that is mended by its move, that is named.
    """
    nodes = {node.name: node for node in instance.nodes}
    pods = {running.pod.key: running.pod for running in instance.running}
    rows = []
    mending = any(move.mends for move in moves)
    for home, place, mends in moves:
        pod = pods[place.key]
        resident = Resident(pod, place, stem(pod.name), running=True)
        (node, _, *held), _ = _where(resident, nodes[place.node], (), canvas)
        mended = (", ".join(mends),) if mending else ()
        rows.append([Text(word) for word in (pod.title, home.node, node, *mended, *held)])
    head = ("pod", "from", "to", *(("mends",) if mending else ()), *HEAD[3:])
    wraps = {**PLACE_WRAPS, "from": 12, "to": 12, "mends": 16}
    return table(head, rows, canvas.width, wrap=wraps, spare=("QoS", "links"))


def draw_unplaced(unplaced: Sequence[Unplaced], canvas: Canvas) -> RenderableType:
    """Return a table of the pods left out and why; equal reasons are said once."""
    rows = []
    for (gang, reasons), same in groupby(unplaced, key=lambda pod: (pod.gang, pod.reasons)):
        names = fold_names([title_of(pod.name, pod.namespace) for pod in same])
        words = (names, gang or "", "\n".join(reasons))
        rows.append([Text(word) for word in words])
    head = ("pod", "gang", "why it has no place")
    wrap = {"pod": 16, "gang": 12, head[2]: 20}
    return table(head, rows, canvas.width, wrap=wrap, spare=("gang",))


def _one_by_one(
    placed: Sequence[Resident],
    nodes: Mapping[str, Node],
    levels: Mapping[tuple[str, str], Sequence[str]],
    canvas: Canvas,
) -> RenderableType:
    """Return a row for each pod, or for a few alike; a gang's members stand below its name."""
    rows = []
    for gang, members in groupby(placed, key=lambda r: (r.place.gang, r.place.namespace)):
        if gang[0] is not None:
            rows.append([Text(title_of(*gang), STRONG), *[Text()] * (len(HEAD) - 1)])
        indent = "" if gang[0] is None else "  "
        asked_levels = levels.get((gang[1], gang[0] or ""), ())
        described = [
            (resident, *_where(resident, nodes[resident.place.node], asked_levels, canvas))
            for resident in members
        ]
        # Pods of one pool often differ by nothing but their name.
        for (_, where, parts), alike in groupby(described, key=lambda d: (_kind(d[0]), *d[1:])):
            names = fold_names([r.place.name if indent else r.pod.title for r, *_ in alike])
            rows.append([Text(word) for word in (indent + names, *where)])
            for name, *held in parts:
                rows.append([Text(word) for word in (f"{indent}  {name}", "", "", "", *held)])
    return table(HEAD, rows, canvas.width, wrap=PLACE_WRAPS, spare=("QoS", "in", "links"))


def _levels_of(gang: Gang) -> tuple[str, ...]:
    """Return the levels of the network that a gang asks for, besides nodes."""
    return tuple(dict.fromkeys(r.level for r in gang.levels if r.level != NODE_LEVEL))


def _where(
    resident: Resident, node: Node, levels: Sequence[str], canvas: Canvas
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the cells of a pod, and what each of its containers has where that is told."""
    where = (
        node.name,
        ", ".join(f"{level} {node.domain(level) or '-'}" for level in levels),
        resident.pod.spec.qos.value,
        *held_of(resident.place, node, canvas, own=resident.owns_cpus),
    )
    return where, containers_of(resident, node, canvas)


def _kind(resident: Resident) -> tuple[Hashable, ...]:
    pod = resident.pod
    return resident.place.gang or stem(pod.name), pod.namespace, pod.spec


def _fold(placed: Sequence[Resident], key: Callable[[Resident], Hashable]) -> list[list[Resident]]:
    groups: dict[Hashable, list[Resident]] = {}
    for resident in placed:
        groups.setdefault(key(resident), []).append(resident)
    return list(groups.values())


def _folded(groups: Sequence[Sequence[Resident]], canvas: Canvas) -> RenderableType:
    rows = []
    for members in groups:
        first = members[0]
        nodes = sorted({resident.place.node for resident in members})
        names = fold_names([resident.pod.title for resident in members])
        rows.append(
            [
                Text(first.place.gang or ""),
                Text(names),
                Text(str(len(members))),
                Text(fold_names(nodes)),
                Text(first.pod.spec.qos.value),
                Text(asked(first.pod.spec), QUIET),
            ]
        )
    head = ("gang", "pod", "pods", "node", "QoS", "each asks for")
    wrap = {"gang": 12, "pod": 16, "node": 16, "each asks for": 16}
    return table(head, rows, canvas.width, numbers=("pods",), wrap=wrap, spare=("QoS",))
