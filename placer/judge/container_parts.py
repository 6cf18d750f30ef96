"""The rule about what each container holds: devices, and all else if aligned by itself."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from placer.judge.cells import (
    aligned_pod_or_containers,
    alignment_scope_of,
    is_subject_bound_to_pool,
    numa_nodes_of_memory_and_devices,
)
from placer.judge.family import Finding, JudgedFamily
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.device_share import DeviceShare
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import Container, ContainerRole
from placer_models.policy import AlignmentScope
from placer_models.quantity import cpu_count_with_noun

_Shares = dict[tuple[str, DeviceShare | None], int]
"""(device type, share of each device, or None if whole) -> number of devices."""


class _Part(NamedTuple):
    """A container, what the placement gives it, and its devices by `devices_of_container`."""

    container: Container
    place: ContainerPlacement
    devices: tuple[DeviceGrant, ...]


def container_parts_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Each container holds its devices, as a part of what its pod holds.

    If each container is aligned by itself, the same holds of all that it asks for (C12).
    Containers that run together share nothing. An init container runs beside the sidecars
    before it, and later containers may have what it had.
    """
    for judged, placed in scene.arrivals():
        whole = alignment_scope_of(judged, placed) is AlignmentScope.CONTAINER
        place = placed.place
        if not (whole or place.devices or any(part.devices for part in place.containers)):
            continue  # rule device-count
        for fault in _faults(judged, placed, whole=whole):
            yield Finding(placed.title, f"pod {placed.title!r}: {fault}")


def devices_of_container(placed: PlacedPod, part: ContainerPlacement) -> tuple[DeviceGrant, ...]:
    """Return the devices of one of the pod's containers.

    If it alone asks for devices of a type, it has all those of the pod, whether the placement
    says so or not.
    """
    said = {grant.type for grant in part.devices}
    held = list(part.devices)
    for kind in {grant.type for grant in placed.place.devices} - said:
        asking = [c.name for c in placed.pod.spec.containers if c.requests.count_of(kind)]
        if asking == [part.name]:
            held += [grant for grant in placed.place.devices if grant.type == kind]
    return tuple(held)


def _faults(judged: JudgedNode, placed: PlacedPod, *, whole: bool) -> Iterator[str]:
    subjects = aligned_pod_or_containers(judged, placed) if whole else []
    bound = {
        subject.name for subject in subjects if is_subject_bound_to_pool(judged, placed, subject)
    }
    given = {container.name: container for container in placed.place.containers}
    lasting: list[_Part] = []
    sidecars: list[_Part] = []
    for container in placed.pod.spec.containers:
        placed_parts = given.get(container.name)
        if placed_parts is None:
            continue  # rule containers
        part = _Part(container, placed_parts, devices_of_container(placed, placed_parts))
        if whole:
            yield from _amounts(placed, part)
        yield from _devices(placed, part, whole=whole)
        yield from _other_grants(placed, part)
        if whole and container.name in bound:
            yield from _pool_counts(judged, placed, part)
        elif whole and placed_parts.cpu_milli:
            yield f"container {container.name!r} is bound to NUMA nodes; nothing there binds it"
        if container.role is ContainerRole.INIT:
            yield from _together(placed, [*sidecars, part], whole=whole)
            continue
        lasting.append(part)
        if container.role is ContainerRole.RESTARTABLE_INIT:
            sidecars.append(part)
    yield from _together(placed, lasting, whole=whole)


def _amounts(placed: PlacedPod, part: _Part) -> Iterator[str]:
    """Check the plain amounts and the CPUs that a container has against its request."""
    container, place, _ = part
    asked = container.requests
    who = f"container {container.name!r}"
    memory = sum(amount for _, amount in place.memory_bytes)
    if memory != asked.memory_bytes or any(amount < 0 for _, amount in place.memory_bytes):
        yield f"{who} holds {memory} bytes of memory; its request is {asked.memory_bytes}"
    pages: Counter[int] = Counter()
    for _, page_bytes, count in place.hugepages:
        pages[page_bytes] += count
    for size in sorted(pages.keys() | {h.page_bytes for h in asked.hugepages}):
        if pages[size] != asked.pages_of(size) or any(n < 0 for *_, n in place.hugepages):
            yield (
                f"{who} holds {pages[size]} hugepages of {size} bytes; "
                f"its request is {asked.pages_of(size)}"
            )
    cpus = len(place.cpuset)
    init = container.role is ContainerRole.INIT
    if placed.qos.owns_cpus and init and asked.cpu_milli and cpus * 1000 != asked.cpu_milli:
        yield (
            f"{who} has {cpu_count_with_noun(1000 * cpus)}; "
            f"its request is {asked.cpu_milli / 1000:g}"
        )


