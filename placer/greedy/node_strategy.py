"""Costs of places in the last tier, whichever node strategy that is."""

from placer.greedy.cores import whole_core_count_free, whole_core_count_lost
from placer.greedy.devices import usable_device_points, usable_device_points_lost
from placer.greedy.inside import CandidatePlace
from placer.greedy.switches import PodSwitchUse, whole_switch_points_lost
from placer_models.goals import WHOLE_CORE_POINTS
from placer_models.node_strategy import pod_cost_by_node_strategy
from placer_models.problem.dimensions import MEMORY, SHARED_POOL, amounts_left
from placer_models.problem.node_state import NodeState
from placer_models.problem.rooms import room_points


def node_strategy_cost(place: CandidatePlace) -> int:
    """Return points of tier ``usable`` that the node loses, or what another strategy counts."""
    node, shape, fit, devices = place.node, place.shape, place.fit, place.devices
    if node.load is not None and fit.ask is not None:
        return pod_cost_by_node_strategy(node.load, fit.ask)
    left = amounts_left(node.amounts, shape.amounts_on(node))
    lost = node.room_points - room_points(node.rooms, left[SHARED_POOL], left[MEMORY])
    lost += usable_device_points_lost(node, devices.counts, devices.shares)
    if node.switches and (shape.devices or shape.shares):
        lost += whole_switch_points_lost(node, [PodSwitchUse.of(shape, devices)])
    return lost + WHOLE_CORE_POINTS * whole_core_count_lost(node, place.cores)


def usable_node_points(node: NodeState) -> int:
    """Return the points of tier ``usable`` that the node has, without those of its switches."""
    cores = WHOLE_CORE_POINTS * whole_core_count_free(node)
    return usable_device_points(node) + cores + node.room_points
