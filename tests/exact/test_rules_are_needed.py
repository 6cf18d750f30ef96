"""Every rule of the model matters: without it some tiny world goes wrong."""

from itertools import chain

import pytest

from even_topologies import even_topology
from exact.family_worlds import extended_world, offered_world
from exact.needed_rules import is_needed
from exact_checks import MakeWorld
from features.affinity import affinity_instance
from features.bound import bound_instance
from features.burst import burst_instance
from features.device_strategy import strategy_instance
from features.exclusivity import apart_instance
from features.functions import function_instance
from features.in_node_affinity import in_node_affinity_instance
from features.joint import joint_instance
from features.localities import locality_instance
from features.mig import mig_instance
from features.network import network_instance
from features.numa import container_instance
from features.partitions import partitioned
from features.shares import sharing_instance
from features.topology_spread import spread_instance
from moving_worlds import memory_in_the_way, moving_instance, pinned_crowd
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpsat.affinity import affine_pods_come_together, pods_keep_apart
from placer_models.cpsat.amounts import amounts_fit_their_node
from placer_models.cpsat.batch_model import RULES
from placer_models.cpsat.bound import (
    a_bound_pod_has_a_cpu_on_each_of_its_cells,
    a_burst_pod_has_a_pool_for_its_limit,
    a_burst_pod_uses_the_cells_of_its_pool,
    owners_leave_bound_pods_their_cpus,
    requests_of_bound_pods_fit_their_cells,
)
from placer_models.cpsat.containers import (
    a_container_has_what_it_asks_for,
    a_container_keeps_to_its_cell_limit,
    a_container_uses_the_cells_it_takes_from,
    containers_share_what_the_pod_holds,
)
from placer_models.cpsat.core_pairs import (
    only_willing_pods_share_cores,
    single_threads_have_own_cores,
    singles_of_pairs_are_counted,
)
from placer_models.cpsat.device_strategy import a_pod_has_the_devices_of_its_strategies
from placer_models.cpsat.devices import (
    a_pod_has_its_devices_within_their_scope,
    whole_and_shared_gpus_are_one_set,
)
from placer_models.cpsat.domain_limits import domains_have_as_many_pods_as_allowed
from placer_models.cpsat.exclusivity import (
    cpus_are_in_counted_cells,
    required_core_exclusivity_is_kept,
    required_numa_exclusivity_is_kept,
    single_threads_are_on_counted_cores,
    who_shares_a_numa_node_falls_back,
)
from placer_models.cpsat.family import AddRule
from placer_models.cpsat.functions import virtual_functions_fit_their_device
from placer_models.cpsat.in_node_affinity import (
    a_pod_is_where_it_owns_cpus,
    anti_affinity_holds_inside_a_node,
    pods_come_together_inside_a_node,
)
from placer_models.cpsat.joint import (
    a_group_gives_both_joint_types,
    a_pod_uses_the_groups_it_takes_from,
)
from placer_models.cpsat.localities import (
    a_pod_touches_the_packages_of_its_cells,
    owned_cpus_are_in_touched_groups,
)
from placer_models.cpsat.mig import instances_of_a_gpu_do_not_overlap
from placer_models.cpsat.moves import (
    a_running_pod_keeps_a_place,
    no_more_pods_move_than_may,
    who_stays_has_what_it_had,
    who_stays_keeps_its_cells,
)
from placer_models.cpsat.network import (
    a_gang_gathers_where_it_must,
    members_of_a_domain_are_limited,
    members_of_a_domain_come_in_multiples,
)
from placer_models.cpsat.opened import a_node_is_opened_before_it_is_used
from placer_models.cpsat.shares import (
    a_device_with_shares_is_opened,
    a_pod_has_the_shares_it_asks_for,
    shares_fit_their_device,
    shares_of_a_pod_are_on_different_devices,
)
from placer_models.placement import PodPlacement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.topology import Cpu, NumaNode, Topology
from worlds import tiny_instance

pytestmark = pytest.mark.check

MOST_WORLDS = 600


