"""What the containers of a pod have, each aligned for itself, by trying everything."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import gcd, prod

from leaves import CPU, MEMORY, Stay, TooManyLeavesError, needs_of, pour
from placer_models.alignment import (
    fewest_cell_count_for_all_resources,
    fewest_cell_count_for_one_resource,
)
from placer_models.bound import is_bound_by_policy
from placer_models.placement import ContainerPlacement, DeviceGrant
from placer_models.pod import Container, ContainerRole
from placer_models.policy import AlignmentPolicy, AlignmentScope

Place = int | str | None
"""A NUMA node; None for CPUs of none, and NOWHERE for devices of none."""

NOWHERE = "nowhere"

Good = int | str
"""``cpu``, MEMORY, the size of a page, or the type of a device."""

Held = Mapping[Good, Counter[Place]]


Found = tuple[int, list[dict[Good, Counter[Place]]]] | None
"""The cost, and what each container has of each good; None: some container finds none."""


@dataclass(frozen=True, slots=True)
class OwnParts:
    """The parts of a pod's containers, and what they cost in tier ``alignment``."""

    cost: int
    parts: tuple[ContainerPlacement, ...]


def is_by_container(stay: Stay) -> bool:
    """Return whether the pod has a policy there, and each container is aligned for itself.

    Never so under ConstrainedBurst.
    """
    scopes = {stay.pod.spec.scope, stay.node.scope} - {None}
    by_container = bool(policies_of(stay)) and scopes == {AlignmentScope.CONTAINER}
    return by_container and not stay.pod.spec.constrained_burst


def policies_of(stay: Stay) -> set[AlignmentPolicy]:
    """Return the policy that aligns the pod there; none if there is none, or two that conflict."""
    pod, node = stay.pod.spec.alignment, stay.node.alignment
    said = {policy for policy in (pod, node) if policy is not None}
    found = (said or {stay.node.defaults.alignment}) - {AlignmentPolicy.NONE}
    return found if len(found) == 1 else set()


MOST_WAYS = 5_000
"""Ways to share one good out that are tried; amounts of odd bytes have more."""


