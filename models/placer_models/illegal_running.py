"""Running pods that are illegal: what is wrong with them, and what is counted of them.

They are there, whatever they ask for. So each is counted as a legal pod that asks for just what
its place names, and nothing of that is given to anybody else. An amount below 0 counts as 0.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from placer_models.cluster import Instance, RunningPod
from placer_models.legal import first_spec_fault
from placer_models.legal_shares import share_faults
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import Container, ContainerRole, DeviceRequest, PodSpec, Resources
from placer_models.policy import ExclusivePolicy, QosClass
from placer_models.topology import Hugepages

LEGAL = "legal"
"""The name of the rule that such a pod breaks."""

_MAIN = "main"
"""The name of the container of a pod that has none."""


def illegality_text(runner: RunningPod) -> str:
    """Return what is illegal about a running pod, in one line; empty if nothing is."""
    if runner.illegal:
        return runner.illegal
    fault = first_spec_fault(runner.pod.spec)
    return f"{fault.path}: {fault.message}" if fault else ""


def with_running_pods_counted_as_legal(instance: Instance) -> Instance:
    """Return the instance with its running pods as they are counted; mostly it is the same."""
    if not any(map(_is_illegal, instance.running)):
        return instance
    return replace(instance, running=tuple(map(running_pod_counted_as_legal, instance.running)))


def running_pod_counted_as_legal(runner: RunningPod) -> RunningPod:
    """Return a running pod as it is counted: a legal one as it is, an illegal one as a legal one.

    * It owns the CPUs that its place names, if it is LSE or LSR. If none are named it counts as an
      LS pod with its CPU request.
    * The CPU request of LS and BE pods, extended resources and host ports count as asked for.
    * Memory and hugepages count where its place says.
    * Devices count as whole, except for those of which the place names a share that is possible.
    * Whom it keeps off, or apart, is kept off; it never moves.
    * What has no container and holds nothing counts as it is: so solvers write who is elsewhere.
    """
    if not _is_illegal(runner) or _stands_in(runner):
        return runner
    spec, place = runner.pod.spec, runner.placement
    owns = spec.qos.owns_cpus and bool(place.cpuset)
    grants = tuple(map(_possible, place.devices))
    place = replace(
        place,
        memory_bytes=tuple(part for part in place.memory_bytes if part[1] > 0),
        hugepages=tuple(part for part in place.hugepages if part[2] > 0),
        devices=grants,
        cpu_milli=None if owns else place.cpu_milli,
    )
    containers = _containers(spec, place, owns=owns)
    shared = {grant.type for grant in grants if grant.share}
    counted = PodSpec(
        containers=containers,
        qos=spec.qos if owns or not spec.qos.owns_cpus else QosClass.LS,
        alignment=spec.alignment,
        tolerations=spec.tolerations,
        labels=spec.labels,
        affinity=tuple(term for term in spec.affinity if owns or not term.inside),
        exclusive=spec.exclusive if owns else ExclusivePolicy.NONE,
        exclusive_strength=spec.exclusive_strength,
        scope=spec.scope,
        functions=tuple(wish for wish in spec.functions if wish[0] in shared),
        constrained_burst=spec.constrained_burst,
        host_ports=spec.host_ports,
    )
    if owns:
        parts = (ContainerPlacement(one.name, place.cpuset) for one in containers)
        place = replace(place, containers=tuple(parts))
    else:
        place = replace(place, cpu_milli=_shared_out(place, counted.requests.cpu_milli))
    pod = replace(runner.pod, spec=counted)
    return replace(runner, pod=pod, placement=place, movable=False, illegal="")


def _is_illegal(runner: RunningPod) -> bool:
    return bool(runner.illegal) or first_spec_fault(runner.pod.spec) is not None


def _stands_in(runner: RunningPod) -> bool:
    """Return whether the pod only says by its labels and its class who is there."""
    place = runner.placement
    holds = place.cpuset or place.devices or place.memory_bytes or place.hugepages
    return not (runner.illegal or runner.pod.spec.containers or holds)


def _possible(grant: DeviceGrant) -> DeviceGrant:
    """Return a device with the share that a pod holds, or whole if no pod can hold that share."""
    if grant.share is None or not any(share_faults(grant.type, grant.share)):
        return grant
    return DeviceGrant(grant.type, grant.minor, grant.id)


def _containers(spec: PodSpec, place: PodPlacement, *, owns: bool) -> tuple[Container, ...]:
    """Return the containers, of which the first that stays asks for what its pod holds."""
    containers = list(_named_apart(spec.containers)) or [Container(_MAIN, Resources())]
    apps = [i for i, one in enumerate(containers) if one.role is ContainerRole.APP]
    if not apps:
        containers[-1] = replace(containers[-1], role=ContainerRole.APP)
    first = (apps or [len(containers) - 1])[0]
    held = Counter((grant.type, grant.share) for grant in place.devices)
    pages: Counter[int] = Counter()
    for _, size, count in place.hugepages:
        pages[size] += count
    found = []
    for i, one in enumerate(containers):
        cpu_milli = 0 if owns else max(0, one.requests.cpu_milli)
        asked = Resources(cpu_milli, extended=tuple(e for e in one.requests.extended if e[1] > 0))
        if i == first:
            kinds = sorted(held, key=lambda kind: (kind[0], kind[1] is not None))
            asked = replace(
                asked,
                cpu_milli=1000 * len(place.cpuset) if owns else cpu_milli,
                memory_bytes=sum(amount for _, amount in place.memory_bytes),
                hugepages=tuple(Hugepages(size, pages[size]) for size in sorted(pages)),
                devices=tuple(DeviceRequest(*kind[:1], held[kind], kind[1]) for kind in kinds),
            )
        limit = one.cpu_limit_milli if spec.constrained_burst else None
        limit = None if limit is None else max(limit, asked.cpu_milli)
        found.append(Container(one.name, asked, one.role, limit))
    return tuple(found)


def _named_apart(containers: Iterable[Container]) -> Iterator[Container]:
    """Yield the containers; who has the name of one before it gets a name of its own."""
    given: set[str] = set()
    for one in containers:
        name, number = one.name, 1
        while name in given:
            number += 1
            name = f"{one.name}-{number}"
        given.add(name)
        yield one if name == one.name else replace(one, name=name)


def _shared_out(place: PodPlacement, milli: int) -> tuple[tuple[int, int], ...] | None:
    """Return how much of a CPU request counts on which NUMA node: all of it, and nowhere below 0.

    What the place does not say counts on its first NUMA node.
    """
    if not place.cpu_milli:
        return place.cpu_milli
    said = [(numa, max(0, part)) for numa, part in place.cpu_milli]
    (first, part), *others = said
    missing = max(0, milli - sum(part for _, part in said))
    return ((first, part + missing), *others)
