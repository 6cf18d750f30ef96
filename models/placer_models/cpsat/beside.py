"""Rules about pods that want to be together or apart inside a node (C18).

A place is a core or a NUMA node. Where cores matter each core that two new pods could
share is a class of its own; on the others every new pod is alone with those that run there.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.affinity import AffinityLevel
from placer_models.cpsat.beside_seats import BesideSeat
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.variables import Decisions, Seat
from placer_models.problem import Problem
from placer_models.tasks import BesideTerm

LEVELS = (AffinityLevel.NUMA, AffinityLevel.CORE)
"""The levels inside a node."""


@dataclass(frozen=True, slots=True)
class _Guest:
    """A seat that could be at a place, with the literal that it is."""

    seat: Seat
    own: BesideSeat
    here: IntVar


@dataclass(frozen=True, slots=True)
class _Place:
    """A core class or a cell of a node, and who is or could be there.

    Attributes:
        sides: Of the running pods there.
        shared: Whether two new pods there are together.

    """

    level: AffinityLevel
    sides: frozenset[int]
    shared: bool
    guests: tuple[_Guest, ...]

    def runs(self, term: BesideTerm) -> bool:
        """Return whether a running pod here is meant."""
        return not self.sides.isdisjoint(term.matches)

    def others(self, guest: _Guest, term: BesideTerm) -> list[IntVar]:
        """Return the literals of the other guests that are meant."""
        return [
            other.here
            for other in (self.guests if self.shared else ())
            if other is not guest and other.own.beside.side in term.matches
        ]

    def asked(self, *, apart: bool, required: bool) -> Iterator[tuple[_Guest, int, BesideTerm]]:
        """Yield each guest with its terms of a kind, and their positions."""
        for guest in self.guests:
            for position, term in enumerate(guest.own.beside.terms):
                kind = (term.level, term.apart, term.required)
                if kind == (self.level, apart, required):
                    yield guest, position, term


def a_pod_is_where_it_owns_cpus(model: CpModel, problem: Problem, x: Decisions) -> None:
    """A pod that is something to others is at a place if, and only if, it has CPUs there."""
    for seat, own in _seats(x):
        classes = problem.nodes[seat.node].cores
        taken = [
            part.whole * c.threads + part.threads
            for part, c in zip(seat.cores, classes, strict=True)
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
            model.add(amount <= seat.shape.owned_cpus * here)


def pods_keep_apart_inside_a_node(model: CpModel, problem: Problem, x: Decisions) -> None:
    """No pod is at a place with another one that a required anti-affinity keeps it off."""
    for place in _places(problem, x):
        of_side: defaultdict[int, list[IntVar]] = defaultdict(list)
        off = {}
        for guest in place.guests:
            beside = guest.own.beside
            off[beside.side] = beside.off_at(place.level)
            of_side[beside.side].append(guest.here)
            if not off[beside.side].isdisjoint(place.sides):
                model.add(guest.here == 0)
        for side, literals in of_side.items() if place.shared else ():
            if side in off[side]:
                model.add_at_most_one(literals)
            for other in sorted(off[side]):
                for here in literals if other > side else ():
                    for there in of_side.get(other, ()):
                        model.add_at_most_one(here, there)


def pods_come_together_inside_a_node(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Where a pod owns CPUs another has some that its affinity means; or it is the first."""
    alone: dict[tuple[int, int], IntVar] = {}
    for place in _places(problem, x):
        for guest, position, term in place.asked(apart=False, required=True):
            if place.runs(term):
                continue
            beside = guest.own.beside
            company: list[Expression] = list(place.others(guest, term))
            if position in beside.beginning:
                key = beside.side, position
                if key not in alone:
                    alone[key] = _alone(model, problem, x, key, term)
                company.append(alone[key])
            model.add(guest.here <= LinearExpr.sum(company))


def lost_inside_a_node(model: CpModel, problem: Problem, x: Decisions) -> Expression:
    """Count preferred terms about cores and NUMA nodes that are not kept."""
    lost: dict[tuple[int, int, int], IntVar] = {}

    def lost_by(guest: _Guest, position: int) -> IntVar:
        key = guest.seat.unit, guest.seat.node, position
        if key not in lost:
            lost[key] = model.new_bool_var(f"lost[{','.join(map(str, key))}]")
        return lost[key]

    for place in _places(problem, x):
        for guest, position, term in place.asked(apart=False, required=False):
            if not place.runs(term):
                company = LinearExpr.sum(place.others(guest, term))
                model.add(guest.here - company <= lost_by(guest, position))
        for guest, position, term in place.asked(apart=True, required=False):
            if place.runs(term):
                model.add(guest.here <= lost_by(guest, position))
            for other in place.others(guest, term):
                model.add(guest.here + other - 1 <= lost_by(guest, position))
    return LinearExpr.sum(list(lost.values()))


def _seats(x: Decisions) -> Iterator[tuple[Seat, BesideSeat]]:
    return ((seat, seat.beside) for seat in x.seats if seat.beside is not None)


def _places(problem: Problem, x: Decisions) -> Iterator[_Place]:
    for node, seats in zip(problem.nodes, x.on_node, strict=True):
        owners = [(seat, seat.beside) for seat in seats if seat.beside is not None]
        for level in LEVELS:
            present = [(seat, own) for seat, own in owners if own.at(level)]
            on_cores = level is AffinityLevel.CORE
            about = (
                [(c.sides, c.free > 1) for c in node.cores]
                if on_cores
                else [(cell.sides, cell.numa_node is not None) for cell in node.cells]
            )
            for at, (sides, shared) in enumerate(about if present else ()):
                guests = tuple(_Guest(seat, own, own.at(level)[at]) for seat, own in present)
                yield _Place(level, frozenset(sides), shared, guests)


def _alone(
    model: CpModel, problem: Problem, x: Decisions, key: tuple[int, int], term: BesideTerm
) -> IntVar:
    """Return a literal that is true only where at most one pod of the cluster is meant."""
    meant = [s.count for s in x.seats if x.units[s.unit].shape in term.matches]
    alone = model.new_bool_var(f"alone_inside[{key[0]},{key[1]}]")
    most = sum(shape in term.matches for shape in problem.pods)
    model.add(LinearExpr.sum(meant) <= 1 + most * (1 - alone))
    return alone
