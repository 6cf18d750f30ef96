"""The devices of each container, out of those of its pod: sets with the best links (D7)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice, product

from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare, share_unless_whole
from placer_models.links.board import (
    LinkedDeviceClasses,
    counts_by_class,
    counts_summing_to,
    lowest_free_minors,
    pair_minimum,
    pair_sum,
    total_device_pair_distance,
)
from placer_models.placement import ContainerPlacement, DeviceGrant
from placer_models.pod import Container, ContainerRole, PodSpec
from placer_models.problem.banks import DeviceBank
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice

_Counts = tuple[int, ...]
"""How many devices of each equivalence class."""

_Want = Mapping[int | None, int]
"""Cell (None: no cell, or any) -> number of devices of a type that one container has."""

MOST_WAYS = 200
"""The most ways of serving the first containers that are pursued further: the best ones."""

MOST_STEPS = 20_000
"""How many sets are tried for a container at most, in all of these ways together."""


def divide_devices_among_containers(
    spec: PodSpec,
    containers: Sequence[ContainerPlacement],
    grants: Sequence[DeviceGrant],
    node: Node,
    state: NodeState,
    wants: Mapping[str, Sequence[_Want]] | None = None,
) -> tuple[ContainerPlacement, ...]:
    """Divide the devices of a pod among its containers.

    Containers that run together have devices of their own. Of all ways to divide the pod's
    devices, the best has the fastest slowest pairs, added up, then the most bandwidth, then
    devices nearest to what the container has of other types. An init container uses devices
    of later containers, but none of a sidecar that is up before it.

    Args:
        spec: The spec of the pod.
        containers: The pod's containers, in the order of the spec.
        grants: The pod's devices.
        node: The node that the pod is on.
        state: The same node in integers.
        wants: Device type -> what each container has of it, cell by cell, if each is
            aligned by itself.

    """
    if not grants:
        return tuple(containers)
    if len(containers) == 1:
        return (replace(containers[0], devices=_ascending(grants)),)
    device_of = {(d.type, d.minor): d for d in node.devices}
    bank_of = {bank.type: bank for bank in state.banks}
    held: list[list[DeviceGrant]] = [[] for _ in containers]
    # GPUs first: devices of other types then go where they are near.
    kinds = dict.fromkeys((grant.type, share_unless_whole(grant.share)) for grant in grants)
    for kind, share in sorted(
        kinds, key=lambda each: (each[0] != GPU, each[0], each[1] is not None)
    ):
        mine = [g for g in grants if (g.type, share_unless_whole(g.share)) == (kind, share)]
        counts = [_count(container, kind, share) for container in spec.containers]
        asking = [i for i, count in enumerate(counts) if count]
        if len(asking) == 1:
            held[asking[0]] += mine
            continue
        asked: Sequence[_Want] = (
            [{None: count} for count in counts] if wants is None else wants[kind]
        )
        near = [[device_of[g.type, g.minor] for g in has] for has in held]
        dealt = _dealt(spec, mine, bank_of[kind], asked, near, by_cell=wants is not None)
        for has, more in zip(held, dealt, strict=True):
            has += more
    return tuple(
        replace(part, devices=_ascending(has)) for part, has in zip(containers, held, strict=True)
    )


def _ascending(grants: Sequence[DeviceGrant]) -> tuple[DeviceGrant, ...]:
    """Return the devices in order, as the same object if they are in order already."""
    ordered = tuple(sorted(grants, key=lambda g: (g.type, g.minor)))
    return grants if isinstance(grants, tuple) and grants == ordered else ordered


def _count(container: Container, kind: str, share: DeviceShare | None) -> int:
    """Return how many devices of the type a container asks for with this share of each."""
    return sum(
        request.count
        for request in container.requests.devices
        if (request.type, share_unless_whole(request.share)) == (kind, share)
    )


def container_devices_by_type(
    spec: PodSpec, choice: Choice, indices: Sequence[int], cells: int, first_device: int
) -> dict[str, list[_Want]]:
    """Return what each container has of each device type from each cell, as the counts say.

    Args:
        spec: The spec of a pod whose containers are each aligned by themselves.
        choice: The counts.
        indices: The indices of the containers that hold something.
        cells: How many cells the node has.
        first_device: How many goods come before the devices.

    """
    types = [request.type for request in spec.requests.devices if request.count]
    places: list[int | None] = [*range(cells), None]
    wants: dict[str, list[_Want]] = {kind: [{} for _ in spec.containers] for kind in types}
    for index, rows in zip(indices, choice.containers, strict=True):
        for good, kind in enumerate(types, start=first_device):
            wants[kind][index] = dict(zip(places, rows[good], strict=True))
    return wants


def _dealt(
    spec: PodSpec,
    grants: Sequence[DeviceGrant],
    bank: DeviceBank,
    wants: Sequence[_Want],
    near: Sequence[Sequence[Device]],
    *,
    by_cell: bool,
) -> list[list[DeviceGrant]]:
    """Return which of the pod's devices of one type each container has."""
    grant_of = {grant.minor: grant for grant in grants}
    cells = bank.cells if by_cell else (None,) * len(bank.cells)
    keys = tuple(sorted(set(cells), key=str))
    group_of = tuple(keys.index(cell) for cell in cells)
    amounts = [tuple(want.get(cell, 0) for cell in keys) for want in wants]
    steps = [tuple(_steps(bank.board, devices)) for devices in near]

    def parts(some: Sequence[int], free: set[int]) -> list[set[int]]:
        room = counts_by_class(bank.board, free)
        found = best_disjoint_sets(
            bank.board,
            room,
            group_of,
            tuple(amounts[i] for i in some),
            tuple(steps[i] for i in some),
        )
        left, minors = set(free), []
        for counts in found:
            minors.append(set(lowest_free_minors(bank.board, counts, left)))
            left -= minors[-1]
        return minors

    lasting = [i for i, c in enumerate(spec.containers) if c.role is not ContainerRole.INIT]
    dealt: list[set[int]] = [set() for _ in wants]
    for i, minors in zip(lasting, parts(lasting, set(grant_of)), strict=True):
        dealt[i] = minors
    kept: set[int] = set()
    for i, container in enumerate(spec.containers):
        if container.role is ContainerRole.INIT:
            (dealt[i],) = parts([i], set(grant_of) - kept)
        elif container.role is ContainerRole.RESTARTABLE_INIT:
            kept |= dealt[i]
    return [[grant_of[minor] for minor in sorted(minors)] for minors in dealt]


