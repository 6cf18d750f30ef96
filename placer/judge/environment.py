"""The rule about the environment of containers: which GPUs their runtime shows them (D13)."""

from collections.abc import Iterator, Mapping, Sequence

from placer.judge.container_parts import devices_of_container
from placer.judge.family import Finding, JudgedFamily
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.device import GPU, INSTANCE_PREFIX
from placer_models.placement import DeviceGrant
from placer_models.visible_devices import NO_GPU, UNNAMED_GPUS, GpuVendor

_VENDORS = tuple(GpuVendor)


def environment_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Each container is shown its own GPUs and no others, and is told so if it has none."""
    for judged, placed in scene.arrivals():
        for fault in _faults(judged, placed):
            yield Finding(placed.title, f"pod {placed.title!r}: {fault}")


def _faults(judged: JudgedNode, placed: PlacedPod) -> Iterator[str]:
    of_pod = dict(placed.place.env)
    for part in placed.place.containers:
        own, grants = dict(part.env), devices_of_container(placed, part)
        for vendor in _VENDORS:
            said = own.get(vendor, of_pod.get(vendor))
            if vendor in of_pod and said != of_pod[vendor]:
                yield (
                    f"its {vendor} is {of_pod[vendor]!r}, that of container {part.name!r} is "
                    f"{said!r}; the pod has what all its containers agree on"
                )
            elif fault := _fault(judged, grants, vendor, said):
                yield f"container {part.name!r} {fault}"


def _fault(
    judged: JudgedNode, grants: Sequence[DeviceGrant], vendor: GpuVendor, said: str | None
) -> str | None:
    """Return what is wrong with a variable about a container's devices, or None if it is right."""
    inside = judged.inside
    gpus = inside.gpus_of.get(vendor, frozenset())
    if said is None and not gpus:
        return None
    minors = {grant.minor for grant in grants if grant.type == GPU}
    if minors and not minors <= frozenset().union(*inside.gpus_of.values()):
        return None  # rule device-known
    held = sorted(minors & gpus)
    if vendor is GpuVendor.NVIDIA and any(
        grant.type.startswith(INSTANCE_PREFIX) for grant in grants
    ):
        if said is None:
            return None
        return (
            f"has {vendor}={said}, and a MIG instance, which has no name before it is cut; "
            "leave the variable to whoever cuts it"
        )
    if held and UNNAMED_GPUS in judged.node.labels:
        if said is None:
            return None
        return (
            f"has {vendor}={said}, and GPUs that node {judged.node.name!r} only counts; leave the "
            "variable to the device plugin, which knows which they are"
        )
    if said is None:
        return f"has no {vendor}; unset is not {NO_GPU}: it holds {_text(held)}, write so"
    if _named(said, inside.gpu_named.get(vendor, {})) == held:
        return None
    return f"has {vendor}={said}; it holds {_text(held)} of node {judged.node.name!r}"


def _named(said: str, minor_of: Mapping[str, int]) -> list[int] | None:
    """Return the minors of the GPUs that a value names, or None if it names something else."""
    if said == NO_GPU:
        return []
    words = said.split(",")
    return sorted(minor_of[word] for word in words) if minor_of.keys() >= set(words) else None


def _text(minors: list[int]) -> str:
    return f"GPU {', '.join(map(str, minors))}" if minors else "no such GPU"


JUDGED = JudgedFamily(rules={"environment": environment_breaches})
