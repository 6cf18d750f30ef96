"""The witness of a plan: every pod in its place on nodes that are there or bought, and judged.

What the market's bins hold is placed node by node by the fast path, which keeps every rule. What
does not go in, because a node has an inside that the market does not see, comes to other
nodes, or to further ones that are bought for it. Where pods ask for more than their own node,
the whole search places them on what is bought.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from placer.greedy.gang_order import gang_pods_most_demanding_first
from placer.greedy.node_table import GreedyNodeTable
from placer.judge.breaches import breaches
from placer.plan.cases import ScenarioUnderLoss
from placer.plan.clock import PlanClock
from placer.plan.filler import BinFiller
from placer.plan.market import PurchaseProblem
from placer.plan.question import NodeOffer, PlanQuestion
from placer.plan.relax import QuestionAsPacking
from placer.plan.rounding import BinPurchasePlan, FilledBin
from placer.search.baseline import starting_accounts_of
from placer.search.judged import RejectedPlacement, realise_and_judge
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Node
from placer_models.illegal_running import with_running_pods_counted_as_legal
from placer_models.placement import PartlyPlaced, Placed, Placement, Unplaced
from placer_models.pod import Gang, Pod, PodSpec, pods_of_gangs
from placer_models.problem.problem import Choices
from placer_models.relations import asks_something_of_other_pods, asks_where_members_are

_ROUNDS = 30
"""So often further nodes are bought for pods that found no place."""
_ALONE_AFTER = 6
"""After so many rounds each pod without a place gets a node for itself."""
_LEAST_S = 0.05


@dataclass(frozen=True, slots=True)
class ScenarioPlacement:
    """The placement of one scenario, as it comes or in a loss.

    Attributes:
        scenario: Its name.
        instance: The nodes that are there and those bought, and the scenario's demand.
        placement: Every pod of the demand in its place; the judge has found nothing.
        loss: What is lost, in words; empty: nothing.

    """

    scenario: str
    instance: Instance
    placement: Placement
    loss: str = ""


@dataclass(frozen=True, slots=True)
class ScenarioPodsWithoutPlace:
    """Pods of a case that found no place, and why as far as it is known."""

    scenario: str
    unplaced: tuple[Unplaced, ...]
    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class PlanWitnessPlacements:
    """What became of a plan.

    Attributes:
        bought: How many nodes of each offer it takes in the end.
        witnesses: One for each scenario, if all pods found places.
        missing: The first scenario with pods that found none.

    """

    bought: tuple[int, ...]
    witnesses: tuple[ScenarioPlacement, ...] = ()
    missing: ScenarioPodsWithoutPlace | None = None


@dataclass(frozen=True, slots=True)
class _Placed:
    """The pods of a scenario on nodes, which are bins of the market or further ones."""

    fillings: tuple[FilledBin, ...]
    instance: Instance
    placement: Placement

    def bins_in_use(self) -> Iterator[tuple[Node, FilledBin]]:
        """Yield the nodes that stand for bins and hold a pod, each with its bin."""
        busy = {place.node for place in self.placement.pods}
        first = len(self.instance.nodes) - len(self.fillings)
        for node, filled in zip(self.instance.nodes[first:], self.fillings, strict=True):
            if node.name in busy:
                yield node, filled


def place_pods_on_bought_nodes(
    question: PlanQuestion,
    relaxation: QuestionAsPacking,
    plan: BinPurchasePlan,
    clock: PlanClock,
    end: float,
    threads: int = 2,
    stop: Callable[[], bool] = lambda: False,
) -> PlanWitnessPlacements:
    """Return the witnesses of a plan, which may buy more than the market thought enough.

    Args:
        question: The question.
        relaxation: Its market.
        plan: A plan of the market.
        clock: What time is measured by.
        end: When searches should end, on that clock; further nodes are bought then.
        threads: Search threads.
        stop: Asked now and then whether to end at once.

    """
    stock = list(plan.bought[relaxation.there :])
    placed: dict[int, _Placed] = {}
    needed = [0] * len(question.offers)
    waiting = list(range(len(relaxation.cases)))
    while waiting:
        for number in waiting:
            one_less = relaxation.cases[number].one_less
            if one_less is not None and not needed[one_less]:
                continue
            layer = _Layer(question, relaxation, number, clock, end, threads, stop)
            found = layer.place(plan.fillings[relaxation.block_of[number]], stock)
            if isinstance(found, ScenarioPodsWithoutPlace):
                return PlanWitnessPlacements(tuple(stock), missing=found)
            placed[number] = found
            used = layer.needed(found)
            needed = [max(a, b) for a, b in zip(needed, used, strict=True)]
            stock = [max(a, b) for a, b in zip(stock, used, strict=True)]
        # Of an offer that nobody needed before, no node could be lost.
        waiting = [
            number
            for number, case in enumerate(relaxation.cases)
            if number not in placed and case.one_less is not None and needed[case.one_less]
        ]
    bought = tuple(
        -(-n // offer.pack) * offer.pack for n, offer in zip(needed, question.offers, strict=True)
    )
    witnesses = tuple(
        _named(question, relaxation, case, placed[number], bought)
        for number, case in enumerate(relaxation.cases)
        if number in placed
    )
    return PlanWitnessPlacements(bought, witnesses)


def _named(
    question: PlanQuestion,
    relaxation: QuestionAsPacking,
    case: ScenarioUnderLoss,
    placed: _Placed,
    bought: Sequence[int],
) -> ScenarioPlacement:
    """Return the placement on nodes that are named by their offers, once the judge has seen it.

    Raises:
        RuntimeError: The judge finds something: a defect of ours.

    """
    nodes = {
        offer.name: some
        for index, (offer, some) in enumerate(
            zip(question.offers, bought_nodes_by_offer(question, bought).values(), strict=True)
        )
        if index not in case.barred
    }
    if case.one_less is not None:
        nodes[question.offers[case.one_less].name].pop()
    names = {name: deque(some) for name, some in nodes.items()}
    new_name: dict[str, str] = {}
    for node, filled in placed.bins_in_use():
        offer = question.offers[filled.kind - relaxation.there]
        new_name[node.name] = names[offer.name].popleft().name
    placement = Placement(
        tuple(
            replace(place, node=new_name.get(place.node, place.node))
            for place in placed.placement.pods
        )
    )
    everything = tuple(node for some in nodes.values() for node in some)
    instance = replace(placed.instance, nodes=(*case.instance.nodes, *everything))
    if found := breaches(instance, placement):
        told = "; ".join(f"{b.rule}: {b.message}" for b in found[:3])
        raise RuntimeError(f"the placement of {case.name!r} breaks rules: {told}")
    return ScenarioPlacement(case.scenario, instance, placement, case.loss)


def bought_nodes_by_offer(question: PlanQuestion, bought: Sequence[int]) -> dict[str, list[Node]]:
    """Return the nodes that are bought of each offer, named by it and a number."""
    taken = {node.name for node in question.instance.nodes}
    found = {}
    for offer, number in zip(question.offers, bought, strict=True):
        width = len(str(max(0, number - 1)))
        found[offer.name] = [
            replace(offer.node, name=_free_name(f"{offer.name}-{i:0{width}}", taken), offered=False)
            for i in range(number)
        ]
    return found


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "x"
    taken.add(name)
    return name


@dataclass(slots=True)
class _Layer:
    """Places one case."""

    question: PlanQuestion
    relaxation: QuestionAsPacking
    number: int
    clock: PlanClock
    end: float
    threads: int
    stop: Callable[[], bool]

    @property
    def case(self) -> ScenarioUnderLoss:
        """The case."""
        return self.relaxation.cases[self.number]

    @property
    def item_of(self) -> dict[PodSpec, int]:
        """Spec of a pod -> its item in this case."""
        return self.relaxation.item_of[self.number]

    def needed(self, placed: _Placed) -> list[int]:
        """Return how many nodes of each offer have to be bought for it."""
        used = [0] * len(self.question.offers)
        for _, filled in placed.bins_in_use():
            used[filled.kind - self.relaxation.there] += 1
        if self.case.one_less is not None:
            used[self.case.one_less] += 1
        return used

    def _left(self, stock: Sequence[int]) -> list[int]:
        """Return how many of the bought nodes of each offer are there in this case."""
        return [
            0 if index in self.case.barred else max(0, number - (index == self.case.one_less))
            for index, number in enumerate(stock)
        ]

    def place(
        self, fillings: Sequence[FilledBin], stock: Sequence[int]
    ) -> _Placed | ScenarioPodsWithoutPlace:
        """Return the pods on nodes, or who is missing when nothing further can be bought."""
        asked = self.case.instance
        lost = self.relaxation.lost
        fillings = [f for f in fillings if not any(f.counts[item] for item in lost)]
        there = [filled for filled in fillings if filled.kind < self.relaxation.there]
        mine = [filled for filled in fillings if filled.kind >= self.relaxation.there]
        searching = any_looks_beyond_node(asked.gangs, asked)
        if self.case.loss:
            there_still = self._left(stock)
            mine = _at_most(mine, there_still, self.relaxation.there)
            mine += _idle(mine, there_still, self.relaxation)
        elif searching:
            mine += _idle(mine, stock, self.relaxation)
        for number in range(_ROUNDS):
            nodes = tuple(
                replace(self._offer(f).node, name=f"bought:{i}", offered=False)
                for i, f in enumerate(mine)
            )
            instance = replace(
                with_running_pods_counted_as_legal(asked),
                nodes=(*asked.nodes, *nodes),
                move_budget=0,
            )
            if searching:
                placement, left, reasons = self._searched(instance)
            else:
                placement, left, reasons = self._by_patterns(instance, there, mine)
            if not left:
                return _Placed(tuple(mine), instance, placement)
            more = self._more(left, mine, alone=number >= _ALONE_AFTER)
            if not more or self.stop():
                break
            mine += more
        if not reasons:
            fast = solve(instance, SolveOptions(Engine.GREEDY, workers=1))
            reasons = () if isinstance(fast, Placed) else fast.unplaced
        return ScenarioPodsWithoutPlace(self.case.name, reasons, tuple(left))

    def _offer(self, filled: FilledBin) -> NodeOffer:
        return self.question.offers[filled.kind - self.relaxation.there]

    def _searched(self, instance: Instance) -> tuple[Placement, list[Pod], tuple[Unplaced, ...]]:
        """Let the whole search place the demand."""
        time = max(_LEAST_S, 0.3 * (self.end - self.clock.now()))
        answer = solve(instance, solve_options_on_clock(self.clock, time, self.threads))
        if isinstance(answer, Placed):
            return answer.placement, [], ()
        placement = answer.placement if isinstance(answer, PartlyPlaced) else Placement(())
        has_place = {place.key for place in placement.pods}
        left = [pod for pod in pods_of_gangs(instance.gangs) if pod.key not in has_place]
        return placement, left, answer.unplaced

    def _by_patterns(
        self, instance: Instance, there: Sequence[FilledBin], mine: Sequence[FilledBin]
    ) -> tuple[Placement, list[Pod], tuple[Unplaced, ...]]:
        """Place what each bin holds on its node, and what is left over wherever it fits."""
        baseline = starting_accounts_of(instance)
        problem = build_problem(instance, baseline.accounts, each_core=True, absolute=True)
        pods = list(pods_of_gangs(instance.gangs))
        waiting: defaultdict[int, deque[int]] = defaultdict(deque)
        for index, pod in enumerate(pods):
            waiting[self.item_of[pod.spec]].append(index)
        table = GreedyNodeTable(problem)
        position = {node.name: i for i, node in enumerate(instance.nodes)}
        names = {kind: iter(names) for kind, names in enumerate(self.relaxation.nodes)}
        first = len(instance.nodes) - len(mine)
        homes = [(position[next(names[filled.kind])], filled) for filled in there]
        homes += [(first + i, filled) for i, filled in enumerate(mine)]
        filler = BinFiller(self.relaxation.market.kinds)
        for node, filled in homes:
            by_device = filler.by_device(filled.kind, np.array(filled.counts, np.int64))
            items = by_device or [i for i, count in enumerate(filled.counts) for _ in range(count)]
            chosen = [waiting[item].popleft() for item in items if waiting[item]]
            for index in chosen if by_device else gang_pods_most_demanding_first(problem, chosen):
                bid = table.bid(problem.pods[index], table.state(node))
                if bid is None:
                    waiting[self.item_of[pods[index].spec]].append(index)
                else:
                    table.take(index, bid.choice.on(node))
        rest = [index for queue in waiting.values() for index in queue]
        for index in gang_pods_most_demanding_first(problem, rest):
            choice = table.find(index)
            if choice is not None:
                table.take(index, choice)
        choices: Choices = table.choices
        found = realise_and_judge(instance, baseline, problem, choices)
        if isinstance(found, RejectedPlacement):
            return self._searched(instance)
        left = [pod for index, pod in enumerate(pods) if index not in choices]
        return found.placement, left, ()

    def _more(
        self, left: Sequence[Pod], mine: Sequence[FilledBin], *, alone: bool
    ) -> list[FilledBin]:
        """Return further bins for pods without a place; none if nothing can be bought for them."""
        market = self.relaxation.market
        counts = Counter(self.item_of[pod.spec] for pod in left)
        wanted = np.array([counts[item] for item in range(market.items)], np.int64)
        used = Counter(filled.kind for filled in mine)
        if self.case.one_less is not None:
            used[self.relaxation.there + self.case.one_less] += 1
        barred = frozenset(self.relaxation.there + index for index in self.case.barred)
        if alone:
            wanted = np.minimum(wanted, 1)
        return list(_bins_for(market, self.relaxation.there, wanted, used, barred, alone=alone))


def _bins_for(
    market: PurchaseProblem,
    there: int,
    wanted: np.ndarray,
    used: Counter[int],
    barred: frozenset[int],
    *,
    alone: bool,
) -> Iterator[FilledBin]:
    """Yield bins that hold what is wanted, as far as they can be bought, the best price first."""
    filler = BinFiller(market.kinds)
    sizes = _cheapest(market, there)
    while wanted.any():
        best: tuple[float, int, np.ndarray] | None = None
        for kind in range(there, len(market.kinds)):
            buyable = market.kinds[kind].buyable
            if kind in barred or (buyable is not None and used[kind] >= buyable):
                continue
            counts = filler.completed(kind, np.zeros_like(wanted), sizes, wanted)
            if alone:
                counts = np.where(np.arange(len(counts)) == (counts > 0).argmax(), counts, 0)
            value = float(counts @ sizes) / market.kinds[kind].price
            if counts.any() and (best is None or value > best[0]):
                best = value, kind, counts
        if best is None:
            return
        _, kind, counts = best
        used[kind] += 1
        wanted = wanted - counts
        yield FilledBin(kind, tuple(counts.tolist()))


def _cheapest(market: PurchaseProblem, there: int) -> np.ndarray:
    """Return for each item the part of the price of a bin that it takes, where that is least."""
    found = np.full(market.items, np.inf)
    for kind in market.kinds[there:]:
        for item, size in enumerate(kind.sizes):
            if size is not None:
                part = max((a / b for a, b in zip(size, kind.room, strict=True) if b), default=0.0)
                for devices in kind.devices:
                    part = max(part, devices.asks[item].devices / max(1, len(devices.rooms)))
                found[item] = min(found[item], kind.price * max(part, 1e-6))
    return np.where(np.isfinite(found), found, 0.0)


def _at_most(mine: Sequence[FilledBin], left: Sequence[int], there: int) -> list[FilledBin]:
    """Return bins as far as so many are there of each offer."""
    kept: list[FilledBin] = []
    used: Counter[int] = Counter()
    for filled in mine:
        if used[filled.kind] < left[filled.kind - there]:
            used[filled.kind] += 1
            kept.append(filled)
    return kept


def _idle(
    mine: Sequence[FilledBin], stock: Sequence[int], relaxation: QuestionAsPacking
) -> list[FilledBin]:
    """Return bins that are bought and hold nothing yet."""
    used = Counter(filled.kind for filled in mine)
    empty = (0,) * relaxation.market.items
    return [
        FilledBin(relaxation.there + offer, empty)
        for offer, number in enumerate(stock)
        for _ in range(number - used[relaxation.there + offer])
    ]


def solve_options_on_clock(clock: PlanClock, time: float, threads: int) -> SolveOptions:
    """Return the options of a search that takes so much time of a clock, which is counted."""
    wall_s = clock.wall_s(clock.now() + time)
    if wall_s is not None:
        return SolveOptions(Engine.AUTO, wall_s, workers=threads)
    work = max(1, round(time))
    clock.count(work)
    return SolveOptions(Engine.AUTO, work_limit=work, workers=1)


def any_looks_beyond_node(gangs: Sequence[Gang], instance: Instance) -> bool:
    """Return whether some gang or pod asks for more than its own node, so that bins will not do."""
    asked = any(map(asks_where_members_are, gangs)) or bool(instance.groups)
    specs = {id(pod.spec): pod.spec for pod in pods_of_gangs(tuple(gangs))}.values()
    running = (one.pod.spec for one in instance.running)
    return asked or any(map(asks_something_of_other_pods, (*specs, *running)))
