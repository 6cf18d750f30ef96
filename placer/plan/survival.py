"""The survival of a loss: do all pods of lost nodes find places, and what would mend it if not?"""

from dataclasses import dataclass, replace

from placer.plan.answer import NoPlanExists, NoPlanFound, OfferPurchase, PurchasePlan
from placer.plan.losses import NodeLoss, instance_after_loss
from placer.plan.plan import buy
from placer.plan.question import NodeOffer, PlanQuestion
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import (
    Answer,
    GaveUp,
    Infeasible,
    Move,
    PartlyPlaced,
    Placed,
    Placement,
    Unplaced,
)
from placer_models.pod import pods_of


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
    plan: PurchasePlan | NoPlanExists | NoPlanFound


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
    pods = sum(1 for _ in pods_of(instance.gangs)) + len(instance.left_out)
    if not pods:
        return LossOutcome(task.loss, 0, (), (), True, instance, Placement(()))
    answer = _answer(instance, task)
    placement = Placement(())
    moves: tuple[Move, ...] = ()
    if isinstance(answer, Placed | PartlyPlaced):
        placement, moves = answer.placement, answer.moves
    unplaced = () if isinstance(answer, Placed) else answer.unplaced
    return LossOutcome(task.loss, pods, unplaced, moves, _proven(answer), instance, placement)


def _answer(instance: Instance, task: SurvivalTask) -> Answer:
    """Return the fast path's answer where it places all, else that of the search."""
    fast = solve(instance, SolveOptions(Engine.GREEDY, task.seconds, workers=1), skip_illegal=True)
    if isinstance(fast, Placed | Infeasible) and not instance.move_budget:
        return fast
    if isinstance(fast, Placed):
        return fast
    options = SolveOptions(Engine.AUTO, task.seconds, workers=1, seed=task.seed)
    return solve(instance, options, skip_illegal=True)


def _proven(answer: Answer) -> bool:
    match answer:
        case Placed() | Infeasible():
            return True
        case PartlyPlaced():
            return answer.tiers[0].proven
        case GaveUp():
            return False


def buy_for_lost_nodes(task: LossPurchaseTask) -> LossPurchase:
    """Return the cheapest mix of offers with which every pod of lost nodes finds a place."""
    instance = instance_after_loss(task.instance, frozenset(task.loss.nodes))
    question = PlanQuestion(replace(instance, left_out=()), task.offers)
    plan = buy(question, task.seconds, threads=1, seed=task.seed)
    return LossPurchase(plan.mix if isinstance(plan, PurchasePlan) else (), plan)
