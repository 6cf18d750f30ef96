"""Rules about the levels of the network that gangs ask for (G4)."""

from collections import defaultdict
from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.expression import Expression
from placer_models.cpsat.variables import Decisions, Seat
from placer_models.network import Grouping
from placer_models.problem import Problem
from placer_models.tasks import LevelTask


def a_gang_gathers_where_it_must(model: CpModel, problem: Problem, x: Decisions) -> None:
    """The placed members of a gang are in one domain of each level that it requires."""
    for gang, task in _tasks(problem, Grouping.GATHER, required=True):
        model.add_at_most_one(_here(model, problem, x, gang, task))


def a_gang_spreads_where_it_must(model: CpModel, problem: Problem, x: Decisions) -> None:
    """No domain has more of a gang's members than it requires."""
    for gang, task in _tasks(problem, Grouping.SPREAD, required=True):
        for seats in _by_domain(problem, x, gang, task).values():
            if _most(problem, gang, seats) > task.count:
                model.add(_members(seats) <= task.count)


def members_of_a_domain_come_in_multiples(model: CpModel, problem: Problem, x: Decisions) -> None:
    """The members in each domain are a multiple of what the gang requires."""
    for gang, task in _tasks(problem, Grouping.MULTIPLES, required=True):
        if task.count == 1:
            continue
        for domain, seats in _by_domain(problem, x, gang, task).items():
            times = model.new_int_var(
                0, _most(problem, gang, seats) // task.count, f"times[{gang},{task.level},{domain}]"
            )
            model.add(_members(seats) == task.count * times)


def gathering(model: CpModel, problem: Problem, x: Decisions) -> Expression:
    """Count domains beyond one, and members of a domain beyond the most (tier gathering)."""
    terms: list[Expression] = []
    for gang, task in _tasks(problem, Grouping.GATHER, required=False):
        reached = x.reached[gang]
        assert reached is not None, "a gang that asks for levels is told apart"
        terms += [*_here(model, problem, x, gang, task), -reached]
    for gang, task in _tasks(problem, Grouping.SPREAD, required=False):
        for domain, seats in _by_domain(problem, x, gang, task).items():
            beyond = _most(problem, gang, seats) - task.count
            if beyond > 0:
                over = model.new_int_var(0, beyond, f"over[{gang},{task.level},{domain}]")
                model.add(over >= _members(seats) - task.count)
                terms.append(over)
    return LinearExpr.sum(terms)


def _tasks(
    problem: Problem, grouping: Grouping, *, required: bool
) -> Iterator[tuple[int, LevelTask]]:
    """Yield each gang that asks for the grouping, and what it asks."""
    for index, gang in enumerate(problem.gangs):
        for task in gang.levels:
            if task.grouping is grouping and task.required is required:
                yield index, task


def _by_domain(problem: Problem, x: Decisions, gang: int, task: LevelTask) -> dict[int, list[Seat]]:
    """Return the gang's seats in each domain of the level."""
    found: defaultdict[int, list[Seat]] = defaultdict(list)
    for unit in x.units_of_gang(gang):
        for seat in x.of_unit[unit]:
            found[problem.domains[task.level][seat.node]].append(seat)
    return found


def _here(
    model: CpModel, problem: Problem, x: Decisions, gang: int, task: LevelTask
) -> list[IntVar]:
    """Return a literal for each domain: true where a member is in it."""
    literals = []
    for domain, seats in _by_domain(problem, x, gang, task).items():
        literal = model.new_bool_var(f"here[{gang},{task.level},{domain}]")
        for seat in seats:
            model.add(seat.count <= seat.most * literal)
        # Follows from the above in integers; relaxed, it says how many domains it takes.
        model.add(_members(seats) <= _most(problem, gang, seats) * literal)
        literals.append(literal)
    return literals


def _members(seats: list[Seat]) -> LinearExpr:
    return LinearExpr.sum([seat.count for seat in seats])


def _most(problem: Problem, gang: int, seats: list[Seat]) -> int:
    """Return an upper bound of the members on the seats."""
    return min(len(problem.gangs[gang].pods), sum(seat.most for seat in seats))
