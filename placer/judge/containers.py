"""The CPUs of containers: parts of what their pod owns, or its pool."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.pools import cpus_text, pool_cpus_of_pod
from placer.judge.scene import InstanceWithPlacement, PlacedPod
from placer_models.cpuset import is_same_cpu_set
from placer_models.pod import ContainerRole
from placer_models.quantity import cpu_count_with_noun


def containers_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Each container has its CPUs: a part of the pod's own CPUs, or the pool."""
    for judged, placed in scene.arrivals():
        wanted = sorted(container.name for container in placed.pod.spec.containers)
        given = sorted(container.name for container in placed.place.containers)
        if wanted != given:
            yield pod_breach_finding(
                placed,
                f"gives CPUs to the containers {', '.join(given) or 'none'}; it has "
                f"{', '.join(wanted) or 'none'}, each to be named once",
            )
        elif placed.qos.owns_cpus:
            yield from _parts_hold(placed)
        else:
            for container in placed.place.containers:
                pool = pool_cpus_of_pod(judged, placed, container)
                if not is_same_cpu_set(container.cpuset, pool):
                    yield Finding(
                        placed.title,
                        f"container {container.name!r} of pod {placed.title!r} runs on CPUs "
                        f"{cpus_text(container.cpuset)}; its pool is {cpus_text(pool)}",
                    )


def _parts_hold(placed: PlacedPod) -> Iterator[Finding]:
    """Check the parts of the pod's own CPUs that its containers have.

    Containers that run together and ask for CPUs share none. The others run anywhere inside
    the pod's CPUs, but on at least one.
    """
    given = {container.name: container.cpuset for container in placed.place.containers}
    owner: dict[int, str] = {}
    for container in placed.pod.spec.containers:
        cpus = given[container.name]
        who = f"container {container.name!r} of pod {placed.title!r}"
        if (outside := cpus - placed.owned) or (placed.owned and not cpus):
            yield Finding(
                placed.title,
                f"{who} runs on CPUs {cpus_text(outside or cpus)}; "
                f"it has to run inside the pod's own, {cpus_text(placed.owned)}",
            )
        asked_milli = container.requests.cpu_milli
        if container.role is ContainerRole.INIT or not asked_milli:
            continue
        if len(cpus) * 1000 != asked_milli:
            yield Finding(
                placed.title,
                f"{who} has {cpu_count_with_noun(1000 * len(cpus))} ({cpus_text(cpus)}); its "
                f"request is {asked_milli / 1000:g}, and the CPUs of an {placed.qos} pod are "
                "parted whole",
            )
        for cpu in sorted(cpus):
            other = owner.setdefault(cpu, container.name)
            if other != container.name:
                yield Finding(
                    placed.title,
                    f"{who} runs on CPU {cpu}, which is container {other!r}'s; "
                    "containers that run together share no CPU",
                )


JUDGED = JudgedFamily(rules={"containers": containers_breaches})
