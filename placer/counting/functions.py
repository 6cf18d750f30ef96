"""Virtual functions that come with shares of devices (D9): the free ones, and those given."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from placer.counting.matching import maximum_matching
from placer_models.device import Device, FunctionSelector, admits_virtual_function
from placer_models.placement import DeviceGrant
from placer_models.selectors import Labels

_Wishes = Mapping[str, FunctionSelector]
"""Device type -> which virtual function a pod's shares of the type come with."""

_Held = Collection[tuple[str, int, int]]
"""(type, minor, minor of the virtual function) of each virtual function that pods hold."""


def free_virtual_function_label_counts(
    device: Device, held: _Held
) -> tuple[tuple[Labels, int], ...]:
    """Return pairs of labels and the number of virtual functions with them that nobody holds."""
    return tuple(sorted(Counter(_free(device, held).values()).items()))


def _free(device: Device, held: _Held) -> dict[int, Labels]:
    """Return minor -> labels of the virtual functions that nobody holds."""
    return {
        function.minor: function.labels
        for function in device.virtual_functions
        if (device.type, device.minor, function.minor) not in held
    }


def with_virtual_functions(
    devices: Iterable[Device],
    held: _Held,
    wishes: Sequence[_Wishes],
    granted: Sequence[Sequence[DeviceGrant]],
) -> list[list[DeviceGrant]] | str:
    """Return the grants of every pod with virtual functions, or why there are not enough.

    Args:
        devices: The devices of the node.
        held: Virtual functions that running pods hold.
        wishes: The wishes of each pod that is new on the node.
        granted: The devices and shares of each of these pods.

    """
    found = [list(grants) for grants in granted]
    wanting: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for pod, grants in enumerate(found):
        for i, grant in enumerate(grants):
            if grant.share is not None and grant.type in wishes[pod]:
                wanting[grant.type, grant.minor].append((pod, i))
    device_of = {(d.type, d.minor): d for d in devices} if wanting else {}
    for (kind, minor), places in wanting.items():
        free = _free(device_of[kind, minor], held)
        # Low ones first.
        options = {
            (pod, i): [
                vf for vf, has in free.items() if admits_virtual_function(wishes[pod][kind], has)
            ]
            for pod, i in places
        }
        chosen = maximum_matching(options)
        if len(chosen) < len(places):
            return (
                f"{len(places)} shares of {kind} {minor} come with virtual functions; "
                f"{len(free)} are free, and not such as are wanted"
            )
        for (pod, i), function in chosen.items():
            found[pod][i] = replace(found[pod][i], vfs=(function,))
    return found
