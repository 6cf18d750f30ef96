"""Links: the worth of the GPU sets that pods have, and of those that are left (D6 to D8, D10)."""

from collections.abc import Iterator, Sequence
from itertools import product

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.devices import (
    existing_device_vars,
    gpu_boards_for_shape,
    taken_free_device_counts,
)
from placer_models.cpsat.envelope import add_envelope_limit
from placer_models.cpsat.family import ModelFamily, always
from placer_models.cpsat.shares import (
    DeviceOpenedForSharesVariables,
    existing_share_vars,
    shared_device_literals,
)
from placer_models.device import GPU
from placer_models.goals import (
    GANG_PAIR_SUM,
    GPU_POINTS,
    PARTITIONS,
    POD_PAIR_MINIMUM,
    POD_PAIR_SUM,
    USABLE,
)
from placer_models.links.allowed import is_set_in_partition_table
from placer_models.links.best import best_pair_sum
from placer_models.links.board import LinkedDeviceClasses, pair_sum
from placer_models.links.usable import total_devices_in_usable_sets
from placer_models.problem.banks import DeviceBank
from placer_models.problem.dimensions import amounts_left
from placer_models.problem.problem import Fit, Problem, Shape
from placer_models.problem.tasks import ProblemGang
from placer_models.rule_family import RuleFamilyName


def pods_without_partition_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count pods whose GPUs should be a partition and are not."""
    terms: list[Expression] = []
    for assignment in x.assignments:
        bank = problem.nodes[assignment.node].bank(GPU)
        if bank is None or bank.board.partitions is None or bank.board.honored:
            continue
        picks = existing_device_vars(assignment).picks
        terms += [
            literal for s, literal in picks if not is_set_in_partition_table(bank.board, s.counts)
        ]
    return LinearExpr.sum(terms)


def pod_pair_minimum_shortfall_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Sum how far each pod's slowest GPU pair falls short (tier 4a)."""
    return LinearExpr.sum(
        [
            (assignment.shape.best_pair_minimum - speed) * count
            for assignment in x.assignments
            for speed, _, count in _gpu_sets(assignment)
        ]
    )


def pod_gpu_pair_sum_shortfall_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Sum how far each pod's GPU pairs together fall short (tier 4b)."""
    return LinearExpr.sum(
        [
            (assignment.fit.best_pair_sum - total) * count
            for assignment in x.assignments
            for _, total, count in _gpu_sets(assignment)
        ]
    )


def _gpu_sets(assignment: Assignment) -> Iterator[tuple[int, int, IntVar]]:
    """Yield pair minimum, pair sum and count of the GPU sets that an assignment may have."""
    own = existing_device_vars(assignment)
    for selection, literal in own.picks:
        yield selection.pair_minimum, selection.pair_sum, literal
    if own.gpu_set is not None:
        yield own.gpu_set.pair_minimum, own.gpu_set.pair_sum, assignment.count


def gang_pair_sum_shortfall_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Sum how far the GPU pairs of each gathered gang together fall short (tier 4c)."""
    terms: list[Expression] = []
    for index, gang in enumerate(problem.gangs):
        if gang.gathered:
            units = set(x.units_of_gang(index))
            for node, assignments in enumerate(x.on_node):
                mine = [s for s in assignments if s.unit in units and s.shape.count_of(GPU)]
                if mine:
                    terms.append(_gang_shortfall(model, problem, gang, node, mine, index))
    return LinearExpr.sum(terms)


def _gang_shortfall(
    model: CpModel,
    problem: Problem,
    gang: ProblemGang,
    node: int,
    assignments: list[Assignment],
    index: int,
) -> Expression:
    state = problem.nodes[node]
    at = state.bank_index(GPU)
    bank = state.banks[at]
    most = sum(
        max(shape.count_of(GPU) for shape in problem.shapes_of(problem.pods[pod]))
        for pod in gang.pods
    )
    name = f"gang_shortfall[{index},{state.name}]"
    taken = [
        LinearExpr.sum([existing_device_vars(one).whole[at][class_index] for one in assignments])
        for class_index in range(len(bank.free))
    ]
    shared = shared_device_literals(
        model, (share for one in assignments for share in existing_share_vars(one)), at, name
    )
    for class_index, literals in shared.items():
        taken[class_index] += LinearExpr.sum(literals)
    # A device that members share counts once.
    room = tuple(map(len, bank.shareable)) if shared else bank.free
    rows = {
        counts: (best_pair_sum(bank.board, sum(counts)) or 0) - pair_sum(bank.board, counts)
        for counts in _counts(room, most)
    }
    return _looked_up(model, rows, room, taken, name)


def usable_points_of_gpu_sets_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the GPU sets that are left for later pods (tier ``usable``)."""
    terms: list[Expression] = []
    opened_on = x.part(DeviceOpenedForSharesVariables).of_node
    for node, assignments, opened in zip(problem.nodes, x.on_node, opened_on, strict=True):
        for index, bank in enumerate(node.banks):
            if bank.type != GPU:
                continue
            takers = [one for one in assignments if one.shape.count_of(GPU)]
            most = sum(bank.free) if takers else 0
            rows = {
                counts: GPU_POINTS
                * total_devices_in_usable_sets(bank.board, amounts_left(bank.free, counts))
                for counts in _counts(bank.free, most)
            }
            taken = [
                LinearExpr.sum(taken_free_device_counts(takers, opened, index, class_index))
                for class_index in range(len(bank.free))
            ]
            points = _looked_up(model, rows, bank.free, taken, f"usable[{node.name}]")
            left = sum(bank.free) - LinearExpr.sum(taken)
            add_envelope_limit(model, points, left, _most_by_left(rows, bank))
            terms.append(points)
    return LinearExpr.sum(terms)


