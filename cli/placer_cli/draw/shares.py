"""Shares of devices as people read them."""

from placer_cli.draw.words import memory, quantity_text, short_list
from placer_models.device_share import DeviceShare
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement


def share(part: DeviceShare) -> str:
    """Write what is held of a device: ``25 %``, ``50 %, 30Gi``, ``space 5Gi, queues 8``."""
    words = [f"{part.percent} %"] if part.percent is not None else []
    if part.memory_bytes is not None:
        words.append(memory(part.memory_bytes))
    elif part.memory_percent is not None and part.memory_percent != part.percent:
        words.append(f"{part.memory_percent} % of memory")
    words += [f"{quantity.name} {quantity_text(quantity)}" for quantity in part.capacity]
    return ", ".join(words)


def devices_of(place: PodPlacement | ContainerPlacement, kind: str) -> str:
    """List the devices of a type that something has, whole ones first: ``1-2``, ``0 (25 %)``."""
    held = [grant for grant in place.devices if grant.type == kind]
    whole = [grant.minor for grant in held if grant.share is None]
    words = [short_list(whole)] if whole else []
    words += [f"{grant.minor} ({_part(grant)})" for grant in held if grant.share]
    return ", ".join(words)


def _part(grant: DeviceGrant) -> str:
    """Write what is held of a device, with its virtual functions: ``1 %, vf 3``."""
    words = [share(grant.share)] if grant.share else []
    words += [f"vf {short_list(grant.vfs)}"] if grant.vfs else []
    return ", ".join(words)
