"""The plan: from a question to its answer."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from placer.greedy.node_table import NodeTable
from placer.plan.answer import (
    Bought,
    NoneFound,
    NoPlan,
    OffersRunOut,
    PlanAnswer,
    Proof,
    Purchase,
    RunnerUp,
)
from placer.plan.binding import binding_of
from placer.plan.buying import Buyer, Deal
from placer.plan.clock import PlanClock, WallClock, WorkClock
from placer.plan.question import PlanQuestion
from placer.plan.relax import Relaxation, relaxed, with_offers
from placer.plan.witness import (
    Missing,
    Placements,
    Witness,
    asks_beyond_its_node,
    options_for,
    place_plan,
)
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.illegal_running import with_counted
from placer_models.legal import check_pods
from placer_models.placement import Placed, Unplaced
from placer_models.pod import Gang, pods_of

_WITNESS = 0.2
"""This part of the time is kept for the placement; it may take longer."""
_ALONE = 5.0
"""So much time has the search for a place of one pod alone."""
_LEAST = 0.1
_MOST_TOLD = 20
"""So many pods without a place are explained."""
_SHORT = 1e-6


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
    clock: PlanClock = WallClock() if work_limit is None else WorkClock()
    end = clock.now() + (seconds if work_limit is None else work_limit)
    question = replace(question, instance=with_counted(question.instance))
    nodes = with_offers(question).nodes
    check_pods(pods_of(question.instance.gangs), nodes)
    tell("looking for nodes that hold each pod")
    relaxation = relaxed(question)
    if homeless := tuple(_homeless(question, relaxation, clock)):
        return NoPlan(homeless)
    left = max(_LEAST, end - clock.now())
    buyer = Buyer(relaxation.market, clock, (1 - _WITNESS) * left, threads, stop, tell, seed)
    deal = buyer.buy()
    if deal.bound is None:
        return _no_plan(question, relaxation, deal)
    if deal.plan is None:
        return NoneFound(question.in_currency(deal.bound))
    tell("placing every pod on what is bought")
    placements = place_plan(question, relaxation, deal.plan, clock, end, threads, stop)
    if placements.missing is not None:
        return _none_found(question, deal, placements.missing)
    return _bought(question, relaxation, deal, placements)


def _homeless(
    question: PlanQuestion, relaxation: Relaxation, clock: PlanClock
) -> Iterator[Unplaced]:
    """Yield pods that cannot be on any node, not even alone, and why; one of each shape."""
    instance = with_offers(question)
    problem = build_problem(instance, each_core=True, absolute=True)
    table = NodeTable(problem)
    pods = list(pods_of(instance.gangs))
    states = sorted({table.state(node) for node in range(len(instance.nodes))})
    seen: set[int] = set()
    found = 0
    for index, pod in enumerate(pods):
        shape = problem.pods[index]
        if shape in seen or found == _MOST_TOLD:
            continue
        seen.add(shape)
        if any(table.bid(shape, state) is not None for state in states):
            continue
        alone = Gang(pod.name, pod.namespace, (pod,), 1, lone=True)
        asked = replace(instance, gangs=(alone,), groups=())
        answer = solve(asked, options_for(clock, _ALONE, 1))
        if not isinstance(answer, Placed):
            found += 1
            yield from answer.unplaced[:1]


def _no_plan(question: PlanQuestion, relaxation: Relaxation, deal: Deal) -> NoPlan:
    """Say for which pods too little can be bought."""
    lacks: Counter[int] = Counter()
    for of_block in deal.proposal.short.tolist():
        for item, number in enumerate(of_block):
            if number > _SHORT:
                lacks[item] = max(lacks[item], -int(-number // 1))
    title = {
        relaxation.item_of[pod.spec]: pod.title
        for pod in reversed(list(pods_of(question.instance.gangs)))
    }
    ended = tuple(
        (offer.name, kind.buyable)
        for offer, kind in zip(
            question.offers, relaxation.market.kinds[relaxation.there :], strict=True
        )
        if kind.buyable is not None
    )
    short = tuple(
        OffersRunOut(title[item], number) for item, number in lacks.most_common(_MOST_TOLD)
    )
    return NoPlan(short=short, ended=ended)


def _none_found(question: PlanQuestion, deal: Deal, missing: Missing) -> NoneFound:
    assert deal.bound is not None
    return NoneFound(
        question.in_currency(deal.bound),
        missing.scenario,
        missing.unplaced[:_MOST_TOLD],
        len(missing.pods),
    )


def _bought(
    question: PlanQuestion, relaxation: Relaxation, deal: Deal, placements: Placements
) -> Bought:
    assert deal.bound is not None
    parts = [
        (offer, count, count * question.in_units(offer.price), index)
        for index, (offer, count) in enumerate(zip(question.offers, placements.bought, strict=True))
        if count
    ]
    parts.sort(key=lambda part: -part[2])
    price = sum(part[2] for part in parts)
    fullest = max(placements.witnesses, key=lambda w: len(w.placement.pods))
    on_offer = _items_by_offer(question, relaxation, fullest, placements.bought)
    return Bought(
        price=question.in_currency(price),
        bound=question.in_currency(min(deal.bound, price)),
        mix=tuple(
            Purchase(offer.name, count, question.in_currency(cost))
            for offer, count, cost, _ in parts
        ),
        binding=tuple(
            binding_of(relaxation, deal.start, index, offer.name, count, on_offer[index])
            for offer, count, _, index in parts
        ),
        runners_up=tuple(_runners_up(question, relaxation, deal)),
        witnesses=placements.witnesses,
        relaxed=tuple(_relaxed(question, deal)),
        proof=Proof(relaxation.market, deal.values, deal.exact, deal.by_enumeration),
    )


def _items_by_offer(
    question: PlanQuestion, relaxation: Relaxation, witness: Witness, bought: Sequence[int]
) -> list[Counter[int]]:
    """Return for each offer how many items of each kind are on its nodes."""
    first = len(question.instance.nodes)
    offers = [index for index, count in enumerate(bought) for _ in range(count)]
    offer_of = {
        node.name: offer for node, offer in zip(witness.instance.nodes[first:], offers, strict=True)
    }
    spec_of = {pod.key: pod.spec for pod in pods_of(witness.instance.gangs)}
    found: list[Counter[int]] = [Counter() for _ in bought]
    for place in witness.placement.pods:
        if place.node in offer_of:
            found[offer_of[place.node]][relaxation.item_of[spec_of[place.key]]] += 1
    return found


def _runners_up(question: PlanQuestion, relaxation: Relaxation, deal: Deal) -> Iterator[RunnerUp]:
    names = [offer.name for offer in question.offers]
    for rival in deal.rivals:
        without, plan = names[rival.without - relaxation.there], rival.plan
        if plan is None:
            yield RunnerUp(without, None, ())
            continue
        bought = zip(names, plan.bought[relaxation.there :], strict=True)
        mix = tuple((name, n) for name, n in bought if n)
        yield RunnerUp(without, question.in_currency(plan.price), mix)


def _relaxed(question: PlanQuestion, deal: Deal) -> Iterator[str]:
    """Yield what the bound does not look at."""
    nodes = with_offers(question).nodes
    topologies = [node.machine.topology for node in nodes]
    if any(len(topology.numa_nodes) > 1 for topology in topologies):
        yield "NUMA nodes inside a node"
    if any(node.machine.gpu_links for node in nodes):
        yield "links between GPUs"
    if deal.by_sums:
        yield "how shares fill each device, which it counts by sums"
    if asks_beyond_its_node(question.instance.gangs, question.instance):
        yield "rules between nodes, and between pods"
