"""Cases of a plan: each scenario as it comes, and again in each loss that it is to survive."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from placer.plan.losses import instance_after_loss, losses_of_single_nodes
from placer.plan.question import FailureTolerance, PlanQuestion, PlanScenario, gangs_of_scenario
from placer_models.cluster import Instance
from placer_models.pod import Gang, GangGroup
from placer_models.whatif.language import instance_with_all_changes


@dataclass(frozen=True, slots=True)
class ScenarioUnderLoss:
    """What has to find places at one time, and the nodes that are there then.

    Attributes:
        scenario: The name of the scenario.
        loss: What is lost, in words; empty: nothing.
        instance: The nodes that are there, what runs on them, and all that wants a place.
        barred: Indices of offers whose bought nodes are all lost.
        one_less: The index of the offer of which one bought node is lost; None: of none.

    """

    scenario: str
    loss: str
    instance: Instance
    barred: frozenset[int] = frozenset()
    one_less: int | None = None

    @property
    def name(self) -> str:
        """The case in words."""
        return f"{self.scenario}, without {self.loss}" if self.loss else self.scenario


def plan_cases_of(question: PlanQuestion) -> tuple[ScenarioUnderLoss, ...]:
    """Return the cases of a question; what is bought has to do for each.

    Raises:
        WhatIfChangeError: A change of a scenario has nothing to change.

    """
    return tuple(case for one in question.scenarios for case in _cases(question, one))


def plan_case_in_words(question: PlanQuestion, case: ScenarioUnderLoss) -> str:
    """Return the case as it is told among those of its question; empty: it is the only one."""
    scenario = f"scenario {case.scenario}" if len(question.scenarios) > 1 else ""
    domain = question.survive.domain if question.survive else ""
    without = f"without {loss_in_words(case.loss, domain)}" if case.loss else ""
    return ", ".join(part for part in (scenario, without) if part)


def loss_in_words(name: str, domain: str) -> str:
    """Name a loss in a sentence: zone a, but zone-b, which says itself what it is.

    Args:
        name: What is lost.
        domain: The label or level whose domains are lost; empty: nodes are.

    """
    kind = domain.rpartition("/")[2]
    return name if kind in name else f"{kind} {name}"


def instance_with_scenario_changes(question: PlanQuestion, scenario: PlanScenario) -> Instance:
    """Return the instance of a scenario, before anything is scaled.

    Raises:
        WhatIfChangeError: A change has nothing to change.

    """
    if not scenario.changes:
        return question.instance
    return instance_with_all_changes(scenario.changes, question.instance)


def _cases(question: PlanQuestion, scenario: PlanScenario) -> Iterator[ScenarioUnderLoss]:
    changed = instance_with_scenario_changes(question, scenario)
    demand = gangs_of_scenario(changed, scenario)
    everyone = (*demand, *question.headroom)
    asked = replace(changed, gangs=everyone, groups=_groups_among(changed, everyone), move_budget=0)
    yield ScenarioUnderLoss(scenario.name, "", asked)
    if question.survive is None:
        return
    least = question.survive.priority
    kept = tuple(gang for gang in demand if least is None or gang.priority >= least)
    bare = replace(changed, gangs=())
    for loss, nodes, barred, one_less in _losses(question, question.survive, bare, kept):
        after = instance_after_loss(bare, nodes) if nodes else bare
        gangs = (*after.gangs, *kept)
        instance = replace(
            after,
            gangs=gangs,
            groups=_groups_among(changed, gangs),
            left_out=(),
            move_budget=0,
        )
        yield ScenarioUnderLoss(scenario.name, loss, instance, barred, one_less)


def _groups_among(instance: Instance, gangs: Iterable[Gang]) -> tuple[GangGroup, ...]:
    """Return the groups of an instance all of whose gangs are among some."""
    keys = {gang.key for gang in gangs}
    return tuple(group for group in instance.groups if keys.issuperset(group.gangs))


def _losses(
    question: PlanQuestion,
    survive: FailureTolerance,
    instance: Instance,
    kept: tuple[Gang, ...],
) -> Iterator[tuple[str, frozenset[str], frozenset[int], int | None]]:
    """Yield each loss: its words, nodes that are there, offers lost whole, and one losing one."""
    if not survive.domain:
        # Nodes that are alike come to the same, however many there are.
        for loss in losses_of_single_nodes(instance, kept):
            yield loss.name, frozenset(loss.nodes), frozenset(), None
        for index, offer in enumerate(question.offers):
            yield f"one {offer.name}", frozenset(), frozenset(), index
        return
    nodes = {node.name: node.topology_domain(survive.domain) for node in instance.nodes}
    offers = [offer.node.topology_domain(survive.domain) for offer in question.offers]
    domains = sorted({domain for domain in (*nodes.values(), *offers) if domain is not None})
    for some in combinations(domains, survive.count):
        there = frozenset(name for name, domain in nodes.items() if domain in some)
        barred = frozenset(index for index, domain in enumerate(offers) if domain in some)
        yield " + ".join(some), there, barred, None


def domains_with_nodes_or_offers(question: PlanQuestion, key: str) -> tuple[str, ...]:
    """Return the domains in which nodes are, or may be bought."""
    nodes = (*question.instance.nodes, *(offer.node for offer in question.offers))
    return tuple(sorted({found for node in nodes if (found := node.topology_domain(key))}))


def gangs_of_plan_cases(cases: tuple[ScenarioUnderLoss, ...]) -> Iterator[Gang]:
    """Yield the gangs of all cases; most of them are in several."""
    for case in cases:
        yield from case.instance.gangs
