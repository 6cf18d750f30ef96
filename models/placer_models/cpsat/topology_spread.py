"""Topology spread: pods spread evenly over domains of nodes."""

from collections import defaultdict
from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.family import Family, always, never
from placer_models.goals import TOPOLOGY_SPREAD
from placer_models.problem.problem import Problem
from placer_models.problem.tasks import NO_DOMAIN, SpreadTask
from placer_models.rule_family import RuleFamily


def pods_spread_over_domains(model: CpModel, problem: Problem, x: Variables) -> None:
    """A domain with a pod that asks has at most the skew more than the domain with the fewest."""
    for task in problem.affinity.spreads:
        if task.required:
            for beyond, most, asked in _beyond(model, task, x):
                model.add(beyond <= most * (1 - asked))


def lost(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count the pods beyond the skew in domains with a pod that would like fewer."""
    terms = []
    for number, task in enumerate(problem.affinity.spreads):
        if not task.required:
            for domain, (beyond, most, asked) in enumerate(_beyond(model, task, x)):
                over = model.new_int_var(0, most, f"over[{number},{domain}]")
                model.add(over >= beyond - most * (1 - asked))
                terms.append(over)
    return LinearExpr.sum(terms)


def _beyond(
    model: CpModel, task: SpreadTask, x: Variables
) -> Iterator[tuple[Expression, int, Expression]]:
    """Yield for each domain the pods beyond the skew, their maximum, and whether a pod asks there.

    Domains that can never be beyond the skew, or where no pod asks, are left out.
    """
    counted: defaultdict[int, list[Assignment]] = defaultdict(list)
    asking: defaultdict[int, list[Assignment]] = defaultdict(list)
    for assignment in x.assignments:
        shape, domain = x.units[assignment.unit].shape, task.domains[assignment.node]
        if domain != NO_DOMAIN:
            counted[domain] += [assignment] if shape in task.matches else []
            asking[domain] += [assignment] if shape in task.asking else []
    counts = [
        here + LinearExpr.sum([assignment.count for assignment in counted[domain]])
        for domain, here in enumerate(task.here)
    ]
    most = [
        here + sum(assignment.most for assignment in counted[domain]) - task.max_skew
        for domain, here in enumerate(task.here)
    ]
    beyond = [domain for domain, at in enumerate(most) if at > 0 and asking[domain]]
    if not beyond:
        return
    fewest: Expression = 0
    if not task.is_short:
        fewest = model.new_int_var(0, max(most) + task.max_skew, "fewest")
        for count in counts:
            model.add(fewest <= count)
    for domain in beyond:
        asked = model.new_bool_var("asked")
        for assignment in asking[domain]:
            model.add(assignment.count <= assignment.most * asked)
        yield counts[domain] - fewest - task.max_skew, most[domain], asked


FAMILY = Family(
    name=RuleFamily.TOPOLOGY_SPREAD,
    rules=(pods_spread_over_domains,),
    tiers={TOPOLOGY_SPREAD: lost},
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
