"""Stages of the nodes (empty, with what runs, with what is placed): what keeps pods off each."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from placer.counting.account import Account, account_of
from placer.search.budget import Budget
from placer.search.reasons.blocking import blocker_of
from placer.search.reasons.demand_order import demands_of
from placer.search.reasons.firsts import Firsts, firsts_of
from placer.search.reasons.guesses import hangs_on_guess
from placer.search.reasons.question import Crowd, Question
from placer.search.reasons.spread import Spreads
from placer.state.asks import Ask
from placer.state.out_of_time import OutOfTimeError, Stop, go_on
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.placement import Placement
from placer_models.pod import Pod, pods_of
from placer_models.problem import Problem
from placer_models.reasons import Blocker, Demand, When
from placer_models.variants import spec_on

NODES_AT_ONCE = 64
"""How many nodes are looked at from one look at the clock to the next, where that costs little."""


@dataclass(slots=True)
class Stage:
    """The nodes at one stage, and what is known of them.

    Attributes:
        running: Node -> what runs there.
        account_at: Index of a node -> what is left on it.
        kinds: A number per node; nodes with the same one are alike when empty.
        spreads: Which spread constraints keep pods off.
        crowd: As in a Question.
        before: An earlier stage: a pod without a place on a node there has none at this one.
        same: Another stage, and whether the node of an index is at this one as it is there.
        firsts: Pods that keep others off nodes by being the first of their kind; None if the
            time was over before they were known.
        budget: What the next question may spend.
        is_over: Whether nothing more may be spent on any question.

    """

    when: When
    nodes: Sequence[Node]
    running: Mapping[str, Sequence[RunningPod]]
    account_at: Callable[[int], Account]
    kinds: Sequence[int]
    budget: Budget
    is_over: Stop
    spreads: Spreads
    crowd: Crowd | None = None
    before: "Stage | None" = None
    same: "tuple[Stage, Callable[[int], bool]] | None" = None
    firsts: Firsts | None = field(default_factory=Firsts)
    _known: dict[Hashable, Blocker | None] = field(default_factory=dict)
    _demanded: dict[Hashable, tuple[Demand, ...]] = field(default_factory=dict)

    def accounts(self) -> Iterator[Account]:
        """Yield what is left on each node, apart from whether it is only offered.

        Raises:
            OutOfTimeError: The time was over before all were counted.

        """
        for index in range(len(self.nodes)):
            go_on(self.is_over)
            account = self.account_at(index)
            yield replace(account, offered=False) if account.offered else account

    def blocker(self, ask: Ask, index: int) -> Blocker | None:
        """Return why pods that ask alike have no place on a node, or None if they have one.

        Raises:
            OutOfTimeError: It cannot be known in time.

        """
        never = self.before.blocker(ask, index) if self.before else None
        return never or self.own_blocker(ask, index)

    def blockers(
        self, ask: Ask, barred: Callable[[Node], Blocker | None] | None = None
    ) -> Counter[Blocker] | int:
        """Count what blocks the pod over all nodes, or return the index of a node with a place.

        Args:
            ask: The pod.
            barred: What else keeps it off a node that could host it when empty.

        Raises:
            OutOfTimeError: It cannot be known in time.

        """
        found: Counter[Blocker] = Counter()
        for index in range(len(self.nodes)):
            if index % NODES_AT_ONCE == 0:
                go_on(self.is_over)
            blocker = self.before.blocker(ask, index) if self.before else None
            if blocker is None and barred:
                blocker = barred(self.nodes[index])
            blocker = blocker or self.own_blocker(ask, index)
            if blocker is None:
                return index
            found[blocker] += 1
        return found

    def own_blocker(self, ask: Ask, index: int) -> Blocker | None:
        """Return what blocks pods at this stage, if no stage before it does."""
        node = self.nodes[index]
        if self.firsts is None:
            raise OutOfTimeError
        if self.firsts.keep_off(ask.spec, ask.namespace, node):
            return Blocker(Demand("affinity", word="of a pod on another node"))
        domains = self._domains(node)
        if (
            self.same
            and self.same[1](index)
            and not (ask.spec.affinity or ask.spec.spread or domains)
        ):
            known = self.same[0].own_blocker(ask, index)
            return known or self.spreads.blocker(ask.spec, ask.namespace, node)
        account = self.account_at(index)
        # Idle nodes that are alike share an account.
        key = ask, self.kinds[index], id(account), domains
        if key not in self._known:
            running = tuple(self.running.get(node.name, ()))
            spec = spec_on(ask.spec, node)
            asked = Question(spec, ask.namespace, ask.levels, node, running, self.crowd)
            demands = self._demands(ask, asked, self.kinds[index], account)
            found = blocker_of(asked, account, demands, self.budget)
            if found and hangs_on_guess(found, ask.spec, node, running):
                found = found._replace(guessed=True)
            self._known[key] = found
        return self._known[key] or self.spreads.blocker(ask.spec, ask.namespace, node)

    def _domains(self, node: Node) -> tuple[str | None, ...]:
        """Return the node's domain for each topology key that some pod looks at."""
        if self.crowd is None or not self.crowd.domains:
            return ()
        return tuple(map(node.topology_domain, self.crowd.domains))

    def _demands(
        self, ask: Ask, asked: Question, kind: int, account: Account
    ) -> tuple[Demand, ...]:
        """Return what is demanded, which is the same for most nodes of a kind."""
        if ask.spec.affinity or account.tenants.affine or (self.crowd and self.crowd.domains):
            return demands_of(asked)
        pools = account.pools
        key = ask, kind, pools.shared.in_use, pools.best_effort.in_use, bool(pools.bound)
        if key not in self._demanded:
            self._demanded[key] = demands_of(asked)
        return self._demanded[key]


