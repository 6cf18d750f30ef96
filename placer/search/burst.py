"""Why pods under ConstrainedBurst, or owners beside them, were left out (G7)."""

from placer.state.account import Account
from placer.state.burst import cpus_by_numa_node, requests_fit
from placer_models.cluster import Node
from placer_models.pod import PodSpec


def burst_blocker(node: Node, spec: PodSpec, account: Account) -> str | None:
    """Return how rule constrained-burst keeps a pod off a node, by amounts."""
    topology = node.machine.topology
    pool = cpus_by_numa_node(account.pool, topology)
    free = cpus_by_numa_node(account.free_cpus, topology)
    want, milli = spec.burst_cpus, spec.requests.cpu_milli
    if want > sum(pool.values()):
        return f"constrained-burst asks a pool of {want} CPUs"
    if want:
        room = {numa: 1000 * cpus for numa, cpus in free.items()}
        asked = [(homes, request) for homes, request, _ in account.bursts]
        if not requests_fit(room, [*asked, (pool.keys(), milli)]):
            return f"constrained-burst asks {milli / 1000:g} CPUs on NUMA nodes"
    if spec.qos.owns_cpus:
        for homes, _, cpus in account.bursts:
            reserved = sum(pool.get(numa, 0) - free.get(numa, 0) for numa in homes)
            if milli > 1000 * (len(account.free_cpus) - max(0, cpus - reserved)):
                return (
                    f"constrained-burst needs CPUs that the pod would own, {milli // 1000} of them"
                )
    return None
