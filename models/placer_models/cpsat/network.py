"""Levels of the network that gangs ask for (G4)."""

from collections import defaultdict
from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables, pods_expr
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.cpsat.gangs import GangVariables
from placer_models.goals import GATHERING
from placer_models.network import GangNetworkLevelRuleKind
from placer_models.problem.problem import Problem
from placer_models.problem.tasks import ProblemLevelRule
from placer_models.rule_family import RuleFamilyName


def a_gang_gathers_where_it_must(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """The placed members of a gang are in one domain of each level that it must gather at."""
    for gang, task in _tasks(problem, GangNetworkLevelRuleKind.GATHER, required=True):
        model.add_at_most_one(_here(model, problem, x, gang, task))


def members_of_a_domain_are_limited(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """No domain has more of a gang's members than the gang requires at most."""
    for gang, task in _tasks(problem, GangNetworkLevelRuleKind.SPREAD, required=True):
        for assignments in _by_domain(problem, x, gang, task).values():
            if _most(problem, gang, assignments) > task.count:
                model.add(pods_expr(assignments) <= task.count)


def members_of_a_domain_come_in_multiples(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """The members in each domain are a multiple of what the gang requires."""
    for gang, task in _tasks(problem, GangNetworkLevelRuleKind.MULTIPLES, required=True):
        if task.count == 1:
            continue
        for domain, assignments in _by_domain(problem, x, gang, task).items():
            times = model.new_int_var(
                0,
                _most(problem, gang, assignments) // task.count,
                f"times[{gang},{task.level},{domain}]",
            )
            model.add(pods_expr(assignments) == task.count * times)


def gathering_excess_expr(model: CpModel, problem: Problem, x: PlacementVariables) -> Expression:
    """Count domains beyond one, and members of a domain beyond the limit (tier gathering)."""
    terms: list[Expression] = []
    for gang, task in _tasks(problem, GangNetworkLevelRuleKind.GATHER, required=False):
        reached = x.part(GangVariables).of_gang[gang]
        assert reached is not None, "a gang that asks for levels is told apart"
        terms += [*_here(model, problem, x, gang, task), -reached]
    for gang, task in _tasks(problem, GangNetworkLevelRuleKind.SPREAD, required=False):
        for domain, assignments in _by_domain(problem, x, gang, task).items():
            beyond = _most(problem, gang, assignments) - task.count
            if beyond > 0:
                over = model.new_int_var(0, beyond, f"over[{gang},{task.level},{domain}]")
                model.add(over >= pods_expr(assignments) - task.count)
                terms.append(over)
    return LinearExpr.sum(terms)


def _tasks(
    problem: Problem, grouping: GangNetworkLevelRuleKind, *, required: bool
) -> Iterator[tuple[int, ProblemLevelRule]]:
    """Yield each gang that asks for the grouping, and what it asks."""
    for index, gang in enumerate(problem.gangs):
        for task in gang.levels:
            if task.grouping is grouping and task.required is required:
                yield index, task


def _by_domain(
    problem: Problem, x: PlacementVariables, gang: int, task: ProblemLevelRule
) -> dict[int, list[Assignment]]:
    """Return the gang's assignments in each domain of the level."""
    found: defaultdict[int, list[Assignment]] = defaultdict(list)
    for unit in x.units_of_gang(gang):
        for assignment in x.of_unit[unit]:
            found[problem.domains[task.level][assignment.node]].append(assignment)
    return found


def _here(
    model: CpModel, problem: Problem, x: PlacementVariables, gang: int, task: ProblemLevelRule
) -> list[IntVar]:
    """Return a literal for each domain: true where a member is in it."""
    literals = []
    for domain, assignments in _by_domain(problem, x, gang, task).items():
        literal = model.new_bool_var(f"here[{gang},{task.level},{domain}]")
        for assignment in assignments:
            model.add(assignment.count <= assignment.most * literal)
        # In integers this follows from the above; relaxed, it says how many domains are needed.
        model.add(pods_expr(assignments) <= _most(problem, gang, assignments) * literal)
        literals.append(literal)
    return literals


def _most(problem: Problem, gang: int, assignments: list[Assignment]) -> int:
    """Return an upper bound of the members on the assignments."""
    return min(len(problem.gangs[gang].pods), sum(assignment.most for assignment in assignments))


FAMILY = ModelFamily(
    name=RuleFamilyName.NETWORK,
    rules=(
        a_gang_gathers_where_it_must,
        members_of_a_domain_are_limited,
        members_of_a_domain_come_in_multiples,
    ),
    tiers={GATHERING: gathering_excess_expr},
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