def stages_of(
    instance: Instance,
    asked: Instance,
    problem: Problem,
    accounts: Sequence[Account],
    placement: Placement,
    budget: Budget,
) -> tuple[Stage, Stage, Stage]:
    """Return the stages: nodes empty, with what runs, and with what is placed as well.

    Args:
        instance: The instance.
        asked: The same, with running pods that may move among those that wait.
        problem: ``asked`` in integers.
        accounts: What the running pods of the instance leave, node by node.
        placement: The answer to what was asked.
        budget: What looking into it may cost.

    """
    nodes = instance.nodes
    keys = _keys((*pods_of(asked.gangs), *(runner.pod for runner in instance.running)))
    kinds = [state.kind for state in problem.nodes]
    idle: dict[int, Account] = {}

    def empty(index: int) -> Account:
        kind = kinds[index]
        if kind not in idle:
            idle[kind] = account_of(nodes[index], ())
        return idle[kind]

    def is_over() -> bool:
        return budget.over

    first = Stage(When.EMPTY, nodes, {}, empty, kinds, budget, is_over, Spreads(nodes, {}))
    runs = _by_node(instance.running)
    second = Stage(
        When.RUNNING,
        nodes,
        runs,
        accounts.__getitem__,
        kinds,
        budget,
        is_over,
        Spreads(nodes, runs),
        Crowd(instance.running, _by_domain(nodes, instance.running, keys)),
        first,
    )
    pods = {pod.key: pod for pod in pods_of(asked.gangs)}
    arrived = [RunningPod(pods[place.key], place) for place in placement.pods]
    everyone = [*asked.running, *arrived]
    together = _by_node(everyone) if arrived or asked is not instance else runs
    touched = {place.node for place in (*placement.pods, *asked.homes)}
    after: dict[int, Account] = {}

    def left(index: int) -> Account:
        if nodes[index].name not in touched:
            return accounts[index]
        if index not in after:
            after[index] = account_of(nodes[index], together.get(nodes[index].name, ()))
        return after[index]

    crowd = Crowd(everyone, _by_domain(nodes, everyone, keys))
    try:
        firsts = Firsts(firsts_of(nodes, arrived, crowd, is_over))
    except OutOfTimeError:
        firsts = None
    third = Stage(
        When.PLACED,
        nodes,
        together,
        left,
        kinds,
        budget,
        is_over,
        Spreads(nodes, together, arrived),
        crowd,
        first,
        same=(second, lambda index: nodes[index].name not in touched),
        firsts=firsts,
    )
    return first, second, third


def _keys(pods: Iterable[Pod]) -> tuple[str, ...]:
    """Return the topology keys that pods ask for, ascending."""
    specs = {id(pod.spec): pod.spec for pod in pods}.values()
    return tuple(sorted({t.topology for spec in specs for t in spec.affinity if t.wide}))


def _by_domain(
    nodes: Sequence[Node], running: Iterable[RunningPod], keys: tuple[str, ...]
) -> dict[str, dict[str, list[RunningPod]]]:
    """Return key -> domain -> the pods that run there."""
    node_of = {node.name: node for node in nodes} if keys else {}
    found: dict[str, dict[str, list[RunningPod]]] = {key: {} for key in keys}
    for runner in running if keys else ():
        for key in keys:
            domain = node_of[runner.placement.node].topology_domain(key)
            if domain is not None:
                found[key].setdefault(domain, []).append(runner)
    return found


def _by_node(running: Sequence[RunningPod]) -> dict[str, list[RunningPod]]:
    on_node: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for runner in running:
        on_node[runner.placement.node].append(runner)
    return dict(on_node)
