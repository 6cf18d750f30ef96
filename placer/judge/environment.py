"""The rule about the environment of containers: which GPUs their runtime shows them (D13)."""

from collections import Counter
from collections.abc import Iterator, Mapping

from placer.judge.container_parts import devices_of
from placer.judge.finding import Finding
from placer.judge.scene import Scene, Site, Tenant
from placer_models.device import GPU, Device
from placer_models.mig import is_instance
from placer_models.placement import ContainerPlacement
from placer_models.visible_devices import NO_GPU, GpuVendor, has_readable_id


def environment(scene: Scene) -> Iterator[Finding]:
    """Each container is shown its own GPUs and no others, and is told so where it has none."""
    for site, tenant in scene.arrivals():
        for fault in _faults(site, tenant):
            yield Finding(tenant.title, f"pod {tenant.title!r}: {fault}")


def _faults(site: Site, tenant: Tenant) -> Iterator[str]:
    of_pod = dict(tenant.place.env)
    for part in tenant.place.containers:
        own = dict(part.env)
        for vendor in GpuVendor:
            said = own.get(vendor, of_pod.get(vendor))
            if vendor in of_pod and said != of_pod[vendor]:
                yield (
                    f"its {vendor} is {of_pod[vendor]!r}, that of container {part.name!r} is "
                    f"{said!r}; the pod has what all its containers agree on"
                )
            elif fault := _fault(site, tenant, part, vendor, said):
                yield f"container {part.name!r} {fault}"


def _fault(
    site: Site, tenant: Tenant, part: ContainerPlacement, vendor: GpuVendor, said: str | None
) -> str | None:
    """Return what is wrong with what one variable of a container says; None: nothing."""
    gpus = site.inside.gpus_of.get(vendor, {})
    grants = devices_of(tenant, part)
    held = sorted({grant.minor for grant in grants if grant.type == GPU} & gpus.keys())
    known = {minor for others in site.inside.gpus_of.values() for minor in others}
    if any(grant.type == GPU and grant.minor not in known for grant in grants):
        return None  # rule device-known
    if vendor is GpuVendor.NVIDIA and any(is_instance(grant.type) for grant in grants):
        if said is None:
            return None
        return (
            f"has {vendor}={said}, and a MIG instance, which has no name before it is cut; "
            "leave the variable to whoever cuts it"
        )
    if said is None:
        if not gpus:
            return None
        return f"has no {vendor}; unset is not {NO_GPU}: it holds {_text(held)}, write so"
    if _named(said, gpus) == held:
        return None
    return f"has {vendor}={said}; it holds {_text(held)} of node {site.node.name!r}"


def _named(said: str, gpus: Mapping[int, Device]) -> list[int] | None:
    """Return the minors of the GPUs that a value names; None: it names something else."""
    if said == NO_GPU:
        return []
    ids = Counter(gpu.id for gpu in gpus.values() if has_readable_id(gpu))
    minor_of = {str(minor): minor for minor in gpus}
    minor_of |= {gpu.id: minor for minor, gpu in gpus.items() if ids[gpu.id] == 1}
    words = said.split(",")
    return sorted(minor_of[word] for word in words) if minor_of.keys() >= set(words) else None


def _text(minors: list[int]) -> str:
    return f"GPU {', '.join(map(str, minors))}" if minors else "no such GPU"
