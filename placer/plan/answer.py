"""The answer of a plan: what to buy, how good that is, what binds, and what else it could be."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from placer.plan.market import PurchaseProblem
from placer.plan.proof import IntegerItemValuesForProof
from placer.plan.witness import ScenarioPlacement
from placer_models.placement import Unplaced


@dataclass(frozen=True, slots=True)
class OfferPurchase:
    """Nodes of one offer.

    Attributes:
        price: What all of them cost.

    """

    offer: str
    count: int
    price: Decimal


@dataclass(frozen=True, slots=True)
class OfferResourceUse:
    """How much of a resource is in use on the nodes of an offer.

    Attributes:
        resource: The resource, as people call it.
        percent: The used part, in percent, in the scenario that asks for most.

    """

    resource: str
    percent: float


@dataclass(frozen=True, slots=True)
class OfferBindingResource:
    """What the price of an offer is paid for.

    Attributes:
        resource: The resource of which more would save most; None: none in particular.
        percent: Which part of the price is paid for it, in percent, by the values of the
            aggregate program.
        uses: What is used of each resource that somebody asks for.

    """

    offer: str
    resource: str | None
    percent: float
    uses: tuple[OfferResourceUse, ...]


@dataclass(frozen=True, slots=True)
class PlanExcludingOffer:
    """What a plan without one of the offers costs.

    Attributes:
        without: The offer.
        price: None: no such plan was found.
        mix: (offer, how many nodes).

    """

    without: str
    price: Decimal | None
    mix: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class PriceBoundProof:
    """Where the bound comes from: enough to recompute it.

    Attributes:
        market: The market that it is about.
        values: The whole-number values.
        exact: What the values prove, in units, before it is rounded up; None: no plan at all.
        by_enumeration: Whether the bound is higher than that, because all patterns were tried.
        by_whole_bins: Values by which it is higher than that, because bins come in whole packs.

    """

    market: PurchaseProblem
    values: IntegerItemValuesForProof
    exact: Fraction | None
    by_enumeration: bool
    by_whole_bins: tuple[IntegerItemValuesForProof, ...] = ()


@dataclass(frozen=True, slots=True)
class PurchasePlan:
    """A plan that places all of the demand.

    Attributes:
        price: What it costs.
        bound: No plan costs less.
        mix: What is bought, the dearest part first.
        relaxed: What the bound does not look at, in words.

    """

    price: Decimal
    bound: Decimal
    mix: tuple[OfferPurchase, ...]
    binding: tuple[OfferBindingResource, ...]
    runners_up: tuple[PlanExcludingOffer, ...]
    witnesses: tuple[ScenarioPlacement, ...]
    relaxed: tuple[str, ...]
    proof: PriceBoundProof

    @property
    def gap_percent(self) -> float:
        """How far the price is above the bound, in percent of the bound."""
        if self.price == self.bound:
            return 0.0
        return float(100 * (self.price - self.bound) / self.bound) if self.bound else 100.0


@dataclass(frozen=True, slots=True)
class PodsShortOfOffers:
    """Pods of one shape for which too little can be bought.

    Attributes:
        pod: Some pod of it; empty: it is not known which, as any node may be lost.
        count: How many have no place, at least.
        reasons: Why no offer holds one of them at all; nothing: some offer does, or nobody looked.
        case: In which scenario, and after which loss; empty: there is but one.

    """

    pod: str
    count: int
    reasons: tuple[str, ...] = ()
    case: str = ""


@dataclass(frozen=True, slots=True)
class SufficientQuestionChange:
    """A change of a question that would do.

    Attributes:
        changes: What is to be changed, in words of a plan: ``offers.small.max=4``, or those of
            what-if.
        price: What a plan costs then; None: nobody looked for one.
        smallest: Whether no smaller change of its kind would do, which is proven.
        alike: How many pods, or gangs, have to change so, where it names one of several that are
            alike; 1: just what it names.

    """

    changes: tuple[str, ...]
    price: Decimal | None = None
    smallest: bool = False
    alike: int = 1


@dataclass(frozen=True, slots=True)
class NoPlanExists:
    """No plan places all of the demand, however much is paid.

    Attributes:
        unplaced: Pods that no node can hold, and why.
        short: Pods for which the offers are too few.
        ended: (offer, the most that there are) of the offers that are used up.
        mends: The least changes of the question with which a plan was found or, where pods have no
            node at all, with which each of these has one.
        looked_for: The kinds of changes that were looked for, in words.

    """

    unplaced: tuple[Unplaced, ...] = ()
    short: tuple[PodsShortOfOffers, ...] = ()
    ended: tuple[tuple[str, int], ...] = ()
    mends: tuple[SufficientQuestionChange, ...] = ()
    looked_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoPlanFoundInTime:
    """No plan was found, and none was proven to be impossible.

    Attributes:
        bound: A plan costs at least so much, if there is one.
        scenario: The scenario in which pods were left over; empty: not known.
        unplaced: Some of these pods, and why.
        pods: How many they are.
        mends: Changes of the question with which a plan was found.

    """

    bound: Decimal
    scenario: str = ""
    unplaced: tuple[Unplaced, ...] = ()
    pods: int = 0
    mends: tuple[SufficientQuestionChange, ...] = ()


PlanAnswer = PurchasePlan | NoPlanExists | NoPlanFoundInTime
