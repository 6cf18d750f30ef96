"""Devices that checkpoints of kubelets keep from pods, as a reason for pods left out (D12)."""

from collections.abc import Iterator, Mapping, Sequence

from placer.search.reasons.register import REASON_RULES
from placer_models.cluster import Node
from placer_models.device import GPU, is_mig_instance
from placer_models.pod import PodSpec
from placer_models.reasons import Blocked, KeptByCheckpoint, Reason, ReasonTimeout


def kept_by_checkpoints(nodes: Sequence[Node]) -> dict[str, KeptByCheckpoint]:
    """Return type -> how many devices checkpoints keep from pods, for types with any."""
    devices: dict[str, int] = {}
    where: dict[str, set[str]] = {}
    for node in nodes:
        if not node.checkpoint_devices:
            continue
        for kind, _ in node.checkpoint_devices & node.unhealthy:
            devices[kind] = devices.get(kind, 0) + 1
            where.setdefault(kind, set()).add(node.name)
    return {
        kind: KeptByCheckpoint(kind, count, len(where[kind]), len(nodes))
        for kind, count in sorted(devices.items())
    }


def kept_from_pod_by_checkpoints(
    spec: PodSpec, why: Reason, kept: Mapping[str, KeptByCheckpoint]
) -> Iterator[KeptByCheckpoint]:
    """Yield what checkpoints keep from a pod, where that may be why it has no place.

    Args:
        spec: What the pod asks for.
        why: Its verdict.
        kept: What checkpoints keep, by type.

    """
    if why == ReasonTimeout():
        return
    asked = {GPU if is_mig_instance(one.type) else one.type for one in spec.requests.devices}
    if isinstance(why, Blocked):
        demands = [d for blocker, _ in why.nodes for d in (blocker.demand, *blocker.others)]
        named = {GPU if is_mig_instance(d.subject) else d.subject for d in demands}
        if not any(REASON_RULES[d.rule].of_any_device for d in demands):
            asked &= named
    yield from (kept[kind] for kind in sorted(asked & kept.keys()))
