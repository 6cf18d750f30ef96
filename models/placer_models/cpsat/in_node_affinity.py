"""Affinity inside a node: pods that want to be together or apart on cores or NUMA nodes (C18).

A place is a core or a NUMA node. Where cores matter, each core that two new pods could
share is a class of its own. On any other core, a new pod meets only the pods that run there.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.affinity import INSIDE, InNodeAffinityLevel
from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.cpus import existing_core_take_vars
from placer_models.cpsat.envelope import ordered_pair_count_var
from placer_models.cpsat.family import (
    Hint,
    KnownPlacement,
    ModelFamily,
    always,
    never,
    solver_hints_for_plain_variables,
)
from placer_models.goals import AFFINITY
from placer_models.problem.node_state import affinity_sides_of_guests
from placer_models.problem.problem import Problem
from placer_models.problem.tasks import InNodeAffinityOfShape, NumaOrCoreAffinityTerm
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class InNodeAffinityVariables:
    """Where an assignment's pod owns CPUs, as far as affinities look at that.

    Attributes:
        cores: One literal per core class: whether the pod has CPUs of it. Empty where cores
            do not matter.
        cells: The same for cells.

    """

    affinity: InNodeAffinityOfShape
    cores: tuple[IntVar, ...]
    cells: tuple[IntVar, ...]

    def at(self, level: InNodeAffinityLevel) -> tuple[IntVar, ...]:
        """Return the literals of a level."""
        return self.cores if level is InNodeAffinityLevel.CORE else self.cells


def in_node_pod_affinity_vars(
    model: CpModel, problem: Problem, assignment: Assignment
) -> InNodeAffinityVariables | None:
    """Create the variables of an assignment, or return None if no affinity concerns its pod."""
    affinity = assignment.shape.in_node_affinity
    if affinity is None or not assignment.shape.owned_cpus:
        return None
    node = problem.nodes[assignment.node]

    def literals(level: InNodeAffinityLevel, count: int) -> tuple[IntVar, ...]:
        if level not in affinity.levels:
            return ()
        return tuple(model.new_bool_var(f"{level}[{assignment.name},{i}]") for i in range(count))

    return InNodeAffinityVariables(
        affinity,
        cores=literals(InNodeAffinityLevel.CORE, len(node.cores)),
        cells=literals(InNodeAffinityLevel.NUMA, len(node.cells)),
    )


@dataclass(frozen=True, slots=True)
class _Guest:
    """An assignment that could be at a place, with a literal for whether it is there."""

    assignment: Assignment
    own: InNodeAffinityVariables
    here: IntVar


@dataclass(frozen=True, slots=True)
class _Place:
    """A core class or a cell of a node, and the pods that are or could be there.

    Attributes:
        sides: The sides of the running pods there.
        shared: Whether two new pods there are together.

    """

    level: InNodeAffinityLevel
    sides: frozenset[int]
    shared: bool
    guests: tuple[_Guest, ...]

    def runs(self, term: NumaOrCoreAffinityTerm) -> bool:
        """Return whether the term means a running pod that is here."""
        return not self.sides.isdisjoint(term.matches)

    def others(self, guest: _Guest, term: NumaOrCoreAffinityTerm) -> list[IntVar]:
        """Return the literals of the other guests that the term means."""
        return [
            other.here
            for other in (self.guests if self.shared else ())
            if other is not guest and other.own.affinity.side in term.matches
        ]

    def asked(
        self, *, apart: bool, required: bool
    ) -> Iterator[tuple[_Guest, int, NumaOrCoreAffinityTerm]]:
        """Yield each guest with its terms of a kind, and their positions."""
        for guest in self.guests:
            for position, term in enumerate(guest.own.affinity.terms):
                kind = (term.level, term.apart, term.required)
                if kind == (self.level, apart, required):
                    yield guest, position, term


def a_pod_is_where_it_owns_cpus(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """A pod that an affinity concerns is at a place if, and only if, it has CPUs there."""
    for assignment, own in x.assignments_with(InNodeAffinityVariables):
        classes = problem.nodes[assignment.node].cores
        taken = [
            part.cpus(c)
            for part, c in zip(existing_core_take_vars(assignment), classes, strict=True)
        ]
        in_cell: defaultdict[int, list[Expression]] = defaultdict(list)
        for c, amount in zip(classes, taken, strict=True):
            in_cell[c.cell].append(amount)
        cpus = [LinearExpr.sum(in_cell[cell]) for cell in range(len(own.cells))]
        for here, amount in (
            *zip(own.cores, taken, strict=False),
            *zip(own.cells, cpus, strict=True),
        ):
            model.add(amount >= here)
            model.add(amount <= assignment.shape.owned_cpus * here)


def anti_affinity_holds_inside_a_node(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """No pod is at a place with another if a required anti-affinity of either keeps them apart."""
    for place in _places(problem, x):
        of_side: defaultdict[int, list[IntVar]] = defaultdict(list)
        off = {}
        for guest in place.guests:
            affinity = guest.own.affinity
            off[affinity.side] = affinity.off_at(place.level)
            of_side[affinity.side].append(guest.here)
            if not off[affinity.side].isdisjoint(place.sides):
                model.add(guest.here == 0)
        for side, literals in of_side.items() if place.shared else ():
            if side in off[side]:
                model.add_at_most_one(literals)
            for other in sorted(off[side]):
                for here in literals if other > side else ():
                    for there in of_side.get(other, ()):
                        model.add_at_most_one(here, there)


def pods_come_together_inside_a_node(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Wherever a pod owns CPUs, so does another that its affinity means, unless it is the first."""
    alone: dict[tuple[int, int], IntVar] = {}
    for place in _places(problem, x):
        for guest, position, term in place.asked(apart=False, required=True):
            if place.runs(term):
                continue
            affinity = guest.own.affinity
            company: list[Expression] = list(place.others(guest, term))
            if position in affinity.beginning:
                key = affinity.side, position
                if key not in alone:
                    alone[key] = _alone(model, problem, x, key, term)
                company.append(alone[key])
            model.add(guest.here <= LinearExpr.sum(company))


