"""PCIe switches that a pod breaks: devices that leave more of them whole for later pods."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from placer.greedy.devices import pick_devices
from placer.greedy.inside import DevicesChosenForPod
from placer_models.goals import SWITCH_POINTS
from placer_models.problem.banks import ClassesBelow
from placer_models.problem.fits import JointDevicesFit
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Shape
from placer_models.problem.switches import fully_free_switches, has_several_devices_of_a_type


class PodSwitchUse(NamedTuple):
    """What a pod takes below switches.

    Attributes:
        several: Whether it has several whole devices of a type, and so breaks no switch.
        places: (bank, equivalence class) of each of its devices, whole or in part.

    """

    several: bool
    places: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, shape: Shape, taken: DevicesChosenForPod | Choice) -> "PodSwitchUse":
        """Return what a pod of the shape takes."""
        counts = taken.counts if isinstance(taken, DevicesChosenForPod) else taken.devices
        places = {(b, at) for b, of in enumerate(counts) for at, count in enumerate(of) if count}
        places |= {(share.bank, share.class_index) for share in taken.shares}
        return cls(has_several_devices_of_a_type(shape.devices), frozenset(places))


def device_choices_sparing_switches(
    node: NodeState, shape: Shape, joint: JointDevicesFit | None, cells: Collection[int]
) -> Iterator[DevicesChosenForPod]:
    """Yield devices as `pick_devices` finds them, then others that break fewer whole switches.

    These are looked for with whole switches hidden: all of them, or all but one, and so on. The
    ones that the first devices are below are shown first.
    """
    found = pick_devices(node, shape, joint, cells)
    if found is None:
        return
    yield found
    if not node.switches or node.load is not None or not (shape.devices or shape.shares):
        return
    broken = _broken(node, [PodSwitchUse.of(shape, found)])
    if not broken:
        return
    whole = [*broken, *(s for s in fully_free_switches(node) if s not in broken)]
    for shown in range(len(broken)):
        view = _hiding(node, shape, whole[shown:])
        spared = None if view is None else pick_devices(view, shape, joint, cells)
        if spared is not None:
            yield spared
            return


def whole_switch_points_lost(node: NodeState, uses: Sequence[PodSwitchUse]) -> int:
    """Return the points of tier ``usable`` of the whole switches that the pods break together."""
    return SWITCH_POINTS * len(_broken(node, uses)) if node.switches else 0


def _broken(node: NodeState, uses: Iterable[PodSwitchUse]) -> tuple[ClassesBelow, ...]:
    """Return the whole switches that pods have a part of, but none that has several devices."""
    several, single = set[tuple[int, int]](), set[tuple[int, int]]()
    for use in uses:
        (several if use.several else single).update(use.places)
    if not single:
        return ()
    return tuple(
        switch
        for switch in fully_free_switches(node)
        if not single.isdisjoint(switch) and several.isdisjoint(switch)
    )


def _hiding(node: NodeState, shape: Shape, switches: Collection[ClassesBelow]) -> NodeState | None:
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
