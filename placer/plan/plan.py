"""The plan: from a question to its answer, here or as a task of a sweep."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations

from placer.explain.trial import TrialVerdict, trial_outcome_of
from placer.greedy.node_table import GreedyNodeTable
from placer.plan.answer import (
    NoPlanExists,
    NoPlanFoundInTime,
    OfferPurchase,
    PlanAnswer,
    PlanExcludingOffer,
    PriceBoundProof,
    PurchasePlan,
)
from placer.plan.binding import binding_resource_on_offer
from placer.plan.buying import PurchaseSolution, PurchaseSolver
from placer.plan.cases import ScenarioUnderLoss, plan_case_in_words, plan_cases_of
from placer.plan.clock import PlanClock, PlanWallClock, PlanWorkClock
from placer.plan.market import PurchaseProblem
from placer.plan.mending import QuestionChangeSearch
from placer.plan.numa_rooms import NUMA_NODES
from placer.plan.pod_mends import OF_PODS_IN_WORDS, mends_of_unplaceable_gangs
from placer.plan.proof import IntegerItemValuesForProof
from placer.plan.question import PlanQuestion, question_with_fewest_offered_nodes
from placer.plan.relax import QuestionAsPacking, question_as_packing, with_one_of_each_offer
from placer.plan.running_out import ALONE, MOST_TOLD, why_no_plan_exists
from placer.plan.witness import (
    PlanWitnessPlacements,
    ScenarioPlacement,
    any_looks_beyond_node,
    place_pods_on_bought_nodes,
    solve_options_on_clock,
)
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer.sweep.halting import stop_check_of_task
from placer_models.cluster import Instance
from placer_models.illegal_running import with_running_pods_counted_as_legal
from placer_models.legal import check_pods_legal
from placer_models.placement import Placed, Unplaced
from placer_models.pod import Gang, lone_gang, pods_of_gangs

_WITNESS = 0.2
"""This part of the time is kept for the placement; it may take longer."""
_LEAST = 0.1
_LEAST_MENDING = 1.0
"""So long a changed question is looked at; and so long, all together, even if the time is over."""
_MOST_CHOICES = 3
"""Of so many offers, each choice of some of them is looked at by itself."""


def buy(
    question: PlanQuestion,
    seconds: float,
    threads: int = 2,
    stop: Callable[[], bool] = lambda: False,
    tell: Callable[[str], None] = lambda words: None,
    seed: int = 0,
    work_limit: int | None = None,
) -> PlanAnswer:
    """Return the cheapest plan that the time allows, with a bound and a judged placement.

    Args:
        question: What is there, what is asked for, what can be bought.
        seconds: Wall-clock time; placing all pods may take a little longer.
        threads: How many searches run at a time.
        stop: Asked now and then whether to end with what there is.
        tell: Told in a few words what is done.
        seed: Seed of everything that is drawn.
        work_limit: Deterministic work in place of seconds; the answer repeats to the last bit.

    Raises:
        IllegalPodError: A pod asks for what no pod may ask for.

    """
    clock: PlanClock = PlanWallClock() if work_limit is None else PlanWorkClock()
    end = clock.now() + (seconds if work_limit is None else work_limit)
    asked = replace(question, instance=with_running_pods_counted_as_legal(question.instance))
    question = question_with_fewest_offered_nodes(asked)
    cases = plan_cases_of(question)
    for case in cases:
        nodes = with_one_of_each_offer(question, case.instance).nodes
        check_pods_legal(pods_of_gangs(case.instance.gangs), nodes)
    run = _Run(clock, threads, stop, tell, seed)

    answered: dict[PlanQuestion, PlanAnswer] = {}
    beyond = _LEAST_MENDING

    def again(changed: PlanQuestion) -> PlanAnswer:
        nonlocal beyond
        begun = clock.now()
        left = max(0.0, end - begun)
        if changed not in answered:
            if stop() or left + beyond <= 0:
                return NoPlanFoundInTime(Decimal(0))
            other = question_with_fewest_offered_nodes(changed)
            own = plan_cases_of(other)
            most = max(0.5 * left, min(_LEAST_MENDING, left + beyond))
            answered[changed] = (
                NoPlanExists()
                if _homeless(other, own, clock)
                else _answer(other, own, clock.now() + most, run)
            )
            beyond -= max(0.0, clock.now() - begun - left)
        return answered[changed]

    mending = QuestionChangeSearch(asked, again, lambda: stop() or clock.now() >= end)
    tell("looking for nodes that hold each pod")
    if homeless := _homeless(question, cases, clock):
        if stop():
            return NoPlanExists(homeless.unplaced)
        tell("looking for the least change that would do")
        case = homeless.case
        instance = _with_one_of_each(question, case)
        left = max(_LEAST_MENDING, end - clock.now())
        mends = mends_of_unplaceable_gangs(asked, instance, homeless.gangs, clock, left, again)
        found = NoPlanExists(homeless.unplaced, mends=tuple(mends), looked_for=OF_PODS_IN_WORDS)
        return mending.of_no_plan(found)
    answer = _answer(question, cases, end, run)
    if isinstance(answer, PurchasePlan) or stop():
        return answer
    tell("looking for the least change that would do")
    if isinstance(answer, NoPlanExists):
        return mending.of_no_plan(answer)
    return mending.of_none_found(answer)


def _answer(
    question: PlanQuestion, cases: Sequence[ScenarioUnderLoss], end: float, run: "_Run"
) -> PlanAnswer:
    """Return the answer to a question all of whose pods some node can hold."""
    if any(case.one_less is not None for case in cases):
        return _surviving_nodes(question, cases, end, run)
    return _planned(question, question_as_packing(question, cases), end, run)


@dataclass(frozen=True, slots=True)
class _Run:
    """How a plan is looked for; as in `buy`."""

    clock: PlanClock
    threads: int
    stop: Callable[[], bool]
    tell: Callable[[str], None]
    seed: int


def _planned(
    question: PlanQuestion, relaxation: QuestionAsPacking, end: float, run: _Run
) -> PlanAnswer:
    """Return the answer on one market."""
    left = max(_LEAST, end - run.clock.now())
    market_solver = PurchaseSolver(
        relaxation.market,
        run.clock,
        (1 - _WITNESS) * left,
        run.threads,
        run.stop,
        run.tell,
        run.seed,
    )
    solved = market_solver.buy()
    if solved.bound is None:
        return why_no_plan_exists(question, relaxation, solved, run.clock)
    if solved.plan is None:
        return NoPlanFoundInTime(question.in_currency(solved.bound))
    run.tell("placing every pod on what is bought")
    placements = place_pods_on_bought_nodes(
        question, relaxation, solved.plan, run.clock, end, run.threads, run.stop
    )
    if (missing := placements.missing) is not None:
        return NoPlanFoundInTime(
            question.in_currency(solved.bound),
            missing.scenario,
            missing.unplaced[:MOST_TOLD],
            len(missing.pods),
        )
    return _bought(question, relaxation, solved, placements)


def _surviving_nodes(
    question: PlanQuestion, cases: Sequence[ScenarioUnderLoss], end: float, run: _Run
) -> PlanAnswer:
    """Return the answer where any bought node may be lost.

    Which one may be depends on what is bought. So there is a market for each choice of offers of
    which some nodes are bought, and one of each may be lost. Where these are too many, one
    market loses a node of whatever offer, which bounds the price, and the next one takes the
    offers that the first one chose.
    """
    nothing = _nothing_bought(cases, run.clock)
    if isinstance(nothing, PurchasePlan):
        return nothing
    floor = Decimal(0) if nothing is TrialVerdict.OPEN else None
    few = len(question.offers) <= _MOST_CHOICES
    best: PurchasePlan | None = None
    found: list[PurchasePlan] = []
    bounds: list[Decimal] = [] if floor is None else [floor]
    other: PlanAnswer | None = None
    if few:
        sizes = range(len(question.offers), 0, -1)
        chosen = [some for size in sizes for some in combinations(question.offers, size)]
    else:
        first = _planned(
            question, question_as_packing(question, cases), (run.clock.now() + end) / 2, run
        )
        if isinstance(first, NoPlanExists):
            return first if floor is None else NoPlanFoundInTime(floor)
        bounds.append(first.bound)
        best, other = (first, None) if isinstance(first, PurchasePlan) else (None, first)
        names = {one.offer for one in first.mix} if isinstance(first, PurchasePlan) else set()
        chosen = [tuple(offer for offer in question.offers if offer.name in names)]
    for number, offers in enumerate(chosen):
        if not offers or (number and run.stop()):
            break
        part = replace(question, offers=offers)
        own = plan_cases_of(part)
        if _homeless(part, own, run.clock):
            continue
        now = run.clock.now()
        until = now + max(_LEAST, end - now) / (len(chosen) - number)
        answer = _planned(part, question_as_packing(part, own, surely_used=True), until, run)
        if isinstance(answer, NoPlanExists):
            other = other or answer
            continue
        if few:
            bounds.append(answer.bound)
        if isinstance(answer, PurchasePlan):
            found.append(answer)
        if isinstance(answer, PurchasePlan) and (best is None or answer.price < best.price):
            best = answer
        elif isinstance(answer, NoPlanFoundInTime):
            other = answer
    if best is not None:
        runners_up = tuple(_runners_up_among(best, found)) if few else best.runners_up
        return replace(best, bound=min(*bounds, best.price), runners_up=runners_up)
    if isinstance(other, NoPlanExists) and not bounds:
        return other
    if isinstance(other, NoPlanFoundInTime):
        return replace(other, bound=min(*bounds, other.bound))
    return NoPlanFoundInTime(min(bounds, default=Decimal(0)))


def _runners_up_among(
    best: PurchasePlan, found: Sequence[PurchasePlan]
) -> Iterator[PlanExcludingOffer]:
    """Yield the cheapest other plan without each offer of the best one, cheapest first."""
    runners_up = []
    for one in best.mix:
        others = [p for p in found if one.offer not in {part.offer for part in p.mix}]
        other = min(others, key=lambda plan: plan.price, default=None)
        mix = tuple((part.offer, part.count) for part in other.mix) if other else ()
        runners_up.append(PlanExcludingOffer(one.offer, other.price if other else None, mix))
    yield from sorted(runners_up, key=lambda r: (r.price is None, r.price or 0, r.without))


def _nothing_bought(
    cases: Sequence[ScenarioUnderLoss], clock: PlanClock
) -> PurchasePlan | TrialVerdict:
    """Return the plan that buys nothing, or whether it is ruled out."""
    witnesses = []
    for case in cases:
        if case.one_less is not None:
            continue
        options = solve_options_on_clock(clock, ALONE, 1)
        answer = solve(replace(case.instance, move_budget=0), options)
        if not isinstance(answer, Placed):
            return trial_outcome_of(answer, case.instance)
        witnesses.append(
            ScenarioPlacement(case.scenario, case.instance, answer.placement, case.loss)
        )
    free = Decimal(0)
    market = PurchaseProblem((), ())
    proof = PriceBoundProof(market, IntegerItemValuesForProof((), ()), None, by_enumeration=False)
    return PurchasePlan(free, free, (), (), (), tuple(witnesses), (), proof)


@dataclass(frozen=True, slots=True)
class _Homeless:
    """Pods of a case that cannot be on any node, not even alone, and why; one of each shape.

    Attributes:
        gangs: Each in a gang by itself, or the gang, if it is one that is gathered on a node.

    """

    case: ScenarioUnderLoss
    unplaced: tuple[Unplaced, ...]
    gangs: tuple[Gang, ...]


def _homeless(
    question: PlanQuestion, cases: Sequence[ScenarioUnderLoss], clock: PlanClock
) -> _Homeless | None:
    """Return those of the first case that has some."""
    looked_at: set[object] = set()
    for case in cases:
        specs = frozenset(pod.spec for pod in pods_of_gangs(case.instance.gangs))
        key = (id(case.instance.nodes), id(case.instance.running), case.barred, specs)
        if key in looked_at:
            continue
        looked_at.add(key)
        where = f"{told}: " if (told := plan_case_in_words(question, case)) else ""
        found = [*_homeless_in(question, case, clock)]
        if found:
            unplaced = (
                replace(one, reasons=(f"{where}{one.reasons[0]}", *one.reasons[1:]))
                for one, _ in found
            )
            return _Homeless(case, tuple(unplaced), tuple(gang for _, gang in found))
    return None


def _with_one_of_each(question: PlanQuestion, case: ScenarioUnderLoss) -> Instance:
    """Return the instance of a case with one node of each offer that is there then."""
    offers = [o for index, o in enumerate(question.offers) if index not in case.barred]
    return with_one_of_each_offer(replace(question, offers=tuple(offers)), case.instance)


def _homeless_in(
    question: PlanQuestion, case: ScenarioUnderLoss, clock: PlanClock
) -> Iterator[tuple[Unplaced, Gang]]:
    """Yield pods of a case that cannot be on any node, and why, each with its gang."""
    instance = _with_one_of_each(question, case)
    problem = build_problem(instance, each_core=True, absolute=True)
    table = GreedyNodeTable(problem)
    pods = list(pods_of_gangs(instance.gangs))
    states = sorted({table.state(node) for node in range(len(instance.nodes))})
    alone: list[Gang] = []
    seen: set[object] = set()
    for index, pod in enumerate(pods):
        shape = problem.pods[index]
        if shape in seen:
            continue
        seen.add(shape)
        if all(table.bid(shape, state) is None for state in states):
            alone.append(lone_gang(pod))
    if not alone:
        for gang in instance.gangs:
            key = tuple(pod.spec for pod in gang.pods), gang.minimum
            if gang.gather is not None and key not in seen:
                seen.add(key)
                alone.append(gang)
    found = 0
    for gang in alone:
        options = solve_options_on_clock(clock, ALONE, 1)
        asked = replace(instance, gangs=(gang,), groups=())
        answer = solve(asked, options)
        if isinstance(answer, Placed) or found == MOST_TOLD:
            continue
        if trial_outcome_of(answer, asked) is TrialVerdict.RULED_OUT:
            found += 1
            yield answer.unplaced[0], gang


def _bought(
    question: PlanQuestion,
    relaxation: QuestionAsPacking,
    solved: PurchaseSolution,
    placements: PlanWitnessPlacements,
) -> PurchasePlan:
    assert solved.bound is not None
    parts = [
        (offer, count, count * question.in_units(offer.price), index)
        for index, (offer, count) in enumerate(zip(question.offers, placements.bought, strict=True))
        if count
    ]
    parts.sort(key=lambda part: -part[2])
    price = sum(part[2] for part in parts)
    whole = [w for w in placements.witnesses if not w.loss]
    fullest = max(whole, key=lambda w: len(w.placement.pods))
    on_offer = _items_by_offer(question, relaxation, fullest, placements.bought)
    return PurchasePlan(
        price=question.in_currency(price),
        bound=question.in_currency(min(solved.bound, price)),
        mix=tuple(
            OfferPurchase(offer.name, count, question.in_currency(cost))
            for offer, count, cost, _ in parts
        ),
        binding=tuple(
            binding_resource_on_offer(
                relaxation, solved.start, index, offer.name, count, on_offer[index]
            )
            for offer, count, _, index in parts
        ),
        runners_up=tuple(_runners_up(question, relaxation, solved)),
        witnesses=placements.witnesses,
        relaxed=tuple(_relaxed(question, relaxation, solved)),
        proof=PriceBoundProof(
            relaxation.market,
            solved.values,
            solved.exact,
            solved.by_enumeration,
            solved.by_whole_bins,
        ),
    )


def _items_by_offer(
    question: PlanQuestion,
    relaxation: QuestionAsPacking,
    witness: ScenarioPlacement,
    bought: Sequence[int],
) -> list[Counter[int]]:
    """Return for each offer how many items of each kind are on its nodes."""
    number = next(
        i
        for i, case in enumerate(relaxation.cases)
        if (case.scenario, case.loss) == (witness.scenario, witness.loss)
    )
    item_of = relaxation.item_of[number]
    first = len(relaxation.cases[number].instance.nodes)
    offers = [index for index, count in enumerate(bought) for _ in range(count)]
    offer_of = {
        node.name: offer for node, offer in zip(witness.instance.nodes[first:], offers, strict=True)
    }
    spec_of = {pod.key: pod.spec for pod in pods_of_gangs(witness.instance.gangs)}
    found: list[Counter[int]] = [Counter() for _ in bought]
    for place in witness.placement.pods:
        if place.node in offer_of:
            found[offer_of[place.node]][item_of[spec_of[place.key]]] += 1
    return found


def _runners_up(
    question: PlanQuestion, relaxation: QuestionAsPacking, solved: PurchaseSolution
) -> Iterator[PlanExcludingOffer]:
    names = [offer.name for offer in question.offers]
    for runner_up in solved.runners_up:
        without, plan = names[runner_up.without - relaxation.there], runner_up.plan
        if plan is None:
            yield PlanExcludingOffer(without, None, ())
            continue
        bought = zip(names, plan.bought[relaxation.there :], strict=True)
        mix = tuple((name, n) for name, n in bought if n)
        yield PlanExcludingOffer(without, question.in_currency(plan.price), mix)


def _relaxed(
    question: PlanQuestion, relaxation: QuestionAsPacking, solved: PurchaseSolution
) -> Iterator[str]:
    """Yield what the bound does not look at."""
    nodes = with_one_of_each_offer(question, question.instance).nodes
    topologies = [node.machine.topology for node in nodes]
    if NUMA_NODES in relaxation.devices:
        yield "NUMA nodes, but for pods that have to be on a single one"
    elif any(len(topology.numa_nodes) > 1 for topology in topologies):
        yield "NUMA nodes inside a node"
    if any(node.machine.gpu_links for node in nodes):
        yield "links between GPUs"
    if solved.by_sums:
        yield "how each device or NUMA node is filled, which it counts by sums"
    if len(relaxation.lost_of_any) > 1:
        yield "which bought node is lost"
    if any(any_looks_beyond_node(c.instance.gangs, c.instance) for c in relaxation.cases):
        yield "rules between nodes, and between pods"


@dataclass(frozen=True, slots=True)
class BuyTask:
    """What is sent to a worker: words alone; the fields are those of `buy`."""

    question: PlanQuestion
    seconds: float
    threads: int = 1
    seed: int = 0
    work_limit: int | None = None


def solve_buy_task(task: BuyTask) -> PlanAnswer:
    """Solve one question."""
    return buy(
        task.question,
        task.seconds,
        task.threads,
        stop_check_of_task(),
        seed=task.seed,
        work_limit=task.work_limit,
    )
