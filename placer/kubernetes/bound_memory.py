"""Memory and hugepages of pods that are bound to a node, by NUMA node: as they say, or a guess."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placer.kubernetes.bound_pod import KubeRunningPod
from placer_models.annotations.resource_status import NumaShare
from placer_models.bound import is_bound_by_policy, numa_nodes_of
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.instance.guessed_memory import (
    MEMORY,
    Holdings,
    PodWithUnlocatedMemory,
    guessed_places,
    numa_node_with_pool_room,
)
from placer_models.instance.guessed_room import Resource
from placer_models.instance.running_defaults import numa_nodes_near, pool_of
from placer_models.policy import QosClass


@dataclass(frozen=True, slots=True)
class LaidMemory:
    """What one pod holds, in the form of placements.

    Attributes:
        guessed: Whether some of it is a guess.

    """

    memory_bytes: tuple[tuple[int, int], ...]
    hugepages: tuple[tuple[int, int, int], ...]
    guessed: bool


def laid_memory(
    read: Sequence[KubeRunningPod], node: Node, owned: Mapping[QosClass, CpuSet]
) -> list[LaidMemory]:
    """Return what each of the pods of a node holds.

    What a pod does not say is guessed (`guessed_memory`), beside what all others say. Memory and
    pages beyond what there is count as well, because running pods may ask for more.
    """
    room = _room(read, node)
    said = [_said(one, room) for one in read]
    for held in said:
        for resource, amounts in held.items():
            for numa, amount in amounts.items():
                room[resource][numa] -= amount
    runners = _runners(read, node, owned, said)
    several = len(node.machine.topology.numa_nodes) > 1
    found = []
    guessed = guessed_places(node, owned, runners, room)
    for own, runner, given in zip(said, runners, guessed, strict=True):
        all_of_it = {**given, **own}
        found.append(
            LaidMemory(
                tuple(sorted((n, size) for n, size in all_of_it[MEMORY].items() if size)),
                tuple(
                    sorted(
                        (numa, size, count)
                        for size, counts in all_of_it.items()
                        if isinstance(size, int)
                        for numa, count in counts.items()
                        if count
                    )
                ),
                guessed=several and runner.is_open,
            )
        )
    return found


def bound_pool_numa_nodes(one: KubeRunningPod, node: Node) -> tuple[NumaShare, ...]:
    """Return the NUMA nodes to whose pool a pod says that it is bound; none if nothing binds it."""
    spec = one.asked.spec
    may_be = is_bound_by_policy(spec, node) or spec.constrained_burst
    return one.part.status.homes if one.part.status and may_be else ()


def numa_node_to_bind_to(
    milli: int, beside: Sequence[KubeRunningPod], node: Node, owned: Mapping[QosClass, CpuSet]
) -> int | None:
    """Return the NUMA node to whose shared pool an LS request had better be bound, if there is one.

    That is the first that can hold it beside the pods of the node, or else by itself.
    """
    runners = _runners(beside, node, owned, [{} for _ in beside])
    return numa_node_with_pool_room(milli, node, owned, runners)


def _room(read: Sequence[KubeRunningPod], node: Node) -> dict[Resource, dict[int, int]]:
    """Return what NUMA nodes have of memory, and of each size of hugepages."""
    pages = node.pages_in()
    sizes = {size for _, size in pages}
    sizes |= {h.page_bytes for one in read for h in one.asked.spec.requests.hugepages}
    room: dict[Resource, dict[int, int]] = {MEMORY: node.memory_bytes_in()}
    for size in sizes:
        room[size] = {numa: count for (numa, of), count in pages.items() if of == size}
    return room


def _said(one: KubeRunningPod, room: Mapping[Resource, Mapping[int, int]]) -> Holdings:
    """Return what a pod says of its memory, and of its pages, as far as it says all of it."""
    requests = one.asked.spec.requests
    said: Holdings = {}
    memory = {share.node: share.memory_bytes for share in one.part.memory}
    if sum(memory.values()) == requests.memory_bytes and memory.keys() <= room[MEMORY].keys():
        said[MEMORY] = memory
    for wanted in requests.hugepages:
        size = wanted.page_bytes
        here = {
            share.node: amount // size
            for share in one.part.memory
            for of, amount in share.hugepages_bytes
            if of == size
        }
        if sum(here.values()) == wanted.count and here.keys() <= room[size].keys():
            said[size] = here
    return said


def _runners(
    read: Sequence[KubeRunningPod],
    node: Node,
    owned: Mapping[QosClass, CpuSet],
    said: Sequence[Holdings],
) -> list[PodWithUnlocatedMemory]:
    """Return what is known of where pods are, and what is not."""
    topology = node.machine.topology
    known = {numa.id for numa in topology.numa_nodes}
    found = []
    for one, held in zip(read, said, strict=True):
        spec = one.asked.spec
        near = {n for n in numa_nodes_near(node, one.cpus, one.devices) if n is not None}
        homes = {share.node for share in bound_pool_numa_nodes(one, node)} & known
        near |= homes
        near |= {n for amounts in held.values() for n, amount in amounts.items() if amount}
        if not homes and is_bound_by_policy(spec, node):
            # It runs on all of its pool, whatever the policy wants.
            homes = set(numa_nodes_of(pool_of(spec.qos, node, owned), topology))
        found.append(
            PodWithUnlocatedMemory(
                (one.part.identity.namespace, one.part.identity.name),
                spec,
                frozenset(near),
                frozenset(homes),
                0 if MEMORY in held else spec.requests.memory_bytes,
                {
                    h.page_bytes: h.count
                    for h in spec.requests.hugepages
                    if h.page_bytes not in held
                },
            )
        )
    return found
