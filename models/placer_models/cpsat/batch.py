"""The whole model of a batch: every rule, every goal."""

from collections.abc import Callable
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel

from placer_models.cpsat.affinity import pods_come_together, pods_keep_apart
from placer_models.cpsat.applied import a_pod_has_the_devices_of_its_strategies
from placer_models.cpsat.assignment import Variables
from placer_models.cpsat.bound import (
    a_bound_pod_has_a_cpu_on_each_of_its_cells,
    a_burst_pod_has_a_pool_for_its_limit,
    owners_leave_bound_pods_their_cpus,
    requests_of_bound_pods_fit_their_cells,
)
from placer_models.cpsat.containers import (
    a_container_has_what_it_asks_for,
    a_container_keeps_to_its_cells,
    a_container_uses_the_cells_it_takes_from,
    best_effort_containers_need_their_fewest_cells,
    containers_share_what_the_pod_holds,
)
from placer_models.cpsat.cpus import (
    a_pod_owns_the_cpus_it_asks_for,
    cores_fit,
    counted_pods_share_whole_cores,
    spread_threads_touch_different_cores,
    the_best_effort_pool_fits,
    the_shared_pool_fits,
    threads_fit,
)
from placer_models.cpsat.devices import (
    a_pod_has_one_gpu_set,
    a_pod_has_the_devices_it_asks_for,
    devices_fit,
)
from placer_models.cpsat.exclusivity import (
    a_remainder_is_on_a_core_of_its_own,
    cpus_are_in_counted_cells,
    required_cores_are_not_shared,
    required_numa_nodes_are_not_shared,
    single_threads_are_on_counted_cores,
    spread_threads_are_on_counted_cores,
    who_shares_a_numa_node_falls_back,
)
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.extended import extended_resources_fit
from placer_models.cpsat.family import Rule
from placer_models.cpsat.functions import virtual_functions_fit_their_device
from placer_models.cpsat.gangs import (
    a_gang_reaches_its_minimum_or_stays_out,
    a_gathered_gang_is_on_one_node,
    a_group_of_gangs_runs_whole_or_not,
    a_pod_has_one_place_at_most,
    equal_units_come_in_order,
)
from placer_models.cpsat.goals import tier_expressions
from placer_models.cpsat.hugepages import (
    a_pod_has_the_hugepages_it_asks_for,
    a_pod_uses_the_cells_of_its_hugepages,
    hugepages_fit,
)
from placer_models.cpsat.in_node_affinity import (
    a_pod_is_where_it_owns_cpus,
    pods_come_together_inside_a_node,
    pods_keep_apart_inside_a_node,
)
from placer_models.cpsat.joint import (
    a_pod_uses_the_groups_it_takes_from,
    devices_stand_side_by_side,
)
from placer_models.cpsat.localities import (
    a_pod_touches_its_fewest_groups,
    a_pod_touches_the_groups_it_takes_from,
    a_pod_touches_the_packages_of_its_cells,
    a_pod_without_policy_needs_its_fewest_cells,
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
    a_gang_spreads_where_it_must,
    members_of_a_domain_come_in_multiples,
)
from placer_models.cpsat.numa import (
    a_pod_has_the_memory_it_asks_for,
    a_pod_keeps_to_its_cells,
    a_pod_uses_the_cells_it_takes_from,
    best_effort_needs_its_fewest_cells,
    memory_fits,
)
from placer_models.cpsat.opened import (
    a_node_is_opened_before_it_is_used,
    an_opened_node_holds_what_it_has,
    equal_offers_are_used_in_order,
)
from placer_models.cpsat.pairs import (
    only_wishes_share_pairs,
    pairs_have_room_for_singles,
    singles_of_pairs_are_counted,
)
from placer_models.cpsat.scopes import a_pod_has_its_devices_within_their_scope
from placer_models.cpsat.shares import (
    a_device_with_shares_is_opened,
    a_pod_has_the_shares_it_asks_for,
    devices_are_opened_in_order,
    gpus_in_part_are_a_set_too,
    shares_fit_their_device,
    shares_of_a_pod_are_on_different_devices,
)
from placer_models.cpsat.variables import decide
from placer_models.problem import Problem