def in_node_pod_affinity_weight_lost_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Sum the weights that preferred terms about cores and NUMA nodes lose."""
    lost: dict[tuple[int, int, int], IntVar] = {}
    weights: list[int] = []
    for place in _places(problem, x):
        for guest, position, term in place.asked(apart=False, required=False):
            if not place.runs(term):
                key = guest.assignment.unit, guest.assignment.node, position
                if key not in lost:
                    lost[key] = model.new_bool_var(f"lost[{','.join(map(str, key))}]")
                    weights.append(term.weight)
                company = LinearExpr.sum(place.others(guest, term))
                model.add(guest.here - company <= lost[key])
    company_lost = LinearExpr.weighted_sum(list(lost.values()), weights)
    return LinearExpr.sum([company_lost, *_pairs_too_near(model, problem, x)])


def _pairs_too_near(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Iterator[Expression]:
    """Yield the weights of wishes to be apart, times a literal for two pods sharing a place.

    Two pods count as near each other once, at however many places they meet.
    """
    for places in _levels(problem, x):
        level = places[0].level
        guests = [[place.guests[i] for place in places] for i in range(len(places[0].guests))]
        together = [at for at, place in enumerate(places) if place.shared]
        near: dict[tuple[int, int], IntVar] = {}
        for (i, mine), (j, theirs) in combinations(enumerate(guests), 2):
            if weight := _pairs(mine, theirs, level):
                near[i, j] = model.new_bool_var("")
                for at in together:
                    model.add(mine[at].here + theirs[at].here - 1 <= near[i, j])
                yield weight * near[i, j]
        for crowd in _crowds(guests, level):
            _crowd_is_near(model, places, crowd, [near[i, j] for i, j in combinations(crowd, 2)])
        for mine in guests:
            yield from _near_running(model, places, mine)


def _pairs(mine: Sequence[_Guest], theirs: Sequence[_Guest], level: InNodeAffinityLevel) -> int:
    """Return the weight of the wishes that two guests go against if they are near each other."""
    return mine[0].own.affinity.pairs_with(theirs[0].own.affinity.side, level)


def _crowds(guests: Sequence[Sequence[_Guest]], level: InNodeAffinityLevel) -> Iterator[list[int]]:
    """Yield crowds of guests, by position, any two of which would rather be apart."""
    crowds: list[list[int]] = []
    for i, mine in enumerate(guests):
        for crowd in crowds:
            if all(_pairs(mine, guests[j], level) for j in crowd):
                crowd.append(i)
                break
        else:
            crowds.append([i])
    return (crowd for crowd in crowds if len(crowd) > 2)


def _crowd_is_near(
    model: CpModel, places: Sequence[_Place], crowd: Sequence[int], near: Sequence[IntVar]
) -> None:
    """Limit from below how many pairs of a crowd are near each other; this only helps the bound.

    One of each pod's places is called its home here. Two pods with the same home are near
    each other, and no pair is counted at two homes.
    """
    homes: defaultdict[int, list[IntVar]] = defaultdict(list)
    pairs = []
    for place in places:
        at_home = here = [place.guests[i].here for i in crowd]
        if place.shared:
            at_home = [model.new_bool_var("") for _ in crowd]
            for home, literal in zip(at_home, here, strict=True):
                model.add_implication(home, literal)
            pairs.append(ordered_pair_count_var(model, LinearExpr.sum(at_home), len(crowd), ""))
        for i, home in zip(crowd, at_home, strict=True):
            homes[i].append(home)
    for i, mine in homes.items():
        model.add(LinearExpr.sum(mine) >= places[0].guests[i].assignment.count)
    model.add(2 * LinearExpr.sum(list(near)) >= LinearExpr.sum(pairs))


def _near_running(
    model: CpModel, places: Sequence[_Place], mine: Sequence[_Guest]
) -> Iterator[Expression]:
    """Yield the same for a guest and running pods; those at the same places count as one."""
    where: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
    for at, place in enumerate(places):
        for side in place.sides:
            where[side] += (at,)
    weights: Counter[tuple[int, ...]] = Counter()
    for side, there in where.items():
        weights[there] += mine[0].own.affinity.pairs_with(side, places[0].level)
    for there, weight in weights.items():
        if weight:
            near = model.new_bool_var("")
            for at in there:
                model.add(mine[at].here <= near)
            yield weight * near


def _places(problem: Problem, x: PlacementVariables) -> Iterator[_Place]:
    return chain.from_iterable(_levels(problem, x))


def _levels(problem: Problem, x: PlacementVariables) -> Iterator[list[_Place]]:
    """Yield the places of each level of each node where a pod that cares could be."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for level in INSIDE:
            present = [
                (assignment, own)
                for assignment in assignments
                if (own := assignment.part(InNodeAffinityVariables)) is not None and own.at(level)
            ]
            about = (
                [(c.guests, c.free > 1) for c in node.cores]
                if level is InNodeAffinityLevel.CORE
                else [(cell.guests, cell.real) for cell in node.cells]
            )
            places = []
            for at, (running, shared) in enumerate(about if present else ()):
                guests = tuple(
                    _Guest(assignment, own, own.at(level)[at]) for assignment, own in present
                )
                places.append(_Place(level, affinity_sides_of_guests(running), shared, guests))
            if places:
                yield places


