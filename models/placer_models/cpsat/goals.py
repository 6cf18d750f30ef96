"""What each tier counts, as an expression over the decisions (docs/rules.md)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.banks import DeviceBank
from placer_models.cpsat.affinity import affinity
from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.device_choice import device_choice
from placer_models.cpsat.envelope import below_envelope
from placer_models.cpsat.exclusivity import shared_cores, shared_numa_nodes
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.joint import groups_apart
from placer_models.cpsat.localities import (
    caches,
    held_in_numa_nodes,
    held_in_packages,
    packages,
)
from placer_models.cpsat.mig import usable_instances
from placer_models.cpsat.moves import pods_moved
from placer_models.cpsat.network import gathering
from placer_models.cpsat.node_strategy import (
    mean_scores,
    nodes_in_use,
    own_scores,
    pairs_of_pods,
    usable_rooms,
    variances,
)
from placer_models.cpsat.opened import nodes_opened
from placer_models.cpsat.share_seats import opened_in, shared_by
from placer_models.cpsat.strategy import against_strategy
from placer_models.device import GPU
from placer_models.goals import (
    AFFINITY,
    ALIGNMENT,
    BIND,
    CACHES,
    DEVICE_CHOICE,
    GANG_PAIR_SUM,
    GATHERING,
    GPU_POINTS,
    JOINT,
    LEAST_REQUESTED,
    LOCALITY_NUMA_NODES,
    LOCALITY_PACKAGES,
    MEMBER_ABOVE_POINTS,
    MEMBER_OF_MINIMUM_POINTS,
    MOST_BALANCED,
    MOVES,
    NUMA_STRATEGY,
    OPENED,
    PACK_NODES,
    PACK_USED,
    PACKAGES,
    PARTITIONS,
    POD_PAIR_MINIMUM,
    POD_PAIR_SUM,
    SHARED_CORES,
    SHARED_NUMA_NODES,
    SPREAD_PAIRS,
    SPREAD_USED,
    USABLE,
    WHOLE_CORE_POINTS,
    Tier,
)
from placer_models.links import best_pair_sum, is_partition, pair_sum, usable_points
from placer_models.policy import AlignmentPolicy, BindPolicy
from placer_models.problem import Problem
from placer_models.tasks import GangTask


def tier_expressions(
    model: CpModel, problem: Problem, x: Variables, tiers: int | None = None
) -> list[Expression]:
    """Return one expression a tier, in the order of `goals.tiers_for`.

    Args:
        model: Gets the variables that some tiers need.
        problem: The batch.
        x: Its decisions.
        tiers: Stop after so many; None: all of them.

    """
    return list(islice(_tier_by_tier(model, problem, x), tiers))


def _tier_by_tier(model: CpModel, problem: Problem, x: Variables) -> Iterator[Expression]:
    levels = len(problem.priorities)
    for level in range(levels):
        yield placed(problem, x, level)
    for tier in problem.tiers[levels:]:
        yield EXPRESSIONS[tier](model, problem, x)


def placed(problem: Problem, x: Variables, level: int) -> Expression:
    """Count the points of the gangs of a priority level that run."""
    above = MEMBER_ABOVE_POINTS
    lead = MEMBER_OF_MINIMUM_POINTS - above
    terms: list[Expression] = []
    for index, unit in enumerate(x.units):
        if unit.level == level:
            points = above if unit.gang is not None else MEMBER_OF_MINIMUM_POINTS
            terms.append(unit.weight * points * x.placed(index))
    for gang, reached in zip(problem.gangs, x.reached, strict=True):
        if gang.level == level and reached is not None:
            terms.append(gang.weight * lead * gang.minimum * reached)
    return LinearExpr.sum(terms)


def alignment(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count cells beyond the fewest of pods under BestEffort."""
    return LinearExpr.sum(
        [
            LinearExpr.sum(list(assignment.used)) - assignment.fit.fewest_cells * assignment.count
            for assignment in x.assignments
            if assignment.used and assignment.fit.alignment is AlignmentPolicy.BEST_EFFORT
        ]
        + [
            LinearExpr.sum(list(container.used)) - container.fit.fewest_cells * assignment.count
            for assignment in x.assignments
            for container in assignment.containers
            if container.fit.alignment is AlignmentPolicy.BEST_EFFORT
        ]
    )