RULES: tuple[Rule, ...] = (
    a_pod_has_one_place_at_most,
    a_gang_reaches_its_minimum_or_stays_out,
    a_group_of_gangs_runs_whole_or_not,
    a_gathered_gang_is_on_one_node,
    a_gang_gathers_where_it_must,
    a_gang_spreads_where_it_must,
    members_of_a_domain_come_in_multiples,
    pods_keep_apart,
    pods_come_together,
    a_pod_is_where_it_owns_cpus,
    pods_keep_apart_inside_a_node,
    pods_come_together_inside_a_node,
    a_pod_owns_the_cpus_it_asks_for,
    counted_pods_share_whole_cores,
    cores_fit,
    threads_fit,
    spread_threads_touch_different_cores,
    the_shared_pool_fits,
    the_best_effort_pool_fits,
    a_burst_pod_has_a_pool_for_its_limit,
    a_bound_pod_has_a_cpu_on_each_of_its_cells,
    owners_leave_bound_pods_their_cpus,
    requests_of_bound_pods_fit_their_cells,
    memory_fits,
    extended_resources_fit,
    a_pod_has_the_memory_it_asks_for,
    a_pod_uses_the_cells_it_takes_from,
    hugepages_fit,
    a_pod_has_the_hugepages_it_asks_for,
    a_pod_uses_the_cells_of_its_hugepages,
    a_pod_keeps_to_its_cells,
    a_container_has_what_it_asks_for,
    containers_share_what_the_pod_holds,
    a_container_uses_the_cells_it_takes_from,
    a_container_keeps_to_its_cells,
    a_pod_has_the_devices_it_asks_for,
    a_pod_has_one_gpu_set,
    devices_fit,
    a_pod_uses_the_groups_it_takes_from,
    devices_stand_side_by_side,
    a_pod_has_its_devices_within_their_scope,
    a_pod_touches_the_groups_it_takes_from,
    a_pod_touches_the_packages_of_its_cells,
    a_pod_has_the_shares_it_asks_for,
    a_pod_has_the_devices_of_its_strategies,
    shares_of_a_pod_are_on_different_devices,
    shares_fit_their_device,
    a_device_with_shares_is_opened,
    gpus_in_part_are_a_set_too,
    single_threads_are_on_counted_cores,
    cpus_are_in_counted_cells,
    who_shares_a_numa_node_falls_back,
    singles_of_pairs_are_counted,
    pairs_have_room_for_singles,
    only_wishes_share_pairs,
    required_cores_are_not_shared,
    required_numa_nodes_are_not_shared,
    a_node_is_opened_before_it_is_used,
    instances_of_a_gpu_do_not_overlap,
    virtual_functions_fit_their_device,
    a_running_pod_keeps_a_place,
    who_stays_has_what_it_had,
    who_stays_keeps_its_cells,
    no_more_pods_move_than_may,
)
"""What every placement obeys; without any one of them a wrong placement gets through."""

CUTS: tuple[Rule, ...] = (
    best_effort_needs_its_fewest_cells,
    a_pod_touches_its_fewest_groups,
    a_pod_without_policy_needs_its_fewest_cells,
    devices_are_opened_in_order,
    spread_threads_are_on_counted_cores,
    a_remainder_is_on_a_core_of_its_own,
    an_opened_node_holds_what_it_has,
    equal_offers_are_used_in_order,
    best_effort_containers_need_their_fewest_cells,
    equal_units_come_in_order,
)
"""What helps the search: true of some best placement, so that no tier suffers."""


@dataclass(frozen=True, slots=True)
class BatchModel:
    """A Problem as CP-SAT sees it.

    Attributes:
        tiers: One expression a tier, in the order of `goals.tiers_for`.

    """

    model: CpModel
    decisions: Variables
    tiers: tuple[Expression, ...]


def build_batch_model(
    problem: Problem,
    *,
    tiers: int | None = None,
    rules: tuple[Rule, ...] = RULES,
    cuts: tuple[Rule, ...] = CUTS,
    stop: Callable[[], bool] | None = None,
) -> BatchModel | None:
    """Write the model down; nothing is solved yet. None: it was stopped before the end.

    Args:
        problem: The batch.
        tiers: How many tiers it is for, from the first on; None: all.
        rules: What placements obey; tests leave some out.
        cuts: What helps the search.
        stop: Asked now and then whether the time is over; a large model takes long.

    """
    model = CpModel()
    stop = stop or (lambda: False)
    x = decide(model, problem, stop)
    if x is None:
        return None
    for rule in (*rules, *cuts):
        if stop():
            return None
        rule(model, problem, x)
    if stop():
        return None
    return BatchModel(model, x, tuple(tier_expressions(model, problem, x, tiers)))
