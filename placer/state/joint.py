"""Joint allocation: what devices side by side mean on a kind of node (D9)."""

from collections.abc import Mapping

from placer.counting.boards import healthy_devices, linked_classes_of_node
from placer_models.alignment import CellAmounts, fewest_cell_count_for_all_resources
from placer_models.cluster import Node
from placer_models.device import Device
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.pod import PodSpec
from placer_models.policy import JointDevicesScope, RequiredOrPreferred
from placer_models.problem.fits import JointDevicesFit

_Group = str | int | None
"""A PCIe switch, a PCIe root or a NUMA node; None if that of a device is not known."""


def joint_fit_of(spec: PodSpec, node: Node) -> JointDevicesFit | None:
    """Return what the pod's wish means on the node, or None if it joins fewer than two types."""
    asked = _asked(spec)
    if spec.joint is None or len(asked) < 2:
        return None
    group_of = _groups(spec.joint.scope, node, tuple(asked))
    keys = sorted({group for group in group_of.values() if group is not None}, key=str)
    index: dict[_Group, int | None] = {key: i for i, key in enumerate(keys)}
    boards = [linked_classes_of_node(node, kind) for kind in asked]
    return JointDevicesFit(
        types=tuple(asked.items()),
        groups=tuple(
            tuple(index.get(group_of[kind, minors[0]]) for minors in board.classes)
            for kind, board in zip(asked, boards, strict=True)
        ),
        beside=_beside(spec, asked, _healthy_in(group_of, node, asked)),
        each=_each(spec, asked),
    )


def _asked(spec: PodSpec) -> dict[str, int]:
    """Return type -> count of the types that the pod wants side by side and asks for.

    Types of which the pod gets all devices, wherever they are, are left out.
    """
    everywhere = {kind for kind, how in spec.strategies if how is DeviceCountStrategy.APPLY_FOR_ALL}
    types = [kind for kind in (spec.joint.types if spec.joint else ()) if kind not in everywhere]
    counts = {kind: spec.requests.count_of(kind) for kind in types}
    return {kind: count for kind, count in counts.items() if count}


def _each(spec: PodSpec, asked: Mapping[str, int]) -> tuple[int, ...]:
    """Return the types, by index, of which each group gives one device."""
    return tuple(i for i, kind in enumerate(asked) if kind in dict(spec.strategies))


def _groups(
    scope: JointDevicesScope, node: Node, types: tuple[str, ...]
) -> dict[tuple[str, int], _Group]:
    """Return (type, minor) -> group of the devices of the types."""
    devices = [d for d in node.devices if d.type in types]
    with_switch = {d.type for d in devices if d.pcie_switch is not None}

    def group(device: Device) -> _Group:
        if scope is JointDevicesScope.SAME_NUMA_NODE:
            return device.numa_node
        return device.pcie_switch if with_switch == set(types) else device.pcie_root

    return {(d.type, d.minor): group(d) for d in devices}


def _healthy_in(
    group_of: Mapping[tuple[str, int], _Group], node: Node, asked: Mapping[str, int]
) -> list[CellAmounts]:
    """Return for each group how many healthy devices of each type it has."""
    ready = [(kind, device.minor) for kind in asked for device in healthy_devices(node, kind)]
    groups = {group_of[key] for key in ready} - {None}
    return [
        tuple(sum(key[0] == kind and group_of[key] == group for key in ready) for kind in asked)
        for group in sorted(groups, key=str)
    ]


def _beside(
    spec: PodSpec, asked: Mapping[str, int], cells: list[CellAmounts]
) -> tuple[tuple[int, int], ...]:
    """Return (a, b), types by index: each group that gives a device of a gives one of b."""
    if spec.joint is None or spec.joint.strength is not RequiredOrPreferred.REQUIRED:
        return ()
    counts, each = tuple(asked.values()), _each(spec, asked)
    others = range(1, len(counts))
    # Of some types each group gives one device, however many that are.
    counted = tuple(0 if i in each else count for i, count in enumerate(counts))
    if _in_full(counted, cells):
        return tuple(pair for i in others for pair in ((0, i), (i, 0)))
    return tuple(
        pair
        for i in others
        for pair, holds in (((i, 0), counts[i] <= counts[0]), ((0, i), counts[0] <= counts[i]))
        if holds or i in each
    )


def _in_full(counts: CellAmounts, cells: list[CellAmounts]) -> bool:
    """Return whether groups could give all devices so that each group in use gives every type."""
    wanted = [i for i, count in enumerate(counts) if count]
    full = [cell for cell in cells if all(cell[i] for i in wanted)]
    fewest = fewest_cell_count_for_all_resources(full, counts)
    return fewest is not None and fewest <= min(counts[i] for i in wanted)
