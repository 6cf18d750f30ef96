"""Trials: a changed instance is solved, so that no change is proposed that would not do."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from time import monotonic

from placer.explain.alike_nodes import starting_accounts_after_change
from placer.search.baseline import StartingAccounts, starting_accounts_of
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.goals import placed_tier
from placer_models.illegal_running import with_running_pods_counted_as_legal
from placer_models.legal import check_pods_legal
from placer_models.placement import Answer, Infeasible, PartlyPlaced, Placed
from placer_models.pod import pods_of_gangs
from placer_models.whatif.change import InstanceChange, WhatIfChangeError
from placer_models.whatif.language import instance_with_all_changes

log = logging.getLogger(__name__)

_GREEDY_WORK = 0.01
"""What one trial by the greedy path counts as."""

LEAST_S = 0.05
"""A trial with less time than this is not begun."""


class TrialVerdict(Enum):
    """What a trial shows."""

    FITS = "fits"
    """All have a place: a judged placement was found."""

    RULED_OUT = "ruled out"
    """It is proven that they cannot all have one."""

    OPEN = "open"
    """Neither was found."""


@dataclass(slots=True)
class DeterministicWorkCounter:
    """Deterministic work in place of wall time, in CP-SAT's deterministic seconds.

    Attributes:
        done: How much was done; a search that ends early counts as if it had not.

    """

    done: float = 0.0


@dataclass(slots=True)
class ChangeTrials:
    """Trials of changes of one instance, under one deadline.

    Attributes:
        instance: All of its pods that wait are to have a place.
        seconds: How long all trials together may take; with ``work`` how much of it.
        most_s: How long one may take.
        baseline: The nodes of the instance, if they have been counted.
        whole: The instance with all of its nodes, where `instance` has only the first few of each
            sort (`alike_nodes`); None: it has all of them.
        work: What is counted in place of wall time, so that outcomes repeat to the last bit.

    """

    instance: Instance
    seconds: float
    most_s: float = 1.0
    baseline: StartingAccounts | None = None
    whole: "ChangeTrials | None" = None
    work: DeterministicWorkCounter | None = None
    _started_s: float = field(init=False)
    _known: dict[tuple[str, ...], TrialVerdict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.instance = with_running_pods_counted_as_legal(self.instance)
        self._started_s = self._now()

    def give(self, seconds: float, most_s: float) -> None:
        """Give these trials, and those of the whole, so much time from now on."""
        self.seconds, self.most_s, self._started_s = seconds, most_s, self._now()
        if self.whole is not None:
            self.whole.give(seconds, most_s)

    def changed(self, changes: Sequence[InstanceChange]) -> "ChangeTrials":
        """Return trials of the instance with some changes, under the same deadline.

        Raises:
            WhatIfChangeError: A change has nothing to change.

        """
        return self.with_instance(instance_with_all_changes(changes, self.instance))

    def with_instance(
        self, instance: Instance, baseline: StartingAccounts | None = None
    ) -> "ChangeTrials":
        """Return trials of another instance, under the same deadline."""
        return ChangeTrials(instance, self.left_s, self.most_s, baseline, work=self.work)

    @property
    def left_s(self) -> float:
        """How much time is left."""
        return self.seconds - (self._now() - self._started_s)

    def _now(self) -> float:
        return monotonic() if self.work is None else self.work.done

    def outcome(self, changes: Sequence[InstanceChange]) -> TrialVerdict:
        """Return whether all fit with these changes."""
        key = tuple(sorted(map(str, changes)))
        if key not in self._known:
            try:
                answer = self.answer(instance_with_all_changes(changes, self.instance))
            except WhatIfChangeError:
                return TrialVerdict.RULED_OUT  # it cannot be made at all
            if answer is None:
                return TrialVerdict.OPEN
            self._known[key] = trial_outcome_of(answer, self.instance)
            log.info("tried %s: %s", ", ".join(key), self._known[key].value)
        return self._known[key]

    def answer(self, changed: Instance) -> Answer | None:
        """Return the answer to a changed instance, or None if no time is left for it.

        Greedy goes first: it answers at once, and its reasons often are a proof.

        Raises:
            IllegalPodError: A pod asks for what no pod may ask for.

        """
        if self.left_s < LEAST_S:
            return None
        check_pods_legal(pods_of_gangs(changed.gangs), changed.nodes)
        before = starting_accounts_after_change(changed, self.instance, self.counted)
        fast = solve(changed, self._options(Engine.GREEDY, self.left_s), baseline=before)
        if isinstance(fast, Placed | Infeasible) and not changed.move_budget:
            return fast
        if self.left_s < LEAST_S:
            return fast
        limit_s = min(self.most_s, self.left_s)
        return solve(changed, self._options(Engine.AUTO, limit_s), baseline=before)

    def _options(self, engine: Engine, limit_s: float) -> SolveOptions:
        """Return the options of one trial, whose work is counted before it is done."""
        if self.work is None:
            return SolveOptions(engine, time_limit_s=limit_s)
        limit = max(1, round(limit_s))
        self.work.done += _GREEDY_WORK if engine is Engine.GREEDY else limit
        return SolveOptions(engine, work_limit=limit, workers=1)

    @property
    def counted(self) -> StartingAccounts:
        """The nodes of the instance, counted."""
        if self.baseline is None:
            self.baseline = starting_accounts_of(self.instance)
        return self.baseline


def trial_outcome_of(answer: Answer, instance: Instance) -> TrialVerdict:
    """Return what an answer shows of whether all that wait have a place.

    Were there a place for all, no tier of the placed would be less than full. So it is ruled out
    where the first one that is not full, in which those before it cost nothing, is proven.
    """
    match answer:
        case Placed():
            return TrialVerdict.FITS
        case Infeasible():
            return TrialVerdict.RULED_OUT
        case PartlyPlaced():
            left_out = {one.key for one in answer.unplaced}
            first = max(
                (
                    gang.priority
                    for gang in instance.gangs
                    if any(pod.key in left_out for pod in gang.pods)
                ),
                default=None,
            )
            for value in answer.tiers:
                if first is not None and value.tier == placed_tier(first) and value.proven:
                    return TrialVerdict.RULED_OUT
    return TrialVerdict.OPEN
