"""Nearest misses: the nodes that lack least for a pod, what they lack, and who has it (G7).

The holders of what a node lacks are the pods there without which it would have more of it.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from placer.counting.account import Account, account_of
from placer.explain.alike_nodes import Sorts
from placer.explain.explanation import MissingResourceHolder, NearMissNode, NodeLack
from placer.search.budget import SolveBudget
from placer.search.kept_blockers import NODES_AT_ONCE
from placer.search.reasons.blocking import blocker_by_counting, blocker_of
from placer.search.reasons.question import (
    OtherPods,
    PodOnNode,
    is_kept_away_by_others,
    own_terms_keeping_pod_away,
)
from placer.search.reasons.register import (
    REASON_RULES,
    is_node_lacking_by_counting,
    rule_demands_of_pod,
)
from placer.search.reasons.stages import NodesAtOccupancyStage
from placer.search.reasons.text import blocker_text
from placer.state.out_of_time import OutOfTimeError
from placer.state.requirements import PodRequirements
from placer_models.affinity import SYSTEM_NAMESPACE
from placer_models.cluster import Node, RunningPod
from placer_models.node_rules import without_node_rules
from placer_models.placement import NamespacedName
from placer_models.reasons import Blocker, RuleDemand
from placer_models.relations import RELATIONS, DomainLimit, domain_limits_asked_by
from placer_models.taints import UNSCHEDULABLE, untolerated_taints_of_strength

PlacedKeys = frozenset[NamespacedName]
"""Keys of the pods that the answer places."""


def running_pods_causing_node_lack(
    demand: RuleDemand, asked: PodOnNode, account: Account, placed: PlacedKeys
) -> tuple[MissingResourceHolder, ...]:
    """Return who holds what a node lacks of a demand that counting settles, those of most first."""
    if demand.rule == "anti-affinity":
        return tuple(sorted(_kept_apart_by(asked, placed), key=lambda one: one.pod))
    amounts = REASON_RULES[demand.rule].amounts
    now = amounts(demand, asked, account)
    found = []
    for runner, fewer, account_then in _without_each(asked):
        then = amounts(demand, fewer, account_then)
        if now is not None and then is not None:
            if then.left > now.left:
                # Of what is there; where pods hold more than that, what this one holds of it.
                left = now.left if then.left < 0 else max(0, now.left)
                found.append(_holder(runner, placed, then.left - left))
        elif not is_node_lacking_by_counting(demand, fewer, account_then):
            found.append(_holder(runner, placed))
    return tuple(sorted(found, key=lambda one: (-(one.amount or 0), one.pod)))


def pods_counted_in_domain(
    demand: RuleDemand, asked: PodOnNode, stage: NodesAtOccupancyStage, placed: PlacedKeys
) -> tuple[MissingResourceHolder, ...]:
    """Return the pods that count in the node's domain, where a limit of the pod's own is reached.

    Nobody holds what no pod counts for: the limits of others, and a node in no domain.
    """
    found: dict[NamespacedName, MissingResourceHolder] = {}
    for rule, limit in domain_limits_asked_by(asked.spec, asked.namespace):
        domain = limit.domain(asked.node)
        if domain is None or (rule, limit.said) != (demand.rule, demand.word):
            continue
        for node, runners in zip(stage.nodes, stage.running, strict=True):
            if limit.domain(node) != domain:
                continue
            for runner in runners:
                if limit.means(runner.pod.spec, runner.pod.namespace):
                    found[runner.pod.key] = _holder(runner, placed)
    return tuple(sorted(found.values(), key=lambda one: one.pod))


def pods_in_the_way(
    asked: PodOnNode, placed: PlacedKeys, budget: SolveBudget
) -> tuple[MissingResourceHolder, ...]:
    """Return the pods of a node each of which alone would have to go for a pod to fit there."""
    found = []
    try:
        for runner, fewer, account in _without_each(asked):
            demands = rule_demands_of_pod(fewer)
            kept_off = blocker_by_counting(fewer, account, demands)
            if kept_off is None and blocker_of(fewer, account, demands, budget) is None:
                found.append(_holder(runner, placed))
    except OutOfTimeError:
        pass  # those that are known are told
    return tuple(sorted(found, key=lambda one: one.pod))


def _without_each(asked: PodOnNode) -> Iterator[tuple[RunningPod, PodOnNode, Account]]:
    """Yield each pod of the node, and the node without it."""
    for number, runner in enumerate(asked.running):
        if runner.pod.namespace == SYSTEM_NAMESPACE:
            continue
        others = (*asked.running[:number], *asked.running[number + 1 :])
        yield runner, replace(asked, running=others), account_of(asked.node, others)


def _kept_apart_by(asked: PodOnNode, placed: PlacedKeys) -> Iterator[MissingResourceHolder]:
    """Yield the pods on the node, and in its domains, that a pod would have to be apart from."""
    there = {runner.pod.key: (runner, True, list[str]()) for runner in asked.running}
    around = asked.crowd.domains if asked.crowd else {}
    for key, of_key in around.items():
        for runner in of_key.get(asked.node.topology_domain(key) or "", ()):
            there.setdefault(runner.pod.key, (runner, False, []))[2].append(key)
    for runner, is_here, keys in there.values():
        domains: dict[str, dict[str, Sequence[RunningPod]]] = {key: {} for key in around}
        for key in keys:
            domains[key][asked.node.topology_domain(key) or ""] = (runner,)
        crowd = OtherPods((runner,), domains)
        alone = replace(asked, running=(runner,) if is_here else (), crowd=crowd)
        if is_kept_away_by_others(alone) or any(own_terms_keeping_pod_away(alone)):
            yield _holder(runner, placed)


def _holder(
    runner: RunningPod, placed: PlacedKeys, amount: int | None = None
) -> MissingResourceHolder:
    return MissingResourceHolder(runner.pod.key, amount, placed=runner.pod.key in placed)


MOST_NEAREST = 3
"""How many nodes are named."""

MOST_LOOKED_INTO = 12
"""How many nodes that lack nothing that can be counted are looked into."""

NodesBySort = Sequence[Sequence[int]]
"""The indices of the nodes of each sort, ascending by name."""

Barred = Callable[[Node], Blocker | None]
"""What else keeps a pod off a node."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A node, and what counting says that it lacks; nothing: what it lacks is inside of it.

    Attributes:
        elsewhere: What keeps the pod off it because of where other pods are.
        beyond: How many of these amounts it would not have if nothing ran there.
        part: Which parts of what is asked for are missing, summed up.
        cordoned: Whether nothing but a cordon keeps the pod off.

    """

    index: int
    lacks: tuple[RuleDemand, ...]
    elsewhere: tuple[Blocker, ...]
    beyond: int
    part: float
    cordoned: bool = False

    @property
    def rules(self) -> int:
        """How many rules fail there."""
        return max(1, len(self.lacks) + len(self.elsewhere))

    def order(
        self, name: str, members_on: Collection[str]
    ) -> tuple[int, int, bool, float, bool, str]:
        """Fewest rules first; then what the node could give, and the least part of it."""
        return self.rules, self.beyond, name in members_on, self.part, not self.cordoned, name


def nearest_misses(
    stage: NodesAtOccupancyStage,
    ask: PodRequirements,
    placed: PlacedKeys,
    budget: SolveBudget,
    barred: Barred | None = None,
    sorts: NodesBySort | None = None,
    members_on: Collection[str] = (),
) -> tuple[NearMissNode, ...]:
    """Return the nodes that lack least for pods that ask alike.

    Args:
        stage: The nodes, with what is placed.
        ask: What the pods ask for.
        placed: Keys of the pods that the answer places.
        budget: What looking may cost. Nodes for which it does not last are not named.
        barred: What keeps the pod off nodes because of where its gang is.
        sorts: The nodes by their sorts, if those of one sort are alike to the pods at this stage,
            and nothing else keeps them off.
        members_on: Names of nodes where members of the pods' gang are; of nodes that could give
            what is missing, these come last.

    """
    found: list[NearMissNode] = []
    looked_into = 0
    candidates = sorted(
        _candidates(stage, ask, budget, barred)
        if sorts is None
        else _of_sorts(stage, ask, budget, sorts),
        key=lambda one: one.order(stage.nodes[one.index].name, members_on),
    )
    for one in _with_a_cordoned(candidates):
        if len(found) == MOST_NEAREST or budget.over:
            break
        if one.lacks or one.elsewhere:
            found.append(_counted(one, stage, ask, placed))
            continue
        looked_into += 1
        if looked_into > MOST_LOOKED_INTO:
            continue
        try:
            blocker = stage.blocker(ask, one.index)
        except OutOfTimeError:
            continue
        if blocker is not None:
            # Limits of domains count pods elsewhere, too: none of this node alone is in the way.
            limited = any(relation.rule == blocker.demand.rule for relation in RELATIONS)
            asked = stage.question(ask, one.index)
            holders = () if limited else pods_in_the_way(asked, placed, budget)
            found.append(NearMissNode(asked.node.name, (_told(blocker, asked, holders),)))
    return tuple(found)


def _with_a_cordoned(candidates: Sequence[_Candidate]) -> Sequence[_Candidate]:
    """Return the candidates, one that nothing but a cordon keeps off among those that are named.

    It takes the last place, if no more rules fail there: to uncordon is the first change to try.
    """
    named, others = candidates[:MOST_NEAREST], candidates[MOST_NEAREST:]
    if any(one.cordoned for one in named):
        return candidates
    for one in others:
        if one.cordoned and one.rules <= named[-1].rules:
            return *named[:-1], one, named[-1], *(other for other in others if other is not one)
    return candidates


def _candidates(
    stage: NodesAtOccupancyStage, ask: PodRequirements, budget: SolveBudget, barred: Barred | None
) -> Iterator[_Candidate]:
    """Yield every node, as far as the budget lasts; what is alike is counted once."""
    known: dict[Hashable, tuple[tuple[RuleDemand, ...], int, float]] = {}
    everywhere = stage.crowd is None or not stage.crowd.domains
    for index, node in enumerate(stage.nodes):
        if index % NODES_AT_ONCE == 0 and budget.over:
            return
        # Idle nodes that are alike share an account.
        key = id(stage.kinds[index]), id(stage.account_at(index))
        if key not in known or not everywhere:
            known[key] = _what_lacks(stage, ask, index)
        lacks, beyond, part = known[key]
        elsewhere = _elsewhere(stage, ask, index)
        if barred and (bar := barred(node)):
            elsewhere = (bar, *elsewhere)
        yield _candidate(stage, ask, index, lacks, elsewhere, beyond, part)


def _of_sorts(
    stage: NodesAtOccupancyStage, ask: PodRequirements, budget: SolveBudget, sorts: NodesBySort
) -> Iterator[_Candidate]:
    """Yield as many nodes of each sort as may be named or looked into, the first by their names."""
    for number, indices in enumerate(sorts):
        if number % NODES_AT_ONCE == 0 and budget.over:
            return
        lacks, beyond, part = _what_lacks(stage, ask, indices[0])
        for index in indices[: MOST_NEAREST if lacks else MOST_LOOKED_INTO]:
            elsewhere = _elsewhere(stage, ask, index)
            yield _candidate(stage, ask, index, lacks, elsewhere, beyond, part)


def _elsewhere(
    stage: NodesAtOccupancyStage, ask: PodRequirements, index: int
) -> tuple[Blocker, ...]:
    """Return what pods elsewhere say against a node.

    That a limit of domains does not look at the node is nothing of its own where another rule
    keeps the pod off, which it heeds: a node selector, or a taint.
    """
    asked = stage.question(ask, index)
    heeded = {
        (rule, limit.nodes_said)
        for rule, limit in domain_limits_asked_by(asked.spec, ask.namespace)
        if limit.domain(asked.node) is None and _looks_without_rules(rule, limit, asked)
    }
    found = stage.blockers_elsewhere(ask, index)
    return tuple(one for one in found if (one.demand.rule, one.demand.word) not in heeded)


def _looks_without_rules(rule: str, limit: DomainLimit, asked: PodOnNode) -> bool:
    """Return whether the limit would look at the node if the pod asked nothing else of it."""
    spec, node = without_node_rules(asked.spec, asked.node)
    return any(
        (name, other.nodes_said) == (rule, limit.nodes_said) and other.domain(node) is not None
        for name, other in domain_limits_asked_by(spec, asked.namespace)
    )


def _candidate(
    stage: NodesAtOccupancyStage,
    ask: PodRequirements,
    index: int,
    lacks: tuple[RuleDemand, ...],
    elsewhere: tuple[Blocker, ...],
    beyond: int,
    part: float,
) -> _Candidate:
    """Return a node; each rule about pods elsewhere counts as a whole that is missing."""
    whole = len(elsewhere) if lacks or elsewhere else 1
    cordoned = bool(lacks) and not elsewhere and _is_cordoned(lacks, stage.question(ask, index))
    return _Candidate(index, lacks, elsewhere, beyond, part + whole, cordoned)


def _is_cordoned(lacks: Sequence[RuleDemand], asked: PodOnNode) -> bool:
    """Return whether a cordon is all that a node lacks: in a cluster, or in a file."""
    node, spec = asked.node, asked.spec
    kept_off = set(untolerated_taints_of_strength(node.taints, spec.tolerations, keep_off=True))
    rules = {demand.rule for demand in lacks}
    return rules <= {"cordon", "taints"} and kept_off <= {UNSCHEDULABLE}


def _what_lacks(
    stage: NodesAtOccupancyStage, ask: PodRequirements, index: int
) -> tuple[tuple[RuleDemand, ...], int, float]:
    """Return what a node lacks, and what `_Candidate` says of it."""
    lacks = tuple(stage.lacking(ask, index))
    asked, account = stage.question(ask, index), stage.account_at(index)
    parts = [_part(demand, asked, account) for demand in lacks]
    return lacks, sum(beyond for beyond, _ in parts), sum(part for _, part in parts)


def indices_of_alike_nodes(nodes: Sequence[Node], sorts: Sorts) -> NodesBySort:
    """Return the indices of the nodes of each sort, ascending by name."""
    found: dict[int, list[int]] = {}
    for index in sorted(range(len(nodes)), key=lambda index: nodes[index].name):
        found.setdefault(sorts[index], []).append(index)
    return tuple(found.values())


def _part(demand: RuleDemand, asked: PodOnNode, account: Account) -> tuple[bool, float]:
    """Return whether an empty node lacks it, too, and which part of it is missing.

    Of what is no amount all is missing.
    """
    amounts = REASON_RULES[demand.rule].amounts
    now = amounts(demand, asked, account)
    if now is None or not now.asked:
        return False, 1.0
    idle = amounts(demand, asked, _empty(asked))
    beyond = idle is not None and idle.left < now.asked
    return beyond, (now.asked - max(0, now.left)) / now.asked


def _empty(asked: PodOnNode) -> Account:
    """Return what a node has for pods: when nothing runs there but its own system."""
    system = [one for one in asked.running if one.pod.namespace == SYSTEM_NAMESPACE]
    return account_of(asked.node, system)


def _counted(
    one: _Candidate, stage: NodesAtOccupancyStage, ask: PodRequirements, placed: PlacedKeys
) -> NearMissNode:
    asked, account = stage.question(ask, one.index), stage.account_at(one.index)
    lacks = [_lack(demand, asked, account, placed) for demand in one.lacks]
    for blocker in one.elsewhere:
        holders = pods_counted_in_domain(blocker.demand, asked, stage, placed)
        lacks.append(_told(blocker, asked, holders))
    return NearMissNode(asked.node.name, tuple(lacks))


def _lack(demand: RuleDemand, asked: PodOnNode, account: Account, placed: PlacedKeys) -> NodeLack:
    """Return what a node lacks of one demand, and who has it."""
    holders = running_pods_causing_node_lack(demand, asked, account, placed)
    lack = _told(Blocker(demand), asked, holders)
    amounts = REASON_RULES[demand.rule].amounts
    now = amounts(demand, asked, account)
    if now is None:
        return lack
    idle = amounts(demand, asked, _empty(asked))
    total = max(0, idle.left) if idle else None
    return replace(lack, asked=now.asked, left=max(0, now.left), total=total, unit=now.unit)


def _told(
    blocker: Blocker, asked: PodOnNode, holders: tuple[MissingResourceHolder, ...]
) -> NodeLack:
    text = blocker_text(blocker, asked.spec)
    return NodeLack(blocker.demand.name, blocker.demand.subject, text, held_by=holders)