def _devices(placed: PlacedPod, part: _Part, *, whole: bool) -> Iterator[str]:
    """Check the devices of a container against those that it asks for."""
    who = f"container {part.container.name!r}"
    held = _shares(part.devices)
    wanted = _devices_wanted(placed, part.container, whole=whole)
    if held == wanted:
        return
    counts, asked = Counter[str](), Counter[str]()
    for (kind, _), count in held.items():
        counts[kind] += count
    for (kind, _), count in wanted.items():
        asked[kind] += count
    for kind in sorted(counts.keys() | asked.keys()):
        if counts[kind] != asked[kind]:
            yield f"{who} holds {counts[kind]} {kind}; its request is {asked[kind]}"
            return
    for kind in sorted({part[0] for part, count in held.items() if count > wanted.get(part, 0)}):
        yield f"{who} holds other shares of {kind} than it asks for"


def _shares(grants: Iterable[DeviceGrant]) -> _Shares:
    shares: _Shares = {}
    for grant in grants:
        part = grant.type, _part(grant.share)
        shares[part] = shares.get(part, 0) + 1
    return shares


def _part(share: DeviceShare | None) -> DeviceShare | None:
    """Return the share, or None if it leaves nothing to others."""
    return share if share is not None and share.shared else None


def _devices_wanted(placed: PlacedPod, container: Container, *, whole: bool) -> _Shares:
    """Return the devices that a container asks for.

    If only devices are parted, then of a type that it alone asks for it wants all that the pod
    has, be that too much or too little.
    """
    wanted: _Shares = {}
    alone = set()
    for request in container.requests.devices:
        if not whole and not _others_ask(placed, container, request.type):
            alone.add(request.type)
        elif request.count:
            part = request.type, _part(request.share)
            wanted[part] = wanted.get(part, 0) + request.count
    return wanted | _shares(grant for grant in placed.place.devices if grant.type in alone)


def _others_ask(placed: PlacedPod, container: Container, kind: str) -> bool:
    return any(
        other.requests.count_of(kind)
        for other in placed.pod.spec.containers
        if other.name != container.name
    )


def _other_grants(placed: PlacedPod, part: _Part) -> Iterator[str]:
    """Find devices that a container holds with another share, or functions, than its pod."""
    for grant in part.devices:
        of_pod = [
            (held.share, held.vfs)
            for held in placed.place.devices
            if held.minor == grant.minor and held.type == grant.type
        ]
        if of_pod and (grant.share, grant.vfs) not in of_pod:
            yield (
                f"container {part.place.name!r} holds {grant.type} {grant.minor} otherwise than "
                "its pod; share and virtual functions are the same for both"
            )


def _pool_counts(judged: JudgedNode, placed: PlacedPod, part: _Part) -> Iterator[str]:
    """Check the NUMA nodes to whose pool a container is bound against its request and parts."""
    who = f"container {part.container.name!r}"
    counted = dict(part.place.cpu_milli or ())
    held = numa_nodes_of_memory_and_devices(judged, part.place, part.devices)
    asked = part.container.requests.cpu_milli
    if sum(counted.values()) != asked or any(milli < 0 for milli in counted.values()):
        yield (
            f"{who} counts {sum(counted.values())} milli CPUs on its NUMA nodes; "
            f"its request is {asked}"
        )
    if strange := (counted.keys() | held) - {numa for numa, _ in placed.place.cpu_milli or ()}:
        yield f"{who} is on NUMA node {min(strange)}, to whose pool its pod is not bound"
    elif away := held - counted.keys():
        yield f"{who} holds something of NUMA node {min(away)}, to whose pool it is not bound"


def _together(placed: PlacedPod, parts: Sequence[_Part], *, whole: bool) -> Iterator[str]:
    """Check that containers that run together hold no more than their pod has."""
    if not whole and [part.devices for part in parts] == [placed.place.devices]:
        return  # one of them has it all
    has = _held(placed.place, placed.place.devices, whole=whole)
    if whole:
        has.update(("CPU", cpu) for cpu in placed.owned)
    taken: Counter[tuple[object, int]] = Counter()
    for container, place, devices in parts:
        taken.update(_held(place, devices, whole=whole))
        if whole and placed.qos.owns_cpus and container.requests.cpu_milli:
            taken.update(("CPU", cpu) for cpu in place.cpuset)
    if taken <= has:
        return
    names = ", ".join(repr(part.container.name) for part in parts)
    for (what, where), amount in sorted(taken.items(), key=str):
        if amount > has[what, where]:
            yield (
                f"its containers {names} hold {amount} of {what} {where} together; "
                f"the pod has {has[what, where]}"
            )


def _held(
    place: PodPlacement | ContainerPlacement, devices: Iterable[DeviceGrant], *, whole: bool
) -> Counter[tuple[object, int]]:
    """Count all that a pod or a container has but its own CPUs, or its devices alone."""
    found: Counter[tuple[object, int]] = Counter((grant.type, grant.minor) for grant in devices)
    if whole:
        found.update({("memory", numa): size for numa, size in place.memory_bytes})
        found.update({(size, numa): count for numa, size, count in place.hugepages})
        found.update({("milli CPUs of", numa): n for numa, n in place.cpu_milli or ()})
    return found


JUDGED = JudgedFamily(rules={"container-parts": container_parts_breaches})
