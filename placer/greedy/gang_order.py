"""Orders in which gangs, and the pods of a gang, are placed."""

from collections.abc import Callable, Iterable

from placer_models.device import GPU, is_mig_instance
from placer_models.goals import MEMBER_OF_MINIMUM_POINTS
from placer_models.mig import mig_instance_memory_slices
from placer_models.problem.dimensions import Amounts
from placer_models.problem.problem import Problem
from placer_models.problem.tasks import ProblemGang

_SortKey = tuple[int, ...]
"""Gangs of smaller keys come first."""

Order = Callable[[Problem], Callable[[ProblemGang], _SortKey]]
"""Makes the sort key for the gangs of a problem."""


def largest_gang_first_key(problem: Problem) -> Callable[[ProblemGang], _SortKey]:
    """Order by GPUs, then CPUs, then memory: what is hard to place has the first choice.

    The gang's largest pod is compared before all of its pods together; a gathered gang
    is as hard as one pod of its size.
    """

    def key(gang: ProblemGang) -> _SortKey:
        sizes = _sizes(problem, gang.pods)
        whole = tuple(map(sum, zip(*sizes, strict=True)))
        hardest = whole if gang.gathered else tuple(map(max, zip(*sizes, strict=True)))
        return tuple(-n for pair in zip(hardest, whole, strict=True) for n in pair)

    return key


def most_value_gang_first_key(problem: Problem) -> Callable[[ProblemGang], _SortKey]:
    """Order by the points that a gang's minimum gives for its share of the fleet."""
    free = (
        sum(sum(bank.free) for node in problem.nodes for bank in node.banks if bank.type == GPU),
        sum(sum(map(sum, (b.free for b in node.banks if b.type != GPU))) for node in problem.nodes),
        sum(
            s.left[0]
            for node in problem.nodes
            for b in node.banks
            for of in b.shareable
            for s in of
        ),
        sum(node.pool_milli for node in problem.nodes),
        sum(node.memory for node in problem.nodes),
        sum(_share(problem, node.amounts) for node in problem.nodes),
    )

    def key(gang: ProblemGang) -> _SortKey:
        cheapest = sorted(_sizes(problem, gang.pods))[: gang.minimum]
        asked = map(sum, zip(*cheapest, strict=True))
        share = max(
            (10**9 * want // max(1, have) for want, have in zip(asked, free, strict=True)),
            default=0,
        )
        points = MEMBER_OF_MINIMUM_POINTS * gang.minimum * gang.weight
        return (-(10**12 * points // (share + 1)), gang.pods[0])

    return key


def gang_pods_most_demanding_first(problem: Problem, pods: Iterable[int]) -> list[int]:
    """Order the pods of a gang: those that ask for the most come first."""
    pods = list(pods)
    if len(pods) == 1:
        return pods
    sizes = dict(zip(pods, _sizes(problem, pods), strict=True))
    return sorted(pods, key=lambda pod: (tuple(-amount for amount in sizes[pod]), pod))


def _share(problem: Problem, amounts: Amounts) -> int:
    """Return the largest amount of a resource in 1/1,000,000 of the most that any node has."""
    shares = (
        10**6 * amounts[index] // max(1, most)
        for index, most in zip(problem.resources, problem.most, strict=True)
    )
    return max(shares, default=0)


def _sizes(problem: Problem, pods: Iterable[int]) -> list[tuple[int, ...]]:
    """Return what each pod asks for, as numbers in a fixed order.

    These are GPUs, other devices, percent of shared devices, milli CPUs, memory, and the
    largest share of a resource of nodes.
    """
    found: list[tuple[int, ...]] = []
    for pod in pods:
        shape = problem.shape_of(pod)
        gpus = shape.whole_of(GPU)
        shared = sum(need.count * need.size_percent for need in shape.shares)
        others = sum(count * _size_of(kind) for kind, count in shape.devices) - gpus
        cpu_milli = 1000 * shape.owned_cpus + shape.pool_milli
        share = _share(problem, shape.amounts)
        found.append((gpus, others, shared, cpu_milli, shape.memory, share))
    return found


def _size_of(device_type: str) -> int:
    """Return how much one device counts: a MIG instance by its memory slices."""
    return mig_instance_memory_slices(device_type) if is_mig_instance(device_type) else 1
