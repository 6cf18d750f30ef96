"""The least changes with which a plan would exist, where there is none."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice

from placer.plan.answer import (
    NoPlanExists,
    NoPlanFoundInTime,
    PlanAnswer,
    PurchasePlan,
    SufficientQuestionChange,
)
from placer.plan.pod_mends import LESS_ASKED, asks_that_could_be_less, mends_by_reduced_asks
from placer.plan.question import (
    SPARE,
    FailureTolerance,
    NodeOffer,
    PlanDemandGangReplicas,
    PlanQuestion,
    group_gangs_that_are_replicas,
    question_with_fewest_offered_nodes,
)

_MOST_OFFERS = 4
"""Of so many offers it is looked at whether more of one alone would do."""

MORE_NODES = "more nodes of an offer"
LESS_HEADROOM = "less headroom"
LESS_SURVIVES = "less that has to survive"
LESS_OF_BOTH = "less headroom and less that has to survive at once"


@dataclass(frozen=True, slots=True)
class _Mended:
    """A change of a question, and the question with it."""

    question: PlanQuestion
    mend: SufficientQuestionChange


@dataclass(frozen=True, slots=True)
class QuestionChangeSearch:
    """Looks for changes of a question.

    Attributes:
        question: The question, as it was asked.
        buy: Answers a question in the time that is left; without a plan and without a proof once
            there is none.
        over: Asked whether the time is over; what is being looked at ends then.

    """

    question: PlanQuestion
    buy: Callable[[PlanQuestion], PlanAnswer]
    over: Callable[[], bool]

    def of_no_plan(self, found: NoPlanExists) -> NoPlanExists:
        """Return the answer that there is no plan, with what would do."""
        looked_for = list(found.looked_for)

        def look(
            words: str, search: Iterable[SufficientQuestionChange]
        ) -> list[SufficientQuestionChange]:
            """Return what a search yields, which has not begun yet; nothing if it is too late."""
            if looked_for and self.over():
                return []
            looked_for.append(words)
            return list(search)

        mends: list[SufficientQuestionChange] = []
        if not found.unplaced and self._limits:
            mends += look(MORE_NODES, self._more_nodes())
        if asks := asks_that_could_be_less(self.question, found.short):
            mends += look(LESS_ASKED, mends_by_reduced_asks(self.question, asks, self.buy))
        less: list[SufficientQuestionChange] = []
        if self.question.headroom:
            less += look(LESS_HEADROOM, (one.mend for one in self.less_headroom()))
        if self.question.survive is not None:
            less += look(LESS_SURVIVES, (one.mend for one in self.surviving_less()))
        if self.question.headroom and self.question.survive is not None and not less:
            less += look(LESS_OF_BOTH, self._less_of_both())
        mends += less
        return replace(found, mends=(*found.mends, *mends), looked_for=tuple(looked_for))

    def of_none_found(self, found: NoPlanFoundInTime) -> NoPlanFoundInTime:
        """Return the answer that none was found, with more nodes that would do."""
        if not self._limits or not found.pods:
            return found
        answer = self._without_limits(self._limits)
        more = self._exceeded(answer) if isinstance(answer, PurchasePlan) else {}
        if not more:
            return found
        assert isinstance(answer, PurchasePlan)
        return replace(found, mends=(SufficientQuestionChange(self._words_of(more), answer.price),))

    @property
    def _limits(self) -> dict[str, int]:
        """The most nodes that can be bought of each offer that ends, in whole packs."""
        return {
            offer.name: offer.most - offer.most % offer.pack
            for offer in question_with_fewest_offered_nodes(self.question).offers
            if offer.most is not None
        }

    def _more_nodes(self) -> Iterator[SufficientQuestionChange]:
        """Yield how many nodes of one offer would have to be had; of several if none will do."""
        answer = self._without_limits(self._limits)
        if not isinstance(answer, PurchasePlan):
            return
        every = self._exceeded(answer)
        alone = 0
        for name in [*every, *(name for name in self._limits if name not in every)][:_MOST_OFFERS]:
            if self.over() and alone:
                return
            other = answer if len(self._limits) == 1 else self._without_limits({name: 0})
            if isinstance(other, PurchasePlan) and (more := self._exceeded(other)):
                alone += 1
                yield self._least(more, other)
        if not alone:
            yield self._least(every, answer)

    def _least(self, more: Mapping[str, int], answer: PurchasePlan) -> SufficientQuestionChange:
        """Return the least more of some offers that does, one after the other, and a plan for it.

        No less of one of them would do, while there are no more of the others.
        """
        enough, certain = dict(more), True
        packs = {offer.name: offer.pack for offer in self.question.offers}
        for name in more:
            low, high, beyond = self._limits[name] // packs[name], enough[name] // packs[name], True
            while high - low > 1 and not self.over():
                middle = (low + high) // 2
                less = self.buy(self._with_limits(enough | {name: middle * packs[name]}))
                if isinstance(less, PurchasePlan):
                    high, answer = middle, less
                else:
                    low, beyond = middle, isinstance(less, NoPlanExists)
            certain = certain and beyond and high - low == 1
            enough[name] = high * packs[name]
        return SufficientQuestionChange(self._words_of(enough), answer.price, certain)

    def _words_of(self, limits: Mapping[str, int]) -> tuple[str, ...]:
        """Return in words of a plan that offers have at least so many nodes."""
        found = []
        for name, most in limits.items():
            offer = next(one for one in self.question.offers if one.name == name)
            if offer.most is not None and offer.most < most:
                found.append(f"offers.{name}.max={most}")
            for scenario in self.question.scenarios:
                if dict(scenario.limits).get(name, most) < most:
                    found.append(f"scenarios.{scenario.name}: maxOf={name}:{most}")
        return tuple(found)

    def _with_limits(self, limits: Mapping[str, int | None]) -> PlanQuestion:
        """Return the question in which these offers end at so many nodes, in all scenarios."""

        def limited(offer: NodeOffer) -> NodeOffer:
            return replace(offer, most=limits[offer.name]) if offer.name in limits else offer

        scenarios = tuple(
            replace(one, limits=tuple(pair for pair in one.limits if pair[0] not in limits))
            for one in self.question.scenarios
        )
        offers = tuple(map(limited, self.question.offers))
        return replace(self.question, offers=offers, scenarios=scenarios)

    def _without_limits(self, names: Mapping[str, int]) -> PlanAnswer:
        return self.buy(self._with_limits(dict.fromkeys(names)))

    def _exceeded(self, answer: PurchasePlan) -> dict[str, int]:
        """Return how many nodes are bought of offers that end at fewer."""
        limits = self._limits
        return {
            one.offer: one.count
            for one in answer.mix
            if one.count > limits.get(one.offer, one.count)
        }

    def less_headroom(self) -> Iterator[_Mended]:
        """Yield the most of one shape of the headroom that there may be; else none at all."""
        found = False
        for series in group_gangs_that_are_replicas(self.question.headroom):
            mended = self._most_of(series)
            if mended is not None:
                found = True
                yield mended
        if found or len(group_gangs_that_are_replicas(self.question.headroom)) == 1:
            return
        bare = replace(self.question, headroom=())
        if isinstance(answer := self.buy(bare), PurchasePlan):
            yield _Mended(bare, SufficientQuestionChange(("without headroom",), answer.price))

    def _most_of(self, series: PlanDemandGangReplicas) -> _Mended | None:
        """Return how many pods of a series of the headroom there may be, with a plan for them."""
        low, high, beyond = 0, len(series.gangs), True
        answer = self.buy(self._with_spare(series, low))
        if not isinstance(answer, PurchasePlan):
            return None
        while high - low > 1 and not self.over():
            middle = (low + high) // 2
            other = self.buy(self._with_spare(series, middle))
            if isinstance(other, PurchasePlan):
                low, answer = middle, other
            else:
                high, beyond = middle, isinstance(other, NoPlanExists)
        name = series.name.removesuffix(SPARE)
        words = f"headroom.{name}.replicas={low}" if low else f"without headroom.{name}"
        mend = SufficientQuestionChange((words,), answer.price, beyond and high - low == 1)
        return _Mended(self._with_spare(series, low), mend)

    def _with_spare(self, series: PlanDemandGangReplicas, number: int) -> PlanQuestion:
        """Return the question with so much of a series of the headroom."""
        left_out = set(series.gangs[number:])
        kept = tuple(gang for gang in self.question.headroom if gang not in left_out)
        return replace(self.question, headroom=kept)

    def surviving_less(self) -> Iterator[_Mended]:
        """Yield how much less has to survive: the fewest pods, else fewer domains, else nothing."""
        survive = self.question.survive
        assert survive is not None
        own: Sequence[int] = sorted({gang.priority for gang in self.question.instance.gangs})
        least = survive.priority
        if least is None:
            own = own[1:]  # at the first of them all that wait survive, as they do now
        fewer_pods = {
            f"survive.priority={one}": replace(survive, priority=one)
            for one in own
            if least is None or one > least
        }
        fewer_domains = {
            f"survive.count={one}": replace(survive, count=one)
            for one in range(survive.count - 1, 0, -1)
        }
        certain = not (fewer_pods and fewer_domains)  # both at once are not tried
        for options in (fewer_pods, fewer_domains):
            mended, beyond = self._first_that_does(options)
            if mended is not None:
                yield mended
                return
            certain = certain and beyond
        bare = replace(self.question, survive=None)
        if isinstance(answer := self.buy(bare), PurchasePlan):
            yield _Mended(
                bare, SufficientQuestionChange(("without survive",), answer.price, certain)
            )

    def _first_that_does(
        self, options: Mapping[str, FailureTolerance]
    ) -> tuple[_Mended | None, bool]:
        """Return the first that has a plan, and whether those before it are proven to have none."""
        certain = True
        for words, survive in options.items():
            less = replace(self.question, survive=survive)
            answer = self.buy(less)
            if isinstance(answer, PurchasePlan):
                return _Mended(
                    less, SufficientQuestionChange((words,), answer.price, certain)
                ), certain
            certain = certain and isinstance(answer, NoPlanExists)
        return None, certain

    def _less_of_both(self) -> Iterator[SufficientQuestionChange]:
        """Yield less headroom with less that survives: first as much as may be of the one, then
        of the other.

        Neither alone would do. No more of one of them would, while the other is as it is.
        """
        nothing_lost = replace(self.question, survive=None)
        no_headroom = replace(self.question, headroom=())
        certain = all(
            isinstance(self.buy(one), NoPlanExists) for one in (nothing_lost, no_headroom)
        )
        told: set[tuple[str, ...]] = set()
        for spare in islice(self._of(nothing_lost).less_headroom(), 1):
            rest = self._of(replace(self.question, headroom=spare.question.headroom))
            for kept in islice(rest.surviving_less(), 1):
                mend = _both(spare, kept, kept.mend.price, certain=certain)
                told.add(mend.changes)
                yield mend
        for kept in islice(self._of(no_headroom).surviving_less(), 1):
            rest = self._of(replace(self.question, survive=kept.question.survive))
            for spare in islice(rest.less_headroom(), 1):
                mend = _both(spare, kept, spare.mend.price, certain=certain)
                if mend.changes not in told:
                    yield mend

    def _of(self, question: PlanQuestion) -> "QuestionChangeSearch":
        """Return the same for another question."""
        return replace(self, question=question)


def _both(
    spare: _Mended, kept: _Mended, price: Decimal | None, *, certain: bool
) -> SufficientQuestionChange:
    changes = (*spare.mend.changes, *kept.mend.changes)
    return SufficientQuestionChange(
        changes, price, certain and spare.mend.smallest and kept.mend.smallest
    )
