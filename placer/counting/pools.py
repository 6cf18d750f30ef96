"""The pools that LS and BE pods run in, as a whole placement leaves them (C5 to C7)."""

from collections.abc import Sequence
from dataclasses import replace

from placer.counting.account import Account, account_of
from placer.counting.bound import pool_within
from placer.counting.containers import in_pool
from placer.counting.counted import CpuMilli, counted, room_of, want_of
from placer_models.bound import binds, within
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.placement import ContainerPlacement, Placement
from placer_models.pod import pods_of
from placer_models.policy import QosClass


def with_pools(instance: Instance, placement: Placement) -> Placement:
    """Return the placement with every shared pod in the pool that is left for it."""
    pods = {pod.key: pod for pod in pods_of(instance.gangs)}
    on_node: dict[str, list[RunningPod]] = {place.node: [] for place in placement.pods}
    for running in instance.running:
        if running.placement.node in on_node:
            on_node[running.placement.node].append(running)
    for place in placement.pods:
        on_node[place.node].append(RunningPod(pods[place.key], place))
    settled = {
        runner.pod.key: runner.placement
        for node in instance.nodes
        if node.name in on_node
        for runner in in_their_pools(node, on_node[node.name])
    }
    return Placement(tuple(settled[place.key] for place in placement.pods))


def in_their_pools(
    node: Node, pods: Sequence[RunningPod], left: Account | None = None
) -> list[RunningPod]:
    """Return the pods of a node, those without CPUs of their own in the pools as they are now.

    Args:
        node: The node.
        pods: All that run there.
        left: What they leave, where it is known.

    """
    left = account_of(node, pods) if left is None else left
    pools = {QosClass.LS: left.pool, QosClass.BE: left.best_effort_pool}
    counts: dict[int, CpuMilli] = {}
    for qos in pools:
        wants = [
            (i, want)
            for i, pod in enumerate(pods)
            if pod.pod.spec.qos is qos and (want := want_of(node, pod))
        ]
        if wants:
            found = counted(room_of(node, left, qos), [want for _, want in wants])
            counts.update(zip((i for i, _ in wants), found, strict=True))

    def in_its_pool(i: int, runner: RunningPod) -> RunningPod:
        spec, place = runner.pod.spec, runner.placement
        if spec.qos.owns_cpus:
            return runner
        pool = pool_within(pools[spec.qos], runner, node)
        containers = tuple(
            replace(part, cpuset=part_of(pools[spec.qos], part, node) or pool)
            for part in in_pool(spec.containers, pool, place.containers)
        )
        # Who floats where others are bound goes on floating, whatever becomes of the pool.
        milli = counts.get(i, () if binds(spec, node) else place.cpu_milli)
        if (place.cpuset, place.containers, place.cpu_milli) == (pool, containers, milli):
            return runner
        place = replace(place, cpuset=pool, containers=containers, cpu_milli=milli)
        return replace(runner, placement=place)

    return [in_its_pool(i, runner) for i, runner in enumerate(pods)]


def part_of(pool: CpuSet, container: ContainerPlacement, node: Node) -> CpuSet:
    """Return the part of a pool to which a container is bound for itself; nothing if it is not."""
    homes = {numa for numa, _ in container.cpu_milli or ()}
    return within(pool, homes, node.machine.topology) if homes else frozenset()
