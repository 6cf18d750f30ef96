"""The survival of losses: do all pods of lost nodes find places, and what would mend it if not?

All losses are looked at, worst first, and what of the offers mends those that are not survived.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic

from placer.plan.answer import NoPlanExists, NoPlanFoundInTime, OfferPurchase, PurchasePlan
from placer.plan.losses import (
    NodeLoss,
    combined_node_losses,
    instance_after_loss,
    losses_of_domains,
    losses_of_single_nodes,
)
from placer.plan.plan import buy
from placer.plan.question import NodeOffer, PlanQuestion
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.sweep.sweep import sweep_results_as_completed
from placer.sweep.workers import SweepBackend
from placer_models.cluster import Instance
from placer_models.placement import (
    Answer,
    Infeasible,
    Move,
    PartlyPlaced,
    Placed,
    Placement,
    Unplaced,
    is_most_that_can_be_placed,
)
from placer_models.pod import pods_of_gangs


@dataclass(frozen=True, slots=True)
class SurvivalTask:
    """A question of its own, which can be sent to another process.

    Attributes:
        instance: The nodes and what runs there; what waits does not count.
        loss: What is lost.
        move_budget: How many running pods of other nodes may move.
        seconds: Wall-clock time.

    """

    instance: Instance
    loss: NodeLoss
    move_budget: int = 0
    seconds: float = 10.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class LossPurchaseTask:
    """The question what to buy so that a loss is survived.

    Attributes:
        instance: As in `SurvivalTask`.
        loss: As in `SurvivalTask`.
        offers: What can be bought.
        seconds: Wall-clock time.

    """

    instance: Instance
    loss: NodeLoss
    offers: tuple[NodeOffer, ...]
    seconds: float = 10.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class LossPurchase:
    """What of the offers mends a loss.

    Attributes:
        mix: What is bought, as one question would answer it; empty: nothing does, or none was
            found.
        plan: The whole answer.

    """

    mix: tuple[OfferPurchase, ...]
    plan: PurchasePlan | NoPlanExists | NoPlanFoundInTime


@dataclass(frozen=True, slots=True)
class LossOutcome:
    """What becomes of a loss.

    Attributes:
        pods: How many pods have to find another place.
        unplaced: Those that find none, and why.
        moves: Pods of other nodes that make room.
        proven: Whether it is known for certain: all have places, or it is proven that not all can.
        instance: The instance after the loss: the pods that restart wait in it.
        placement: Their places, which the judge has looked at.
        mend: What of the offers would do; None: nothing has to, or there are no offers.

    """

    loss: NodeLoss
    pods: int
    unplaced: tuple[Unplaced, ...]
    moves: tuple[Move, ...]
    proven: bool
    instance: Instance
    placement: Placement
    mend: LossPurchase | None = None

    @property
    def survives(self) -> bool:
        """Whether every pod finds a place."""
        return not self.unplaced

    @property
    def badness(self) -> tuple[int, int, int]:
        """A key that puts the worst last."""
        return len(self.unplaced), len(self.moves), self.pods


def solve_survival_task(task: SurvivalTask) -> LossOutcome:
    """Return what becomes of a loss."""
    lost = frozenset(task.loss.nodes)
    instance = replace(instance_after_loss(task.instance, lost), move_budget=task.move_budget)
    pods = sum(1 for _ in pods_of_gangs(instance.gangs)) + len(instance.left_out)
    if not pods:
        return LossOutcome(task.loss, 0, (), (), True, instance, Placement(()))
    answer = _answer(instance, task)
    placement = Placement(())
    moves: tuple[Move, ...] = ()
    if isinstance(answer, Placed | PartlyPlaced):
        placement, moves = answer.placement, answer.moves
    unplaced = () if isinstance(answer, Placed) else answer.unplaced
    proven = is_most_that_can_be_placed(answer)
    return LossOutcome(task.loss, pods, unplaced, moves, proven, instance, placement)


def _answer(instance: Instance, task: SurvivalTask) -> Answer:
    """Return the fast path's answer where it places all, else that of the search."""
    fast = solve(instance, SolveOptions(Engine.GREEDY, task.seconds, workers=1), skip_illegal=True)
    if isinstance(fast, Placed) or (isinstance(fast, Infeasible) and not instance.move_budget):
        return fast
    options = SolveOptions(Engine.AUTO, task.seconds, workers=1, seed=task.seed)
    return solve(instance, options, skip_illegal=True)


def buy_for_lost_nodes(task: LossPurchaseTask) -> LossPurchase:
    """Return the cheapest mix of offers with which every pod of lost nodes finds a place."""
    instance = instance_after_loss(task.instance, frozenset(task.loss.nodes))
    question = PlanQuestion(replace(instance, left_out=()), task.offers)
    plan = buy(question, task.seconds, threads=1, seed=task.seed)
    return LossPurchase(plan.mix if isinstance(plan, PurchasePlan) else (), plan)


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
    workers: SweepBackend | None = None,
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
    singles = losses_of_domains(instance, domain) if domain else losses_of_single_nodes(instance)
    there = sum(len(loss.nodes) * (1 + len(loss.alike)) for loss in singles)
    if not domain and not 1 <= nodes < max(2, there):
        raise ValueError(f"{nodes} nodes cannot be lost of {there}: some have to be left")
    trial = _Trial(instance, move_budget, monotonic() + losing_s, stop, tell, seed, workers)
    found = trial.of(singles)
    choices = len(singles)
    if nodes > 1 and not domain:
        worst = [one.loss for one in sorted(found, key=lambda s: s.badness, reverse=True)]
        choices = _choices(singles, nodes)
        found = trial.of(list(islice(combined_node_losses(worst, nodes), _MOST_TRIED)))
    found.sort(key=lambda one: (tuple(-n for n in one.badness), one.loss.name))
    if offers:
        found = replace(trial, end_s=end_s).mended(found, tuple(offers))
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
    """Tries losses under one deadline, or looks for what mends them."""

    instance: Instance
    move_budget: int
    end_s: float
    stop: Callable[[], bool]
    tell: Callable[[str], None]
    seed: int
    workers: SweepBackend | None

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
            return bool(found) and self._over()

        for _, one in sweep_results_as_completed(solve_survival_task, tasks, self.workers, over):
            found.append(one)
            self.tell(f"lost {len(found):,} of {len(tasks):,}")
        return found

    def mended(
        self, found: Sequence[LossOutcome], offers: tuple[NodeOffer, ...]
    ) -> list[LossOutcome]:
        """Return the losses, those that are not survived with what would mend them."""
        failed = [index for index, one in enumerate(found) if not one.survives]
        each_s = max(1.0, (self.end_s - monotonic()) / max(1, len(failed)))
        tasks = [
            LossPurchaseTask(self.instance, found[i].loss, offers, each_s, self.seed)
            for i in failed
        ]
        result = list(found)
        mends = sweep_results_as_completed(buy_for_lost_nodes, tasks, self.workers, self._over)
        for number, one in mends:
            index = failed[number]
            result[index] = replace(result[index], mend=one)
            self.tell(f"looking for what mends {len(failed):,} losses")
        return result

    def _over(self) -> bool:
        return self.stop() or monotonic() >= self.end_s


def _choices(singles: Sequence[NodeLoss], number: int) -> int:
    """Return how many different ways there are to lose so many nodes."""
    ways = [1] + [0] * number
    for loss in singles:
        most = len(loss.nodes) + len(loss.alike)
        ways = [sum(ways[n - k] for k in range(min(n, most) + 1)) for n in range(number + 1)]
    return ways[number]
