"""The survival of every loss, worst first, and what of the offers mends those that are not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic

from placer.plan.losses import NodeLoss, combined_losses, losses_of_domains, losses_of_nodes
from placer.plan.question import NodeOffer
from placer.plan.survival import (
    LossOutcome,
    LossPurchaseTask,
    SurvivalTask,
    buy_for_lost_nodes,
    solve_survival_task,
)
from placer.sweep.sweep import each_result
from placer.sweep.workers import SweepWorkers
from placer_models.cluster import Instance

_MENDING = 0.4
"""This part of the time is for what would mend losses, where there are offers."""

_MOST_OF_A_LOSS_S = 10.0
_MOST_TRIED = 100_000


@dataclass(frozen=True, slots=True)
class SurvivalAnswer:
    """What becomes of each loss.

    Attributes:
        losses: Those that were tried, the worst first.
        choices: How many different losses there are.
        outside: Names of nodes that are in no domain, and are never lost.
        unmended: How many losses that are not survived nobody looked for a mend of, though there
            are offers: the time was over.

    """

    losses: tuple[LossOutcome, ...]
    choices: int
    outside: tuple[str, ...] = ()
    unmended: int = 0

    @property
    def tried(self) -> int:
        """How many losses were tried."""
        return len(self.losses)

    @property
    def failed(self) -> tuple[LossOutcome, ...]:
        """The losses after which some pod has no place."""
        return tuple(one for one in self.losses if not one.survives)


def survive(
    instance: Instance,
    *,
    nodes: int = 1,
    domain: str = "",
    move_budget: int = 0,
    offers: Sequence[NodeOffer] = (),
    seconds: float = 60.0,
    stop: Callable[[], bool] = lambda: False,
    tell: Callable[[str], None] = lambda words: None,
    seed: int = 0,
    workers: SweepWorkers | None = None,
) -> SurvivalAnswer:
    """Return what becomes of the loss of each node, of each domain, or of several nodes.

    Args:
        instance: The nodes and what runs there; what waits does not count.
        nodes: How many nodes are lost at once. Of several, combinations are tried as long as there
            is time, those first whose nodes are worst alone.
        domain: A label or a level of the network: whole domains are lost; empty: nodes.
        move_budget: How many running pods of other nodes may move.
        offers: What can be bought where a loss is not survived.
        seconds: Wall-clock time for all of it.
        stop: Asked now and then whether to end with what there is.
        tell: Told in a few words what is done.
        seed: Seed of everything that is drawn.
        workers: Where losses are tried; None: in this process.

    Raises:
        ValueError: No node is in a domain, or more nodes are lost than there are.

    """
    end_s = monotonic() + seconds
    losing_s = (1 - _MENDING * bool(offers)) * seconds
    singles = losses_of_domains(instance, domain) if domain else losses_of_nodes(instance)
    there = sum(len(loss.nodes) * (1 + len(loss.alike)) for loss in singles)
    if not domain and not 1 <= nodes < max(2, there):
        raise ValueError(f"{nodes} nodes cannot be lost of {there}: some have to be left")
    trial = _Trial(instance, move_budget, monotonic() + losing_s, stop, tell, seed, workers)
    found = trial.of(singles)
    choices = len(singles)
    if nodes > 1 and not domain:
        worst = [one.loss for one in sorted(found, key=lambda s: s.badness, reverse=True)]
        choices = _choices(singles, nodes)
        found = trial.of(list(islice(combined_losses(worst, nodes), _MOST_TRIED)))
    found.sort(key=lambda one: (tuple(-n for n in one.badness), one.loss.name))
    if offers:
        found = _mended(found, instance, tuple(offers), end_s, stop, tell, seed, workers)
    inside = {name for loss in singles for name in loss.nodes} if domain else set()
    alike = {name for loss in singles for name in loss.alike}
    outside = tuple(
        node.name
        for node in instance.nodes
        if domain and node.name not in inside and node.topology_domain(domain) not in alike
    )
    unmended = sum(not one.survives and one.mend is None for one in found) if offers else 0
    return SurvivalAnswer(tuple(found), choices, outside, unmended)


@dataclass(frozen=True, slots=True)
class _Trial:
    """Tries losses under one deadline."""

    instance: Instance
    move_budget: int
    end_s: float
    stop: Callable[[], bool]
    tell: Callable[[str], None]
    seed: int
    workers: SweepWorkers | None

    def of(self, losses: Sequence[NodeLoss]) -> list[LossOutcome]:
        """Return what becomes of each, as far as there is time; of one at least."""
        left_s = max(0.1, self.end_s - monotonic())
        # Most losses take a moment, so a few may take more than their part.
        each_s = min(_MOST_OF_A_LOSS_S, max(0.5, 4 * left_s / max(1, len(losses))))
        tasks = [
            SurvivalTask(self.instance, loss, self.move_budget, each_s, self.seed)
            for loss in losses
        ]
        found: list[LossOutcome] = []

        def over() -> bool:
            return bool(found) and (self.stop() or monotonic() >= self.end_s)

        for _, one in each_result(solve_survival_task, tasks, self.workers, over):
            found.append(one)
            self.tell(f"lost {len(found):,} of {len(tasks):,}")
        return found


def _choices(singles: Sequence[NodeLoss], number: int) -> int:
    """Return how many different ways there are to lose so many nodes."""
    ways = [1] + [0] * number
    for loss in singles:
        most = len(loss.nodes) + len(loss.alike)
        ways = [sum(ways[n - k] for k in range(min(n, most) + 1)) for n in range(number + 1)]
    return ways[number]


def _mended(
    found: Sequence[LossOutcome],
    instance: Instance,
    offers: tuple[NodeOffer, ...],
    end_s: float,
    stop: Callable[[], bool],
    tell: Callable[[str], None],
    seed: int,
    workers: SweepWorkers | None,
) -> list[LossOutcome]:
    """Return the losses, those that are not survived with what would mend them."""
    failed = [index for index, one in enumerate(found) if not one.survives]
    each_s = max(1.0, (end_s - monotonic()) / max(1, len(failed)))
    tasks = [LossPurchaseTask(instance, found[i].loss, offers, each_s, seed) for i in failed]
    result = list(found)

    def over() -> bool:
        return stop() or monotonic() >= end_s

    for number, one in each_result(buy_for_lost_nodes, tasks, workers, over):
        index = failed[number]
        result[index] = replace(result[index], mend=one)
        tell(f"looking for what mends {len(failed):,} losses")
    return result
