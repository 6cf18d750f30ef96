"""The whole batch as one model: a start in, the best choices and bounds out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import IntVar

from placer.search.budget import Budget
from placer.search.cp import Solution, hint
from placer.search.start import hint_of
from placer.search.tiers import Progress, optimise_tiers
from placer_models.container_fit import pools_of
from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.batch import BatchModel, build_batch_model
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.pool_seats import cells_kept
from placer_models.goals import Sense
from placer_models.problem import Choice, Choices, CoreTake, NodeState, Problem
from placer_models.shares import ShareTake


@dataclass(frozen=True, slots=True)
class Found:
    """What the exact search found.

    Attributes:
        choices: The best choices; None: nothing better than the start.
        values: What the model says they are worth, tier by tier.
        bounds: One a tier; None where none is known.

    """

    choices: Choices | None
    values: tuple[int, ...]
    bounds: tuple[int | None, ...]


def limits_of(problem: Problem) -> list[int | None]:
    """Return per tier a value that nothing can beat, without solving anything."""
    limits: list[int | None] = []
    for level in range(len(problem.priorities)):
        gangs = [gang for gang in problem.gangs if gang.level == level]
        limits.append(sum(g.weight * (g.minimum + len(g.pods)) for g in gangs))
    later = problem.tiers[len(limits) :]
    return [*limits, *(0 if tier.sense is Sense.MINIMISE else None for tier in later)]


def search_exactly(
    problem: Problem,
    start: Choices,
    start_values: Sequence[int],
    budget: Budget,
    progress: Progress,
    limits: Sequence[int | None],
    settled: int = 0,
    kept: int = 0,
) -> Found:
    """Optimise tiers over the whole model.

    Args:
        problem: The batch.
        start: Choices that are known to be right.
        start_values: What the judge says the start is worth, for as many tiers as are
            wanted, from the first on.
        budget: Bounds the whole search.
        progress: Told what is done next.
        limits: Per tier what nothing can beat that is as good as the start before.
        settled: How many leading tiers are done already; their limits are their bounds.
        kept: So many even shares of the time are left to what comes after.

    Raises:
        SolverError: The model is at odds with the start: a defect of ours.

    """
    progress("writing the model")
    wanted = len(start_values)
    levels = len(problem.priorities)
    limits = limits[:wanted]
    batch = build_batch_model(problem, tiers=wanted, stop=lambda: budget.over)
    if batch is None:
        return Found(None, tuple(start_values), tuple(limits))
    hint(batch.model, hint_of(problem, batch.decisions, start))
    tiers = problem.tiers[:wanted]
    incumbent = optimise_tiers(
        batch, tiers, limits, start_values, levels, budget, progress, settled, kept
    )
    return Found(
        choices=None
        if incumbent.solution is None
        else choices_of(problem, batch, incumbent.solution),
        values=tuple(incumbent.values),
        bounds=tuple(incumbent.bounds),
    )


def choices_of(problem: Problem, batch: BatchModel, solution: Solution) -> Choices:
    """Read the place of every pod out of a solution."""
    x: Variables = batch.decisions
    choices: Choices = {}
    for index, unit in enumerate(x.units):
        waiting = list(unit.pods)
        for assignment in x.of_unit[index]:
            count = solution.value(assignment.count)
            pods, waiting = waiting[:count], waiting[count:]
            choices.update(zip(pods, _deal(problem, assignment, count, solution), strict=True))
    for pod, home in problem.homes:
        if home is not None and pod in x.stays and solution.value(x.stays[pod]):
            choices[pod] = home
    return choices


def _shares(
    assignment: Assignment, count: int, value: Callable[[IntVar], int]
) -> list[tuple[ShareTake, ...]]:
    """Deal the shares of an assignment out: pods that are counted together have one each."""
    takes = [taken.take for taken in assignment.takes for _ in range(value(taken.count))]
    if count == 1:
        return [tuple(sorted(takes))]
    return [(take,) for take in takes] or [()] * count


def _deal(problem: Problem, assignment: Assignment, count: int, solution: Solution) -> list[Choice]:
    """Deal what an assignment takes out to its pods, each pod its own part."""
    value = solution.value
    node = problem.nodes[assignment.node]
    whole = [value(part.whole) for part in assignment.cores]
    threads = [value(part.threads) for part in assignment.cores]
    touched = [value(part.touched) for part in assignment.cores]
    devices = [[value(taken) for taken in bank] for bank in assignment.devices]
    shares = _shares(assignment, count, value)
    dealt = []
    for left in range(count, 0, -1):
        cores = [CoreTake()] * len(whole)
        want = assignment.shape.owned_cpus
        # Whole cores first: each pod takes its share of them, rounded up.
        quota = -(-sum(whole) // left)
        for i, c in enumerate(node.cores[: len(whole)]):
            take = min(whole[i], quota, want // c.threads)
            whole[i] -= take
            quota -= take
            want -= take * c.threads
            cores[i] = CoreTake(whole=take)
        for i in range(len(whole)):
            take = min(threads[i], want)
            threads[i] -= take
            want -= take
            spread = touched[i] if count == 1 else 0
            cores[i] = CoreTake(cores[i].whole, take, spread)
        dealt.append(
            Choice(
                node=assignment.node,
                cores=tuple(cores) if whole else (CoreTake(),) * len(node.cores),
                # Pods that are counted together have one cell to take memory from.
                memory=tuple(map(value, assignment.memory))
                if assignment.memory and count == 1
                else None,
                devices=tuple(
                    _take(bank, assignment.shape.whole_of(kind.type))
                    for bank, kind in zip(devices, node.banks, strict=True)
                ),
                pages=tuple(
                    tuple(map(value, pages)) if pages else (0,) * len(node.cells)
                    for pages in assignment.pages
                )
                if any(assignment.pages) and count == 1
                else (),
                shares=shares[count - left],
                containers=tuple(
                    tuple(tuple(map(value, row)) for row in container.taken)
                    for container in assignment.containers
                )
                if count == 1
                else (),
                pool=_pool(node, assignment, value),
            )
        )
    return dealt


def _pool(
    node: NodeState, assignment: Assignment, value: Callable[[Expression], int]
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return what a pod wants of its pool: what it does not need of the cells, it leaves."""
    milli = assignment.shape.pool_milli
    if assignment.pool is None and not (assignment.fit.binds(assignment.shape) and assignment.used):
        return ()
    if assignment.pool is None and assignment.used[0] is assignment.count:
        return (((0,), milli),)
    # On one cell alone a pod that asks for devices only is bound if one of them is there.
    counted = list(map(value, assignment.pool.milli)) if assignment.pool else []
    if assignment.pool and assignment.shape.burst_cpus:
        kept = cells_kept(
            counted, list(map(value, assignment.pool.cpus)), assignment.shape.burst_cpus
        )
        return ((kept, milli),)
    if assignment.containers:
        parts = [[list(map(value, row)) for row in c.taken] for c in assignment.containers]
        return pools_of([c.fit for c in assignment.containers], parts)
    cells = {cell for cell, count in enumerate(counted) if count}
    for row in (assignment.memory, *assignment.pages):
        cells.update(cell for cell, amount in enumerate(row) if value(amount))
    for index, bank in enumerate(node.banks):
        for twin, cell in enumerate(bank.cells):
            if cell is not None and value(assignment.touched(index, twin)):
                cells.add(cell)
    return ((tuple(sorted(cells)), milli),) if cells else ()


def _take(left: list[int], size: int) -> tuple[int, ...]:
    """Take that many devices out of the counts that are left, first classes first."""
    taken = []
    for i, count in enumerate(left):
        take = min(count, size)
        left[i] -= take
        size -= take
        taken.append(take)
    return tuple(taken)
