"""PCIe switches that a pod breaks: devices that leave more of them whole for later pods."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from placer.greedy.devices import DevicesTaken, pick_devices
from placer_models.goals import SWITCH_POINTS
from placer_models.joint_fit import JointFit
from placer_models.node_state import NodeState
from placer_models.problem import Shape
from placer_models.shares import ShareTake
from placer_models.switches import Switch, whole_switches

_Counts = tuple[tuple[int, ...], ...]
"""For each bank, whole devices from each equivalence class."""


def device_options(
    node: NodeState, shape: Shape, joint: JointFit | None, cells: Collection[int]
) -> Iterator[DevicesTaken]:
    """Yield devices as `pick_devices` finds them, then others that break fewer whole switches.

    These are looked for with whole switches hidden: all of them, or all but one, and so on. The
    ones that the first devices are below are shown first.
    """
    found = pick_devices(node, shape, joint, cells)
    if found is None:
        return
    yield found
    if not node.switches or node.load is not None:
        return
    broken = _broken(node, found.counts, found.shares)
    if not broken:
        return
    whole = [*broken, *(s for s in whole_switches(node.switches, node.banks) if s not in broken)]
    for shown in range(len(broken)):
        view = _hiding(node, shape, whole[shown:])
        spared = None if view is None else pick_devices(view, shape, joint, cells)
        if spared is not None:
            yield spared
            return


def points_of_switches(node: NodeState) -> int:
    """Return the points of tier ``usable`` of the node's whole switches."""
    return SWITCH_POINTS * len(whole_switches(node.switches, node.banks))


def points_broken(node: NodeState, counts: _Counts, shares: tuple[ShareTake, ...]) -> int:
    """Return the points of tier ``usable`` of the whole switches that these devices break."""
    return SWITCH_POINTS * len(_broken(node, counts, shares)) if node.switches else 0


def _broken(node: NodeState, counts: _Counts, shares: tuple[ShareTake, ...]) -> tuple[Switch, ...]:
    """Return the whole switches below which some of the devices are."""
    if not shares and not any(map(any, counts)):
        return ()
    opened = {(take.bank, take.class_index) for take in shares}
    return tuple(
        switch
        for switch in whole_switches(node.switches, node.banks)
        if any(counts[bank][at] or (bank, at) in opened for bank, at in switch)
    )


def _hiding(node: NodeState, shape: Shape, switches: Collection[Switch]) -> NodeState | None:
    """Return the node as if no device below the switches, which are whole, were free.

    The answer is None if too few devices are left of a type that the pod wants whole.
    """
    hidden = {place for switch in switches for place in switch}
    free = [
        tuple(
            0 if (index, class_index) in hidden else count
            for class_index, count in enumerate(bank.free)
        )
        for index, bank in enumerate(node.banks)
    ]
    wanted = dict(shape.devices)
    if any(sum(f) < wanted.get(b.type, 0) for b, f in zip(node.banks, free, strict=True)):
        return None
    banks = zip(node.banks, free, strict=True)
    return replace(node, banks=tuple(replace(bank, free=counts) for bank, counts in banks))
