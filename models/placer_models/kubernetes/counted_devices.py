"""Devices of which a node says how many it has, and nobody says which.

They matter where other nodes list their devices one by one: pods ask for both in the same words.
Such a node has as many devices as it says, alike and with made-up minors, which nothing that is
written for a cluster or a container names. The kubelet picks among them.
"""

from collections.abc import Iterable, Set
from dataclasses import replace

from placer_models.device import GPU, Device
from placer_models.device_request import DEVICE_RESOURCES, PERCENT_TYPES
from placer_models.kubernetes.join import MOST_ZONE_DEVICES, NodeFromObjects
from placer_models.kubernetes.resources import counts_devices_of
from placer_models.visible_devices import UNNAMED_GPUS


def with_amounts_as_counted_devices(joined: NodeFromObjects, types: Set[str]) -> NodeFromObjects:
    """Return a node with its amounts of devices as devices that are only counted.

    A node with several resources of one type, such as GPUs of two vendors, keeps them as amounts:
    nobody could say which of them a pod holds. So does one with more than a machine can have.

    Args:
        joined: The node.
        types: Types that some node of the cluster lists one by one.

    """
    node = joined.node
    amounts = {name: n for name, n in node.extended if counts_devices_of(name, types)}
    kinds = [device_type_asked_by_resource(name) for name in amounts]
    counted = {
        device_type_asked_by_resource(name): (name, n)
        for name, n in amounts.items()
        if kinds.count(device_type_asked_by_resource(name)) == 1 and n <= MOST_ZONE_DEVICES
    }
    if not counted:
        return joined
    found = [Device(kind, minor) for kind, (_, n) in counted.items() for minor in range(n)]
    devices = sorted((*node.machine.devices, *found), key=lambda one: (one.type, one.minor))
    names = {name for name, _ in counted.values()}
    labels = {**dict(node.labels), **dict([UNNAMED_GPUS] if GPU in counted else [])}
    return replace(
        joined,
        node=replace(
            node,
            machine=replace(node.machine, devices=tuple(devices)),
            extended=tuple(one for one in node.extended if one[0] not in names),
            labels=tuple(sorted(labels.items())),
        ),
        taken=(*joined.taken, *((one.type, one.minor) for one in found)),
        counted=tuple(sorted((kind, name) for kind, (name, _) in counted.items())),
    )


def device_type_asked_by_resource(name: str) -> str:
    """Return the type of the devices that a resource asks for."""
    return PERCENT_TYPES.get(name) or (GPU if name in DEVICE_RESOURCES else name)


def selector_for_nodes_listing_devices(
    asked: Iterable[str], counted: Set[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Return the labels that keep a pod off nodes that only count what it asks for otherwise.

    Args:
        asked: Names of the devices' resources that the pod asks for.
        counted: (Type, resource) of all nodes that only count devices.

    """
    names = set(asked)
    return tuple(
        _beyond(name)
        for kind, name in sorted(counted)
        if any(device_type_asked_by_resource(one) == kind and one != name for one in names)
    )


def labels_of_node_listing_devices(
    joined: NodeFromObjects, counted: Set[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Return the labels of a node that stand for not just counting devices of some resource."""
    return tuple(_beyond(name) for _, name in sorted(counted - set(joined.counted)))


def _beyond(name: str) -> tuple[str, str]:
    return f"placer:{name.replace('/', '-')}-not-only-counted", "true"
