"""Families of pods and classes of nodes, none of which a bound has to tell apart.

The bound sees only sums of what a node has and of what a pod takes of it. So nodes are
alike if these sums are equal and equally many pods of each family are at home there.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from placer_models.device_share import (
    DeviceCapacity,
    ShareAmounts,
    amounts_of_share,
    whole_device_amounts,
)
from placer_models.problem.banks import DeviceBank
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem, Shape

MOST_BITS = 40
"""What a node has is counted in at most this many bits, so that no sum exceeds 64 bits."""

Counting = tuple[str, str]
"""A resource, called as in `placement.TierBottleneck`, and a way to count it."""

Demands = dict[Counting, tuple[int, int]]
"""What is counted -> (what a node has of it, what a pod takes of it)."""


@dataclass(frozen=True, slots=True)
class RelaxedEqualPods:
    """Equal members of a gang, or equal lone pods.

    Attributes:
        gang: Index of the gang, or None if each pod is a gang of its own.
        shape: Index of their shape.
        pods: Indices of the pods.
        at_home: Whether they run now and may move.

    """

    gang: int | None
    shape: int
    pods: tuple[int, ...]
    at_home: bool


@dataclass(frozen=True, slots=True)
class RelaxedNodeClass:
    """Nodes that a bound does not have to tell apart.

    Attributes:
        nodes: Their indices.
        demands: Shape -> what its pods take of such a node, or None if they never run there.
        offered: Whether these are offered nodes, which are not there yet.
        residents: (family, how many of its pods are at home on each of the nodes).

    """

    nodes: tuple[int, ...]
    demands: Mapping[int, Demands | None]
    offered: bool
    residents: tuple[tuple[int, int], ...]


def equal_pod_groups(problem: Problem) -> list[RelaxedEqualPods]:
    """Group the pods of a Problem, in the order of their first pods."""
    alike: defaultdict[tuple[int | None, int, int, int, bool], list[int]] = defaultdict(list)
    at_home = {pod for pod, _ in problem.homes}
    for index, gang in enumerate(problem.gangs):
        owner = None if len(gang.pods) == 1 and gang.group is None else index
        for pod in gang.pods:
            key = owner, problem.pods[pod], gang.level, gang.weight, pod in at_home
            alike[key].append(pod)
    return [
        RelaxedEqualPods(owner, shape, tuple(pods), home)
        for (owner, shape, _, _, home), pods in alike.items()
    ]


def equal_node_groups(
    problem: Problem, families: list[RelaxedEqualPods], stop: Callable[[], bool]
) -> list[RelaxedNodeClass] | None:
    """Group the nodes of a Problem, or return None if stopped."""
    shapes = {family.shape for family in families}
    family_of = {pod: index for index, family in enumerate(families) for pod in family.pods}
    at_home: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for pod, home in problem.homes:
        if home is not None:
            at_home[home.node][family_of[pod]] += 1
    equal: defaultdict[tuple[NodeState, tuple[tuple[int, int], ...]], list[int]]
    equal = defaultdict(list)
    for index, node in enumerate(problem.nodes):
        equal[node, tuple(sorted(at_home[index].items()))].append(index)
    found: dict[object, RelaxedNodeClass] = {}
    for (node, residents), nodes in equal.items():
        if stop():
            return None
        demands = {shape: _demands(problem, shape, node) for shape in shapes}
        key = (
            node.offered,
            residents,
            tuple(None if asked is None else tuple(asked.items()) for asked in demands.values()),
        )
        before = found[key].nodes if key in found else ()
        found[key] = RelaxedNodeClass((*before, *nodes), demands, node.offered, residents)
    return list(found.values())


def _demands(problem: Problem, index: int, node: NodeState) -> Demands | None:
    """Return what a shape takes of a node, or None if it never runs there."""
    shape = problem.shape_on(index, node)
    if problem.fits[index][node.kind] is None:
        return None
    wanted = shape.amounts_on(node)
    found = {("cpu", "by id"): (sum(c.cores * c.free for c in node.cores), shape.owned_cpus)}
    for position, (left, asked) in enumerate(zip(node.amounts, wanted, strict=True)):
        resource = problem.dimensions[position].resource
        found[resource, f"amount {position}"] = _scaled(left, asked)
    for device_type, count in shape.devices:
        bank = node.bank(device_type)
        found[device_type, "whole"] = (sum(bank.free) if bank else 0, count)
    for place, need in enumerate(shape.shares):
        bank = node.bank(need.type)
        devices = [device for members in bank.shareable for device in members] if bank else []
        least = need.least_on(bank.board) if bank else need.count
        most = len(problem.pods) * least
        room = sum(device.room_for(need.share, most, need.function) for device in devices)
        found[need.type, f"share {index}.{place}"] = (room, least)
    for bank in node.banks:
        if bank.shareable:
            found |= _of_parts(bank, shape)
    return {name: amounts for name, amounts in found.items() if amounts[1]}


def node_groups_limited_to_resources(
    classes: Sequence[RelaxedNodeClass], counted: Collection[tuple[str, int]]
) -> list[RelaxedNodeClass]:
    """Return the classes of nodes with these resources alone.

    Args:
        classes: The classes.
        counted: (resource, index of the class of which it counts).

    """
    return [
        replace(
            alike,
            demands={
                shape: asked
                and {key: amounts for key, amounts in asked.items() if (key[0], c) in counted}
                for shape, asked in alike.demands.items()
            },
        )
        for c, alike in enumerate(classes)
    ]


def _of_parts(bank: DeviceBank, shape: Shape) -> Demands:
    """Return what whole devices and shares of one type take together, quantity by quantity."""
    devices = [device for members in bank.shareable for device in members]
    kinds = {device.totals for device in devices}
    asked: Counter[str] = Counter()
    if whole := shape.whole_of(bank.type):
        for name, least in _least([(kind, whole_device_amounts(kind)) for kind in kinds]).items():
            asked[name] += whole * least
    for need in shape.shares:
        if need.type == bank.type:
            parts = [
                (k, part) for k in kinds if (part := amounts_of_share(need.share, k)) is not None
            ]
            for name, least in _least(parts).items():
                asked[name] += need.least_on(bank.board) * least
    return {
        (bank.type, name): _scaled(sum(device.left_of(name) for device in devices), amount)
        for name, amount in asked.items()
    }


def _least(parts: list[tuple[DeviceCapacity, ShareAmounts]]) -> dict[str, int]:
    """Return for each quantity the least that is taken of a device, over all kinds of devices."""
    named = [dict(zip(kind.names, part, strict=True)) for kind, part in parts]
    names = dict.fromkeys(name for part in named for name in part)
    return {name: min(part.get(name, 0) for part in named) for name in names}


def _scaled(left: int, asked: int) -> tuple[int, int]:
    """Return both in a unit so large that no sum exceeds 64 bits.

    Rounding asks for less than is wanted and offers more than is there, so it cuts off nothing.
    """
    scale = 1 + (left >> MOST_BITS)
    return -(-left // scale), asked // scale
