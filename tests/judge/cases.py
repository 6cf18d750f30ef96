"""The edges of all rules."""

from dressing import all_shown
from judge.cases_affinity import AFFINITY_CASES
from judge.cases_amplification import AMPLIFICATION_CASES
from judge.cases_apart import APART_CASES
from judge.cases_bound import BOUND_CASES
from judge.cases_burst import BURST_CASES
from judge.cases_containers import CONTAINER_PART_CASES
from judge.cases_cpus import CONTAINER_CASES, OWNED_CASES, POOL_CASES
from judge.cases_environment import ENVIRONMENT_CASES
from judge.cases_extended import EXTENDED_CASES
from judge.cases_functions import FUNCTION_CASES
from judge.cases_host_ports import HOST_PORTS_CASES
from judge.cases_hugepages import HUGEPAGES_CASES
from judge.cases_in_node_affinity import IN_NODE_AFFINITY_CASES
from judge.cases_joint import JOINT_CASES
from judge.cases_max_pods import MAX_PODS_CASES
from judge.cases_mig import MIG_CASES
from judge.cases_moves import MOVE_CASES
from judge.cases_network import NETWORK_CASES
from judge.cases_node_affinity import NODE_AFFINITY_CASES
from judge.cases_node_cpus import NODE_CPU_CASES
from judge.cases_partitions import PARTITION_CASES
from judge.cases_pods import GANG_CASES, POD_CASES
from judge.cases_shares import SHARE_CASES
from judge.cases_strategies import STRATEGY_CASES
from judge.cases_taints import TAINT_CASES
from judge.cases_things import ALIGNMENT_CASES, DEVICE_CASES, MEMORY_CASES
from judge.cases_topology_spread import TOPOLOGY_SPREAD_CASES
from judge.cases_unpooled import UNPOOLED_CASES
from judge.hand import Case


def _shown(case: Case) -> Case:
    """Return the case with containers that are shown what they hold; others are about that."""
    if case.rule == "environment":
        return case
    return case._replace(
        good=all_shown(case.world, case.good),
        bad=all_shown(case.bad_world or case.world, case.bad),
    )


_CASES = (
    *AFFINITY_CASES,
    *IN_NODE_AFFINITY_CASES,
    *TOPOLOGY_SPREAD_CASES,
    *POD_CASES,
    *OWNED_CASES,
    *NODE_CPU_CASES,
    *APART_CASES,
    *POOL_CASES,
    *AMPLIFICATION_CASES,
    *UNPOOLED_CASES,
    *CONTAINER_CASES,
    *MEMORY_CASES,
    *BOUND_CASES,
    *BURST_CASES,
    *HUGEPAGES_CASES,
    *DEVICE_CASES,
    *FUNCTION_CASES,
    *JOINT_CASES,
    *PARTITION_CASES,
    *MIG_CASES,
    *SHARE_CASES,
    *STRATEGY_CASES,
    *EXTENDED_CASES,
    *MAX_PODS_CASES,
    *HOST_PORTS_CASES,
    *NODE_AFFINITY_CASES,
    *TAINT_CASES,
    *ALIGNMENT_CASES,
    *CONTAINER_PART_CASES,
    *ENVIRONMENT_CASES,
    *GANG_CASES,
    *NETWORK_CASES,
    *MOVE_CASES,
)

CASES = tuple(map(_shown, _CASES))
