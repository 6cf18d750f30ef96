"""What running pods hold of the devices of a node, while they are read."""

from dataclasses import dataclass, field

from placer_models.device import Device
from placer_models.device_share import DeviceShare, room, taken
from placer_models.instance.errors import shown

Key = tuple[str, int]
"""Type and minor."""


@dataclass(slots=True)
class Holders:
    """The holders of devices: one of a whole one, or several with a share each."""

    _whole: dict[Key, str] = field(default_factory=dict)
    _shared: dict[Key, list[str]] = field(default_factory=dict)
    _left: dict[Key, tuple[int, int]] = field(default_factory=dict)

    def take(self, device: Device, share: DeviceShare | None, pod: str) -> str | None:
        """Give a device, or a share of it, to a pod; return what is wrong with that.

        Args:
            device: A device of the node.
            share: What the pod holds of it; None: all of it.
            pod: Title of the pod.

        """
        key = device.type, device.minor
        name = f"{device.type} {device.minor}"
        if key in self._whole:
            return (
                f"{name} belongs to the running pod {shown(self._whole[key])} already; "
                "a device has one holder"
            )
        others = self._shared.setdefault(key, [])
        if share is None:
            if others:
                return f"running pod {shown(others[0])} has a share of {name}; take another"
            self._whole[key] = pod
            return None
        if pod in others:
            return f"{name} is named twice; shares of a pod are on different devices"
        left = self._left.get(key, room(device.memory_bytes))
        amounts = taken(share, device.memory_bytes)
        if amounts is None or amounts[0] > left[0] or amounts[1] > left[1]:
            has = "of an unknown memory" if not device.memory_bytes else "of it"
            return f"{name} cannot give this share; {left[0]} percent {has} are left " + (
                f"and {left[1] // 100} bytes of memory" if device.memory_bytes else ""
            )
        self._left[key] = left[0] - amounts[0], left[1] - amounts[1]
        others.append(pod)
        return None
