"""Nearer sets of devices among those that are equal in every tier (D7).

How near the devices of a pod are to each other decides no tier. So a finished placement is
looked at once more: a pod with several devices of a type takes others of its node instead,
if they are nearer and nothing that is measured gets worse.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from placer.counting.account import Account
from placer.counting.container_devices import divide_devices_among_containers
from placer.counting.environment import with_environment
from placer.search.baseline import StartingAccounts
from placer.search.judged import RejectedPlacement, ValidPlacement, judge_placement
from placer.search.rejected import note_rejected_places
from placer.state.out_of_time import Stop
from placer_models.cluster import Instance, NodesWithCachedFacts
from placer_models.cpsat.families import are_devices_exchangeable
from placer_models.device import GPU
from placer_models.links.board import (
    counts_by_class,
    lowest_free_minors,
    number_of_selectable_device_sets,
    pair_minimum,
    pair_sum,
    selectable_device_sets,
    total_device_pair_distance,
)
from placer_models.links.usable import total_devices_in_usable_sets
from placer_models.placement import (
    DeviceGrant,
    NamespacedName,
    Placement,
    PlaceRejectedByJudge,
    PodPlacement,
)
from placer_models.pod import pods_of_gangs
from placer_models.policy import AlignmentPolicy
from placer_models.problem.banks import DeviceBank
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem
from placer_models.problem.switches import fully_free_switches, has_several_devices_of_a_type

MOST_LOOKED_AT = 1_000
"""The most sets of devices looked through for one pod; if there are more, it keeps its own."""

_Counts = tuple[int, ...]
"""One count per equivalence class."""


def with_nearer_devices(
    instance: Instance,
    baseline: StartingAccounts,
    problem: Problem,
    best: ValidPlacement,
    rejected: list[PlaceRejectedByJudge] | None = None,
    stop: Stop = lambda: False,
) -> ValidPlacement:
    """Return the placement with devices nearer to each other, or as it is if none are.

    Pods whose devices a rule holds together are left alone: side by side with others,
    within a scope, from a partition table, dealt out to containers. So are MIG instances
    and running pods.

    Args:
        instance: What was placed.
        baseline: Its nodes before anything is placed.
        problem: The same in integers.
        best: The finished placement.
        rejected: Gets places that the judge rejects, with which the placement stays as it is.
        stop: Asked for each pod whether the time is over; then all later ones stay as they are.

    """
    nearer = placement_with_nearer_devices(
        instance, baseline.accounts, problem, best.placement, stop
    )
    if nearer is None:
        return best
    found = judge_placement(instance, baseline, nearer)
    if isinstance(found, RejectedPlacement):
        note_rejected_places([] if rejected is None else rejected, instance, nearer, found)
        return best
    return best if best.better_than(found) else found


def placement_with_nearer_devices(
    instance: Instance,
    accounts: Sequence[Account],
    problem: Problem,
    placement: Placement,
    stop: Stop = lambda: False,
) -> Placement | None:
    """Return the placement with nearer devices, not judged yet, or None if none are nearer.

    Args:
        instance: What was placed.
        accounts: Its nodes before anything is placed.
        problem: The same in integers.
        placement: The finished placement.
        stop: As in `with_nearer_devices`.

    """
    if stop():
        return None
    moved = _moved(instance, accounts, problem, placement, stop)
    if not moved:
        return None
    return Placement(tuple(moved.get(place.key, place) for place in placement.pods))


def _moved(
    instance: Instance,
    accounts: Sequence[Account],
    problem: Problem,
    placement: Placement,
    stop: Stop,
) -> dict[tuple[str, str], PodPlacement]:
    """Return new places of the pods that could have nearer devices."""
    if all(len(place.devices) < 2 for place in placement.pods):
        return {}
    node_of = NodesWithCachedFacts.of(instance.nodes).position
    index_of = {pod.key: index for index, pod in enumerate(pods_of_gangs(instance.gangs))}
    spec_of = {pod.key: pod.spec for pod in pods_of_gangs(instance.gangs)}
    free = {
        at: set(accounts[at].devices.free)
        for at in {node_of[place.node] for place in placement.pods}
    }
    on_node: dict[int, dict[NamespacedName, PodPlacement]] = {at: {} for at in free}
    for place in placement.pods:
        at = node_of[place.node]
        free[at] -= {(d.type, d.minor) for d in place.devices}
        on_node[at][place.key] = place
    moved = {}
    at_home = {home.key for home in instance.homes}
    for place in placement.pods:
        if stop():
            break
        if place.key in at_home:
            continue  # it would be one more pod that moves
        at, index = node_of[place.node], index_of[place.key]
        fit, state = problem.fit(index, at), problem.nodes[at]
        if fit is None:
            continue
        shape = problem.shape_on(problem.pods[index], state)
        bound = fit.alignment is not AlignmentPolicy.NONE
        devices = place.devices
        for bank in state.banks:
            mine = set(place.minors(bank.type))
            if len(mine) < 2 or (bank.type, len(mine)) not in shape.devices:
                continue
            if not are_devices_exchangeable(shape, fit, bank):
                continue
            left = {minor for kind, minor in free[at] if kind == bank.type}
            counts = find_nearer_device_set(
                bank,
                counts_by_class(bank.board, mine),
                counts_by_class(bank.board, left),
                _switches_beside(state, bank, place.key, on_node[at]),
                bound=bound,
            )
            if counts is not None:
                taken = lowest_free_minors(bank.board, counts, left | mine)
                free[at] |= {(bank.type, minor) for minor in mine}
                free[at] -= {(bank.type, minor) for minor in taken}
                devices = _exchanged(devices, bank.type, taken, accounts[at])
                on_node[at][place.key] = replace(place, devices=devices)
        if devices != place.devices:
            node, spec = instance.nodes[at], spec_of[place.key]
            parts = divide_devices_among_containers(spec, place.containers, devices, node, state)
            parts, env = with_environment(parts, node)
            moved[place.key] = replace(place, devices=devices, containers=parts, env=env)
    return moved


class SwitchNamesFreeOfOtherPods(NamedTuple):
    """Whole PCIe switches, as one pod with several devices of a type finds them.

    Attributes:
        untouched: Below them nobody else has any part of a device.
        excused: Only pods that break switches have others, so that one with several there counts.

    """

    untouched: frozenset[str] = frozenset()
    excused: frozenset[str] = frozenset()


def _switches_beside(
    node: NodeState,
    bank: DeviceBank,
    pod: NamespacedName,
    on_node: Mapping[NamespacedName, PodPlacement],
) -> SwitchNamesFreeOfOtherPods:
    """Return the switches that were whole before the batch, by who else has devices there now.

    Args:
        node: The node before the batch.
        bank: The devices of the type that the pod would exchange.
        pod: The pod.
        on_node: The places of all pods of the batch on the node.

    """
    switch_of = {
        (node.banks[at].type, minor): switch
        for classes in fully_free_switches(node)
        for at, class_index in classes
        if (switch := node.banks[at].board.switches[class_index]) is not None
        for minor in node.banks[at].board.classes[class_index]
    }
    if not switch_of:
        return SwitchNamesFreeOfOtherPods()
    several, single = set[str](), set[str]()
    for other in on_node.values():
        counts = Counter(grant.type for grant in other.devices if grant.share is None)
        below = {
            switch
            for grant in other.devices
            if other.key != pod or grant.type != bank.type
            if (switch := switch_of.get((grant.type, grant.minor))) is not None
        }
        (several if has_several_devices_of_a_type(counts.items()) else single).update(below)
    return SwitchNamesFreeOfOtherPods(
        frozenset(switch_of.values()) - several - single, frozenset(single - several)
    )


def _exchanged(
    devices: tuple[DeviceGrant, ...], kind: str, minors: Sequence[int], account: Account
) -> tuple[DeviceGrant, ...]:
    ids = {d.minor: d.id for d in account.devices.healthy if d.type == kind}
    others = [grant for grant in devices if grant.type != kind]
    mine = [DeviceGrant(kind, minor, ids[minor]) for minor in minors]
    return tuple(sorted([*others, *mine], key=lambda grant: (grant.type, grant.minor)))


@lru_cache(maxsize=4096)
def find_nearer_device_set(
    bank: DeviceBank,
    mine: _Counts,
    left: _Counts,
    switches: SwitchNamesFreeOfOtherPods,
    *,
    bound: bool,
) -> _Counts | None:
    """Return the nearest set as good as a pod's own in all else, or None if none is nearer.

    Of sets that are as near, those that leave more switches whole go first.

    Args:
        bank: The devices of a type.
        mine: What the pod has.
        left: What else is free.
        switches: The switches that were whole before.
        bound: Whether the pod has to stay on its NUMA nodes.

    """
    board, size = bank.board, sum(mine)
    now = (
        total_device_pair_distance(board, mine),
        len(switches.untouched & _switches_of(bank, mine)),
    )
    room = tuple(map(sum, zip(mine, left, strict=True)))
    if (
        size < 2
        or not any(now)
        or number_of_selectable_device_sets(board, size, room) > MOST_LOOKED_AT
    ):
        return None
    links = pair_minimum(board, mine), pair_sum(board, mine)
    excused = len(switches.excused & _switches_of(bank, mine))
    best: tuple[tuple[int, int], _Counts] = now, mine
    for found in selectable_device_sets(board, size, room):
        if (found.pair_minimum, found.pair_sum) != links:
            continue
        below = _switches_of(bank, found.counts)
        rank = total_device_pair_distance(board, found.counts), len(switches.untouched & below)
        if rank >= best[0] or len(switches.excused & below) < excused:
            continue
        if bound and _by_cell(bank, found.counts) != _by_cell(bank, mine):
            continue
        if _usable(bank, room, found.counts) >= _usable(bank, room, mine):
            best = rank, found.counts
    return None if best[1] == mine else best[1]


def _switches_of(bank: DeviceBank, counts: _Counts) -> set[str]:
    """Return the switches that the devices are below, as far as these are known."""
    pairs = zip(bank.board.switches, counts, strict=True)
    return {switch for switch, count in pairs if switch is not None and count}


def _by_cell(bank: DeviceBank, counts: _Counts) -> dict[int | None, int]:
    held: dict[int | None, int] = {}
    for cell, count in zip(bank.cells, counts, strict=True):
        if count:
            held[cell] = held.get(cell, 0) + count
    return held


def _usable(bank: DeviceBank, room: _Counts, taken: _Counts) -> int:
    """Return the usable points of what stays free."""
    if bank.type != GPU:
        return 0
    return total_devices_in_usable_sets(
        bank.board, tuple(a - b for a, b in zip(room, taken, strict=True))
    )