def _counts(room: tuple[int, ...], most: int) -> Iterator[tuple[int, ...]]:
    """Yield every choice of at most that many devices, as counts of each equivalence class."""
    ranges = [range(min(free, most) + 1) for free in room]
    return (counts for counts in product(*ranges) if sum(counts) <= most)


def _looked_up(
    model: CpModel,
    rows: dict[tuple[int, ...], int],
    room: tuple[int, ...],
    amounts: Sequence[Expression],
    name: str,
) -> Expression:
    """Return the value in the row that matches how much is taken of each equivalence class."""
    values = set(rows.values())
    if len(values) == 1:
        return values.pop()
    taken = []
    for class_index, (free, amount) in enumerate(zip(room, amounts, strict=True)):
        count = model.new_int_var(0, free, f"taken:{name},{class_index}")
        model.add(count == amount)
        taken.append(count)
    found = model.new_int_var(min(values), max(values), name)
    model.add_allowed_assignments([*taken, found], [(*key, value) for key, value in rows.items()])
    return found


def _most_by_left(rows: dict[tuple[int, ...], int], bank: DeviceBank) -> dict[int, int]:
    """Return, for each number of devices left, the largest value that they can have."""
    best: dict[int, int] = {}
    for taken, value in rows.items():
        count = sum(bank.free) - sum(taken)
        best[count] = max(value, best.get(count, 0))
    return best


def has_equal_links(problem: Problem, shape: int) -> bool:
    """Return whether all GPUs that pods of a shape could have are linked alike."""
    several = problem.shapes[shape].count_of(GPU) > 1
    return not several or all(map(_uniform, gpu_boards_for_shape(problem, shape)))


def _uniform(board: LinkedDeviceClasses) -> bool:
    """Return whether every pair of the board has the same bandwidth."""
    inner = {speed for speed, size in zip(board.inner, board.sizes, strict=True) if size > 1}
    across = {speed for i, row in enumerate(board.across) for j, speed in enumerate(row) if i != j}
    return len(inner | across) <= 1


def has_partitions(problem: Problem, bank: DeviceBank) -> bool:
    """Return whether a table says which GPUs are a partition."""
    return bank.board.partitions is not None


def has_no_partitions(shape: Shape, fit: Fit, bank: DeviceBank) -> bool:
    """Return whether no table says which GPUs are a partition."""
    return bank.board.partitions is None


FAMILY = ModelFamily(
    name=RuleFamilyName.LINKS,
    tiers={
        PARTITIONS: pods_without_partition_expr,
        POD_PAIR_MINIMUM: pod_pair_minimum_shortfall_expr,
        POD_PAIR_SUM: pod_gpu_pair_sum_shortfall_expr,
        GANG_PAIR_SUM: gang_pair_sum_shortfall_expr,
        USABLE: usable_points_of_gpu_sets_expr,
    },
    countable=has_equal_links,
    plain=always,
    sees_links=has_partitions,
    exchangeable=has_no_partitions,
)
