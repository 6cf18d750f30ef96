"""Options of a solve: what a caller may choose."""

import os
from dataclasses import dataclass, field
from enum import StrEnum

from placer.greedy.scorer import NodeScoring
from placer.search.halt import Halt
from placer_models.node_strategy import NodeStrategy
from placer_models.typed import check_types, suggests_names


class Engine(StrEnum):
    """Which part of Placer answers."""

    AUTO = "auto"
    """Greedy first, then whatever improves and proves it in the time that is left."""

    GREEDY = "greedy"
    """The fast path alone: no proof."""

    EXACT = "exact"
    """The whole model at once, however large."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@suggests_names
@dataclass(frozen=True, slots=True)
class SolveOptions:
    """How to solve.

    Attributes:
        time_limit_s: Wall-clock seconds from call to answer.
        work_limit: Deterministic work in place of wall time, in CP-SAT's deterministic
            seconds; with one worker and a seed the answer repeats to the last bit.
        workers: Search threads of CP-SAT.
        strategy: What the last tier is, or None for what the instance says.
        scoring: What chooses among nodes in the greedy path in place of the strategy, which stays
            what answers are measured by. None: the strategy.
        halt: Ends the search early, from another thread.

    """

    engine: Engine = Engine.AUTO
    time_limit_s: float = 60.0
    work_limit: int | None = None
    workers: int = field(default_factory=_cores)
    seed: int = 0
    strategy: NodeStrategy | None = None
    scoring: NodeScoring | None = None
    halt: Halt | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_types(self)
