"""Holders of a node's devices among its running pods, while these are read."""

from dataclasses import dataclass, field

from placer_models.capacity import format_amount
from placer_models.device import Device, DeviceKey
from placer_models.device_share import (
    DeviceShare,
    ShareAmounts,
    amounts_of_share,
    device_capacity_of,
    share_amounts_left,
    share_fits,
    whole_device_amounts,
)
from placer_models.message_text import in_quotes


@dataclass(slots=True)
class DeviceHolderLedger:
    """The holders of devices: one pod of a whole device, or several with a share each."""

    _whole: dict[DeviceKey, str] = field(default_factory=dict)
    _shared: dict[DeviceKey, list[str]] = field(default_factory=dict)
    _left: dict[DeviceKey, ShareAmounts] = field(default_factory=dict)

    def take(self, device: Device, share: DeviceShare | None, pod: str) -> str | None:
        """Give a device, or a share of it, to a pod, or return what is wrong with that.

        Args:
            device: A device of the node.
            share: What the pod holds of it; None: all of it.
            pod: Title of the pod.

        """
        key = device.type, device.minor
        name = f"{device.type} {device.minor}"
        if key in self._whole:
            return (
                f"{name} belongs to the running pod {in_quotes(self._whole[key])} already; "
                "a device has one holder"
            )
        others = self._shared.setdefault(key, [])
        if share is None:
            if others:
                return f"running pod {in_quotes(others[0])} has a share of {name}; take another"
            self._whole[key] = pod
            return None
        if pod in others:
            return f"{name} is named twice; shares of a pod are on different devices"
        totals = device_capacity_of(device)
        left = self._left.get(key, whole_device_amounts(totals))
        amounts = amounts_of_share(share, totals)
        if amounts is None or not share_fits(amounts, left):
            return f"{name} cannot give this share; {_left_of(device, left)} are left"
        self._left[key] = share_amounts_left(left, amounts)
        others.append(pod)
        return None


def _left_of(device: Device, left: ShareAmounts) -> str:
    """Say what is left of a device: ``50 percent of it and 1024 bytes of memory``."""
    percent, memory, *others = left
    parts = [f"{memory // 100} bytes of memory"] if device.memory_bytes else []
    for quantity, amount in zip(device.capacity, others, strict=True):
        parts.append(f"{format_amount(amount // 100, quantity.unit)} of {quantity.name}")
    known = device.memory_bytes or device.capacity
    of = "of it" if known else "of an unknown memory"
    return " and ".join([f"{percent} percent {of}", *parts])
