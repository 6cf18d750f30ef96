"""What a pod that keeps apart may still own, for the reasons why it was left out (C9, C18)."""

from placer.state.account import Account
from placer.state.apart import Held
from placer_models.affinity import AffinityLevel
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.pod import PodSpec
from placer_models.policy import ExclusivePolicy, Strength
from placer_models.problem import Problem

EXCLUSIVE = {
    ExclusivePolicy.PCPU_LEVEL: "exclusive-cores",
    ExclusivePolicy.NUMA_NODE_LEVEL: "exclusive-numa-nodes",
}
"""The rule that keeps pods of a policy apart."""


def apart_cpus(node: Node, spec: PodSpec, account: Account) -> CpuSet:
    """Return the free CPUs where the pod meets nobody against a demand, its own or theirs."""
    cpus = node.machine.topology.cpu

    def barred(places: Held) -> set[int]:
        required = Strength.REQUIRED
        return {p for p, held in places.items() if spec.exclusive_required or held is required}

    match spec.exclusive:
        case ExclusivePolicy.NONE:
            return account.free_cpus
        case ExclusivePolicy.PCPU_LEVEL:
            cores = barred(account.cores_held)
            return frozenset(cpu for cpu in account.free_cpus if cpus[cpu].core not in cores)
        case ExclusivePolicy.NUMA_NODE_LEVEL:
            homes = barred(account.numa_nodes_held)
            return frozenset(cpu for cpu in account.free_cpus if cpus[cpu].numa_node not in homes)


def too_few_beside(problem: Problem, shape: int, index: int) -> bool:
    """Return whether running pods, by anti-affinity, leave too few CPUs of a node."""
    asking, node = problem.shapes[shape], problem.nodes[index]
    if asking.beside is None:
        return False
    off_cores = asking.beside.off_at(AffinityLevel.CORE)
    off_cells = asking.beside.off_at(AffinityLevel.NUMA)
    free = sum(
        c.cores * c.free
        for c in node.cores
        if off_cores.isdisjoint(c.sides) and off_cells.isdisjoint(node.cells[c.cell].sides)
    )
    return free < asking.owned_cpus
