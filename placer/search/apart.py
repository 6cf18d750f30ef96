"""What a pod that keeps apart may still own, for the reasons why it was left out (C9)."""

from placer.state.account import Account
from placer.state.apart import Held
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.pod import PodSpec
from placer_models.policy import ExclusivePolicy, Strength

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
