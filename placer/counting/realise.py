"""An answer in counts becomes a placement: CPU ids, device minors, bytes."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from placer.counting.account import Account
from placer.counting.container_devices import wants_by_cell, with_devices
from placer.counting.containers import in_parts, in_pool
from placer.counting.core_pairs import keeping, pick_pairs
from placer.counting.cores import FreeCore, core_classes, pick_cpus
from placer.counting.cores import Want as CoreWant
from placer.counting.counted import CpuMilli, Want, counted, room_of, want_of
from placer.counting.devices import grants_of
from placer.counting.environment import with_environment
from placer.counting.memory import MemoryWant, split_memory
from placer.counting.parts import in_own_parts
from placer_models.bound import binds, within
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.core_granularity import CoreGranularity
from placer_models.cpuset import CpuSet
from placer_models.node_state import NodeState
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import Gang, Pod
from placer_models.policy import BindPolicy, QosClass
from placer_models.problem import Choice, Problem


@dataclass(frozen=True, slots=True)
class Unrealisable:
    """The counts promise what the node's ids cannot give."""

    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Newcomer:
    """A pod with its place in counts.

    Attributes:
        home: Its place in ids, where the pod stays.

    """

    index: int
    pod: Pod
    gang: Gang
    choice: Choice
    home: PodPlacement | None

    @property
    def kept_cpus(self) -> CpuSet:
        """The CPUs that the pod owns already."""
        owns = self.home is not None and self.pod.spec.qos.owns_cpus
        return self.home.cpuset if self.home and owns else frozenset()


def realise(
    instance: Instance,
    accounts: Sequence[Account],
    problem: Problem,
    choices: Mapping[int, Choice],
) -> Placement | Unrealisable:
    """Turn counts into ids, node by node, all pods that are new on a node at once.

    Args:
        instance: What the problem was built from.
        accounts: What is left on each node, in the instance's order.
        problem: The same in integers.
        choices: Pod index -> its place.

    """
    newcomers: defaultdict[int, list[_Newcomer]] = defaultdict(list)
    members = [(gang, pod) for gang in instance.gangs for pod in gang.pods]
    in_counts = dict(problem.homes)
    homes = {home.key: home for home in instance.homes}
    for index in sorted(choices):
        gang, pod = members[index]
        choice = choices[index]
        home = homes[pod.key] if choice == in_counts.get(index) else None
        newcomers[choice.node].append(_Newcomer(index, pod, gang, choice, home))
    runners = _beside_bound(instance, newcomers)
    placed: dict[int, PodPlacement] = {}
    for position, pods in sorted(newcomers.items()):
        node = instance.nodes[position]
        beside = runners[node.name]
        found = _on_node(node, accounts[position], problem, problem.nodes[position], pods, beside)
        if isinstance(found, str):
            return Unrealisable(node.name, found)
        placed.update(found)
    return Placement(tuple(placed[index] for index in sorted(placed)))


def _beside_bound(
    instance: Instance, newcomers: Mapping[int, Sequence[_Newcomer]]
) -> Mapping[str, list[RunningPod]]:
    """Return name of a node -> what runs there, where bound pods come."""
    runners: defaultdict[str, list[RunningPod]] = defaultdict(list)
    names = {
        instance.nodes[position].name
        for position, pods in newcomers.items()
        if any(one.choice.pool for one in pods)
    }
    for runner in instance.running if names else ():
        if runner.placement.node in names:
            runners[runner.placement.node].append(runner)
    return runners


