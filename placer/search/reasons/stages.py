"""Stages of the nodes (empty, with what runs, with what is placed): what keeps pods off each."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from placer.counting.account import Account, account_of
from placer.search.baseline import StartingAccounts, running_pods_of_each_node
from placer.search.budget import SolveBudget
from placer.search.kept_blockers import (
    NODES_AT_ONCE,
    AskBlockerByNode,
    AskBlockerByNodeCache,
    LookAtMany,
    OverNodes,
)
from placer.search.reasons.blocking import blocker_by_counting, blocker_of
from placer.search.reasons.by_columns import NodeBlockerInputs, blockers_of_many_nodes
from placer.search.reasons.domain_limits import DomainLimitBlockers
from placer.search.reasons.firsts import FirstAffinityPods, find_first_affinity_pods
from placer.search.reasons.guesses import blocker_depends_on_guess
from placer.search.reasons.question import OtherPods, PodOnNode
from placer.search.reasons.register import is_node_lacking_by_counting, rule_demands_of_pod
from placer.state.fits import RuleInTheWay, fit_of
from placer.state.out_of_time import OutOfTimeError, Stop, raise_if_out_of_time
from placer.state.problem_cache import ProblemCache
from placer.state.requirements import PodRequirements, distinct_pod_requirements, relevant_facts_of
from placer_models.cluster import Instance, Node, NodesWithCachedFacts, RunningPod
from placer_models.incremental import PersistentTuple
from placer_models.placement import Placement
from placer_models.pod import Pod, PodSpec, pods_of_gangs
from placer_models.problem.problem import Fit
from placer_models.reasons import Blocker, FirstStageWithoutPlace, RuleDemand
from placer_models.relations import asks_something_of_other_pods, topology_keys_asked
from placer_models.variants import spec_on

Running = PersistentTuple[tuple[RunningPod, ...]]
"""What runs on each node."""


_COMPANY_ELSEWHERE = Blocker(RuleDemand("affinity", word="of a pod on another node"))


@dataclass(slots=True)
class NodesAtOccupancyStage:
    """The nodes at one stage, and what is known of them.

    Attributes:
        running: What runs on each node.
        account_at: Index of a node -> what is left on it.
        kinds: The kind of each node, one object for all nodes that are alike when empty.
        limits: Which limits of domains keep pods off.
        crowd: As in a Question.
        before: An earlier stage: a pod without a place on a node there has none at this one.
        same: Another stage, of which this one differs on some nodes alone; and these, by index.
        reaching: Whether pods that have come since that stage look at pods on other nodes.
        kept: What earlier solves have found out about the nodes, empty and with what runs, for pods
            that look at nothing beyond a node.
        known: Keeps what follows from an ask and a kind of nodes.
        idle: Whether nodes are empty, so that what follows from an ask and a kind holds for all.
        firsts: Pods that keep others off nodes by being the first of their kind; None if the
            time was over before they were known.
        budget: What the next question may spend.
        is_over: Whether nothing more may be spent on any question.

    """

    when: FirstStageWithoutPlace
    nodes: Sequence[Node]
    running: Running
    account_at: Callable[[int], Account]
    kinds: tuple[Node, ...]
    budget: SolveBudget
    is_over: Stop
    limits: DomainLimitBlockers
    known: ProblemCache
    crowd: OtherPods | None = None
    before: "NodesAtOccupancyStage | None" = None
    same: "tuple[NodesAtOccupancyStage, Collection[int]] | None" = None
    reaching: bool = False
    kept: AskBlockerByNodeCache | None = None
    idle: bool = False
    firsts: FirstAffinityPods | None = field(default_factory=FirstAffinityPods)
    _known: dict[Hashable, Blocker | None] = field(default_factory=dict)
    _demanded: dict[Hashable, tuple[RuleDemand, ...]] = field(default_factory=dict)

    def accounts(self) -> Iterator[Account]:
        """Yield what is left on each node, apart from whether it is only offered.

        Raises:
            OutOfTimeError: The time was over before all were counted.

        """
        for index in range(len(self.nodes)):
            raise_if_out_of_time(self.is_over)
            account = self.account_at(index)
            yield replace(account, offered=False) if account.offered else account

    def blocker(self, ask: PodRequirements, index: int) -> Blocker | None:
        """Return why pods that ask alike have no place on a node, or None if they have one.

        Raises:
            OutOfTimeError: It cannot be known in time.

        """
        never = self.before.blocker(ask, index) if self.before else None
        return never or self.own_blocker(ask, index)

    def question(self, ask: PodRequirements, index: int) -> PodOnNode:
        """Return the question whether pods that ask alike have a place on a node."""
        node, running = self.nodes[index], self.running[index]
        spec = spec_on(ask.spec, node)
        return PodOnNode(spec, ask.namespace, ask.levels, node, running, self.crowd)

    def lacking(self, ask: PodRequirements, index: int) -> list[RuleDemand]:
        """Return all that a node cannot give to pods that ask alike, as far as counting tells."""
        asked, account = self.question(ask, index), self.account_at(index)
        demands = self._demands(ask, asked, self.kinds[index], account)
        return [demand for demand in demands if is_node_lacking_by_counting(demand, asked, account)]

    def blockers_elsewhere(self, ask: PodRequirements, index: int) -> Iterator[Blocker]:
        """Yield what pods elsewhere say against a node, beside what `lacking` counts.

        Raises:
            OutOfTimeError: It cannot be known in time.

        """
        if self._is_company_elsewhere(ask, self.nodes[index]):
            yield _COMPANY_ELSEWHERE
        yield from self.limits.blockers(ask.spec, ask.namespace, index)

    def _is_company_elsewhere(self, ask: PodRequirements, node: Node) -> bool:
        """Return whether such a pod would have to be with one that is on another node."""
        if self.firsts is None:
            raise OutOfTimeError
        return self.firsts.keep_off(ask.spec, ask.namespace, node)

    def blockers(
        self, ask: PodRequirements, barred: Callable[[Node], Blocker | None] | None = None
    ) -> OverNodes:
        """Count what blocks the pod over all nodes, or return the index of a node with a place.

        Args:
            ask: The pod.
            barred: What else keeps it off a node that could host it when empty.

        Raises:
            OutOfTimeError: It cannot be known in time.

        """
        if self.kept and self.idle and not barred:
            one_by_one = partial(self._one_by_one, ask)
            return self.kept.on_empty_nodes(ask, self.kinds, one_by_one)
        if self.kept and not barred and self._looks_at_its_node(ask):
            look, never = self._look_at_nodes(ask)
            return self.kept.of(ask).count(look, self.is_over, self._look_at_many(ask, never))
        known = None if barred else self.known_before(ask)
        if known is not None:
            return known.count(self._look_at_nodes(ask)[0], self.is_over, lambda _: ())
        return self._one_by_one(ask, barred)

    def _one_by_one(
        self, ask: PodRequirements, barred: Callable[[Node], Blocker | None] | None = None
    ) -> OverNodes:
        found: Counter[Blocker] = Counter()
        for index in range(len(self.nodes)):
            if index % NODES_AT_ONCE == 0:
                raise_if_out_of_time(self.is_over)
            blocker = self.before.blocker(ask, index) if self.before else None
            if blocker is None and barred:
                blocker = barred(self.nodes[index])
            blocker = blocker or self.own_blocker(ask, index)
            if blocker is None:
                return index
            found[blocker] += 1
        return found

    def known_before(self, ask: PodRequirements) -> AskBlockerByNode | None:
        """Return what is known of the nodes that are as they are at another stage.

        It is None where more than the pods of a node decides who has a place there.
        """
        if self.same is None or self.reaching or not self._looks_at_its_node(ask):
            return None
        stage, others = self.same
        return stage.known_but_for(others, ask)

    def known_but_for(
        self, others: Collection[int], ask: PodRequirements
    ) -> AskBlockerByNode | None:
        """Return what is known of the nodes but for some, if anything is kept of this stage."""
        if self.kept is None:
            return None
        _, never = self._look_at_nodes(ask)
        return self.kept.of(ask).but_for(others, self._look_at_many(ask, never))

    def _look_at_nodes(
        self, ask: PodRequirements
    ) -> tuple[Callable[[int], Blocker | None], Callable[[int], Blocker | None]]:
        """Return a look at single nodes, for pods that look at nothing beyond theirs.

        Beside it stands what keeps them off the empty node.
        """
        known: dict[int, Blocker | None] = {}

        def never(index: int) -> Blocker | None:
            kind = id(self.kinds[index])
            if kind not in known:
                known[kind] = self.before.blocker(ask, index) if self.before else None
            return known[kind]

        def look(index: int) -> Blocker | None:
            return never(index) or self._look(ask, index, self.account_at(index))

        return look, never

    def _look_at_many(
        self, ask: PodRequirements, never: Callable[[int], Blocker | None]
    ) -> LookAtMany:
        """Return a look at many nodes at once, which tells what plain amounts tell."""
        if self.kept is None or self.crowd is None or ask.spec.variants or ask.spec.affinity:
            return lambda _: ()

        def demands(index: int) -> tuple[RuleDemand, ...]:
            asked, account = self.question(ask, index), self.account_at(index)
            return self._demands(ask, asked, self.kinds[index], account)

        question = partial(self.question, ask)
        look = NodeBlockerInputs(self.kinds, self.kept, self.account_at, question, demands, never)
        return partial(blockers_of_many_nodes, look)

    def _looks_at_its_node(self, ask: PodRequirements) -> bool:
        """Return whether nothing beyond a node decides if pods have a place there."""
        beyond = self.crowd is not None and self.crowd.domains
        return not (beyond or asks_something_of_other_pods(ask.spec))

    def own_blocker(self, ask: PodRequirements, index: int) -> Blocker | None:
        """Return what blocks pods at this stage, if no stage before it does."""
        node = self.nodes[index]
        if self._is_company_elsewhere(ask, node):
            return _COMPANY_ELSEWHERE
        if self.same and index not in self.same[1] and self._looks_at_its_node(ask):
            known = self.same[0].own_blocker(ask, index)
            return known or self.limits.blocker(ask.spec, ask.namespace, index)
        kind, account = self.kinds[index], None
        key: Hashable
        if not self.idle:
            account = self.account_at(index)
            # Idle nodes that are alike share an account.
            key = ask, id(kind), id(account), self._domains(node)
        else:
            key = ask, id(kind)
        if key not in self._known:
            look = partial(self._look, ask, index, account)
            self._known[key] = (
                self.known.memo((blocker_of, ask), (kind,), look) if self.idle else look()
            )
        return self._known[key] or self.limits.blocker(ask.spec, ask.namespace, index)

    def _look(self, ask: PodRequirements, index: int, account: Account | None) -> Blocker | None:
        """Return what blocks pods on a node by itself."""
        account = self.account_at(index) if account is None else account
        asked = self.question(ask, index)
        demands = self._demands(ask, asked, self.kinds[index], account)
        counted = None if self.crowd is None else blocker_by_counting(asked, account, demands)
        if counted is not None:
            return counted
        kind = self.kinds[index]
        fit = partial(self._fit, kind) if self.idle and not kind.homes else fit_of
        found = blocker_of(asked, account, demands, self.budget, fit)
        if found and blocker_depends_on_guess(found, ask.spec, asked.node, asked.running):
            return found._replace(guessed=True)
        return found

    def _fit(self, kind: Node, spec: PodSpec, _: Node) -> Fit | RuleInTheWay:
        """Return what a spec means on any node of a kind, as the Problem knows it."""
        return self.known.memo((fit_of, spec), (kind,), partial(fit_of, spec, kind))

    def _domains(self, node: Node) -> tuple[str | None, ...]:
        """Return the node's domain for each topology key that some pod looks at."""
        if self.crowd is None or not self.crowd.domains:
            return ()
        return tuple(map(node.topology_domain, self.crowd.domains))

    def _demands(
        self, ask: PodRequirements, asked: PodOnNode, kind: Node, account: Account
    ) -> tuple[RuleDemand, ...]:
        """Return what is demanded, which is the same for most nodes of a kind."""
        if ask.spec.affinity or account.affine or (self.crowd and self.crowd.domains):
            return rule_demands_of_pod(asked)
        pools = account.pools
        key = ask, id(kind), pools.shared.in_use, pools.best_effort.in_use, bool(pools.bound)
        if key not in self._demanded:
            what = (rule_demands_of_pod, *key[:1], *key[2:])
            self._demanded[key] = self.known.memo(
                what, (kind,), partial(rule_demands_of_pod, asked)
            )
        return self._demanded[key]


