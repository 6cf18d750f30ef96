"""Devices, both ways: whole ones as counts of classes, shares by device, and both as minors."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from placer.counting.functions import free_virtual_function_label_counts, with_virtual_functions
from placer_models.cluster import Node, RunningPod
from placer_models.device import GPU, Device, DeviceKey, is_mig_instance
from placer_models.device_share import (
    ShareAmounts,
    amounts_of_share,
    device_capacity_of,
    whole_device_amounts,
)
from placer_models.links.board import LinkedDeviceClasses, counts_by_class, lowest_free_minors
from placer_models.mig import MEDIA, gpu_minor_of_mig_instance, mig_slices_covered
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.problem.banks import (
    DeviceChosenForShare,
    ShareableDevice,
    has_device_count_set_by_strategy,
)
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Shape

# One object for all nodes: Python makes a new empty set whenever it is asked for one.
_NONE_FREE: frozenset[DeviceKey] = frozenset()
_NONE_HELD: frozenset[tuple[str, int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class DevicesLeft:
    """What is left of the devices of a node.

    Attributes:
        healthy: Devices that may be given out, ascending by (type, minor).
        free: Those of them that nobody holds.
        shared: Those of them of which pods hold only shares -> what is left of each.
        held_functions: (type, minor, minor of the virtual function) of each that pods hold.

    """

    healthy: tuple[Device, ...]
    free: frozenset[DeviceKey]
    shared: Mapping[DeviceKey, ShareAmounts]
    held_functions: frozenset[tuple[str, int, int]]

    def free_count(self, kind: str) -> int:
        """Return how many devices of a type nobody holds."""
        return sum(of == kind for of, _ in self.free)


def devices_left(node: Node, pods: Sequence[RunningPod]) -> DevicesLeft:
    """Return what the pods that run on the node leave of its devices."""
    healthy = tuple([d for d in node.devices if node.is_healthy(d)])
    free = frozenset([(d.type, d.minor) for d in healthy]) or _NONE_FREE
    left = devices_after(DevicesLeft(healthy, free, {}, _NONE_HELD), pods)
    if not node.mig:
        return left
    held = {(grant.type, grant.minor) for pod in pods for grant in pod.placement.devices}
    return replace(left, free=left.free - _cut_off(node, held) or _NONE_FREE)


def devices_after(left: DevicesLeft, came: Iterable[RunningPod]) -> DevicesLeft:
    """Return what is left of the devices once pods have come; what MIG rules out is not looked at.

    A share that a device cannot give leaves nothing of it, and amounts below 0 become 0.
    """
    grants = [grant for pod in came for grant in pod.placement.devices]
    if not grants:
        return left
    free, shared, functions = set(left.free), dict(left.shared), left.held_functions
    device_of: dict[DeviceKey, Device] = {}
    if any(grant.share is not None for grant in grants):
        device_of = {(device.type, device.minor): device for device in left.healthy}
    for grant in grants:
        key: DeviceKey = grant.type, grant.minor
        if grant.vfs:
            functions |= {(grant.type, grant.minor, vf) for vf in grant.vfs}
        if grant.share is None:
            free.discard(key)
            shared.pop(key, None)
        elif key in free or key in shared:
            totals = device_capacity_of(device_of[key])
            had: ShareAmounts = shared.get(key) or whole_device_amounts(totals)
            taken = amounts_of_share(grant.share, totals) or whole_device_amounts(totals)
            shared[key] = tuple(max(0, h - t) for h, t in zip(had, taken, strict=True))
            free.discard(key)
    return DevicesLeft(left.healthy, frozenset(free) or _NONE_FREE, shared, functions)


def _cut_off(node: Node, held: Collection[DeviceKey]) -> frozenset[DeviceKey]:
    """Return the MIG instances for which there is no room beside what is held."""
    busy: defaultdict[int, set[int]] = defaultdict(set)
    for kind, minor in held:
        if is_mig_instance(kind):
            busy[gpu_minor_of_mig_instance(minor)].update(mig_slices_covered(node.mig, kind, minor))
        elif kind == GPU:
            busy[minor].update(range(MEDIA + 1))
    return frozenset(
        (d.type, d.minor)
        for d in node.devices
        if is_mig_instance(d.type)
        and not busy[gpu_minor_of_mig_instance(d.minor)].isdisjoint(
            mig_slices_covered(node.mig, d.type, d.minor)
        )
    )


def shareable_devices(
    left: DevicesLeft,
    device_type: str,
    board: LinkedDeviceClasses,
    opened: Collection[int] = (),
    *,
    functions: bool = False,
    by_minor: bool = False,
) -> tuple[tuple[tuple[int, ShareableDevice], ...], ...]:
    """Return for each equivalence class the devices that can take shares, each with its minor.

    Devices that are shared already come first, the fullest before the others; then those
    that nobody has a part of.

    Args:
        left: What is left on the node.
        device_type: The type.
        board: The board of the type.
        opened: Minors that come first among the devices that nobody has a part of.
        functions: Whether virtual functions are counted too.
        by_minor: Whether they are ascending by minor instead.

    """
    device_of = {d.minor: d for d in left.healthy if d.type == device_type}
    found = []
    for minors in board.classes:
        shared, free = [], []
        for minor in minors:
            key = device_type, minor
            is_free = key in left.free
            amounts = None if is_free else left.shared.get(key)
            if not is_free and not amounts:
                continue
            device, totals = device_of[minor], device_capacity_of(device_of[minor])
            ready = (
                free_virtual_function_label_counts(device, left.held_functions) if functions else ()
            )
            if amounts:
                shared.append((minor, ShareableDevice(amounts, totals, ready, shared=True)))
            else:
                free.append((minor, ShareableDevice(whole_device_amounts(totals), totals, ready)))
        shared.sort(key=lambda item: (item[1].left, item[0]))
        free.sort(key=lambda item: (item[0] not in opened, item[0]))
        both = (*shared, *free)
        found.append(tuple(sorted(both, key=lambda item: item[0])) if by_minor else both)
    return tuple(found)


def whole_devices_of_pod_by_class(
    state: NodeState, place: PodPlacement, shape: Shape
) -> tuple[tuple[int, ...], ...]:
    """Return for each bank how many devices of each equivalence class a placed pod has whole."""
    return tuple(
        counts_by_class(
            bank.board,
            [
                g.minor
                for g in place.devices
                if g.type == bank.type
                and g.share is None
                and not has_device_count_set_by_strategy(shape.shares, g.type)
            ],
        )
        for bank in state.banks
    )


def share_takes_of_placed_pod(
    state: NodeState,
    left: DevicesLeft,
    place: PodPlacement,
    shape: Shape,
    opened: Collection[DeviceKey],
) -> tuple[DeviceChosenForShare, ...]:
    """Return which device each share of a placed pod is on, numbered with ``opened`` ones first."""
    takes = []
    missing = [need.count for need in shape.shares]
    for position, bank in enumerate(state.banks):
        by_strategy = has_device_count_set_by_strategy(shape.shares, bank.type)
        held = [g for g in place.devices if g.type == bank.type and (g.share or by_strategy)]
        if not held:
            continue
        first = {minor for kind, minor in opened if kind == bank.type}
        place_of = {
            minor: (class_index, at)
            for class_index, members in enumerate(
                shareable_devices(left, bank.type, bank.board, first, by_minor=bank.by_minor)
            )
            for at, (minor, _) in enumerate(members)
        }
        for grant in held:
            index = next(
                i
                for i, need in enumerate(shape.shares)
                if need.type == grant.type
                and (need.strategy or (missing[i] and need.share == grant.share))
            )
            missing[index] -= 1
            takes.append(DeviceChosenForShare(position, *place_of[grant.minor], index))
    return tuple(sorted(takes))


def assign_devices_to_pods(
    left: DevicesLeft,
    state: NodeState,
    pods: Sequence[tuple[str, Shape, Choice]],
    kept: Mapping[int, tuple[DeviceGrant, ...]],
) -> list[tuple[DeviceGrant, ...]] | str:
    """Return the devices of every pod, ascending by (type, minor), or why there are none.

    Args:
        left: What is left on the node.
        state: The same node in integers.
        pods: Title, shape and place of every pod that is new on the node.
        kept: Position of a pod that stays -> the devices that it has.

    """
    granted: list[list[DeviceGrant]] = [list(kept.get(at, ())) for at in range(len(pods))]
    coming = [(pod, granted[at]) for at, pod in enumerate(pods) if at not in kept]
    held = {(grant.type, grant.minor) for grants in kept.values() for grant in grants}
    ids = {(device.type, device.minor): device.id for device in left.healthy}
    for position, bank in enumerate(state.banks):
        free = {minor for kind, minor in left.free - held if kind == bank.type}
        if bank.shareable:
            shareable = shareable_devices(left, bank.type, bank.board, by_minor=bank.by_minor)
            for (_, shape, choice), grants in coming:
                for take in choice.shares:
                    if take.bank == position:
                        minor, _ = shareable[take.class_index][take.device_index]
                        free.discard(minor)
                        need = shape.shares[take.need]
                        part = None if need.whole else need.share
                        grants.append(DeviceGrant(bank.type, minor, ids[bank.type, minor], part))
        for (title, _, choice), grants in coming:
            counts = choice.devices[position]
            if not any(counts):
                continue
            had = counts_by_class(bank.board, free)
            if any(want > have for want, have in zip(counts, had, strict=True)):
                return (
                    f"pod {title!r} takes {sum(counts)} {bank.type} devices; "
                    f"{len(free)} are free, and not those"
                )
            minors = lowest_free_minors(bank.board, counts, free)
            free.difference_update(minors)
            grants += [DeviceGrant(bank.type, m, ids[bank.type, m]) for m in minors]
    wishes = [
        {need.type: need.function for need in shape.shares if need.function is not None}
        for _, shape, _ in pods
    ]
    found = with_virtual_functions(left.healthy, left.held_functions, wishes, granted)
    if isinstance(found, str):
        return found
    return [tuple(sorted(grants, key=lambda g: (g.type, g.minor))) for grants in found]