def _on_node(
    node: Node,
    account: Account,
    problem: Problem,
    state: NodeState,
    pods: Sequence[_Newcomer],
    runners: Sequence[RunningPod],
) -> dict[int, PodPlacement] | str:
    """Return the places of the node's new pods, or why there are none.

    What runs there is known where bound pods come.
    """
    cpus = _cpus(node, account, problem, state, pods)
    if isinstance(cpus, str):
        return cpus
    granted = grants_of(
        account,
        state,
        [(one.pod.title, problem.shape_of(one.index), one.choice) for one in pods],
        {at: one.home.devices for at, one in enumerate(pods) if one.home},
    )
    if isinstance(granted, str):
        return granted
    cell_of = {cell.numa_node: index for index, cell in enumerate(state.cells)}
    wants = []
    for one, own, grants in zip(pods, cpus, granted, strict=True):
        held = {(grant.type, grant.minor) for grant in grants}
        homes = [node.machine.topology.cpu[cpu].numa_node for cpu in own]
        near = Counter(cell_of[home] for home in homes)
        near.update(
            cell_of[d.numa_node]
            for d in account.devices
            if (d.type, d.minor) in held and d.numa_node is not None
        )
        nearest = (
            *sorted(near, key=lambda cell: (-near[cell], cell)),
            *(cell for cell in one.choice.near_cells if cell not in near),
        )
        amount = problem.shape_of(one.index).memory
        wants.append(MemoryWant(amount, one.choice.memory, nearest))
    memory = split_memory([cell.memory for cell in state.cells], wants)
    if memory is None:
        return (
            f"its pods take {sum(want.amount for want in wants) * problem.memory_unit_bytes} bytes "
            f"of memory; the NUMA nodes they come from have less"
        )
    pages = []
    for i, page_bytes in enumerate(problem.page_sizes):
        asked = [
            replace(
                want,
                amount=problem.shape_of(one.index).pages[i],
                pinned=one.choice.pages[i] if one.choice.pages else None,
                near=want.near or tuple(cell for cell, amount in enumerate(units) if amount),
            )
            for one, want, units in zip(pods, wants, memory, strict=True)
        ]
        split = split_memory([cell.pages[i] for cell in state.cells], asked)
        if split is None:
            return f"its pods take more hugepages of {page_bytes} bytes than there are"
        pages.append(split)
    pools = _pools(account, pods, cpus)
    counts = _counts(node, account, state, pods, cpus, runners)
    placed = {}
    for at, (one, own, grants, units) in enumerate(zip(pods, cpus, granted, memory, strict=True)):
        spec = one.pod.spec
        if spec.qos.owns_cpus:
            cpuset = frozenset(own)
            containers = (
                one.home.containers
                if one.home
                else in_parts(spec.containers, own, node.machine.topology)
            )
        else:
            cpuset = pools[spec.qos]
            if one.choice.pool:
                cpuset = within(cpuset, _homes(state, one.choice), node.machine.topology)
            containers = in_pool(spec.containers, cpuset, one.home.containers if one.home else ())
        fit = problem.fit(one.index, one.choice.node)
        by_cell = None
        if fit is not None and fit.containers:
            containers = in_own_parts(spec, fit.containers, one.choice, own, cpuset, node, problem)
            by_cell = wants_by_cell(
                spec,
                one.choice,
                [part.index for part in fit.containers],
                len(state.cells),
                2 + len(problem.page_sizes),
            )
        if one.home is None:
            containers = with_devices(spec, containers, grants, node, state, by_cell)
        place = PodPlacement(
            name=one.pod.name,
            namespace=one.pod.namespace,
            gang=None if one.gang.lone else one.gang.name,
            node=node.name,
            cpuset=cpuset,
            containers=containers,
            memory_bytes=tuple(
                (cell.numa_node, amount * problem.memory_unit_bytes)
                for cell, amount in zip(state.cells, units, strict=True)
                if amount and cell.numa_node is not None
            ),
            hugepages=tuple(
                (cell.numa_node, page_bytes, split[at][i])
                for i, cell in enumerate(state.cells)
                for page_bytes, split in zip(problem.page_sizes, pages, strict=True)
                if split[at][i] and cell.numa_node is not None
            ),
            devices=grants,
            env=one.home.env if one.home else (),
            cpu_milli=counts.get(at, () if binds(spec, node) else None),
        )
        placed[one.index] = place if one.home else with_environment(place, node)
    return placed


