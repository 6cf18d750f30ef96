"""What a place costs in the last tier, whichever strategy that is."""

from collections.abc import Sequence

from placer.greedy.cores import whole_cores_free, whole_cores_lost
from placer.greedy.devices import Devices, points_lost, points_of
from placer.greedy.residual import Residual
from placer_models.goals import WHOLE_CORE_POINTS
from placer_models.node_strategy import cost
from placer_models.problem import CoreTake, Fit, Shape
from placer_models.rooms import room_points


def cost_of(
    residual: Residual, shape: Shape, fit: Fit, devices: Devices, cores: Sequence[CoreTake]
) -> int:
    """Return points of tier ``usable`` that the node loses, or what another strategy counts."""
    if residual.load is not None and fit.ask is not None:
        return cost(residual.load, fit.ask)
    milli = residual.pool_milli - 1000 * shape.owned_cpus - shape.shared_milli
    memory = residual.memory_total - shape.memory
    lost = rooms_left(residual) - room_points(residual.layout.rooms, milli, memory)
    lost += points_lost(residual, devices.counts, devices.shares)
    return lost + WHOLE_CORE_POINTS * whole_cores_lost(residual, cores)


def usable_left(residual: Residual) -> int:
    """Return the points of tier ``usable`` that the node has."""
    cores = WHOLE_CORE_POINTS * whole_cores_free(residual)
    return points_of(residual) + cores + rooms_left(residual)


def rooms_left(residual: Residual) -> int:
    """Return the points of the rooms among them."""
    return room_points(residual.layout.rooms, residual.pool_milli, residual.memory_total)
