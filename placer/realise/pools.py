"""The pools that LS and BE pods run in, as a whole placement leaves them (C5 to C7)."""

from dataclasses import replace

from placer.realise.containers import in_pool
from placer.state.account import account_of
from placer.state.burst import pool_within
from placer_models.cluster import Instance, RunningPod
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import Pod, pods_of
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
    pools = {}
    topologies = {node.name: node.machine.topology for node in instance.nodes}
    for node in instance.nodes:
        if node.name not in on_node:
            continue
        left = account_of(node, on_node[node.name])
        pools[node.name, QosClass.LS] = left.pool
        pools[node.name, QosClass.BE] = left.best_effort_pool

    def in_its_pool(place: PodPlacement, pod: Pod) -> PodPlacement:
        if pod.spec.qos.owns_cpus:
            return place
        pool = pool_within(
            pools[place.node, pod.spec.qos], RunningPod(pod, place), topologies[place.node]
        )
        return replace(
            place, cpuset=pool, containers=in_pool(pod.spec.containers, pool, place.containers)
        )

    return Placement(tuple(in_its_pool(place, pods[place.key]) for place in placement.pods))
