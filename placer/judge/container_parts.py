"""The rule about what containers hold where each is aligned for itself (C12)."""

from collections import Counter
from collections.abc import Iterator, Sequence

from placer.judge.cells import scope_of
from placer.judge.finding import Finding
from placer.judge.scene import Scene, Tenant
from placer_models.placement import ContainerPlacement
from placer_models.pod import Container, ContainerRole
from placer_models.policy import AlignmentScope

Part = tuple[Container, ContainerPlacement]


def container_parts(scene: Scene) -> Iterator[Finding]:
    """Each container holds its request, as a part of what its pod holds.

    Containers that run together share nothing. An init container runs beside the
    sidecars before it; what it has is had again by those after it.
    """
    for site, tenant in scene.newcomers():
        if scope_of(site, tenant) is AlignmentScope.CONTAINER:
            for fault in _faults(tenant):
                yield Finding(tenant.title, f"pod {tenant.title!r}: {fault}")


def _faults(tenant: Tenant) -> Iterator[str]:
    given = {container.name: container for container in tenant.place.containers}
    lasting: list[Part] = []
    sidecars: list[Part] = []
    for container in tenant.pod.spec.containers:
        part = given.get(container.name)
        if part is None:
            continue  # rule containers
        yield from _amounts(tenant, container, part)
        if container.role is ContainerRole.INIT:
            yield from _together(tenant, [*sidecars, (container, part)])
            continue
        lasting.append((container, part))
        if container.role is ContainerRole.RESTARTABLE_INIT:
            sidecars.append((container, part))
    yield from _together(tenant, lasting)


def _amounts(tenant: Tenant, container: Container, part: ContainerPlacement) -> Iterator[str]:
    """Hold what a container has against its request."""
    asked = container.requests
    who = f"container {container.name!r}"
    memory = sum(amount for _, amount in part.memory_bytes)
    if memory != asked.memory_bytes or any(amount < 0 for _, amount in part.memory_bytes):
        yield f"{who} holds {memory} bytes of memory; its request is {asked.memory_bytes}"
    pages: Counter[int] = Counter()
    for _, page_bytes, count in part.hugepages:
        pages[page_bytes] += count
    for size in sorted(pages.keys() | {h.page_bytes for h in asked.hugepages}):
        if pages[size] != asked.pages_of(size) or any(n < 0 for *_, n in part.hugepages):
            yield (
                f"{who} holds {pages[size]} hugepages of {size} bytes; "
                f"its request is {asked.pages_of(size)}"
            )
    counts = Counter(device.type for device in part.devices)
    for kind in sorted(counts.keys() | {d.type for d in asked.devices}):
        if counts[kind] != asked.count_of(kind):
            yield f"{who} holds {counts[kind]} {kind}; its request is {asked.count_of(kind)}"
    cpus = len(part.cpuset)
    init = container.role is ContainerRole.INIT
    if tenant.qos.owns_cpus and init and asked.cpu_milli and cpus * 1000 != asked.cpu_milli:
        yield f"{who} has {cpus} CPUs; its request is {asked.cpu_milli / 1000:g}"


def _together(tenant: Tenant, parts: Sequence[Part]) -> Iterator[str]:
    """Hold containers that run together against what their pod has."""
    place = tenant.place
    names = ", ".join(repr(container.name) for container, _ in parts)
    memory = Counter({("memory", numa): size for numa, size in place.memory_bytes})
    pages = Counter({(size, numa): count for numa, size, count in place.hugepages})
    devices = Counter((d.type, d.minor) for d in place.devices)
    taken: Counter[tuple[object, int]] = Counter()
    for container, part in parts:
        taken.update({("memory", numa): size for numa, size in part.memory_bytes})
        taken.update({(size, numa): count for numa, size, count in part.hugepages})
        taken.update((d.type, d.minor) for d in part.devices)
        if tenant.qos.owns_cpus and container.requests.cpu_milli:
            taken.update(("CPU", cpu) for cpu in part.cpuset)
    has: Counter[tuple[object, int]] = Counter()
    has.update(memory)
    has.update(pages)
    has.update(devices)
    has.update(("CPU", cpu) for cpu in tenant.owned)
    for (what, where), amount in sorted(taken.items(), key=str):
        if amount > has[what, where]:
            yield (
                f"its containers {names} hold {amount} of {what} {where} together; "
                f"the pod has {has[what, where]}"
            )