def ways_to_take(
    need: int, room: Sequence[tuple[int, int]], step: int
) -> list[tuple[tuple[int, int], ...]]:
    """Return every way to take the need from rooms, in steps: (NUMA node, amount), no zeros.

    Raises:
        TooManyLeavesError: They are too many.

    """
    if prod(min(need, most) // step + 1 for _, most in room) > MOST_WAYS:
        raise TooManyLeavesError(f"{need} in steps of {step}")
    return list(_ways(need, room, step))


def _ways(
    need: int, room: Sequence[tuple[int, int]], step: int
) -> Iterator[tuple[tuple[int, int], ...]]:
    if not room:
        if not need:
            yield ()
        return
    (numa_node, most), *rest = room
    for amount in range(0, min(need, most) + 1, step):
        for others in _ways(need - amount, rest, step):
            yield ((numa_node, amount), *others) if amount else others


def best_parts(
    stay: Stay, held: Mapping[int, Mapping[int, int]], known: dict[object, Found]
) -> OwnParts | None:
    """Return the cheapest parts of what the pod holds; None: some container finds none.

    Args:
        stay: The pod with its CPUs and devices.
        held: Memory and hugepages that it has, by NUMA node.
        known: What was found before, of the same instance.

    """
    owned = _held(stay, held)
    counts = tuple(sorted((str(g), str(p), n) for g, row in owned.items() for p, n in row.items()))
    key = (stay.pod.key, stay.node.name, counts)
    if key not in known:
        known[key] = _cheapest(stay, owned)
    best = known[key]
    return None if best is None else OwnParts(best[0], _placed(stay, best[1]))


def _cheapest(stay: Stay, owned: Held) -> Found:
    containers = stay.pod.spec.containers
    options = [
        [
            (cost, mask)
            for cost, mask in _masks(stay, container)
            if all(
                sum(n for p, n in owned.get(good, {}).items() if p in mask or p == NOWHERE) >= want
                for good, want in _wants(stay, container).items()
            )
        ]
        for container in containers
    ]
    for choice in sorted(product(*options), key=lambda masks: sum(cost for cost, _ in masks)):
        found = _shared(stay, owned, [mask for _, mask in choice])
        if found is not None:
            return sum(cost for cost, _ in choice), found
    return None


def _held(stay: Stay, held: Mapping[int, Mapping[int, int]]) -> Held:
    topology = stay.node.machine.topology
    homes = {(d.type, d.minor): d.numa_node for d in stay.node.devices}
    owned: dict[Good, Counter[Place]] = {kind: Counter(dict(room)) for kind, room in held.items()}
    owned.pop(CPU, None)
    cpus: Counter[Place] = Counter(topology.cpu[cpu].numa_node for cpu in stay.cpus)
    owned["cpu"] = Counter(dict(held[CPU])) if CPU in held else cpus
    for grant in stay.grants:
        home = homes[grant.type, grant.minor]
        owned.setdefault(grant.type, Counter())[NOWHERE if home is None else home] += 1
    return owned


def _wants(stay: Stay, container: Container) -> dict[Good, int]:
    asked = container.requests
    wants: dict[Good, int] = {
        "cpu": asked.cpu_milli // 1000
        if stay.pod.spec.qos.owns_cpus
        else asked.cpu_milli
        if is_bound_by_policy(stay.pod.spec, stay.node)
        else 0,
        MEMORY: asked.memory_bytes,
        **{h.page_bytes: h.count for h in asked.hugepages},
        **{d.type: d.count for d in asked.devices},
    }
    return {good: want for good, want in wants.items() if want}


def _masks(stay: Stay, container: Container) -> list[tuple[int, frozenset[Place]]]:
    """Return (cost, cells that the container may use) by its policy."""
    wants = _wants(stay, container)
    (policy,) = policies_of(stay)
    topology = stay.node.machine.topology
    numa_nodes: list[Place] = [numa.id for numa in topology.numa_nodes]
    cells = [*numa_nodes, None]
    columns = []
    for good, want in wants.items():
        column = _empty(stay, good, cells)
        if column is not None:
            columns.append((want, column))
    needs = tuple(want for want, _ in columns)
    sizes: Sequence[int]
    if policy is AlignmentPolicy.BEST_EFFORT:
        amounts = [tuple(column[i] for _, column in columns) for i in range(len(cells))]
        least = fewest_cell_count_for_all_resources(amounts, needs) or 0
        return [
            (size - least, frozenset(mask))
            for size in range(len(cells) + 1)
            for mask in combinations(cells, size)
        ]
    if policy is AlignmentPolicy.SINGLE_NUMA_NODE:
        sizes = (0, 1)
    else:
        widths = {fewest_cell_count_for_one_resource(column[:-1], want) for want, column in columns}
        limit = widths.pop() if widths else len(numa_nodes)
        if widths or limit is None:
            return []
        sizes = range(limit + 1)
    masks = chain.from_iterable(combinations(numa_nodes, size) for size in sizes)
    return [(0, frozenset(mask)) for mask in masks]


def _empty(stay: Stay, good: Good, cells: Sequence[Place]) -> list[int] | None:
    """Return what each cell of the empty node has of a good; None: it is not looked at."""
    node = stay.node
    if good == "cpu":
        allocatable = node.machine.topology.online - node.reserved_cpus
        homes: list[Place] = [node.machine.topology.cpu[cpu].numa_node for cpu in allocatable]
        each = 1 if stay.pod.spec.qos.owns_cpus else node.milli_per_cpu
        return [each * homes.count(cell) for cell in cells]
    if good == MEMORY:
        return [node.memory_bytes_in().get(cell, 0) for cell in cells]
    if isinstance(good, int):
        return [node.pages_in().get((cell, good), 0) for cell in cells]
    homes = [d.numa_node for d in node.devices if d.type == good and node.is_healthy(d)]
    if None in homes:
        return None
    return [homes.count(cell) for cell in cells]


def _shared(
    stay: Stay, owned: Held, masks: Sequence[frozenset[Place]]
) -> list[dict[Good, Counter[Place]]] | None:
    """Return what each container has of each good; None: the masks do not hold it."""
    containers = stay.pod.spec.containers
    wants = [_wants(stay, container) for container in containers]
    found: list[dict[Good, Counter[Place]]] = [{} for _ in containers]
    for good in sorted({good for want in wants for good in want}, key=str):
        asked = [want.get(good, 0) for want in wants]
        shared = _share_one(containers, asked, masks, owned.get(good, Counter()))
        if shared is None:
            return None
        for mine, got in zip(found, shared, strict=True):
            mine[good] = got
    return found


def _share_one(
    containers: Sequence[Container],
    asked: Sequence[int],
    masks: Sequence[frozenset[Place]],
    room: Counter[Place],
) -> list[Counter[Place]] | None:
    """Share one good: every way for the sidecars, then the others as they are left."""
    places = sorted(room, key=str)
    allowed = [[i for i, p in enumerate(places) if p in mask or p == NOWHERE] for mask in masks]
    sidecars = [
        i for i, c in enumerate(containers) if c.role is ContainerRole.RESTARTABLE_INIT and asked[i]
    ]
    step = gcd(*asked, *room.values()) or 1
    ways = [
        ways_to_take(asked[i], [(at, room[places[at]]) for at in allowed[i]], step)
        for i in sidecars
    ]
    for choice in product(*ways):
        got: list[Counter[int]] = [Counter() for _ in containers]
        for i, way in zip(sidecars, choice, strict=True):
            got[i] = Counter(dict(way))
        if all(
            _last(containers, i, asked, allowed, got, places, room)
            for i, c in enumerate(containers)
            if c.role is ContainerRole.INIT
        ):
            apps = [i for i, c in enumerate(containers) if c.role is ContainerRole.APP]
            left = {
                at: room[place] - sum(got[s][at] for s in sidecars)
                for at, place in enumerate(places)
            }
            poured = (
                pour([asked[i] for i in apps], [allowed[i] for i in apps], left)
                if min(left.values(), default=0) >= 0
                else None
            )
            if poured is not None:
                for i, given in zip(apps, poured, strict=True):
                    got[i] = given
                return [Counter({places[at]: n for at, n in g.items() if n}) for g in got]
    return None


def _last(
    containers: Sequence[Container],
    i: int,
    asked: Sequence[int],
    allowed: Sequence[Sequence[int]],
    got: list[Counter[int]],
    places: Sequence[Place],
    room: Counter[Place],
) -> bool:
    """Let an init container take what the sidecars before it leave; is it enough?"""
    before = [s for s in range(i) if containers[s].role is ContainerRole.RESTARTABLE_INIT]
    want = asked[i]
    for at in allowed[i]:
        free = room[places[at]] - sum(got[s][at] for s in before)
        got[i][at] = max(0, min(want, free))
        want -= got[i][at]
    return not want


def _placed(
    stay: Stay, shares: Sequence[Mapping[Good, Counter[Place]]]
) -> tuple[ContainerPlacement, ...]:
    """Give ids to counts: later app containers and sidecars never what others have."""
    containers = stay.pod.spec.containers
    lasting_cpus: dict[int, frozenset[int]] = {}
    lasting_grants: dict[int, tuple[DeviceGrant, ...]] = {}
    parts: dict[int, ContainerPlacement] = {}
    inits = [i for i, c in enumerate(containers) if c.role is ContainerRole.INIT]
    lasting = [i for i in range(len(containers)) if i not in inits]
    for i in (*lasting, *inits):
        before = [
            s
            for s in lasting
            if i not in inits or (s < i and containers[s].role is ContainerRole.RESTARTABLE_INIT)
        ]
        no_cpus = frozenset[int]().union(*(lasting_cpus.get(s, frozenset()) for s in before))
        no_grants = {g for s in before for g in lasting_grants.get(s, ())}
        share = shares[i]
        cpus = _cpus(stay, share.get("cpu", Counter()), no_cpus)
        grants = _grants(stay, share, no_grants)
        if i in lasting:
            lasting_cpus[i], lasting_grants[i] = cpus, grants
        asks = stay.pod.spec.qos.owns_cpus and containers[i].requests.cpu_milli
        parts[i] = ContainerPlacement(
            containers[i].name,
            cpus if asks else stay.cpus,
            tuple(sorted((n, a) for n, a in share.get(MEMORY, {}).items())),
            tuple(
                sorted(
                    (n, size, a)
                    for size, rows in share.items()
                    if isinstance(size, int) and size != MEMORY
                    for n, a in rows.items()
                )
            ),
            grants,
            cpu_milli=_counted(share) if _is_bound(stay, containers[i]) else None,
        )
    return tuple(parts[i] for i in range(len(containers)))


def _is_bound(stay: Stay, container: Container) -> bool:
    """Return whether the container is bound to NUMA nodes: not if nothing of it has a width."""
    wants = _wants(stay, container)
    widths = [_empty(stay, good, ()) is not None for good in wants]
    narrow = any(widths) or AlignmentPolicy.SINGLE_NUMA_NODE in policies_of(stay)
    return narrow and is_bound_by_policy(stay.pod.spec, stay.node)


def _counted(share: Mapping[Good, Counter[Place]]) -> tuple[tuple[int, int], ...]:
    """Return the NUMA nodes of a bound container, with what it counts of its request there."""
    homes = {p for row in share.values() for p, n in row.items() if n and isinstance(p, int)}
    cpus = share.get("cpu", Counter())
    return tuple((home, cpus[home]) for home in sorted(homes))


def _cpus(stay: Stay, share: Counter[Place], taken: frozenset[int]) -> frozenset[int]:
    cpu = stay.node.machine.topology.cpu
    found: set[int] = set()
    for place, count in share.items():
        here = [c for c in sorted(stay.cpus - taken) if cpu[c].numa_node == place]
        found.update(here[:count])
    return frozenset(found)


def _grants(
    stay: Stay, share: Mapping[Good, Counter[Place]], taken: set[DeviceGrant]
) -> tuple[DeviceGrant, ...]:
    homes = {(d.type, d.minor): d.numa_node for d in stay.node.devices}
    found: list[DeviceGrant] = []
    for good, rows in share.items():
        for place, count in rows.items():
            home = None if place == NOWHERE else place
            here = [
                g
                for g in stay.grants
                if g.type == good and g not in taken and homes[g.type, g.minor] == home
            ]
            found += here[:count]
    return tuple(sorted(found, key=lambda g: (g.type, g.minor)))


def all_held(
    stay: Stay, room: Mapping[int, Mapping[int, int]]
) -> Iterator[dict[int, dict[int, int]]]:
    """Yield every way in which the pod can have its memory and its hugepages."""
    needs = sorted(needs_of(stay.pod).items())
    if CPU in room:
        needs.append((CPU, stay.pod.spec.requests.cpu_milli))
    ways = []
    for kind, need in needs:
        good: Good = "cpu" if kind == CPU else kind
        parts = [_wants(stay, container).get(good, 0) for container in stay.pod.spec.containers]
        step = gcd(need, *parts, *room[kind].values())
        ways.append(ways_to_take(need, sorted(room[kind].items()), step or 1))
    for choice in product(*ways):
        yield {kind: dict(way) for (kind, _), way in zip(needs, choice, strict=True)}