def _steps(board: LinkedDeviceClasses, devices: Sequence[Device]) -> Iterator[int]:
    """Yield the distance of each class from the devices, added up over the devices.

    A device counts 0 on the same switch, else 1 on the same NUMA node, else 2 in the same
    package, else 3.
    """
    for switch, numa, package in zip(board.switches, board.numa_nodes, board.packages, strict=True):
        far = 0
        for device in devices:
            pairs = (
                (switch, device.pcie_switch),
                (numa, device.numa_node),
                (package, device.package),
            )
            far += next((i for i, (a, b) in enumerate(pairs) if a is not None and a == b), 3)
        yield far


@lru_cache(maxsize=4096)
def best_disjoint_sets(
    board: LinkedDeviceClasses,
    room: _Counts,
    group_of: tuple[int, ...],
    wants: tuple[_Counts, ...],
    steps: tuple[_Counts, ...],
) -> tuple[_Counts, ...]:
    """Return disjoint sets, one for each want, that together are the best.

    They are the very best unless there are too many ways to look at (`MOST_WAYS`,
    `MOST_STEPS`): with more than 8 devices of which no two are equivalent.

    Args:
        board: The devices.
        room: How many devices of each class there are to divide.
        group_of: The group of each class.
        wants: How many devices each container wants of each group. There are enough.
        steps: How far each container is from each class.

    """
    ways: dict[_Counts, tuple[tuple[int, ...], tuple[_Counts, ...]]] = {room: ((0,) * 4, ())}
    known: dict[_Counts, tuple[int, int, int]] = {}
    for want, far in zip(wants, steps, strict=True):
        longer: dict[_Counts, tuple[tuple[int, ...], tuple[_Counts, ...]]] = {}
        for left, (before, chosen) in ways.items():
            for counts in islice(_sets(want, left, group_of), MOST_STEPS // len(ways)):
                if counts not in known:
                    known[counts] = (
                        pair_minimum(board, counts),
                        pair_sum(board, counts),
                        total_device_pair_distance(board, counts),
                    )
                slowest, together, apart = known[counts]
                away = sum(a * b for a, b in zip(far, counts, strict=True))
                gain = (slowest, together, -away, -apart)
                worth = tuple(map(sum, zip(before, gain, strict=True)))
                rest = tuple(a - b for a, b in zip(left, counts, strict=True))
                if rest not in longer or worth > longer[rest][0]:
                    longer[rest] = (worth, (*chosen, counts))
        best = sorted(longer.items(), key=lambda way: way[1][0], reverse=True)
        ways = dict(best[:MOST_WAYS])
    return max(ways.values(), key=lambda way: way[0])[1]


def _sets(want: _Counts, left: _Counts, group_of: Sequence[int]) -> Iterator[_Counts]:
    """Yield each set with the wanted number of devices of each group, the lowest first."""
    rooms = (
        tuple(count if own == group else 0 for count, own in zip(left, group_of, strict=True))
        for group in range(len(want))
    )
    of_groups = (
        tuple(islice(counts_summing_to(size, room), MOST_STEPS))
        for size, room in zip(want, rooms, strict=True)
    )
    for parts in product(*of_groups):
        yield tuple(map(sum, zip(*parts, strict=True)))