def _cpus(
    node: Node,
    account: Account,
    problem: Problem,
    state: NodeState,
    pods: Sequence[_Newcomer],
) -> list[list[int]] | str:
    """Return the CPUs that every pod owns, neighbours together."""
    owned: list[list[int]] = [[] for _ in pods]
    fits = [problem.fit(one.index, one.choice.node) for one in pods]
    spread = [fit is not None and fit.bind is BindPolicy.SPREAD_BY_PCPUS for fit in fits]
    shapes = [(problem.shape_of(one.index), one.choice) for one in pods]
    classes = (
        core_classes(node, account, problem.asked, problem.granularity)
        if any(shape.owned_cpus for shape, _ in shapes)
        else ()
    )
    keeps = (
        keeping(state, shapes)
        if problem.granularity is CoreGranularity.PAIRS
        else [None] * len(pods)
    )
    kept = frozenset[int]().union(*(one.kept_cpus for one in pods))
    for position, (found, all_cores) in enumerate(classes):
        takers = [
            i
            for i, one in enumerate(pods)
            if one.home is None and any(_amounts(one.choice, position))
        ]
        if not takers:
            continue
        cores = _without(all_cores, kept) if kept else all_cores
        wants = [CoreWant(pods[i].choice.cores[position], spread[i]) for i in takers]
        minding = [keeps[i] for i in takers]
        if found.paired and any(minding):
            picked = pick_pairs(cores, wants, minding)
        else:
            picked = pick_cpus(found, cores, wants)
        if picked is None:
            return (
                f"its pods take {sum(w.take.whole for w in wants)} whole cores and "
                f"{sum(w.take.threads for w in wants)} single threads of {found.cores} cores "
                f"with {found.free} free threads each: more than there are"
            )
        for i, cpus in zip(takers, picked, strict=True):
            owned[i].extend(cpus)
    for one, own in zip(pods, owned, strict=True):
        own.extend(sorted(one.kept_cpus))
        wanted = problem.shape_of(one.index).owned_cpus
        if len(own) != wanted:
            return f"pod {one.pod.title!r} owns {wanted} CPUs; its counts give {len(own)}"
        if wanted and any(c.requests.cpu_milli % 1000 for c in one.pod.spec.containers):
            return (
                f"pod {one.pod.title!r} owns its CPUs, so each of its containers has to ask "
                "for whole ones"
            )
    return owned


def _without(cores: Sequence[FreeCore], kept: CpuSet) -> tuple[FreeCore, ...]:
    """Return the cores with what pods that stay leave of them."""
    left = (FreeCore(core.key, tuple(c for c in core.free if c not in kept)) for core in cores)
    return tuple(core for core in left if core.free)


def _amounts(choice: Choice, position: int) -> tuple[int, int]:
    take = choice.cores[position]
    return take.whole, take.threads


def _homes(state: NodeState, choice: Choice) -> frozenset[int]:
    """Return the NUMA nodes to whose pool a pod is bound."""
    homes = (state.cells[cell].numa_node for cell in choice.pool_cells)
    return frozenset(home for home in homes if home is not None)


def _counts(
    node: Node,
    account: Account,
    state: NodeState,
    pods: Sequence[_Newcomer],
    cpus: Sequence[Sequence[int]],
    runners: Sequence[RunningPod],
) -> dict[int, CpuMilli]:
    """Return position of a bound pod -> what it counts on which NUMA node."""
    found: dict[int, CpuMilli] = {}
    pools = _pools(account, pods, cpus)
    owned = frozenset(cpu for own in cpus for cpu in own)
    left = replace(
        account,
        free_cpus=account.free_cpus - owned,
        pool=pools[QosClass.LS],
        best_effort_pool=pools[QosClass.BE],
    )
    for qos in pools:
        new = [at for at, one in enumerate(pods) if one.choice.pool and one.pod.spec.qos is qos]
        if not new:
            continue
        wants = [w for r in runners if r.pod.spec.qos is qos and (w := want_of(node, r))]
        for at in new:
            choice, milli = pods[at].choice, pods[at].pod.spec.requests.cpu_milli
            said = None
            if choice.containers:
                parts = ((state.cells[cells[0]].numa_node, part) for cells, part in choice.pool)
                said = tuple(sorted((numa, part) for numa, part in parts if numa is not None))
            wants.append(Want(_homes(state, choice), milli, said, fixed=said is not None))
        given = counted(room_of(node, left, qos), wants)
        found.update(zip(new, given[-len(new) :], strict=True))
    return found


def _pools(
    account: Account, pods: Sequence[_Newcomer], cpus: Sequence[Sequence[int]]
) -> dict[QosClass, CpuSet]:
    """Return the pools as they are once all new pods have their CPUs."""
    owned: defaultdict[QosClass, set[int]] = defaultdict(set)
    for one, own in zip(pods, cpus, strict=True):
        owned[one.pod.spec.qos].update(own)
    return {
        QosClass.LS: account.pool - owned[QosClass.LSE] - owned[QosClass.LSR],
        QosClass.BE: account.best_effort_pool - owned[QosClass.LSE],
    }
