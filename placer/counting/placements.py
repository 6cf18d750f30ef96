"""Placements made of choices, counts turning into ids, and choices counted again from them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placer.counting.account import Account
from placer.counting.container_devices import (
    container_devices_by_type,
    divide_devices_among_containers,
)
from placer.counting.containers import (
    container_amounts_by_cell,
    container_placements_on_pool,
    divide_choice_among_containers,
    divide_cpus_among_containers,
)
from placer.counting.core_pairs import core_exclusivity_of_new_pods, pick_cpus_for_exclusive_pods
from placer.counting.cores import (
    FreeCore,
    PodCoresToAssign,
    core_classes,
    core_takes_of_cpus,
    cores_with_free_threads,
    pick_cpus,
)
from placer.counting.devices import (
    assign_devices_to_pods,
    share_takes_of_placed_pod,
    whole_devices_of_pod_by_class,
)
from placer.counting.environment import with_environment
from placer.counting.memory import assign_memory_to_pods, pod_memory_by_cell
from placer.counting.pools import (
    numa_cpu_milli_of_bound_pods,
    pool_numa_nodes_of_choice,
    pool_wants_of,
    pools_after,
)
from placer_models.bound import is_bound_by_policy, pool_on_numa_nodes
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.device import DeviceKey
from placer_models.placement import ContainerPlacement, DeviceGrant, Placement, PodPlacement
from placer_models.pod import Gang, Pod, pods_of_gangs
from placer_models.policy import BindPolicy, RequiredOrPreferred
from placer_models.problem.banks import has_device_count_set_by_strategy
from placer_models.problem.node_state import CoreClassGranularity, NodeState
from placer_models.problem.problem import Choice, Choices, Problem, Shape
from placer_models.quantity import cpu_count_with_noun
from placer_models.records import record
from placer_models.variants import pod_with_spec_on


@dataclass(frozen=True, slots=True)
class NodeIdAssignmentFailure:
    """A node whose ids cannot give what the counts promise, and why."""

    node: str
    reason: str


@record(frozen=True, slots=True)
class _Newcomer:
    """A pod with its place in counts.

    Attributes:
        home: Its place in ids if the pod stays at home, else None.

    """

    index: int
    pod: Pod
    gang: Gang
    shape: Shape
    choice: Choice
    home: PodPlacement | None

    @property
    def kept_cpus(self) -> CpuSet:
        """The CPUs that the pod owns already."""
        return self.home.cpuset if self.home and self.pod.spec.qos.owns_cpus else frozenset()


def realise_choices(
    instance: Instance,
    accounts: Sequence[Account],
    problem: Problem,
    choices: Mapping[int, Choice],
) -> Placement | NodeIdAssignmentFailure:
    """Turn counts into ids, node by node, for all pods that are new on a node at once.

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
        pod = pod_with_spec_on(pod, instance.nodes[choice.node])
        shape = problem.shape_on(problem.pods[index], problem.nodes[choice.node])
        one = _Newcomer(index, pod, gang, shape, choice, home)
        newcomers[choice.node].append(one)
    runners = _beside_bound(instance, newcomers)
    placed: dict[int, PodPlacement] = {}
    for position, pods in sorted(newcomers.items()):
        node = instance.nodes[position]
        beside = runners[node.name]
        found = _on_node(node, accounts[position], problem, problem.nodes[position], pods, beside)
        if isinstance(found, str):
            return NodeIdAssignmentFailure(node.name, found)
        placed.update(found)
    return Placement(tuple(placed[index] for index in sorted(placed)))