def two_pods_on_three_cores() -> Instance:
    """Two pods of 3 CPUs fit 3 whole cores by the sum, but no pod can have 1.5 cores.

    A third pod has to go to a node of half cores, so that the bind tier is not 0.
    """
    threads = [Cpu(i, core=i // 2, package=0, numa_node=i // 4) for i in range(6)]
    whole = Topology("x86_64", tuple(threads), (NumaNode(0, 0), NumaNode(1, 0)))
    halves = even_topology(8, 0, threads=2)
    return Instance(
        nodes=(
            Node("whole", Machine("whole", "", whole)),
            Node("halves", Machine("halves", "", halves), reserved_cpus=frozenset({0, 2, 4, 6})),
        ),
        gangs=tuple(lone(name, cpus) for name, cpus in (("a", 3), ("b", 3), ("c", 2))),
    )


def best_effort_beside_exclusive() -> Instance:
    """A BE pod asks for no CPU of a node, but for one in its pool; an LSE pod wants both."""
    cpus = tuple(Cpu(i, core=i, package=0, numa_node=0) for i in range(2))
    machine = Machine("pair", "", Topology("aarch64", cpus, (NumaNode(0, 0),)))
    return Instance(
        nodes=(Node("n", machine),),
        gangs=(lone("batch", 0, QosClass.BE), lone("service", 2, QosClass.LSE)),
    )


def cpus_far_from_memory() -> Instance:
    """The CPUs of one package are taken, and the memory of the other."""
    machine = Machine("box", "", even_topology(4, 1, 1, packages=2))
    spec = PodSpec((Container("main", Resources(2000, 1)),), qos=QosClass.LSR)
    place = PodPlacement("old", "default", None, "n", frozenset({2, 3}), memory_bytes=((0, 1),))
    return Instance(
        nodes=(Node("n", machine),),
        gangs=(Gang("a", "default", (Pod("a", "default", spec),), 1, lone=True),),
        running=(RunningPod(Pod("old", "default", spec), place),),
    )


def lone(name: str, cpus: int, qos: QosClass = QosClass.LSR) -> Gang:
    spec = PodSpec((Container("main", Resources(1000 * cpus)),), qos=qos)
    return Gang(name, "default", (Pod(name, "default", spec),), 1, lone=True)


WORLDS: dict[AddRule, MakeWorld] = {
    a_running_pod_keeps_a_place: moving_instance,
    who_stays_has_what_it_had: moving_instance,
    who_stays_keeps_its_cells: lambda _: memory_in_the_way(),
    no_more_pods_move_than_may: lambda _: pinned_crowd(1),
    pods_keep_apart: affinity_instance,
    affine_pods_come_together: affinity_instance,
    domains_have_as_many_pods_as_allowed: spread_instance,
    a_pod_is_where_it_owns_cpus: in_node_affinity_instance,
    anti_affinity_holds_inside_a_node: in_node_affinity_instance,
    pods_come_together_inside_a_node: in_node_affinity_instance,
    a_gang_gathers_where_it_must: network_instance,
    members_of_a_domain_are_limited: network_instance,
    members_of_a_domain_come_in_multiples: network_instance,
    owned_cpus_are_in_touched_groups: locality_instance,
    a_pod_touches_the_packages_of_its_cells: lambda _: cpus_far_from_memory(),
    a_pod_uses_the_groups_it_takes_from: joint_instance,
    amounts_fit_their_node: extended_world,
    virtual_functions_fit_their_device: function_instance,
    a_group_gives_both_joint_types: joint_instance,
    a_pod_has_the_shares_it_asks_for: sharing_instance,
    a_pod_has_the_devices_of_its_strategies: strategy_instance,
    shares_of_a_pod_are_on_different_devices: sharing_instance,
    shares_fit_their_device: sharing_instance,
    a_device_with_shares_is_opened: sharing_instance,
    whole_and_shared_gpus_are_one_set: sharing_instance,
    a_container_has_what_it_asks_for: container_instance,
    a_container_keeps_to_its_cell_limit: container_instance,
    a_container_uses_the_cells_it_takes_from: container_instance,
    containers_share_what_the_pod_holds: container_instance,
    a_burst_pod_has_a_pool_for_its_limit: burst_instance,
    a_burst_pod_uses_the_cells_of_its_pool: burst_instance,
    a_bound_pod_has_a_cpu_on_each_of_its_cells: bound_instance,
    owners_leave_bound_pods_their_cpus: burst_instance,
    requests_of_bound_pods_fit_their_cells: bound_instance,
    a_pod_has_its_devices_within_their_scope: partitioned,
    instances_of_a_gpu_do_not_overlap: mig_instance,
    single_threads_are_on_counted_cores: apart_instance,
    cpus_are_in_counted_cells: apart_instance,
    who_shares_a_numa_node_falls_back: apart_instance,
    required_core_exclusivity_is_kept: apart_instance,
    required_numa_exclusivity_is_kept: apart_instance,
    a_node_is_opened_before_it_is_used: offered_world,
    singles_of_pairs_are_counted: apart_instance,
    single_threads_have_own_cores: apart_instance,
    only_willing_pods_share_cores: apart_instance,
}
"""Rules that only the worlds of their own family need."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_without_the_rule_some_world_goes_wrong(rule: AddRule) -> None:
    """
    A rule that no world needs is not tested by any world.
    """
    made = (two_pods_on_three_cores(), best_effort_beside_exclusive())
    make = WORLDS.get(rule, tiny_instance)
    assert is_needed(rule, chain(made, map(make, range(MOST_WORLDS))))
