"""Pods that a model may count together instead of telling them apart."""

from collections import defaultdict

from placer_models.cpsat.assignment import Unit
from placer_models.device import GPU
from placer_models.links import Board, tells_apart
from placer_models.policy import AlignmentPolicy, BindPolicy, ExclusivePolicy
from placer_models.problem import Fit, Problem, Shape


def units_of(problem: Problem) -> tuple[Unit, ...]:
    """Group the pods of a Problem into units, in the order of their first pods."""
    alike: defaultdict[tuple[int | None, int, int, int, int | None], list[int]] = defaultdict(list)
    at_home = {pod for pod, _ in problem.homes}
    for index, gang in enumerate(problem.gangs):
        # Equal lone pods are as interchangeable as equal members of one gang.
        alone = len(gang.pods) == 1 and gang.group is None
        lone = alone and not gang.gathered and not gang.levels
        owner = None if lone else index
        for pod in gang.pods:
            # A pod with a home is like no other.
            home = pod if pod in at_home else None
            alike[owner, problem.pods[pod], gang.level, gang.weight, home].append(pod)
    together = [_countable(problem, index) for index in range(len(problem.shapes))]
    units = []
    for family, ((owner, shape, level, weight, _), pods) in enumerate(alike.items()):
        for members in [tuple(pods)] if together[shape] else [(pod,) for pod in pods]:
            units.append(Unit(members, shape, owner, family, level, weight))
    return tuple(sorted(units, key=lambda unit: unit.pods[0]))


def _countable(problem: Problem, index: int) -> bool:
    """Whether counts per node say all: any split of the counts over pods is as good.

    Not so where pods have a set of NUMA nodes, of packages, of caches or of linked GPUs
    of their own (default locality asks for the first two), or where their own CPUs are
    spread over cores, or care who else is there, or run in the pool of some cells, or
    where their shares must be on different devices, or on chosen ones, or where a strategy
    says on how many.
    Whole cores of one size split freely.
    """
    shape = problem.shapes[index]
    if shape.apart is not ExclusivePolicy.NONE or shape.burst_cpus or shape.beside:
        return False
    if shape.scopes or sum(need.count for need in shape.shares) > 1:
        return False
    if any(need.strategy or need.choice for need in shape.shares):
        return False
    kinds = {node.kind: node for node in problem.nodes if problem.fits[index][node.kind]}
    for node in problem.nodes:
        fit = problem.fits[index][node.kind]
        if fit is None:
            continue
        if fit.joint is not None or fit.containers or fit.locality is not None:
            return False
        by_cell = len(node.cells) > 1 or not fit.uses_cells(shape)
        aligned = fit.alignment is not AlignmentPolicy.NONE and by_cell
        if (fit.fewest_packages, fit.fewest_caches, fit.fewest_cpu_cells) != (None, None, None):
            return False
        if aligned or not _splits_freely(shape, fit, {core.threads for core in node.cores}):
            return False
    for node in kinds.values():
        bank = node.bank(GPU)
        gpus = shape.count_of(GPU)
        if bank is None or gpus == 0:
            continue
        if tells_apart(bank.board, gpus) or (gpus > 1 and not _uniform(bank.board)):
            return False
    return True


def _splits_freely(shape: Shape, fit: Fit, widths: set[int]) -> bool:
    if shape.owned_cpus == 0:
        return True
    return fit.bind is BindPolicy.FULL_PCPUS and len(widths) <= 1


def _uniform(board: Board) -> bool:
    """Whether every pair of the board has the same bandwidth."""
    inner = {speed for speed, size in zip(board.inner, board.sizes, strict=True) if size > 1}
    across = {speed for i, row in enumerate(board.across) for j, speed in enumerate(row) if i != j}
    return len(inner | across) <= 1