def _alone(
    model: CpModel,
    problem: Problem,
    x: PlacementVariables,
    key: tuple[int, int],
    term: NumaOrCoreAffinityTerm,
) -> IntVar:
    """Return a literal that is true only where at most one pod of the cluster is meant."""
    meant = [s.count for s in x.assignments if x.units[s.unit].shape in term.matches]
    alone = model.new_bool_var(f"alone_inside[{key[0]},{key[1]}]")
    most = sum(shape in term.matches for shape in problem.pods)
    model.add(LinearExpr.sum(meant) <= 1 + most * (1 - alone))
    return alone


def in_node_affinity_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for the core classes and cells that the pods are on."""
    for assignment, choices in known.at:
        own = assignment.part(InNodeAffinityVariables)
        if own is None:
            continue
        cores = {i for c in choices for i, take in enumerate(c.cores) if take.whole or take.threads}
        cells = {problem.nodes[assignment.node].cores[i].cell for i in cores}
        for literals, places in ((own.cores, cores), (own.cells, cells)):
            yield from solver_hints_for_plain_variables(
                literals, [int(i in places) for i in range(len(literals))]
            )


def is_ignored_by_affinities(problem: Problem, shape: int) -> bool:
    """Return whether no affinity looks at where pods of a shape own CPUs."""
    return problem.shapes[shape].in_node_affinity is None


FAMILY = ModelFamily(
    name=RuleFamilyName.IN_NODE_AFFINITY,
    decide=in_node_pod_affinity_vars,
    rules=(
        a_pod_is_where_it_owns_cpus,
        anti_affinity_holds_inside_a_node,
        pods_come_together_inside_a_node,
    ),
    tiers={AFFINITY: in_node_pod_affinity_weight_lost_expr},
    hint=in_node_affinity_solver_hints,
    countable=is_ignored_by_affinities,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
