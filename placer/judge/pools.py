"""Rules about the pools that LS and BE pods share."""

from collections.abc import Iterator

from placer.judge.cells import bound_to, cpus_of
from placer.judge.family import JudgedFamily
from placer.judge.finding import Finding
from placer.judge.scene import JudgedNode, PlacedPod, Scene
from placer_models.cpuset import CpuSet, format_cpu_list, is_same, without
from placer_models.placement import ContainerPlacement
from placer_models.policy import QosClass


def shared_pool(scene: Scene) -> Iterator[Finding]:
    """LS pods run on the CPUs that no pod owns, and those of them that are allocatable suffice."""
    for site in scene.entered:
        yield from _pool_holds(site, QosClass.LS)


def be_pool(scene: Scene) -> Iterator[Finding]:
    """BE pods run on the CPUs that no LSE pod owns, and the allocatable ones suffice."""
    for site in scene.entered:
        yield from _pool_holds(site, QosClass.BE)


def pool_of(site: JudgedNode, qos: QosClass) -> CpuSet:
    """Return the pool that LS or BE pods of the site run in."""
    return without(site.inside.topology.online, withheld(site, qos))


def pool_here(
    site: JudgedNode, tenant: PlacedPod, container: ContainerPlacement | None = None
) -> CpuSet:
    """Return the part of the node's pool that a pod, or a container of it, runs in."""
    homes = bound_to(site, tenant)
    if container is not None and container.cpu_milli:
        homes = frozenset(numa for numa, _ in container.cpu_milli)
    pool = pool_of(site, tenant.qos)
    return cpus_of(site, pool, homes) if homes else pool


def withheld(site: JudgedNode, qos: QosClass) -> CpuSet:
    """Return the CPUs that owners, or the node, keep from the pool of LS or BE pods."""
    taken = site.taken if qos is QosClass.LS else site.taken_by_lse
    if not site.node.unpooled_cpus:
        return taken
    running = frozenset[int]().union(*(one.owned for one in site.tenants if not one.new))
    return taken | site.node.out_of_pools(running)


def _pool_holds(site: JudgedNode, qos: QosClass) -> Iterator[Finding]:
    tenants = [tenant for tenant in site.tenants if tenant.qos is qos]
    if not tenants:
        return
    name = site.node.name
    gone = withheld(site, qos)
    pool = pool_of(site, qos)
    asked_milli = sum(tenant.requests.cpu_milli for tenant in tenants)
    allocatable = site.inside.allocatable
    has_milli = site.node.milli_per_cpu * (len(allocatable) - len(allocatable & gone))
    # Running pods may overfill a pool by themselves: only pods that add to it are blamed.
    shrunk = any(t.new and t.owned & gone for t in site.tenants)
    asked_anew = any(t.new and t.requests.cpu_milli for t in tenants)
    if asked_milli > has_milli and (shrunk or asked_anew):
        yield Finding(
            name,
            f"the {qos} pods of node {name!r} ask for {asked_milli / 1000:g} CPUs; "
            f"what is left to share is {has_milli / 1000:g}",
        )
    if not pool and (shrunk or any(t.new for t in tenants)):
        yield Finding(
            name,
            f"node {name!r} runs {len(tenants)} {qos} pods, but every CPU they may use is owned; "
            "leave them one",
        )
    for tenant in site.new:
        if tenant.qos is not qos or is_same(tenant.place.cpuset, pool):
            continue
        if not bound_to(site, tenant):  # else rule bound-pool
            yield Finding(
                tenant.title,
                f"{qos} pod {tenant.title!r} runs on CPUs {_text(tenant.place.cpuset)}; "
                f"its pool on node {name!r} is {_text(pool)}",
            )


def _text(cpus: CpuSet) -> str:
    return format_cpu_list(cpus) or "none"


JUDGED = JudgedFamily(
    rules={
        "shared-pool": shared_pool,
        "be-pool": be_pool,
    }
)
