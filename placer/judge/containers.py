"""The CPUs of containers: parts of what their pod owns, or its pool."""

from collections.abc import Iterator

from placer.judge.family import JudgedFamily
from placer.judge.finding import Finding
from placer.judge.pools import pool_here
from placer.judge.scene import PlacedPod, Scene
from placer_models.cpuset import CpuSet, format_cpu_list, is_same
from placer_models.pod import ContainerRole


def containers(scene: Scene) -> Iterator[Finding]:
    """Each container has its CPUs: a part of the pod's own CPUs, or the pool."""
    for site, tenant in scene.arrivals():
        wanted = sorted(container.name for container in tenant.pod.spec.containers)
        given = sorted(container.name for container in tenant.place.containers)
        if wanted != given:
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} gives CPUs to the containers {', '.join(given) or 'none'}; "
                f"it has {', '.join(wanted) or 'none'}, each to be named once",
            )
        elif tenant.qos.owns_cpus:
            yield from _parts_hold(tenant)
        else:
            for container in tenant.place.containers:
                pool = pool_here(site, tenant, container)
                if not is_same(container.cpuset, pool):
                    yield Finding(
                        tenant.title,
                        f"container {container.name!r} of pod {tenant.title!r} runs on CPUs "
                        f"{_text(container.cpuset)}; its pool is {_text(pool)}",
                    )


def _parts_hold(tenant: PlacedPod) -> Iterator[Finding]:
    """Check the parts of the pod's own CPUs that its containers have.

    Containers that run together and ask for CPUs share none. The others run anywhere inside
    the pod's CPUs, but on at least one.
    """
    given = {container.name: container.cpuset for container in tenant.place.containers}
    owner: dict[int, str] = {}
    for container in tenant.pod.spec.containers:
        cpus = given[container.name]
        who = f"container {container.name!r} of pod {tenant.title!r}"
        if (outside := cpus - tenant.owned) or (tenant.owned and not cpus):
            yield Finding(
                tenant.title,
                f"{who} runs on CPUs {_text(outside or cpus)}; "
                f"it has to run inside the pod's own, {_text(tenant.owned)}",
            )
        asked_milli = container.requests.cpu_milli
        if container.role is ContainerRole.INIT or not asked_milli:
            continue
        if len(cpus) * 1000 != asked_milli:
            yield Finding(
                tenant.title,
                f"{who} has {len(cpus)} CPUs ({_text(cpus)}); its request is "
                f"{asked_milli / 1000:g}, and the CPUs of an {tenant.qos} pod are parted whole",
            )
        for cpu in sorted(cpus):
            other = owner.setdefault(cpu, container.name)
            if other != container.name:
                yield Finding(
                    tenant.title,
                    f"{who} runs on CPU {cpu}, which is container {other!r}'s; "
                    "containers that run together share no CPU",
                )


def _text(cpus: CpuSet) -> str:
    return format_cpu_list(cpus) or "none"


JUDGED = JudgedFamily(rules={"containers": containers})
