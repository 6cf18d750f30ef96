"""Rules about pods that want to be together or apart (C18)."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.beside import lost_inside_a_node
from placer_models.cpsat.crowding import pairs_too_near
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.variables import Decisions, Seat
from placer_models.problem import Problem
from placer_models.tasks import AffinityTask


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Pods of a term on one node.

    Attributes:
        mine: Seats of the shape whose term it is.
        meant: Seats of the shapes that it means, its own too if it does.

    """

    number: int
    task: AffinityTask
    node: int
    mine: tuple[Seat, ...]
    meant: tuple[Seat, ...]

    @property
    def means_itself(self) -> bool:
        """Whether pods of the term match it; each then counts among the meant."""
        return self.task.shape in self.task.matches

    @property
    def enough(self) -> int:
        """How many meant pods there are where each of mine has another."""
        return 2 if self.means_itself else 1

    @property
    def name(self) -> str:
        """The name of its variables."""
        return f"[{self.number},{self.node}]"


def pods_keep_apart(model: CpModel, problem: Problem, x: Decisions) -> None:
    """No pod is with another one that its required anti-affinity means."""
    for meeting in _meetings(problem, x, apart=True, required=True):
        clear = _clear(model, meeting)
        model.add(_count(meeting.mine) <= _most(meeting.mine) * clear)


def pods_come_together(model: CpModel, problem: Problem, x: Decisions) -> None:
    """A pod is with another one that its required affinity means; or is the first of all."""
    alone: dict[int, Expression] = {}
    for meeting in _meetings(problem, x, apart=False, required=True):
        if meeting.node in meeting.task.here:
            continue
        if meeting.number not in alone:
            alone[meeting.number] = _alone(model, problem, x, meeting)
        here = model.new_bool_var(f"together{meeting.name}")
        model.add(_count(meeting.mine) <= _most(meeting.mine) * here)
        model.add(_count(meeting.meant) >= meeting.enough * here - alone[meeting.number])


def affinity(model: CpModel, problem: Problem, x: Decisions) -> Expression:
    """Count what preferred terms lose: those without company, and pairs that are too near."""
    terms: list[Expression] = []
    for meeting in _meetings(problem, x, apart=False, required=False):
        if meeting.node not in meeting.task.here:
            kept = model.new_bool_var(f"with{meeting.name}")
            model.add(_count(meeting.meant) >= meeting.enough * kept)
            terms.append(_unless(model, meeting, kept))
    terms.append(pairs_too_near(model, problem, x))
    return LinearExpr.sum([*terms, lost_inside_a_node(model, problem, x)])


def _meetings(problem: Problem, x: Decisions, *, apart: bool, required: bool) -> Iterator[_Meeting]:
    """Yield each term of the kind with each node where a pod of it could be."""
    on_node: list[defaultdict[int, list[Seat]]] = []
    for seats in x.on_node:
        by_shape: defaultdict[int, list[Seat]] = defaultdict(list)
        for seat in seats:
            by_shape[x.units[seat.unit].shape].append(seat)
        on_node.append(by_shape)
    for number, task in enumerate(problem.affinity.tasks):
        if task.apart is not apart or task.required is not required:
            continue
        for node, by_shape in enumerate(on_node):
            if task.shape in by_shape:
                meant = [seat for shape in sorted(task.matches) for seat in by_shape.get(shape, ())]
                yield _Meeting(number, task, node, tuple(by_shape[task.shape]), tuple(meant))


def _clear(model: CpModel, meeting: _Meeting) -> IntVar:
    """Return a literal that is true only where none of mine has another meant pod."""
    clear = model.new_bool_var(f"apart{meeting.name}")
    fewest = meeting.enough - 1
    beyond = max(0, _most(meeting.meant) - fewest)
    model.add(_count(meeting.meant) <= fewest + beyond * (1 - clear))
    return clear


def _unless(model: CpModel, meeting: _Meeting, kept: IntVar) -> IntVar:
    """Return how many of mine are there, 0 where the literal is true; or more."""
    most = _most(meeting.mine)
    unmet = model.new_int_var(0, most, f"unmet{meeting.name}")
    model.add(unmet >= _count(meeting.mine) - most * kept)
    return unmet


def _alone(model: CpModel, problem: Problem, x: Decisions, meeting: _Meeting) -> Expression:
    """Return a literal that is true only where at most one pod of the cluster is meant."""
    if not meeting.means_itself or meeting.task.here:
        return 0
    meant = [s for s in x.seats if x.units[s.unit].shape in meeting.task.matches]
    alone = model.new_bool_var(f"alone[{meeting.number}]")
    most = sum(1 for shape in problem.pods if shape in meeting.task.matches)
    model.add(_count(meant) <= 1 + most * (1 - alone))
    return alone


def _count(seats: tuple[Seat, ...] | list[Seat]) -> LinearExpr:
    return LinearExpr.sum([seat.count for seat in seats])


def _most(seats: tuple[Seat, ...]) -> int:
    return sum(seat.most for seat in seats)
