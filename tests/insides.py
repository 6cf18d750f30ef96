"""The best inside of one node for given pods, by trying every one of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product

from leaves import (
    CPU,
    MEMORY,
    Held,
    Stay,
    TooManyLeavesError,
    device_counts,
    held_at,
    homes_tried,
    may_be_bound,
    needs_of,
    pour_all,
    room_left,
    settled,
)
from own_parts import Found, OwnParts, all_held, best_parts, is_by_container
from placer.judge.breaches import RULES
from placer.judge.measure import Worth, are_tier_values_better, measure
from placer.judge.scene import scene_for_judge
from placer_models.affinity import InNodeAffinityLevel
from placer_models.bound import is_bound_by_policy
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.device import is_mig_instance
from placer_models.goals import ALIGNMENT, LOCALITY_NUMA_NODES, LOCALITY_PACKAGES
from placer_models.mig import gpu_minor_of_mig_instance, mig_slices_covered
from placer_models.placement import DeviceGrant, Placement, PodPlacement
from placer_models.pod import DeviceRequest, Pod, PodSpec
from placer_models.policy import ExclusivePolicy
from placer_models.topology import Topology
from pools import pools

Mask = frozenset[int]
"""NUMA nodes that a pod's memory and hugepages may be on."""

Minding = Mapping[int, tuple[str, str]]
"""CPU -> the pod that owns it, if it minds, or others do, who else is on its cores."""

BY_MEMORY = (ALIGNMENT, LOCALITY_NUMA_NODES, LOCALITY_PACKAGES)
"""The tiers that look at where memory comes from."""

Cost = tuple[int, ...]
"""A value for each of the tiers BY_MEMORY."""

NOTHING = (0,) * len(BY_MEMORY)
"""What costs nothing."""

BETWEEN_NODES = (
    "gang-minimum",
    "gang-group",
    "gather",
    "spread",
    "multiples",
    "affinity",
    "topology-spread",
    "moves",
)
"""The rules that look at more than one node."""

OF_NODES = ("cordon", "closed", "taints", "node-selector", "node-affinity")
"""The rules about what a node is."""

INSIDE = tuple(name for name in RULES if name not in BETWEEN_NODES)
"""The rules of each node alone."""

WITH_OTHERS = (
    "device-functions",
    "memory",
    "hugepages",
    "shared-pool",
    "be-pool",
    "bound-pool",
    "constrained-burst",
    "containers",
    "container-parts",
)
"""The rules inside a node that a pod alone, without memory and pool, says nothing about."""

ALONE = tuple(name for name in INSIDE if name not in WITH_OTHERS)
"""The rules that a pod breaks, if at all, by its own CPUs and devices."""


def broken(instance: Instance, placement: Placement, rules: Sequence[str]) -> bool:
    """Return whether the placement breaks any of the rules."""
    scene = scene_for_judge(instance, placement)
    return any(True for name in rules for _ in RULES[name](scene))