def bind(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count CPUs on cores taken against a preferred bind policy."""
    terms: list[Expression] = []
    for assignment in x.assignments:
        if not assignment.cores or (
            assignment.fit.bind_required and not assignment.fit.spread_wished
        ):
            continue
        if assignment.fit.spread_wished:
            whole = LinearExpr.sum([part.whole for part in assignment.cores])
            against = assignment.shape.owned_cpus * assignment.count - whole
        elif assignment.fit.bind is BindPolicy.SPREAD_BY_PCPUS:
            touched = LinearExpr.sum([part.touched for part in assignment.cores])
            against = assignment.shape.owned_cpus * assignment.count - touched
        else:
            against = LinearExpr.sum(
                [
                    part.threads
                    for part, c in zip(
                        assignment.cores, problem.nodes[assignment.node].cores, strict=True
                    )
                    if assignment.fit.bind_asked or not c.efficient
                ]
            )
        terms.append(against - assignment.fit.bind_remainder * assignment.count)
    return LinearExpr.sum(terms)


def partitions(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count pods whose GPUs should be a partition and are not."""
    terms: list[Expression] = []
    for assignment in x.assignments:
        bank = problem.nodes[assignment.node].bank(GPU)
        if bank is None or bank.board.partitions is None or bank.board.honored:
            continue
        terms += [
            literal for s, literal in assignment.picks if not is_partition(bank.board, s.counts)
        ]
    return LinearExpr.sum(terms)


def pod_pair_minimum(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Sum how far each pod's slowest GPU pair falls short (tier 4a)."""
    return LinearExpr.sum(
        [
            (assignment.shape.best_pair_minimum - speed) * count
            for assignment in x.assignments
            for speed, _, count in _gpu_sets(assignment)
        ]
    )


def pod_pair_sum(model: CpModel, problem: Problem, x: Variables) -> Expression:
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
    for selection, literal in assignment.picks:
        yield selection.pair_minimum, selection.pair_sum, literal
    if assignment.gpu_set is not None:
        yield assignment.gpu_set.pair_minimum, assignment.gpu_set.pair_sum, assignment.count


def gang_pair_sum(model: CpModel, problem: Problem, x: Variables) -> Expression:
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
    gang: GangTask,
    node: int,
    assignments: list[Assignment],
    index: int,
) -> Expression:
    state = problem.nodes[node]
    at = next(i for i, bank in enumerate(state.banks) if bank.type == GPU)
    bank = state.banks[at]
    most = sum(problem.shape_of(pod).count_of(GPU) for pod in gang.pods)
    name = f"gang_shortfall[{index},{state.name}]"
    taken = [
        LinearExpr.sum([assignment.devices[at][twin] for assignment in assignments])
        for twin in range(len(bank.free))
    ]
    shared = shared_by(
        model, (take for assignment in assignments for take in assignment.takes), at, name
    )
    for twin, literals in shared.items():
        taken[twin] += LinearExpr.sum(literals)
    # A device that members share counts once.
    room = tuple(map(len, bank.slots)) if shared else bank.free
    rows = {
        counts: (best_pair_sum(bank.board, sum(counts)) or 0) - pair_sum(bank.board, counts)
        for counts in _counts(room, most)
    }
    return _looked_up(model, rows, room, taken, name)


def usable(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count what is left for later pods: GPU sets, MIG instances, whole cores and rooms."""
    terms: list[Expression] = []
    nodes = zip(problem.nodes, x.on_node, x.broken, x.opened, strict=True)
    for node, assignments, broken, opened in nodes:
        for index, bank in enumerate(node.banks):
            if bank.type == GPU:
                takers = [
                    assignment for assignment in assignments if assignment.shape.count_of(GPU)
                ]
                most = sum(bank.free) if takers else 0
                rows = {
                    counts: GPU_POINTS * usable_points(bank.board, _left(bank, counts))
                    for counts in _counts(bank.free, most)
                }
                taken = [
                    LinearExpr.sum(
                        [
                            *(assignment.devices[index][twin] for assignment in takers),
                            *opened_in(opened, index, twin),
                        ]
                    )
                    for twin in range(len(bank.free))
                ]
                points = _looked_up(model, rows, bank.free, taken, f"usable[{node.name}]")
                below_envelope(
                    model,
                    points,
                    sum(bank.free) - LinearExpr.sum(taken),
                    _most_by_left(rows, bank),
                )
                terms.append(points)
        terms += usable_instances(model, node, assignments)
        terms.append(usable_rooms(model, node, assignments))
        for index, c in enumerate(node.cores):
            if c.whole:
                whole = [
                    assignment.cores[index].whole for assignment in assignments if assignment.cores
                ]
                left = c.cores - LinearExpr.sum(whole) - broken[index]
                terms.append(WHOLE_CORE_POINTS * left)
    return LinearExpr.sum(terms)


def _counts(room: tuple[int, ...], most: int) -> Iterator[tuple[int, ...]]:
    """Yield every choice of at most that many devices, as counts of each twin class."""
    ranges = [range(min(free, most) + 1) for free in room]
    return (counts for counts in product(*ranges) if sum(counts) <= most)


def _left(bank: DeviceBank, taken: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(free - t for free, t in zip(bank.free, taken, strict=True))


def _looked_up(
    model: CpModel,
    rows: dict[tuple[int, ...], int],
    room: tuple[int, ...],
    amounts: Sequence[Expression],
    name: str,
) -> Expression:
    """Return the value of the row whose key is what is taken of each twin class."""
    values = set(rows.values())
    if len(values) == 1:
        return values.pop()
    taken = []
    for twin, (free, amount) in enumerate(zip(room, amounts, strict=True)):
        count = model.new_int_var(0, free, f"taken:{name},{twin}")
        model.add(count == amount)
        taken.append(count)
    found = model.new_int_var(min(values), max(values), name)
    model.add_allowed_assignments([*taken, found], [(*key, value) for key, value in rows.items()])
    return found


def _most_by_left(rows: dict[tuple[int, ...], int], bank: DeviceBank) -> dict[int, int]:
    """Return the largest value that so many devices left can have."""
    best: dict[int, int] = {}
    for taken, value in rows.items():
        count = sum(bank.free) - sum(taken)
        best[count] = max(value, best.get(count, 0))
    return best


EXPRESSIONS: Mapping[Tier, Callable[[CpModel, Problem, Variables], Expression]] = {
    AFFINITY: affinity,
    GATHERING: gathering,
    SHARED_CORES: shared_cores,
    SHARED_NUMA_NODES: shared_numa_nodes,
    OPENED: nodes_opened,
    MOVES: pods_moved,
    ALIGNMENT: alignment,
    BIND: bind,
    JOINT: groups_apart,
    PARTITIONS: partitions,
    PACKAGES: packages,
    CACHES: caches,
    POD_PAIR_MINIMUM: pod_pair_minimum,
    POD_PAIR_SUM: pod_pair_sum,
    GANG_PAIR_SUM: gang_pair_sum,
    NUMA_STRATEGY: against_strategy,
    LOCALITY_NUMA_NODES: held_in_numa_nodes,
    LOCALITY_PACKAGES: held_in_packages,
    DEVICE_CHOICE: device_choice,
    USABLE: usable,
    PACK_NODES: nodes_in_use,
    PACK_USED: own_scores,
    SPREAD_PAIRS: pairs_of_pods,
    SPREAD_USED: own_scores,
    LEAST_REQUESTED: mean_scores,
    MOST_BALANCED: variances,
}
"""What each tier after the first counts."""
