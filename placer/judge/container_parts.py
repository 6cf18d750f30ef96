"""The rule about what containers hold: their devices, and where aligned for itself all else."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from placer.judge.cells import claims_of, is_bound, scope_of
from placer.judge.finding import Finding
from placer.judge.scene import Scene, Site, Tenant
from placer_models.bound import numa_nodes_held
from placer_models.device_share import DeviceShare, part_of
from placer_models.placement import ContainerPlacement, DeviceGrant
from placer_models.pod import Container, ContainerRole, DeviceRequest, Resources
from placer_models.policy import AlignmentScope

Part = tuple[Container, ContainerPlacement]


def container_parts(scene: Scene) -> Iterator[Finding]:
    """Each container holds its devices, as a part of what its pod holds.

    Where each is aligned for itself it holds all of its request so (C12). Containers that run
    together share nothing. An init container runs beside the sidecars before it; what it has
    is had again by those after it.
    """
    for site, tenant in scene.arrivals():
        whole = scope_of(site, tenant) is AlignmentScope.CONTAINER
        place = tenant.place
        if not (whole or place.devices or any(part.devices for part in place.containers)):
            continue  # rule device-count
        for fault in _faults(site, tenant, whole=whole):
            yield Finding(tenant.title, f"pod {tenant.title!r}: {fault}")


def devices_of(tenant: Tenant, part: ContainerPlacement) -> tuple[DeviceGrant, ...]:
    """Return the devices of one of the pod's containers.

    Where it is the only one that asks for devices of a type they are all the pod's, whether
    the placement says so or not.
    """
    said = {grant.type for grant in part.devices}
    held = list(part.devices)
    for kind in {grant.type for grant in tenant.place.devices} - said:
        asking = [c.name for c in tenant.pod.spec.containers if c.requests.count_of(kind)]
        if asking == [part.name]:
            held += [grant for grant in tenant.place.devices if grant.type == kind]
    return tuple(held)


def _faults(site: Site, tenant: Tenant, *, whole: bool) -> Iterator[str]:
    claims = claims_of(site, tenant) if whole else []
    bound = {claim.name for claim in claims if is_bound(site, tenant, claim)}
    given = {container.name: container for container in tenant.place.containers}
    lasting: list[Part] = []
    sidecars: list[Part] = []
    for container in tenant.pod.spec.containers:
        placed = given.get(container.name)
        if placed is None:
            continue  # rule containers
        part = (
            placed
            if whole
            else ContainerPlacement(placed.name, frozenset(), devices=placed.devices)
        )
        part = replace(part, devices=devices_of(tenant, placed))
        if not whole:
            container = replace(container, requests=_devices_asked(tenant, container))
        yield from _amounts(tenant, container, part)
        yield from _other_grants(tenant, part)
        if whole and container.name in bound:
            yield from _pool_counts(site, tenant, container, part)
        elif whole and placed.cpu_milli:
            yield f"container {container.name!r} is bound to NUMA nodes; nothing there binds it"
        if container.role is ContainerRole.INIT:
            yield from _together(tenant, [*sidecars, (container, part)])
            continue
        lasting.append((container, part))
        if container.role is ContainerRole.RESTARTABLE_INIT:
            sidecars.append((container, part))
    yield from _together(tenant, lasting)


def _devices_asked(tenant: Tenant, container: Container) -> Resources:
    """Return the devices that a container asks for.

    Of types that it alone asks for it has what the pod has, be that too much or too little.
    """
    others = [c for c in tenant.pod.spec.containers if c.name != container.name]
    devices = []
    for request in container.requests.devices:
        if any(other.requests.count_of(request.type) for other in others):
            devices.append(request)
    for kind in {request.type for request in container.requests.devices}:
        if not any(other.requests.count_of(kind) for other in others):
            mine = [grant for grant in tenant.place.devices if grant.type == kind]
            devices += [DeviceRequest(kind, 1, grant.share) for grant in mine]
    return Resources(devices=tuple(devices))


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
            return
    held = Counter((device.type, part_of(device.share)) for device in part.devices)
    wanted: Counter[tuple[str, DeviceShare | None]] = Counter()
    for request in asked.devices:
        wanted[request.type, part_of(request.share)] += request.count
    for kind in sorted({kind for kind, _ in (held - wanted)}):
        yield f"{who} holds other shares of {kind} than it asks for"
    cpus = len(part.cpuset)
    init = container.role is ContainerRole.INIT
    if tenant.qos.owns_cpus and init and asked.cpu_milli and cpus * 1000 != asked.cpu_milli:
        yield f"{who} has {cpus} CPUs; its request is {asked.cpu_milli / 1000:g}"


def _other_grants(tenant: Tenant, part: ContainerPlacement) -> Iterator[str]:
    """Find devices of which a container holds another share than its pod."""
    for grant in part.devices:
        of_pod = [
            (held.share, held.vfs)
            for held in tenant.place.devices
            if (held.type, held.minor) == (grant.type, grant.minor)
        ]
        if of_pod and (grant.share, grant.vfs) not in of_pod:
            yield (
                f"container {part.name!r} holds {grant.type} {grant.minor} otherwise than its pod; "
                "share and virtual functions are the same for both"
            )


def _pool_counts(
    site: Site, tenant: Tenant, container: Container, part: ContainerPlacement
) -> Iterator[str]:
    """Hold the NUMA nodes to whose pool a container is bound against what it asks for and has."""
    who = f"container {container.name!r}"
    counted = dict(part.cpu_milli or ())
    held = numa_nodes_held(part, site.node)
    asked = container.requests.cpu_milli
    if sum(counted.values()) != asked or any(milli < 0 for milli in counted.values()):
        yield (
            f"{who} counts {sum(counted.values())} milli CPUs on its NUMA nodes; "
            f"its request is {asked}"
        )
    if strange := (counted.keys() | held) - {numa for numa, _ in tenant.place.cpu_milli or ()}:
        yield f"{who} is on NUMA node {min(strange)}, to whose pool its pod is not bound"
    elif away := held - counted.keys():
        yield f"{who} holds something of NUMA node {min(away)}, to whose pool it is not bound"


def _together(tenant: Tenant, parts: Sequence[Part]) -> Iterator[str]:
    """Hold containers that run together against what their pod has."""
    place = tenant.place
    names = ", ".join(repr(container.name) for container, _ in parts)
    memory = Counter({("memory", numa): size for numa, size in place.memory_bytes})
    pages = Counter({(size, numa): count for numa, size, count in place.hugepages})
    devices = Counter((d.type, d.minor) for d in place.devices)
    milli = Counter({("milli CPUs of", numa): n for numa, n in place.cpu_milli or ()})
    taken: Counter[tuple[object, int]] = Counter()
    for container, part in parts:
        taken.update({("memory", numa): size for numa, size in part.memory_bytes})
        taken.update({(size, numa): count for numa, size, count in part.hugepages})
        taken.update((d.type, d.minor) for d in part.devices)
        taken.update({("milli CPUs of", numa): n for numa, n in part.cpu_milli or ()})
        if tenant.qos.owns_cpus and container.requests.cpu_milli:
            taken.update(("CPU", cpu) for cpu in part.cpuset)
    has: Counter[tuple[object, int]] = Counter()
    has.update(memory)
    has.update(pages)
    has.update(devices)
    has.update(milli)
    has.update(("CPU", cpu) for cpu in tenant.owned)
    for (what, where), amount in sorted(taken.items(), key=str):
        if amount > has[what, where]:
            yield (
                f"its containers {names} hold {amount} of {what} {where} together; "
                f"the pod has {has[what, where]}"
            )
