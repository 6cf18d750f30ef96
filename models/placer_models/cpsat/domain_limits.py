"""Limits of domains: how many pods domains of nodes may have; topology spread is one."""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables, pods_expr
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.domains import NO_DOMAIN
from placer_models.problem.problem import Problem
from placer_models.problem.tasks import ProblemDomainLimit
from placer_models.relations import RELATIONS
from placer_models.rule_family import RuleFamilyName


def domains_have_as_many_pods_as_allowed(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """A domain with a pod that asks has at most its limit, or more than the fewest by that."""
    for task in problem.affinity.limits:
        if task.required:
            for beyond, most, asked in _beyond(model, task, x):
                model.add(beyond <= most * (1 - asked))


def pods_beyond_domain_limits_expr(
    rule: str, model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the pods beyond a rule's limits in domains with a pod that would like fewer."""
    terms = []
    for number, task in enumerate(problem.affinity.limits):
        if task.rule == rule and not task.required:
            for domain, (beyond, most, asked) in enumerate(_beyond(model, task, x)):
                over = model.new_int_var(0, most, f"over[{number},{domain}]")
                model.add(over >= beyond - most * (1 - asked))
                terms.append(over)
    return LinearExpr.sum(terms)


def _beyond(
    model: CpModel, task: ProblemDomainLimit, x: PlacementVariables
) -> Iterator[tuple[Expression, int, Expression]]:
    """Yield for each domain the pods beyond the limit, their maximum, and whether a pod asks there.

    Domains that can never be beyond it, or where no pod asks, are left out.
    """
    counted: defaultdict[int, list[Assignment]] = defaultdict(list)
    asking: defaultdict[int, list[Assignment]] = defaultdict(list)
    for assignment in x.assignments:
        shape, domain = x.units[assignment.unit].shape, task.domains[assignment.node]
        if domain != NO_DOMAIN:
            counted[domain] += [assignment] if shape in task.matches else []
            asking[domain] += [assignment] if shape in task.asking else []
    counts = [here + pods_expr(counted[domain]) for domain, here in enumerate(task.here)]
    most = [
        here + sum(assignment.most for assignment in counted[domain]) - task.most
        for domain, here in enumerate(task.here)
    ]
    beyond = [domain for domain, at in enumerate(most) if at > 0 and asking[domain]]
    if not beyond:
        return
    fewest: Expression = 0
    if task.beyond_fewest:
        fewest = model.new_int_var(0, max(most) + task.most, "fewest")
        for count in counts:
            model.add(fewest <= count)
    for domain in beyond:
        asked = model.new_bool_var("asked")
        for assignment in asking[domain]:
            model.add(assignment.count <= assignment.most * asked)
        yield counts[domain] - fewest - task.most, most[domain], asked


FAMILY = ModelFamily(
    name=RuleFamilyName.DOMAIN_LIMITS,
    rules=(domains_have_as_many_pods_as_allowed,),
    tiers={
        one.tier: partial(pods_beyond_domain_limits_expr, one.rule)
        for one in RELATIONS
        if one.tier is not None
    },
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
