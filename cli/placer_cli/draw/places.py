"""Who runs where, as a table; when many run, equal ones share a row."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from placer_cli.draw.legend import cpus_of, links_of, memory_of, others_of
from placer_cli.draw.palette import QUIET
from placer_cli.draw.residents import Resident
from placer_cli.draw.tables import table
from placer_cli.draw.waiting import asked
from placer_cli.draw.words import fold_names, short_list, stem
from placer_models.cluster import Instance, Node
from placer_models.device import GPU
from placer_models.placement import Unplaced

MOST_ROWS = 60
"""A longer table of pods is folded: pods of one spec on one node share a row."""


def draw_places(instance: Instance, residents: Mapping[str, Sequence[Resident]]) -> RenderableType:
    """Return a table of the newly placed pods, in the order in which they waited."""
    order = {pod.key: i for i, pod in enumerate(p for gang in instance.gangs for p in gang.pods)}
    nodes = {node.name: node for node in instance.nodes}
    placed = sorted(
        (r for tenants in residents.values() for r in tenants if not r.running),
        key=lambda r: order[r.pod.key],
    )
    if len(placed) <= MOST_ROWS:
        return _one_by_one(placed, nodes)
    by_node = _fold(placed, lambda r: (_kind(r), r.place.node))
    if len(by_node) <= MOST_ROWS:
        return _folded(by_node)
    return _folded(_fold(placed, _kind))


def draw_unplaced(unplaced: Sequence[Unplaced]) -> RenderableType:
    """Return a table of the pods left out and why; equal reasons are said once."""
    rows = []
    for (gang, reasons), same in groupby(unplaced, key=lambda pod: (pod.gang, pod.reasons)):
        pods = list(same)
        names = fold_names([_title(pod) for pod in pods])
        words = (names, gang or "", "\n".join(reasons))
        rows.append([Text(word) for word in words])
    return table(("pod", "gang", "why it has no place"), rows, wrap=("why it has no place",))


def _title(pod: Unplaced) -> str:
    return pod.name if pod.namespace == "default" else f"{pod.namespace}/{pod.name}"


def _one_by_one(placed: Sequence[Resident], nodes: Mapping[str, Node]) -> RenderableType:
    rows = []
    gang = None
    for resident in placed:
        place = resident.place
        words = (
            "" if place.gang == gang else (place.gang or ""),
            resident.pod.title,
            place.node,
            resident.pod.spec.qos.value,
            cpus_of(resident),
            memory_of(place),
            short_list(place.minors(GPU)),
            links_of(nodes[place.node], place),
            others_of(place),
        )
        gang = place.gang
        rows.append([Text(word) for word in words])
    head = ("gang", "pod", "node", "QoS", "CPUs", "memory", "GPU", "links", "other")
    return table(head, rows, wrap=("CPUs", "memory", "links"))


def _kind(resident: Resident) -> tuple[Hashable, ...]:
    pod = resident.pod
    return resident.place.gang or stem(pod.name), pod.namespace, pod.spec


def _fold(placed: Sequence[Resident], key: Callable[[Resident], Hashable]) -> list[list[Resident]]:
    groups: dict[Hashable, list[Resident]] = {}
    for resident in placed:
        groups.setdefault(key(resident), []).append(resident)
    return list(groups.values())


def _folded(groups: Sequence[Sequence[Resident]]) -> RenderableType:
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
    return table(head, rows, numbers=("pods",), wrap=("node", "each asks for"))
