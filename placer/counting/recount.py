"""Ids become counts again: the inverse of realising."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from placer.counting.account import Account
from placer.counting.bound import bound_pods
from placer.counting.container_parts import taken_by
from placer.counting.cores import takes_of
from placer.counting.slots import slots_of
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.links import counts_of
from placer_models.node_state import NodeState
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import pods_of
from placer_models.problem import Choice, Choices, Problem, Shape
from placer_models.shares import ShareTake, follows_strategy


def recount(
    instance: Instance, accounts: Sequence[Account], problem: Problem, placement: Placement
) -> Choices:
    """Return the places of a placement as counts.

    Args:
        instance: What the problem was built from.
        accounts: What is left on each node, in the instance's order.
        problem: The same in integers.
        placement: Places for pods of the instance, on its nodes.

    """
    place_of = {place.key: place for place in placement.pods}
    node_of = {node.name: index for index, node in enumerate(instance.nodes)}
    strategies = {pod.key: dict(pod.spec.strategies) for pod in pods_of(instance.gangs)}
    opened: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for new in placement.pods:
        by_strategy = strategies.get(new.key, {})
        opened[new.node].update(
            (g.type, g.minor) for g in new.devices if g.share or g.type in by_strategy
        )
    choices: Choices = {}
    for index, pod in enumerate(pods_of(instance.gangs)):
        place = place_of.get(pod.key)
        if place is None:
            continue
        at = node_of[place.node]
        state, fit = problem.nodes[at], problem.fit(index, at)
        bind = fit.bind if fit and problem.shape_of(index).owned_cpus else None
        choices[index] = Choice(
            node=at,
            cores=takes_of(
                instance.nodes[at],
                accounts[at],
                problem.asked,
                problem.granularity,
                bind,
                place.cpuset,
            ),
            memory=_memory(state, place, problem.memory_unit_bytes),
            devices=tuple(
                counts_of(
                    bank.board,
                    [
                        g.minor
                        for g in place.devices
                        if g.type == bank.type
                        and g.share is None
                        and g.type not in strategies[pod.key]
                    ],
                )
                for bank in state.banks
            ),
            pages=tuple(_pages(state, place, size) for size in problem.page_sizes)
            if any(problem.shape_of(index).pages)
            else (),
            shares=_shares(problem.shape_of(index), state, place, accounts[at], opened[place.node]),
            containers=tuple(
                taken_by(pod.spec, place.containers, container, instance.nodes[at], state, problem)
                for container in (fit.containers if fit else ())
            ),
            pool=_pool(state, instance.nodes[at], RunningPod(pod, place)),
        )
    return choices


def _pool(state: NodeState, node: Node, pod: RunningPod) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return what a pod without CPUs of its own wants of the pool of its cells."""
    index = {cell.numa_node: i for i, cell in enumerate(state.cells)}
    wants = bound_pods(node, [pod])
    return tuple(sorted((tuple(sorted(index[numa] for numa in b.cells)), b.milli) for b in wants))


def _shares(
    shape: Shape,
    state: NodeState,
    place: PodPlacement,
    account: Account,
    opened: Collection[tuple[str, int]],
) -> tuple[ShareTake, ...]:
    """Return which slot each of the pod's shares is on; devices are numbered as opened."""
    takes = []
    left = [need.count for need in shape.shares]
    for position, bank in enumerate(state.banks):
        in_slots = follows_strategy(shape.shares, bank.type)
        held = [g for g in place.devices if g.type == bank.type and (g.share or in_slots)]
        if not held:
            continue
        first = {minor for kind, minor in opened if kind == bank.type}
        slot_of = {
            minor: (twin, slot)
            for twin, members in enumerate(slots_of(account, bank.type, bank.board, first))
            for slot, (minor, _) in enumerate(members)
        }
        for grant in held:
            index = next(
                i
                for i, need in enumerate(shape.shares)
                if need.type == grant.type
                and (need.strategy or (left[i] and need.share == grant.share))
            )
            left[index] -= 1
            takes.append(ShareTake(position, *slot_of[grant.minor], index))
    return tuple(sorted(takes))


def _memory(state: NodeState, place: PodPlacement, unit_bytes: int) -> tuple[int, ...]:
    held = dict(place.memory_bytes)
    return tuple(
        0 if cell.numa_node is None else held.get(cell.numa_node, 0) // unit_bytes
        for cell in state.cells
    )


def _pages(state: NodeState, place: PodPlacement, page_bytes: int) -> tuple[int, ...]:
    held = {numa: count for numa, size, count in place.hugepages if size == page_bytes}
    return tuple(
        0 if cell.numa_node is None else held.get(cell.numa_node, 0) for cell in state.cells
    )
