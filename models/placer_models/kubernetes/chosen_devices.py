"""Devices that some pods ask for and not the others of their type, told apart by a mark.

A mark is a quantity that only those devices have. Who asks for them takes all of it from each, and
with it all that the device has: nobody else has a part. So there needs to be no word for
a choice among the devices of a node beside that for shares of them.
"""

import hashlib
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from placer_models.capacity import DeviceQuantity
from placer_models.cluster import Machine
from placer_models.device import GPU, Device, DeviceKey
from placer_models.device_share import WHOLE_PERCENT, DeviceShare

_MARK = "placer/devices-"

_WHOLE = "placer/whole"
"""The quantity that every marked device has; who takes it has the device for itself."""


def device_set_mark(devices: Iterable[tuple[str, ...]]) -> str:
    """Return the mark of devices, by the names that their drivers gave them."""
    said = "\n".join(sorted("\t".join(one) for one in devices))
    return f"{_MARK}{hashlib.sha256(said.encode()).hexdigest()[:8]}"


def share_marking_device_set(kind: str, mark: str) -> DeviceShare:
    """Return what is taken of each device of a type by who asks for those with the mark.

    A share of a GPU names its memory, and so nobody has a part of a GPU whose memory is taken.
    """
    if kind == GPU:
        return DeviceShare(memory_percent=WHOLE_PERCENT, capacity=(DeviceQuantity(mark, 1),))
    return DeviceShare(capacity=(DeviceQuantity(mark, 1), DeviceQuantity(_WHOLE, 1)))


def device_set_mark_of_share(share: DeviceShare | None) -> str:
    """Return the mark of the devices that a share is taken of; empty if there is none."""
    names = (one.name for one in share.capacity) if share else ()
    return next((name for name in names if name.startswith(_MARK)), "")


def with_marked_devices(machine: Machine, marks: Mapping[str, Set[DeviceKey]]) -> Machine:
    """Return a machine whose devices have their marks.

    Args:
        machine: The machine.
        marks: Mark -> its devices there.

    """
    if not marks:
        return machine
    return replace(machine, devices=tuple(_marked(one, marks) for one in machine.devices))


def _marked(device: Device, marks: Mapping[str, Set[DeviceKey]]) -> Device:
    names = [mark for mark, keys in marks.items() if (device.type, device.minor) in keys]
    if not names:
        return device
    more = (DeviceQuantity(name, 1) for name in (*names, _WHOLE))
    capacity = sorted((*device.capacity, *more), key=lambda one: one.name)
    return replace(device, capacity=tuple(capacity))
