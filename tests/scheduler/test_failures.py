"""Calls that fail in the middle: all of what they do, or nothing (D14)."""

import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import placer.scheduler
from placer.counting.placements import NodeIdAssignmentFailure
from placer.judge.breaches import Breach
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision
from placer.search.cp import SolverError
from placer_models.cluster import Node
from placer_models.pod import Pod, PodSpec
from placer_models.policy import QosClass
from scheduler.cluster import (
    BOX,
    DEADLINE_S,
    EXACT,
    QUICK,
    batch,
    busy,
    check_fresh_count,
    key,
    pod,
)

WANTED = batch(pod("a", 4, gpus=1, gib=1), pod("b", 2, QosClass.LSE), pod("c", 1, QosClass.LS))


class UnforeseenError(Exception):
    """Something that nobody foresaw."""


def fail(*_: object, **__: object) -> None:
    raise UnforeseenError


def find_a_breach(*_: object, **__: object) -> tuple[Breach, ...]:
    return (Breach("memory", "n0", "too much"),)


def realise_nothing(*_: object, **__: object) -> NodeIdAssignmentFailure:
    return NodeIdAssignmentFailure("n0", "no reason")


STEPS: dict[str, tuple[str, Callable[..., Any], type[Exception]]] = {
    "the solver": ("placer.scheduling.decide.solve", fail, UnforeseenError),
    "the baseline": ("placer.scheduling.scheduler_state.StartingAccounts", fail, UnforeseenError),
    "the problem": ("placer.search.solver.build_problem", fail, UnforeseenError),
    "the greedy path": ("placer.search.scored.place_greedily", fail, UnforeseenError),
    "realising": ("placer.search.judged.realise_choices", fail, UnforeseenError),
    "no ids for the counts": ("placer.search.judged.realise_choices", realise_nothing, SolverError),
    "the judge of the search": ("placer.search.judged.breaches_in_scene", fail, UnforeseenError),
    "a breach in the search": (
        "placer.search.judged.breaches_in_scene",
        find_a_breach,
        SolverError,
    ),
    "measuring": ("placer.search.judged.measure_tiers", fail, UnforeseenError),
    "the exact search": ("placer.search.joint_search.search_exactly", fail, UnforeseenError),
    "the reasons": ("placer.search.solver.why_unplaced", fail, UnforeseenError),
    "the judge of the decision": ("placer.scheduling.decide.breaches", fail, UnforeseenError),
    "a breach in the decision": ("placer.scheduling.decide.breaches", find_a_breach, SolverError),
    "opening a record": (
        "placer.scheduling.scheduler_state.record_with_current_pools",
        fail,
        UnforeseenError,
    ),
    "counting a node": ("placer.scheduling.scheduler_state.account_of", fail, UnforeseenError),
    "filling pools": (
        "placer.scheduling.scheduler_state.running_pods_with_current_pools",
        fail,
        UnforeseenError,
    ),
    "listing followers": ("placer.scheduler.changed_places", fail, UnforeseenError),
}


@pytest.mark.rejects_on_purpose
@pytest.mark.parametrize(("where", "failure", "error"), STEPS.values(), ids=STEPS)
def test_place_fails_at_a_step(
    where: str,
    failure: Callable[..., Any],
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    The exception comes through, nothing has changed, and the same call works afterwards.
    So it is where the judge finds a breach: no answer leaves the library with one (G6).
    """
    scheduler = busy()
    before = scheduler.snapshot()

    with monkeypatch.context() as patch:
        patch.setattr(where, failure)
        with pytest.raises(error):
            scheduler.place(WANTED, DEADLINE_S, options=EXACT)

    assert scheduler.snapshot() == before
    check_fresh_count(scheduler)
    assert scheduler.place(WANTED, DEADLINE_S, options=QUICK).placement.pods


def test_words_of_the_wrong_kind_change_nothing() -> None:
    """
    Whatever is passed in place of words: an exception, and the state as it was.
    """
    scheduler = busy()
    before = scheduler.snapshot()
    nonsense: list[Any] = [None, 3, "abc", [None], [("a",)], {}, object()]

    for shape in nonsense:
        makes: list[Callable[[], Any]] = [
            lambda shape=shape: shape,
            lambda shape=shape: Batch(shape),
            lambda shape=shape: Batch((shape,)),
            lambda shape=shape: batch(Pod("x", "default", PodSpec(shape))),
        ]
        for make in makes:
            with suppress(Exception):
                scheduler.place(make(), DEADLINE_S, dry_run=False, options=QUICK)
            with suppress(Exception):
                scheduler.confirm(make())
        for call in (scheduler.add_node, scheduler.update_node, scheduler.remove_node):
            with suppress(Exception):
                call(shape)
        with suppress(Exception):
            scheduler.release(shape)
        with suppress(Exception):
            scheduler.confirm(Decision(WANTED, shape, 0))

        assert scheduler.snapshot().instance == before.instance
    check_fresh_count(scheduler)


OURS = (Path(placer.scheduler.__file__), Path(placer.scheduler.__file__).with_name("scheduling"))


@contextmanager
def failing_at(step: int) -> Iterator[None]:
    """Raise `UnforeseenError` when the Scheduler's own code comes to its step-th line."""
    left = step
    ours: dict[CodeType, bool] = {}

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        code = frame.f_code
        if code not in ours:
            file = Path(code.co_filename)
            ours[code] = file == OURS[0] or file.parent == OURS[1]
        if not ours[code]:
            return None
        # Python comes to a with statement once more to leave it, and nothing can interrupt
        # it there before the lock is given back; a tracer can.
        line = linecache.getline(code.co_filename, frame.f_lineno).lstrip()
        if event == "line" and not line.startswith("with "):
            left -= 1
            if left == 0:
                raise UnforeseenError
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


CALLS: dict[str, Callable[[Scheduler, Decision], object]] = {
    "place": lambda s, _: s.place(WANTED, DEADLINE_S, options=QUICK),
    "confirm": lambda s, decision: s.confirm(decision),
    "release": lambda s, _: s.release([key("old-lse"), key("old-ls")]),
    "add_node": lambda s, _: s.add_node(Node("n2", BOX)),
    "update_node": lambda s, _: s.update_node(Node("n0", BOX, unhealthy=frozenset({("gpu", 0)}))),
    "remove_node": lambda s, _: s.remove_node("n9"),
    "cordon": lambda s, _: s.cordon("n0"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_that_stops_at_any_line_did_all_or_nothing(
    call: Callable[[Scheduler, Decision], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Stopped at each line of the Scheduler's own code in turn, as Ctrl-C would.
    """
    scheduler = busy()
    scheduler.add_node(Node("n9", BOX, cordoned=True))
    snapshot = scheduler.snapshot()
    decision = scheduler.place(WANTED, DEADLINE_S, dry_run=True, options=QUICK)
    monkeypatch.setattr("placer.scheduling.decide.solve", lambda *_, **__: decision.answer)  # quick
    call(scheduler, decision)
    done = scheduler.snapshot()
    assert done.version == snapshot.version + 1
    stopped = 0
    while True:
        scheduler = Scheduler.restore(snapshot)
        try:
            with failing_at(stopped + 1):
                call(scheduler, decision)
        except UnforeseenError:
            stopped += 1
        else:
            break

        assert scheduler.snapshot() in (snapshot, done)
        check_fresh_count(scheduler)
        scheduler.release([])  # waits for ever if the call held on to its lock

    assert scheduler.snapshot() == done
    assert stopped > 10