@dataclass(slots=True)
class Insides:
    """Finds best insides and remembers them; counts the leaves that it tries."""

    instance: Instance
    most_leaves: int
    leaves: int = 0
    found: dict[object, tuple[PodPlacement, ...] | None] = field(default_factory=dict)
    alone: dict[object, bool] = field(default_factory=dict)
    masks: dict[object, list[tuple[Cost, Mask]]] = field(default_factory=dict)
    splits: dict[object, tuple[Held, ...] | None] = field(default_factory=dict)
    known: dict[object, Found] = field(default_factory=dict)
    own: dict[object, list[tuple[Cost, Mask, Held | None, OwnParts | None]]] = field(
        default_factory=dict
    )
    by_core: bool = field(init=False)

    def __post_init__(self) -> None:
        pods = [pod for gang in self.instance.gangs for pod in gang.pods]
        pods += [runner.pod for runner in self.instance.running]
        self.by_core = any(
            term.level is InNodeAffinityLevel.CORE for pod in pods for term in pod.spec.affinity
        )

    def best(
        self, guests: Sequence[Stay], elsewhere: Sequence[Stay] = ()
    ) -> tuple[PodPlacement, ...] | None:
        """Return the pods in their best places on their one node; None: they do not fit.

        Who is elsewhere decides only whether a guest is the first of its kind.
        """
        terms = {
            (guest.pod.namespace, term)
            for guest in guests
            for term in guest.pod.spec.affinity
            if term.inside and term.required and not term.apart
        }
        far = any(term.wide for guest in guests for term in guest.pod.spec.affinity)
        meant = [
            stay
            for stay in elsewhere
            if far
            or any(
                term.looks_into(stay.pod.namespace, namespace)
                and term.means(stay.pod.spec.labels, owns_cpus=stay.pod.spec.qos.owns_cpus)
                for namespace, term in terms
            )
        ]
        key = tuple(guest.key for guest in guests), tuple(stay.key for stay in meant)
        if key not in self.found:
            others = tuple(stay.place({}, stay.cpus) for stay in meant)
            self.found[key] = self._best(guests, others if terms else None)
        return self.found[key]

    def _best(
        self, guests: Sequence[Stay], others: tuple[PodPlacement, ...] | None
    ) -> tuple[PodPlacement, ...] | None:
        node = guests[0].node
        runners = [r for r in self.instance.running if r.placement.node == node.name]
        owned = frozenset[int]().union(
            *(r.placement.cpuset for r in runners if r.pod.spec.qos.owns_cpus)
        )
        whole = {(g.type, g.minor) for r in runners for g in r.placement.devices if not g.share}
        devices = [d for d in node.devices if (d.type, d.minor) not in whole]
        shared = {(g.type, g.minor) for r in runners for g in r.placement.devices if g.share}
        free_cpus = node.machine.topology.online - node.reserved_cpus - owned
        free = [DeviceGrant(d.type, d.minor, d.id) for d in devices if node.is_healthy(d)]
        best: tuple[Worth, tuple[PodPlacement, ...]] | None = None
        for stays, at_home in self._with_homes(
            guests, free_cpus, free, shared, self._minding(runners)
        ):
            self.leaves += 1
            if self.leaves > self.most_leaves:
                raise TooManyLeavesError(f"{self.instance.name}: over {self.most_leaves} leaves")
            for parted, memory in self._with_memory(node, stays, at_home):
                places = settled(self.instance, parted, memory)
                vector = measure(self.instance, Placement(places))
                if best is not None and not are_tier_values_better(vector, best[0]):
                    break
                if others is not None and broken(
                    self.instance, Placement((*places, *others)), ("affinity",)
                ):
                    break
                if not broken(self.instance, Placement(places), INSIDE):
                    best = vector, places
                    break
        return best[1] if best else None

    def _with_memory(
        self, node: Node, stays: Sequence[Stay], at_home: Mapping[int, Held]
    ) -> Iterator[tuple[Sequence[Stay], tuple[Held, ...]]]:
        """Yield ways to give the pods memory, and their containers parts; the best first."""
        if any(map(is_by_container, stays)):
            yield from self._parted(node, stays, at_home)
        elif (memory := self._split(node, stays, at_home)) is not None:
            yield stays, memory

    def _with_homes(
        self,
        guests: Sequence[Stay],
        cpus: CpuSet,
        grants: Sequence[DeviceGrant],
        shared: Set[tuple[str, int]],
        minding: Minding,
    ) -> Iterator[tuple[tuple[Stay, ...], Mapping[int, Held]]]:
        """Yield the leaves for each choice of who stays at home, with the homes' memory."""
        gone = self.instance.gone
        here = [home for home in self.instance.homes if home.node == guests[0].node.name]
        homes = {home.key: home for home in here if home.key not in gone}
        mine = [i for i, guest in enumerate(guests) if guest.pod.key in homes]
        for chosen in chain.from_iterable(combinations(mine, n) for n in range(len(mine) + 1)):
            fixed = {}
            free, left, parts, minded = cpus, list(grants), set(shared), dict(minding)
            for i in chosen:
                guest, home = guests[i], homes[guests[i].pod.key]
                owns = guest.pod.spec.qos.owns_cpus
                at = {numa for numa, _ in home.cpu_milli or ()}
                online = guest.node.machine.topology.cpus
                homes_cpus = frozenset(c.id for c in online if c.online and c.numa_node in at)
                fixed[i] = replace(
                    guest, cpus=home.cpuset if owns else homes_cpus, grants=home.devices
                )
                minds = owns and self._minds(guest.pod)
                minded |= dict.fromkeys(home.cpuset if minds else (), guest.pod.key)
                free -= home.cpuset if owns else frozenset()
                parts |= {(g.type, g.minor) for g in home.devices if g.share}
                whole = [g for g in home.devices if not g.share]
                left = [
                    g
                    for g in left
                    if (g.type, g.minor) not in {(h.type, h.minor) for h in whole}
                    and not any(overlap(guest.node, g, h) for h in whole)
                ]
            if not all(map(self._is_well_alone, fixed.values())):
                continue
            others = [guest for i, guest in enumerate(guests) if i not in fixed]
            memory = {i: held_at(homes[guests[i].pod.key]) for i in chosen}
            for stays in self._leaves(others, free, left, parts, minded):
                rest = iter(stays)
                yield (
                    tuple(fixed[i] if i in fixed else next(rest) for i in range(len(guests))),
                    memory,
                )

    def _leaves(
        self,
        guests: Sequence[Stay],
        cpus: CpuSet,
        grants: Sequence[DeviceGrant],
        shared: Set[tuple[str, int]],
        minding: Minding,
    ) -> Iterator[tuple[Stay, ...]]:
        """Yield each way to share out CPUs and devices that leaves every pod well, alone.

        Devices that pods have shares of stay among the grants, for shares.
        """
        if not guests:
            yield ()
            return
        guest, *rest = guests
        requests = guest.pod.spec.requests
        count = requests.cpu_milli // 1000 if guest.pod.spec.qos.owns_cpus else 0
        minds = self._minds(guest.pod)
        owns = guest.pod.spec.qos.owns_cpus
        bound = may_be_bound(guest.pod, guest.node) and not is_by_container(guest)
        for own in (
            homes_tried(guest.pod, guest.node)
            if bound
            else cpu_sets(guest.node.machine.topology, cpus, count, minding)
        ):
            minded = {**minding, **dict.fromkeys(own if minds else (), guest.pod.key)}
            for held in grant_sets(guest, grants, shared):
                stay = replace(guest, cpus=own, grants=held)
                if self._is_well_alone(stay):
                    left = [
                        g
                        for g in grants
                        if g not in held and not any(overlap(guest.node, g, h) for h in held)
                    ]
                    more = {(grant.type, grant.minor) for grant in held if grant.share}
                    taken = own if owns else frozenset[int]()
                    for others in self._leaves(rest, cpus - taken, left, shared | more, minded):
                        yield (stay, *others)

    def _minds(self, pod: Pod) -> bool:
        """Return whether the pod minds, or others do, who else is on its cores."""
        spec = pod.spec
        beside = self.by_core and (spec.labels or spec.affinity)
        return self._keeps_apart(spec) or bool(beside)

    def _keeps_apart(self, spec: PodSpec) -> bool:
        """Return whether the pod has an exclusive policy, on some node by default."""
        defaults = {node.defaults.exclusive for node in self.instance.nodes}
        policies = defaults if spec.exclusive is None else {spec.exclusive}
        return policies != {ExclusivePolicy.NONE}

    def _minding(self, runners: Sequence[RunningPod]) -> Minding:
        return {
            cpu: runner.pod.key
            for runner in runners
            if self._minds(runner.pod)
            for cpu in runner.placement.cpuset
        }

    def _is_well_alone(self, stay: Stay) -> bool:
        """Return whether the pod could be there if it were alone and had its memory nowhere.

        Memory and neighbours only ever take away: what is refused here stays refused.
        """
        if stay.key not in self.alone:
            placement = Placement((stay.place({}, stay.cpus),))
            rules = [name for name in ALONE if name != "alignment" or not is_by_container(stay)]
            self.alone[stay.key] = not broken(self.instance, placement, rules)
        return self.alone[stay.key]

    def _split(
        self, node: Node, stays: Sequence[Stay], at_home: Mapping[int, Held]
    ) -> tuple[Held, ...] | None:
        """Return each pod's memory and pages, worth most in the tiers BY_MEMORY; None: too little.

        Memory decides nothing else. So masks are tried by their values there, lowest
        first, until one lets all pods be served.
        """
        options = [
            [(NOTHING, frozenset())] if i in at_home else self._masks(stay)
            for i, stay in enumerate(stays)
        ]
        key = (
            node.name,
            tuple(s.pod.key for s in stays),
            tuple(at_home),
            tuple(tuple(o) for o in options),
        )
        if key not in self.splits:
            self.splits[key] = None
            anywhere = [frozenset().union(*(mask for _, mask in option)) for option in options]
            if pour_all(self.instance, node, stays, anywhere, at_home) is None:
                return None
            for choice in sorted(product(*options), key=lambda c: added(cost for cost, _ in c)):
                masks = [mask for _, mask in choice]
                poured = pour_all(self.instance, node, stays, masks, at_home)
                if poured is not None:
                    self.splits[key] = tuple(poured)
                    break
        return self.splits[key]

    def _parted(
        self, node: Node, stays: Sequence[Stay], at_home: Mapping[int, Held]
    ) -> Iterator[tuple[tuple[Stay, ...], tuple[Held, ...]]]:
        """Yield pods and their memory where containers are aligned each for itself.

        What such a pod holds is tried in every way, cheapest first. More than one way only
        where pods are bound: beside what they count in a pool others may find no room.
        """
        bound = any(is_bound_by_policy(stay.pod.spec, stay.node) for stay in stays)
        options: list[list[tuple[Cost, Mask, Held | None, OwnParts | None]]] = [
            [(NOTHING, frozenset(), at_home[i], None)]
            if i in at_home
            else self._own(stay)
            if is_by_container(stay)
            else [(cost, mask, None, None) for cost, mask in self._masks(stay)]
            for i, stay in enumerate(stays)
        ]
        for choice in sorted(product(*options), key=lambda c: added(option[0] for option in c)):
            fixed = {i: held for i, (_, _, held, _) in enumerate(choice) if held is not None}
            allowed = [mask for _, mask, _, _ in choice]
            poured = pour_all(self.instance, node, stays, allowed, fixed)
            if poured is not None:
                parted = [
                    replace(stay, parts=own.parts) if own else stay
                    for stay, (*_, own) in zip(stays, choice, strict=True)
                ]
                yield tuple(parted), tuple(poured)
                if not bound:
                    return

    def _own(self, stay: Stay) -> list[tuple[Cost, Mask, Held | None, OwnParts | None]]:
        if stay.key not in self.own:
            kinds = needs_of(stay.pod)
            room = {kind: room_left(self.instance, stay.node, kind) for kind in kinds}
            if is_bound_by_policy(stay.pod.spec, stay.node):
                room[CPU] = self._milli_left(stay)
            found: list[tuple[Cost, Mask, Held | None, OwnParts | None]] = []
            for held in all_held(stay, room):
                self.leaves += 1
                if self.leaves > self.most_leaves:
                    raise TooManyLeavesError(f"{self.instance.name}: over {self.most_leaves}")
                parts = best_parts(stay, held, self.known)
                if parts is not None:
                    found.append(
                        (self._cost_by_container(stay, held, parts), frozenset(), held, parts)
                    )
            self.own[stay.key] = found
        return self.own[stay.key]

    def _cost_by_container(self, stay: Stay, held: Held, parts: OwnParts) -> Cost:
        """Return the cost of the containers' parts, and of what the pod holds as a whole."""
        place = replace(stay, parts=parts.parts).place(held, stay.cpus)
        worth = dict(measure(self.instance, Placement((place,))))
        return parts.cost, *(worth.get(tier, 0) for tier in BY_MEMORY[1:])

    def _milli_left(self, stay: Stay) -> dict[int, int]:
        """Return what the owners that run leave of the pod's pool, by NUMA node."""
        topology = stay.node.machine.topology
        tenants = [(runner.pod, runner.placement) for runner in self.instance.running]
        pool = pools(stay.node, tenants)[stay.pod.spec.qos] - stay.node.reserved_cpus
        homes = [topology.cpu[cpu].numa_node for cpu in pool]
        return {
            numa.id: stay.node.milli_per_cpu * homes.count(numa.id) for numa in topology.numa_nodes
        }

    def _masks(self, stay: Stay) -> list[tuple[Cost, Mask]]:
        """Return (values in the tiers BY_MEMORY, where the memory may be) for the pod alone.

        A mask inside another of no higher value is left out: the larger serves as well.
        """
        if not needs_of(stay.pod):
            return [(NOTHING, frozenset())]
        if stay.key not in self.masks:
            found = []
            numa_nodes = [numa.id for numa in stay.node.machine.topology.numa_nodes]
            sizes = range(len(numa_nodes), 0, -1)
            cpu = stay.node.machine.topology.cpu
            homes = {cpu[c].numa_node for c in stay.cpus}
            bound = is_bound_by_policy(stay.pod.spec, stay.node)
            for mask in chain.from_iterable(combinations(numa_nodes, size) for size in sizes):
                if bound and not homes.issuperset(mask):
                    continue
                placement = Placement((stay.place({MEMORY: dict.fromkeys(mask, 1)}, stay.cpus),))
                worth = dict(measure(self.instance, placement))
                cost = tuple(worth.get(tier, 0) for tier in BY_MEMORY)
                is_useful = not any(cost >= c and set(mask) <= m for c, m in found)
                if is_useful and not broken(self.instance, placement, ("alignment",)):
                    found.append((cost, frozenset(mask)))
            self.masks[stay.key] = found
        return self.masks[stay.key]


