"""The search for changes of a plan: what it asks, for how long, and what it says it looked for."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from placer.explain.least_less import ReducibleResourceAsk
from placer.plan import plan, pod_mends
from placer.plan.answer import NoPlanExists, NoPlanFoundInTime, PlanAnswer, PodsShortOfOffers
from placer.plan.mending import QuestionChangeSearch
from placer.plan.plan import buy
from placer.plan.pod_mends import LESS_ASKED
from placer.plan.question import FailureTolerance, NodeOffer, PlanQuestion, PlanScenario
from placer_models.cluster import Instance, Node
from placer_models.pod import Container, PodSpec, Resources
from placer_models.policy import QosClass
from plan_worlds import GIB, lone, machine, spec

SECONDS = 30.0
SCENARIO = PlanScenario("now")


def _question(*specs: PodSpec) -> PlanQuestion:
    """Return pods by themselves, and one kind of node of which 2 can be had."""
    gangs = tuple(lone(f"pod-{i}", one) for i, one in enumerate(specs))
    offer = NodeOffer(Node("n", machine("m", 8, 8, 0)), Decimal(1), most=2)
    return PlanQuestion(Instance((), gangs), (offer,), (SCENARIO,))


def _short(question: PlanQuestion) -> NoPlanExists:
    titles = [gang.pods[0].title for gang in question.instance.gangs]
    return NoPlanExists(short=tuple(PodsShortOfOffers(title, 1) for title in titles))


def _none(_: PlanQuestion) -> PlanAnswer:
    return NoPlanExists()


class _Clock:
    """Wall time that passes only when told."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def now(self) -> float:
        return self.now_s

    def count(self, work: float) -> None:
        pass

    def wall_s(self, until: float) -> float | None:
        return max(0.01, until - self.now_s)


@pytest.mark.parametrize("takes", [1.0, 0.0], ids=["all its time", "no time"])
def test_the_search_for_changes_ends_in_time_and_asks_nothing_twice(
    takes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    None of the questions finds anything, whatever part of its time each of them takes: one may go
    on for a second beyond the end, and no more.
    """
    clock = _Clock()
    asked: list[PlanQuestion] = []

    def answer(question: PlanQuestion, _: Any, end: float, __: Any) -> PlanAnswer:
        clock.now_s += takes * (end - clock.now_s) if asked else 0.3 * SECONDS
        asked.append(question)
        return _short(question) if len(asked) == 1 else NoPlanFoundInTime(Decimal(1))

    monkeypatch.setattr(plan, "PlanWallClock", lambda: clock)
    monkeypatch.setattr(plan, "_answer", answer)
    spare = tuple(lone(f"spare-headroom-{i}", spec(1000, 1)) for i in range(8))
    question = replace(
        _question(*(spec(milli, 1) for milli in (4000, 5000, 6000))),
        headroom=spare,
        survive=FailureTolerance(),
    )

    assert isinstance(buy(question, SECONDS), NoPlanExists)

    assert len(asked) > 5
    assert clock.now_s <= SECONDS + 1
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("milli", [(100,), (100, 4000)], ids=["nothing less", "less of one"])
def test_less_is_looked_for_only_where_less_could_be_asked_for(milli: Sequence[int]) -> None:
    """
    A pod that asks for the least there is of all that it asks for cannot ask for less.
    """
    question = _question(*(spec(one, 0) for one in milli))

    found = QuestionChangeSearch(question, _none, lambda: False).of_no_plan(_short(question))

    assert (LESS_ASKED in found.looked_for) == (len(milli) > 1)


def test_what_there_is_no_time_for_is_not_told_as_looked_for() -> None:
    """
    Where the time is over only the first kind of change is looked for, with one question.
    """
    headroom = tuple(lone(f"spare-headroom-{i}", spec(1000, 1)) for i in range(2))
    question = replace(_question(spec(4000, 1)), headroom=headroom, survive=FailureTolerance())

    found = QuestionChangeSearch(question, _none, lambda: True).of_no_plan(_short(question))

    assert len(found.looked_for) == 1


@pytest.mark.parametrize(
    ("resource", "qos"),
    [
        (ReducibleResourceAsk("example.com/port", 4, 1), QosClass.LS),
        (ReducibleResourceAsk("cpu", 4000, 500), QosClass.LSR),
    ],
    ids=["not asked for", "illegal"],
)
def test_a_change_that_cannot_be_made_does_not_end_the_search(
    resource: ReducibleResourceAsk, qos: QosClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    What cannot be asked for is put to nobody; how much less memory would do is found after
    it, which alone is more than a node has.
    """
    asked: list[PlanQuestion] = []

    def bought(question: PlanQuestion) -> PlanAnswer:
        asked.append(question)
        return buy(question, SECONDS, threads=1, work_limit=5)

    memory = ReducibleResourceAsk("memory", 12 * GIB, GIB)
    monkeypatch.setattr(pod_mends, "reducible_resource_asks", lambda _: [resource, memory])
    pod = PodSpec((Container("main", Resources(4000, 12 * GIB)),), qos)
    question = replace(_question(pod), offers=(replace(_question(pod).offers[0], most=None),))

    found = QuestionChangeSearch(question, bought, lambda: False).of_no_plan(_short(question))

    (mend,) = found.mends
    assert mend.changes == ("ask-less=default/pod-0:memory=8Gi",)
    assert mend.price == 1
    assert mend.smallest
    owned = [one.instance.gangs[0].pods[0].spec.requests.cpu_milli for one in asked]
    assert all(milli % 1000 == 0 for milli in owned if qos.owns_cpus)
