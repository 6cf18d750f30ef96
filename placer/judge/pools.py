"""Rules about the pools that LS and BE pods share."""

from collections.abc import Iterator

from placer.judge.cells import numa_nodes_bound_to, pool_cpus_on_numa_nodes
from placer.judge.family import Finding, JudgedFamily
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.cpuset import CpuSet, cpus_without, format_cpu_list, is_same_cpu_set
from placer_models.placement import ContainerPlacement
from placer_models.policy import QosClass
from placer_models.quantity import cpu_count_with_noun


def shared_pool_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """LS pods run on the CPUs that no pod owns, and those of them that are allocatable suffice."""
    for judged in scene.entered:
        yield from _pool_holds(judged, QosClass.LS)


def be_pool_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """BE pods run on the CPUs that no LSE pod owns, and the allocatable ones suffice."""
    for judged in scene.entered:
        yield from _pool_holds(judged, QosClass.BE)


def pool_cpus(judged: JudgedNode, qos: QosClass) -> CpuSet:
    """Return the pool that LS or BE pods of the judged node run in."""
    return cpus_without(judged.inside.topology.online, cpus_withheld_from_pool(judged, qos))


def pool_cpus_of_pod(
    judged: JudgedNode, placed: PlacedPod, container: ContainerPlacement | None = None
) -> CpuSet:
    """Return the part of the node's pool that a pod, or a container of it, runs in."""
    homes = numa_nodes_bound_to(judged, placed)
    if container is not None and container.cpu_milli:
        homes = frozenset(numa for numa, _ in container.cpu_milli)
    pool = pool_cpus(judged, placed.qos)
    return pool_cpus_on_numa_nodes(judged, pool, homes) if homes else pool


def cpus_withheld_from_pool(judged: JudgedNode, qos: QosClass) -> CpuSet:
    """Return the CPUs that owners, or the node, keep from the pool of LS or BE pods."""
    taken = judged.taken if qos is QosClass.LS else judged.taken_by_lse
    if not judged.node.unpooled_cpus:
        return taken
    running = frozenset[int]().union(*(one.owned for one in judged.placed_pods if not one.new))
    return taken | judged.node.out_of_pools(running)


def _pool_holds(judged: JudgedNode, qos: QosClass) -> Iterator[Finding]:
    placed_pods = [placed for placed in judged.placed_pods if placed.qos is qos]
    if not placed_pods:
        return
    name = judged.node.name
    gone = cpus_withheld_from_pool(judged, qos)
    pool = pool_cpus(judged, qos)
    asked_milli = sum(placed.requests.cpu_milli for placed in placed_pods)
    allocatable = judged.inside.allocatable
    has_milli = judged.node.milli_per_cpu * (len(allocatable) - len(allocatable & gone))
    # Running pods may overfill a pool by themselves: only pods that add to it are blamed.
    shrunk = any(t.new and t.owned & gone for t in judged.placed_pods)
    asked_anew = any(t.new and t.requests.cpu_milli for t in placed_pods)
    if asked_milli > has_milli and (shrunk or asked_anew):
        yield Finding(
            name,
            f"the {qos} pods of node {name!r} ask for {cpu_count_with_noun(asked_milli)}; "
            f"what is left to share is {has_milli / 1000:g}",
        )
    if not pool and (shrunk or any(t.new for t in placed_pods)):
        yield Finding(
            name,
            f"node {name!r} runs {len(placed_pods)} {qos} pods, "
            "but every CPU they may use is owned; leave them one",
        )
    for placed in judged.new:
        if placed.qos is not qos or is_same_cpu_set(placed.place.cpuset, pool):
            continue
        if not numa_nodes_bound_to(judged, placed):  # else rule bound-pool
            yield Finding(
                placed.title,
                f"{qos} pod {placed.title!r} runs on CPUs {cpus_text(placed.place.cpuset)}; "
                f"its pool on node {name!r} is {cpus_text(pool)}",
            )


def cpus_text(cpus: CpuSet) -> str:
    """Return CPUs as a list for people."""
    return format_cpu_list(cpus) or "none"


JUDGED = JudgedFamily(
    rules={
        "shared-pool": shared_pool_breaches,
        "be-pool": be_pool_breaches,
    }
)
