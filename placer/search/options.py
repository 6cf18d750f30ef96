"""Options of a solve: what a caller may choose."""

import os
from dataclasses import dataclass, field
from enum import StrEnum

from placer.greedy.scorer import NodeScoringMethod
from placer.search.halt import SearchHalt
from placer_models.node_strategy import NodeStrategy
from placer_models.typed import TypeChecked, suggest_argument_names


class Engine(StrEnum):
    """Which part of Placer answers."""

    AUTO = "auto"
    """Greedy first, then whatever improves and proves it in the time that is left."""

    GREEDY = "greedy"
    """The fast path alone: no proof."""

    EXACT = "exact"
    """The whole model at once, however large."""


class BatchOrder(StrEnum):
    """In which order pods are placed that have nothing to do with each other."""

    ARRIVAL = "arrival"
    """As they stand in the batch: each gets the place that a call of its own would give it."""

    LARGEST_FIRST = "largest-first"
    """What asks for the most first, and other orders where something finds no place."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class SolveOptions(TypeChecked):
    """How to solve.

    Attributes:
        time_limit_s: Wall-clock seconds from call to answer.
        work_limit: Deterministic work in place of wall time, in CP-SAT's deterministic
            seconds; with one worker and a seed the answer repeats to the last bit.
        workers: Search threads of CP-SAT.
        strategy: What the last tier is, or None for what the instance says.
        scoring: What chooses among nodes in the greedy path in place of the strategy, which stays
            what answers are measured by. None: the strategy.
        order: How the greedy engine of a Scheduler places a batch of several pods without gangs and
            priorities. Other batches, other engines and `solve` always begin with the largest.
        halt: Ends the search early, from another thread.

    """

    engine: Engine = Engine.AUTO
    time_limit_s: float = 60.0
    work_limit: int | None = None
    workers: int = field(default_factory=_cores)
    seed: int = 0
    strategy: NodeStrategy | None = None
    scoring: NodeScoringMethod | None = None
    order: BatchOrder = BatchOrder.ARRIVAL
    halt: SearchHalt | None = field(default=None, compare=False, repr=False)
