"""The edges of all rules."""

from dressing import all_shown
from judge.cases_affinity import AFFINITY_EDGES
from judge.cases_amplification import AMPLIFICATION_EDGES
from judge.cases_apart import APART_EDGES
from judge.cases_bound import BOUND_EDGES
from judge.cases_burst import BURST_EDGES
from judge.cases_containers import CONTAINER_PART_EDGES
from judge.cases_cpus import CONTAINER_EDGES, OWNED_EDGES, POOL_EDGES
from judge.cases_environment import ENVIRONMENT_EDGES
from judge.cases_extended import EXTENDED_EDGES
from judge.cases_functions import FUNCTION_EDGES
from judge.cases_host_ports import HOST_PORTS_EDGES
from judge.cases_hugepages import HUGEPAGES_EDGES
from judge.cases_in_node_affinity import IN_NODE_AFFINITY_EDGES
from judge.cases_joint import JOINT_EDGES
from judge.cases_max_pods import MAX_PODS_EDGES
from judge.cases_mig import MIG_EDGES
from judge.cases_moves import MOVE_EDGES
from judge.cases_network import NETWORK_EDGES
from judge.cases_node_affinity import NODE_AFFINITY_EDGES
from judge.cases_node_cpus import NODE_CPU_EDGES
from judge.cases_partitions import PARTITION_EDGES
from judge.cases_pods import GANG_EDGES, POD_EDGES
from judge.cases_shares import SHARE_EDGES
from judge.cases_strategies import STRATEGY_EDGES
from judge.cases_taints import TAINT_EDGES
from judge.cases_things import ALIGNMENT_EDGES, DEVICE_EDGES, MEMORY_EDGES
from judge.cases_topology_spread import TOPOLOGY_SPREAD_EDGES
from judge.cases_unpooled import UNPOOLED_EDGES
from judge.hand import Case, case


def _shown(case: Case) -> Case:
    """Return the case with containers that are shown what they hold; others are about that."""
    if case.rule == "environment":
        return case
    return case._replace(
        good=all_shown(case.world, case.good),
        bad=all_shown(case.bad_world or case.world, case.bad),
    )


_FAMILIES = (
    AFFINITY_EDGES,
    IN_NODE_AFFINITY_EDGES,
    TOPOLOGY_SPREAD_EDGES,
    POD_EDGES,
    OWNED_EDGES,
    NODE_CPU_EDGES,
    APART_EDGES,
    POOL_EDGES,
    AMPLIFICATION_EDGES,
    UNPOOLED_EDGES,
    CONTAINER_EDGES,
    MEMORY_EDGES,
    BOUND_EDGES,
    BURST_EDGES,
    HUGEPAGES_EDGES,
    DEVICE_EDGES,
    FUNCTION_EDGES,
    JOINT_EDGES,
    PARTITION_EDGES,
    MIG_EDGES,
    SHARE_EDGES,
    STRATEGY_EDGES,
    EXTENDED_EDGES,
    MAX_PODS_EDGES,
    HOST_PORTS_EDGES,
    NODE_AFFINITY_EDGES,
    TAINT_EDGES,
    ALIGNMENT_EDGES,
    CONTAINER_PART_EDGES,
    ENVIRONMENT_EDGES,
    GANG_EDGES,
    NETWORK_EDGES,
    MOVE_EDGES,
)

CASES = tuple(_shown(case(name, edge)) for family in _FAMILIES for name, edge in family.items())
