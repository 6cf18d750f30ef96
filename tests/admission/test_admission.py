"""A fair queue in front of a Scheduler (Q8, Q12, G1)."""

from collections import Counter
from dataclasses import replace

import pytest

from admission.admission_worlds import GREEDY, MINUTE, gang, names, node, pod
from placer.admission import AdmissionQueue, Workload
from placer.queue.fair import FairQueue
from placer.scheduler import Scheduler
from placer_models.pod import GangGroup, lone_gang


def single(name: str, cpus: int = 1) -> Workload:
    return Workload(name, (lone_gang(pod(name, cpus)),), length_us=MINUTE)


def admission(cpus: int, most_units: int = 64, **options: int) -> AdmissionQueue:
    queue = FairQueue(**options)
    queue.add_group("team-a", weight_milli=3000)
    queue.add_group("team-b")
    queue.add_job("a", group="team-a")
    queue.add_job("b", group="team-b")
    return AdmissionQueue(queue, Scheduler([node(cpus)]), most_units=most_units)


def test_flows_get_capacity_by_their_weights() -> None:
    """
    Weight 3 against 1, four CPUs free at a time: three of four are team A's.
    """
    desk = admission(cpus=4, most_units=4)
    desk.submit("a", *(single(f"a{i}") for i in range(60)), now_us=0)
    desk.submit("b", *(single(f"b{i}") for i in range(60)), now_us=0)
    served: Counter[str] = Counter()
    for minute in range(16):
        for key in desk.running:
            desk.finish(key, minute * MINUTE)
        served.update(key[0] for key in names(desk.step(minute * MINUTE, 5, GREEDY)))

    assert served == {"a": 48, "b": 16}


def test_every_decision_says_why_it_was_next() -> None:
    """
    One step for each level: the group, then its job.
    """
    desk = admission(cpus=1)
    desk.submit("a", single("a0"), now_us=0)
    desk.submit("b", single("b0"), now_us=0)
    (first,) = desk.step(0, 5, GREEDY).admitted

    assert [step.chosen for step in first.steps] == ["team-a", "a"]
    assert first.steps[0].runner_up == "team-b"


def test_work_that_does_not_fit_lets_others_pass_but_not_for_ever() -> None:
    """
    A pod of 4 CPUs at the front, one CPU free at a time: after two passes it is held,
    and nothing else starts until all four CPUs are free for it.
    """
    desk = admission(cpus=4, most_units=2, bypass_limit=2)
    old = [replace(single(f"old{i}"), length_us=10 * MINUTE) for i in range(3)]
    desk.submit("b", *old, now_us=0)
    desk.step(0, 5, GREEDY)
    desk.step(0, 5, GREEDY)
    assert len(desk.running) == 3
    desk.submit("a", single("large", cpus=4), now_us=0)
    desk.submit("b", *(single(f"small{i}") for i in range(9)), now_us=0)
    started = []
    for minute in range(5):
        passed = names(desk.step(minute * MINUTE, 5, GREEDY))
        started += passed
        for key in passed:
            desk.finish(key, (minute + 1) * MINUTE)
    assert started == ["small0", "small1"]
    for key in desk.running:
        desk.finish(key, 10 * MINUTE)

    assert names(desk.step(10 * MINUTE, 5, GREEDY)) == ["large"]


def test_bypasses_are_reported() -> None:
    """
    Who was passed over, how often, and whether it is held now.
    """
    desk = admission(cpus=1, bypass_limit=1)
    desk.submit("a", single("large", cpus=2), now_us=0)
    desk.submit("b", single("small"), now_us=0)
    (bypass,) = desk.step(0, 5, GREEDY).bypasses

    assert (bypass.job, bypass.unit.key, bypass.passes, bypass.held) == ("a", "large", 1, True)


def test_a_gang_group_enters_and_runs_whole() -> None:
    """
    Two gangs of two on three CPUs: neither runs, though one would fit.
    """
    desk = admission(cpus=3)
    gangs = (gang("prefill", 2, 2), gang("decode", 2, 2))
    group = GangGroup("serve", "default", tuple(g.key for g in gangs))
    desk.submit("a", Workload("serve", gangs, group), now_us=0)

    assert names(desk.step(0, 5, GREEDY)) == []
    desk.scheduler.add_node(node(1, "more"))
    assert names(desk.step(1, 5, GREEDY)) == ["serve"]


def test_members_above_the_minimum_that_find_no_place_are_told() -> None:
    """
    A gang of three with minimum two, on two CPUs.
    """
    desk = admission(cpus=2)
    desk.submit("a", Workload("train", (gang("train", 3, 2),)), now_us=0)
    (one,) = desk.step(0, 5, GREEDY).admitted

    assert len(one.missing) == 1
    desk.finish("train", MINUTE)
    assert desk.scheduler.snapshot().instance.running == ()


def test_when_placing_raises_the_queue_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The same work is next again, with the same charges.
    """
    desk = admission(cpus=2)
    desk.submit("a", single("a0"), now_us=0)
    desk.submit("b", single("b0"), now_us=0)
    before = [desk.queue.report(name, 0) for name in ("team-a", "team-b", "a", "b")]
    with monkeypatch.context() as patch:
        patch.setattr(Scheduler, "place", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            desk.step(0, 5, GREEDY)

    assert [desk.queue.report(name, 0) for name in ("team-a", "team-b", "a", "b")] == before
    assert sorted(names(desk.step(0, 5, GREEDY))) == ["a0", "b0"]


@pytest.mark.parametrize(
    ("workloads", "message"),
    [
        ((single("x"), single("x")), "'x' waits or runs already"),
        ((Workload("empty", ()),), "'empty' has no pods"),
    ],
)
def test_bad_work_is_refused_and_nothing_waits(
    workloads: tuple[Workload, ...], message: str
) -> None:
    """
    All of a call waits, or nothing of it.
    """
    desk = admission(cpus=1)
    with pytest.raises(ValueError, match=message):
        desk.submit("a", *workloads, now_us=0)

    assert desk.waiting == ()