def added(costs: Iterable[Cost]) -> Cost:
    """Return what pods cost together, tier by tier."""
    return tuple(map(sum, zip(*costs, strict=True)))


def overlap(node: Node, a: DeviceGrant, b: DeviceGrant) -> bool:
    """Return whether two MIG instances share something of their GPU."""
    if not (is_mig_instance(a.type) and is_mig_instance(b.type)) or gpu_minor_of_mig_instance(
        a.minor
    ) != gpu_minor_of_mig_instance(b.minor):
        return False
    mine, other = (set(mig_slices_covered(node.mig, g.type, g.minor)) for g in (a, b))
    return not mine.isdisjoint(other)


def cpu_sets(
    topology: Topology, free: CpuSet, count: int, minding: Minding | None = None
) -> Iterator[CpuSet]:
    """Yield the sets of ``count`` free CPUs, one of those that differ only by like cores.

    Like cores have the same NUMA node, package, cache and kind, as many online threads and as
    many free ones, and the same pods on them that mind who else is. All rules and tiers read
    a core by these alone, so what follows is the same for each.
    """
    minding = minding or {}
    like: dict[object, list[list[int]]] = defaultdict(list)
    for threads in topology.cores.values():
        if usable := sorted(threads & free):
            cpu = topology.cpu[usable[0]]
            pods = frozenset(minding[cpu] for cpu in threads if cpu in minding)
            kind = (cpu.numa_node, cpu.package, cpu.llc, cpu.kind, len(threads), len(usable), pods)
            like[kind].append(usable)
    cores = [(kind, core) for kind, members in like.items() for core in members]

    def take(index: int, left: int, last: int) -> Iterator[tuple[int, ...]]:
        """Take from the core and those after it; never more than from a like core before."""
        if not left:
            yield ()
        elif index < len(cores):
            kind, core = cores[index]
            is_first = not index or cores[index - 1][0] != kind
            for taken in range(min(left, len(core), len(core) if is_first else last) + 1):
                for others in take(index + 1, left - taken, taken):
                    yield (*core[:taken], *others)

    return (frozenset(cpus) for cpus in take(0, count, 0))


def grant_sets(
    guest: Stay, free: Sequence[DeviceGrant], shared: Set[tuple[str, int]]
) -> Iterator[tuple[DeviceGrant, ...]]:
    """Yield every choice of devices that is as many as asked for of each type.

    Args:
        guest: The pod, and its node.
        free: Devices that nobody holds whole.
        shared: Those of them that pods have shares of.

    """
    spec = guest.pod.spec

    def sets(asked: DeviceRequest) -> Iterator[tuple[DeviceGrant, ...]]:
        able = [
            replace(grant, share=asked.share)
            for grant in free
            if grant.type == asked.type and (asked.share or (grant.type, grant.minor) not in shared)
        ]
        for count in device_counts(spec, asked, guest.node):
            yield from combinations(able, count)

    choices = [sets(asked) for asked in spec.requests.devices]
    for choice in product(*choices):
        grants = tuple(sorted(chain.from_iterable(choice), key=lambda g: (g.type, g.minor)))
        if len({(grant.type, grant.minor) for grant in grants}) == len(grants):
            yield grants