OccupancyStages = tuple[NodesAtOccupancyStage, NodesAtOccupancyStage, NodesAtOccupancyStage]
"""The nodes empty, with what runs, and with what is placed as well."""


def nodes_at_occupancy_stages(
    instance: Instance,
    asked: Instance,
    before: StartingAccounts,
    placement: Placement,
    budget: SolveBudget,
) -> OccupancyStages:
    """Return the stages: nodes empty, with what runs, and with what is placed as well.

    Args:
        instance: The instance.
        asked: The same, with running pods that may move among those that wait.
        before: The nodes of the instance, counted.
        placement: The answer to what was asked.
        budget: What looking into it may cost.

    """
    nodes, accounts, cache = NodesWithCachedFacts.of(instance.nodes), before.accounts, before.cache
    affine = cache.problems.sums_of(accounts).affine
    keys = _keys(accounts if affine else (), pods_of_gangs(asked.gangs))
    asks, _ = distinct_pod_requirements(asked, affine=affine)
    relevant = cache.problems.batch_memo(
        (relevant_facts_of, asks), (), partial(relevant_facts_of, asks)
    )
    kinds = cache.problems.kind_of_each(instance.nodes, relevant)

    def when_empty(index: int) -> Account:
        count = partial(account_of, nodes[index], ())
        return cache.problems.memo(account_of, (kinds[index],), count)

    def is_over() -> bool:
        return budget.over

    nobody: Running = nodes.remembered(
        nodes_at_occupancy_stages, lambda: PersistentTuple.of(((),) * len(nodes))
    )
    stage_of = partial(
        NodesAtOccupancyStage,
        nodes=nodes,
        kinds=kinds,
        budget=budget,
        is_over=is_over,
        known=cache.problems,
    )
    first = stage_of(
        FirstStageWithoutPlace.EMPTY,
        running=nobody,
        account_at=when_empty,
        limits=DomainLimitBlockers(nodes, when_empty),
        idle=True,
        kept=cache.blockers,
    )
    cache.blockers.turn_to(instance.nodes, accounts)
    second = stage_of(
        FirstStageWithoutPlace.RUNNING,
        running=before.running,
        account_at=accounts.__getitem__,
        limits=DomainLimitBlockers(nodes, accounts.__getitem__),
        crowd=OtherPods(instance.running, _by_domain(nodes, instance.running, keys)),
        before=first,
        kept=cache.blockers,
    )
    pods = {pod.key: pod for pod in pods_of_gangs(asked.gangs)}
    arrived = [RunningPod(pods[place.key], place) for place in placement.pods]
    touched = {nodes.position[place.node] for place in (*placement.pods, *asked.homes)}
    runs = before.running if asked is instance else running_pods_of_each_node(asked)
    together = _with(runs, nodes, arrived)
    after: dict[int, Account] = {}

    def left(index: int) -> Account:
        if index not in touched:
            return accounts[index]
        if index not in after:
            after[index] = account_of(nodes[index], together[index])
        return after[index]

    crowd = second.crowd
    firsts: FirstAffinityPods | None = FirstAffinityPods()
    if touched:
        everyone = [*asked.running, *arrived]
        crowd = OtherPods(everyone, _by_domain(nodes, everyone, keys))
        try:
            firsts = FirstAffinityPods(find_first_affinity_pods(nodes, arrived, crowd, is_over))
        except OutOfTimeError:
            firsts = None
    third = stage_of(
        FirstStageWithoutPlace.PLACED,
        running=together,
        account_at=left,
        limits=DomainLimitBlockers(nodes, left, arrived),
        crowd=crowd,
        before=first,
        same=(second, touched),
        reaching=any(asks_something_of_other_pods(runner.pod.spec) for runner in arrived),
        firsts=firsts,
    )
    return first, second, third