def _beside_bound(
    instance: Instance, newcomers: Mapping[int, Sequence[_Newcomer]]
) -> Mapping[str, list[RunningPod]]:
    """Return name of a node -> pods that run there, for the nodes that bound pods come to."""
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

    ``runners`` has the pods that run there only if bound pods come.
    """
    cpus = _cpus(node, account, problem, state, pods)
    if isinstance(cpus, str):
        return cpus
    granted = assign_devices_to_pods(
        account.devices,
        state,
        [(one.pod.title, one.shape, one.choice) for one in pods],
        {at: one.home.devices for at, one in enumerate(pods) if one.home},
    )
    if isinstance(granted, str):
        return granted
    near = [
        _nearest(node, account, state, own, grants, one.choice)
        for one, own, grants in zip(pods, cpus, granted, strict=True)
    ]
    amounts = [(one.shape, one.choice, cells) for one, cells in zip(pods, near, strict=True)]
    memory = assign_memory_to_pods(problem, state, amounts)
    if isinstance(memory, str):
        return memory
    came = ((one.pod.spec.qos, own) for one, own in zip(pods, cpus, strict=True))
    pools = pools_after(account.pools, came)
    placing = [(one.pod.spec, one.choice) for one in pods]
    counts = numa_cpu_milli_of_bound_pods(node, state, pools, placing, runners)
    placed = {}
    for at, (one, own, grants) in enumerate(zip(pods, cpus, granted, strict=True)):
        spec, choice = one.pod.spec, one.choice
        cpuset = frozenset(own)
        if not spec.qos.owns_cpus:
            cpuset = pools.of(spec.qos).cpus
            if choice.pool:
                cpuset = pool_on_numa_nodes(
                    cpuset, pool_numa_nodes_of_choice(state, choice), node.machine.topology
                )
        containers = _containers(node, problem, state, one, own, cpuset, grants)
        if one.home is None:
            containers, env = with_environment(containers, node)
        else:
            env = one.home.env
        placed[one.index] = PodPlacement(
            name=one.pod.name,
            namespace=one.pod.namespace,
            gang=None if one.gang.lone else one.gang.name,
            node=node.name,
            cpuset=cpuset,
            containers=containers,
            memory_bytes=memory[at][0],
            hugepages=memory[at][1],
            devices=grants,
            env=env,
            cpu_milli=counts.get(at, () if is_bound_by_policy(spec, node) else None),
        )
    return placed


def _nearest(
    node: Node,
    account: Account,
    state: NodeState,
    own: Sequence[int],
    grants: Sequence[DeviceGrant],
    choice: Choice,
) -> tuple[int, ...]:
    """Return the cells of a pod's CPUs and devices, those with most of them first.

    A pod of a pool has CPUs in the cells that it is bound to.
    """
    cell_of = {cell.numa_node: index for index, cell in enumerate(state.cells)}
    held = {(grant.type, grant.minor) for grant in grants}
    there = [cell_of[node.machine.topology.cpu[cpu].numa_node] for cpu in own]
    there += [
        cell_of[d.numa_node]
        for d in (account.devices.healthy if held else ())
        if (d.type, d.minor) in held and d.numa_node is not None
    ]
    near = Counter([*there, *choice.pool_cells])
    nearest = sorted(near, key=lambda cell: (-near[cell], cell))
    return (*nearest, *(cell for cell in choice.near_cells if cell not in near))


def _containers(
    node: Node,
    problem: Problem,
    state: NodeState,
    one: _Newcomer,
    own: Sequence[int],
    cpuset: CpuSet,
    grants: Sequence[DeviceGrant],
) -> tuple[ContainerPlacement, ...]:
    """Divide what a pod holds among its containers."""
    spec, home = one.pod.spec, one.home
    fit = problem.fit(one.index, one.choice.node)
    by_cell = None
    if fit is not None and fit.containers:
        parts = divide_choice_among_containers(
            spec, fit.containers, one.choice, own, cpuset, node, problem
        )
        indices = [part.index for part in fit.containers]
        first_device = 1 + len(problem.in_cells)
        by_cell = container_devices_by_type(
            spec, one.choice, indices, len(state.cells), first_device
        )
    elif not spec.qos.owns_cpus:
        parts = container_placements_on_pool(
            spec.containers, cpuset, home.containers if home else ()
        )
    elif home:
        parts = home.containers
    else:
        parts = divide_cpus_among_containers(spec.containers, own, node.machine.topology)
    return (
        parts
        if home
        else divide_devices_among_containers(spec, parts, grants, node, state, by_cell)
    )


def _cpus(
    node: Node,
    account: Account,
    problem: Problem,
    state: NodeState,
    pods: Sequence[_Newcomer],
) -> list[list[int]] | str:
    """Return the CPUs that each pod owns, neighbours together."""
    owned: list[list[int]] = [[] for _ in pods]
    if not any(one.shape.owned_cpus for one in pods):
        return owned
    fits = [problem.fit(one.index, one.choice.node) for one in pods]
    spread = [fit is not None and fit.bind is BindPolicy.SPREAD_BY_PCPUS for fit in fits]
    keeps: list[RequiredOrPreferred | None] = [None] * len(pods)
    if problem.granularity is CoreClassGranularity.PAIRS:
        keeps = core_exclusivity_of_new_pods(state, fits, [one.choice for one in pods])
    kept = frozenset[int]().union(*(one.kept_cpus for one in pods))
    classes = core_classes(node, account.cores, problem.core_tiers, problem.granularity)
    for position, (found, members) in enumerate(classes):
        takers = [i for i, one in enumerate(pods) if one.home is None and _takes(one, position)]
        if not takers:
            continue
        cores = cores_with_free_threads(node, account.cores, found, members)
        cores = _without(cores, kept) if kept else cores
        wants = [PodCoresToAssign(pods[i].choice.cores[position], spread[i]) for i in takers]
        minding = [keeps[i] for i in takers]
        if found.paired and any(minding):
            picked = pick_cpus_for_exclusive_pods(cores, wants, minding)
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
        wanted = one.shape.owned_cpus
        if len(own) != wanted:
            owns = cpu_count_with_noun(1000 * wanted)
            return f"pod {one.pod.title!r} owns {owns}; its counts give {len(own)}"
        if wanted and any(c.requests.cpu_milli % 1000 for c in one.pod.spec.containers):
            return (
                f"pod {one.pod.title!r} owns its CPUs, "
                "so each of its containers has to ask for whole ones"
            )
    return owned


def _takes(one: _Newcomer, position: int) -> bool:
    take = one.choice.cores[position]
    return bool(take.whole or take.threads)


def _without(cores: Sequence[FreeCore], kept: CpuSet) -> tuple[FreeCore, ...]:
    """Return what pods that stay leave of the cores."""
    left = (FreeCore(core.key, tuple(c for c in core.free if c not in kept)) for core in cores)
    return tuple(core for core in left if core.free)


def choices_from_placement(
    instance: Instance, accounts: Sequence[Account], problem: Problem, placement: Placement
) -> Choices:
    """Return the places of a placement as counts: the inverse of `realise_choices`.

    Args:
        instance: What the problem was built from.
        accounts: What is left on each node, in the instance's order.
        problem: The same in integers.
        placement: Places for pods of the instance, on its nodes.

    """
    place_of = {place.key: place for place in placement.pods}
    node_of = {node.name: index for index, node in enumerate(instance.nodes)}
    placed: list[tuple[int, Pod, PodPlacement, Shape]] = []
    opened: defaultdict[str, set[DeviceKey]] = defaultdict(set)
    for index, pod in enumerate(pods_of_gangs(instance.gangs)):
        if place := place_of.get(pod.key):
            shape = problem.shape_on(problem.pods[index], problem.nodes[node_of[place.node]])
            placed.append((index, pod, place, shape))
            opened[place.node].update(
                (g.type, g.minor)
                for g in place.devices
                if g.share or has_device_count_set_by_strategy(shape.shares, g.type)
            )
    choices: Choices = {}
    for index, pod, place, shape in placed:
        at = node_of[place.node]
        node, account, state = instance.nodes[at], accounts[at], problem.nodes[at]
        pod = pod_with_spec_on(pod, node)
        fit = problem.fit(index, at)
        bind = fit.bind if fit and shape.owned_cpus else None
        choices[index] = Choice(
            node=at,
            cores=core_takes_of_cpus(
                node, account.cores, problem.core_tiers, problem.granularity, bind, place.cpuset
            ),
            devices=whole_devices_of_pod_by_class(state, place, shape),
            pinned=pod_memory_by_cell(problem, state, place),
            shares=share_takes_of_placed_pod(
                state, account.devices, place, shape, opened[place.node]
            ),
            containers=tuple(
                container_amounts_by_cell(
                    pod.spec, place.containers, container, node, state, problem
                )
                for container in (fit.containers if fit else ())
            ),
            pool=pool_wants_of(state, node, RunningPod(pod, place)),
        )
    return choices
