"""Times of calls, by a clock that the caller names, and rows of figures about them."""

import time
from collections.abc import Callable, Iterable, Sequence
from statistics import mean, median
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

from placer.search import budget, halt
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import Answer, PartlyPlaced, Placed, TierValue

P = ParamSpec("P")
T = TypeVar("T")


def keep_cpu_time() -> None:
    """Let the search look at the CPU time of the process from now on.

    A search then does as much within its limit as it would alone on the machine. CP-SAT keeps its
    own time, by the clock on the wall, so a busy machine can only make it end early.
    """
    modules: tuple[Any, ...] = budget, halt
    for module in modules:
        module.time = SimpleNamespace(monotonic=time.process_time)


def timed(
    clock: Callable[[], float], call: Callable[P, T], *given: P.args, **named: P.kwargs
) -> tuple[float, T]:
    """Return the seconds that a call takes by a clock, and what it returns."""
    began_s = clock()
    found = call(*given, **named)
    return clock() - began_s, found


def p99(times: Iterable[float]) -> float:
    """Return the time that one in a hundred calls takes longer than."""
    ordered = sorted(times)
    return ordered[len(ordered) * 99 // 100]


def print_times(title: str, times_ms: Sequence[float]) -> None:
    """Print a row about calls; none where nothing was called."""
    if times_ms:
        print(
            f"  {title:36} mean {mean(times_ms):8.3f} ms   median {median(times_ms):8.3f} ms   "
            f"p99 {p99(times_ms):8.3f} ms   max {max(times_ms):8.3f} ms   ({len(times_ms)} calls)"
        )


def placed_tiers(answer: Answer) -> list[TierValue]:
    """Return how many points are placed of each priority, the highest first; none, no answer."""
    tiers = answer.tiers if isinstance(answer, Placed | PartlyPlaced) else ()
    # Older checkouts, which benchmarks run beside this one, have no constant for the name.
    return [value for value in tiers if value.tier.name.startswith("placed.")]


def solved_exactly(
    make: Callable[[int], Instance], rounds: int, **more: Any
) -> tuple[list[float], int]:
    """Solve the instances of so many seeds with the exact engine.

    Returns:
        The milliseconds of each call, ascending, and how many answers were proven in every tier.

    """
    times_ms, proven = [], 0
    options = SolveOptions(engine=Engine.EXACT, workers=1, **more)
    for seed in range(rounds):
        took_s, answer = timed(time.perf_counter, solve, make(seed), options)
        times_ms.append(1e3 * took_s)
        if isinstance(answer, Placed | PartlyPlaced):
            proven += all(tier.proven for tier in answer.tiers)
    return sorted(times_ms), proven