def _keys(accounts: Iterable[Account], pods: Iterable[Pod]) -> tuple[str, ...]:
    """Return the topology keys that pods ask for, those that run and others, ascending."""
    specs = {id(pod.spec): pod.spec for pod in pods}
    for account in accounts:
        if account.affine:
            specs.update((id(spec), spec) for spec, _ in account.affine)
    return tuple(
        sorted({key for s in specs.values() for key in topology_keys_asked(s, counted=False)})
    )


def _by_domain(
    nodes: NodesWithCachedFacts, running: Iterable[RunningPod], keys: tuple[str, ...]
) -> dict[str, dict[str, list[RunningPod]]]:
    """Return key -> domain -> the pods that run there."""
    found: dict[str, dict[str, list[RunningPod]]] = {key: {} for key in keys}
    for runner in running if keys else ():
        node = nodes[nodes.position[runner.placement.node]]
        for key in keys:
            domain = node.topology_domain(key)
            if domain is not None:
                found[key].setdefault(domain, []).append(runner)
    return found


def _with(running: Running, nodes: NodesWithCachedFacts, arrived: Iterable[RunningPod]) -> Running:
    """Return what runs on each node once more pods have arrived."""
    there: dict[int, list[RunningPod]] = {}
    for runner in arrived:
        there.setdefault(nodes.position[runner.placement.node], []).append(runner)
    return running.changed({index: (*running[index], *came) for index, came in there.items()})
