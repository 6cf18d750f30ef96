"""Koordinator's Device object, written for a discovered machine (D11, D12)."""

import json

from placer.node.discover.held import held_device_entries
from placer.node.discover.machine import DiscoveredMachine
from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.device_request import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, PERCENT_TYPES
from placer_models.device_share import WHOLE_PERCENT
from placer_models.files.errors import InputError
from placer_models.files.part import Json
from placer_models.kubernetes.names import DEVICE_CHECKPOINTS
from placer_models.quantity import format_bytes

_WHOLE = str(WHOLE_PERCENT)
_PERCENT_OF = {kind: name for name, kind in PERCENT_TYPES.items()}


def write_device_object(found: DiscoveredMachine) -> Json:
    """Return the Device object of the node: its devices, with what pods may have of each.

    What device plugins have given to pods is in an annotation, by the ids of the object. A GPU
    in MIG mode is written as unhealthy: it cannot be had as a whole, and the object has no word
    for instances.

    Raises:
        InputError: A device is known by its number alone, as in the zones of another agent's
            NodeResourceTopology: nobody could find it from the object.

    """
    node = found.whole_node()
    for device in node.machine.devices:
        if not (device.id or device.bus_id):
            message = (
                f"{device.type} {device.minor} has neither an id nor a bus id there; look into the "
                "machine itself, or into a copy of its /sys"
            )
            raise InputError(found.inventory.source, None, "", message)
    models = {device.model for device in node.machine.devices if device.type == GPU}
    held = held_device_entries(found.inventory, node.machine.devices)
    annotations = {DEVICE_CHECKPOINTS[0]: json.dumps(held, separators=(",", ":"))} if held else {}
    labels = {"node.koordinator.sh/gpu-model": _as_label(*models)} if len(models) == 1 else {}
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {
            "name": node.name,
            **({"labels": labels} if any(labels.values()) else {}),
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {"devices": [_device(device, node) for device in node.machine.devices]},
    }


def _as_label(model: str) -> str:
    """Return the model, reduced to what a label's value may hold."""
    text = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in model)
    return text.strip("-_.")[:63].strip("-_.")


def _device(device: Device, node: Node) -> Json:
    written: Json = {
        "type": device.type,
        "id": device.id,
        "minor": device.minor,
        "health": node.is_healthy(device),
        "resources": _resources(device),
        "topology": {
            # -1 means unknown, as Koordinator's agent writes it.
            "socketID": -1 if device.package is None else device.package,
            "nodeID": -1 if device.numa_node is None else device.numa_node,
            "pcieID": device.pcie_switch or device.pcie_root or "",
            "busID": device.bus_id,
        },
    }
    if device.virtual_functions:
        groups: dict[tuple[tuple[str, str], ...], list[Json]] = {}
        for vf in device.virtual_functions:
            groups.setdefault(vf.labels, []).append({"minor": vf.minor, "busID": vf.bus_id})
        written["vfGroups"] = [
            {**({"labels": dict(labels)} if labels else {}), "vfs": vfs}
            for labels, vfs in groups.items()
        ]
    return written


def _resources(device: Device) -> dict[str, str]:
    if device.type == GPU:
        memory = {GPU_MEMORY: format_bytes(device.memory_bytes)} if device.memory_bytes else {}
        return {GPU_CORE: _WHOLE, **memory, GPU_MEMORY_RATIO: _WHOLE}
    if device.type in _PERCENT_OF:
        return {_PERCENT_OF[device.type]: _WHOLE}
    return {device.type: "1", **{q.name: str(q.amount) for q in device.capacity}}
