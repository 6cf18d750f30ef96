"""GPUs in MIG mode in pictures: neither free nor broken, but cut into instances."""

from collections.abc import Iterable

from placer_models.cluster import Node
from placer_models.device import GPU

IN_MIG_MODE = "m"
"""Stands for a GPU in MIG mode."""


def has_broken_device(node: Node) -> bool:
    """Return whether a device of the node is broken; one in MIG mode is not."""
    modes = dict(node.mig)
    return not all(
        node.is_healthy(device) or (device.type == GPU and device.minor in modes)
        for device in node.machine.devices
    )


def broken_device_words(nodes: Iterable[Node]) -> str:
    """Return the words of the legend for devices that are given to nobody."""
    kept = any(node.checkpoint_devices for node in nodes)
    return " unhealthy, or kept by a checkpoint" if kept else " unhealthy"
