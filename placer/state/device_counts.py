"""Device requests of pods, with the strategies that set how many devices a pod has (D9)."""

from collections.abc import Iterable
from dataclasses import replace

from placer.counting.boards import healthy_devices
from placer_models.cluster import Node
from placer_models.device_share import (
    WHOLE_PERCENT,
    DeviceShare,
    device_capacity_of,
    whole_device_amounts,
)
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.pod import PodSpec, Resources
from placer_models.problem.banks import DeviceShareNeed


def pod_requests_given_node(spec: PodSpec, node: Node) -> Resources:
    """Return what the pod asks of the node, given what the node has.

    Devices that follow those of another type are left out, because their number is not known
    before those are chosen.
    """
    strategies = dict(spec.strategies)
    if not strategies:
        return spec.requests
    devices = []
    for request in spec.requests.devices:
        strategy = strategies.get(request.type)
        if strategy is DeviceCountStrategy.APPLY_FOR_ALL:
            devices.append(replace(request, count=len(healthy_devices(node, request.type))))
        elif strategy is None:
            devices.append(request)
    return replace(spec.requests, devices=tuple(devices))


def device_share_needs_of_pod(
    spec: PodSpec, nodes: Iterable[Node] = ()
) -> tuple[DeviceShareNeed, ...]:
    """Return the pod's needs for shares of devices, and for devices by a strategy.

    Args:
        spec: The spec of the pod.
        nodes: The nodes whose devices tell how large an amount is.

    """
    functions, strategies = dict(spec.functions), dict(spec.strategies)
    whole = DeviceShare(percent=WHOLE_PERCENT)
    return tuple(
        DeviceShareNeed(
            d.type,
            d.count,
            d.share or whole,
            functions.get(d.type) if d.share else None,
            strategies.get(d.type),
            whole=not d.share,
            size_percent=_size_percent(d.type, d.share or whole, nodes),
            choice=spec.device_choice if d.share else None,
        )
        for d in spec.requests.devices
        if d.count and (d.share or d.type in strategies)
    )


def _size_percent(kind: str, share: DeviceShare, nodes: Iterable[Node]) -> int:
    """Return the percentage of the type's largest device that a share is, by its largest part."""
    parts = [1, share.percent or 0, share.memory_percent or 0]
    if asked := share.amounts:
        totals = {device_capacity_of(d) for node in nodes for d in node.devices if d.type == kind}
        most = dict.fromkeys(asked, 1)
        for has in totals:
            for name, amount in zip(has.names, whole_device_amounts(has), strict=True):
                if name in most:
                    most[name] = max(most[name], amount // 100)
        parts += [100 * amount // most[name] for name, amount in asked.items()]
    return max(parts)
