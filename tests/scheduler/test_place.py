"""Batches: placed, taken, refused."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from placer.judge.breaches import breaches
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.scheduling.errors import ContradictionError, PodAlreadyRunningError, SchedulerError
from placer.search.options import SolveOptions
from placer_models.cluster import Node
from placer_models.placement import Infeasible, PartlyPlaced, Placed
from placer_models.pod import DeviceRequest, GangGroup, Resources, lone_gang
from placer_models.policy import QosClass, SameTypeDevicesScope
from placer_models.topology import Hugepages
from scheduler.cluster import (
    BOX,
    DEADLINE_S,
    EXACT,
    QUICK,
    batch,
    check_fresh_count,
    gang,
    key,
    machine,
    pod,
)


def two_nodes() -> Scheduler:
    return Scheduler([Node("n1", BOX), Node("n0", BOX)])


@pytest.mark.parametrize("options", [QUICK, EXACT], ids=["greedy", "auto"])
def test_a_placed_batch_runs(options: SolveOptions) -> None:
    """
    What place answers is what runs afterwards, and the judge has nothing against it.
    """
    scheduler = two_nodes()
    wanted = Batch((gang("g", [pod("a", 4, gpus=2, gib=4), pod("b", 4)]), lone_gang(pod("c", 2))))
    before = scheduler.snapshot().instance

    decision = scheduler.place(wanted, DEADLINE_S, options=options)

    assert isinstance(decision.answer, Placed)
    assert decision.version == 0
    assert decision.change is not None
    assert decision.change.version == scheduler.version == 1
    for place in decision.placement.pods:
        assert scheduler.placement_of(place.key) == place
    assert len(decision.placement.pods) == 3
    judged = replace(before, gangs=wanted.gangs)
    assert breaches(judged, decision.placement) == ()
    check_fresh_count(scheduler)


def test_a_dry_run_changes_nothing() -> None:
    """
    A dry run answers the same, and afterwards all is as it was, the version too.
    """
    scheduler = two_nodes()
    before = scheduler.snapshot()
    wanted = batch(pod("a", 4), pod("b", 2, QosClass.LS))

    dry = scheduler.place(wanted, DEADLINE_S, dry_run=True, options=QUICK)

    assert dry.change is None
    assert scheduler.snapshot() == before
    taken = scheduler.place(wanted, DEADLINE_S, options=QUICK)
    assert (taken.answer, taken.version) == (dry.answer, dry.version)


def test_what_a_call_returns_is_frozen() -> None:
    """
    Callers can break nothing by what they are given: each record in it is frozen at run time.
    """
    scheduler = two_nodes()
    wanted = batch(pod("a", 4, gpus=1, gib=4), pod("b", 2, QosClass.LS), pod("huge", 999))

    decision = scheduler.place(wanted, DEADLINE_S, options=QUICK)
    given = (
        decision,
        scheduler.snapshot(),
        scheduler.placement_of(key("a")),
        scheduler.running_on("n0"),
        scheduler.account_of("n0"),
        scheduler.misfits(),
    )

    types = {type(each) for value in given for each in _dataclasses_in(value)}
    assert {"Decision", "Node", "PodSpec", "Account", "NodeCpuPool"} <= {
        each.__name__ for each in types
    }
    assert [each.__name__ for each in types if not each.__dataclass_params__.frozen] == []


def _dataclasses_in(value: object) -> Iterator[Any]:
    if is_dataclass(value):
        yield value
        for each in fields(value):
            yield from _dataclasses_in(getattr(value, each.name))
    elif isinstance(value, dict):
        yield from _dataclasses_in(tuple(value.items()))
    elif isinstance(value, (tuple, frozenset, list)):
        for part in value:
            yield from _dataclasses_in(part)


def test_what_has_no_place_is_listed_and_the_rest_runs() -> None:
    """
    Of a pod that fits and one that never does, the first runs and the second has reasons.
    """
    scheduler = two_nodes()

    decision = scheduler.place(batch(pod("a", 4), pod("huge", 999)), DEADLINE_S, options=QUICK)

    assert isinstance(decision.answer, PartlyPlaced)
    assert [left.name for left in decision.answer.unplaced] == ["huge"]
    assert [runner.pod.name for runner in scheduler.snapshot().instance.running] == ["a"]


def test_an_infeasible_batch_leaves_the_version() -> None:
    """
    Where nothing is placed nothing has changed.
    """
    scheduler = two_nodes()
    before = scheduler.snapshot()

    decision = scheduler.place(batch(pod("huge", 999)), DEADLINE_S, options=EXACT)

    assert isinstance(decision.answer, Infeasible)
    assert decision.placement.pods == ()
    assert decision.change is not None
    assert decision.change.version == 0
    assert scheduler.snapshot() == before


def test_an_empty_batch_is_placed() -> None:
    """
    To place nothing is done at once, also where there is no node.
    """
    assert isinstance(Scheduler().place(Batch(()), DEADLINE_S, options=QUICK).answer, Placed)


def test_later_batches_see_earlier_ones() -> None:
    """
    Two nodes of 16 CPUs hold four pods of 8 and not a fifth.
    """
    scheduler = two_nodes()
    for i in range(4):
        decision = scheduler.place(batch(pod(f"p{i}", 8)), DEADLINE_S, options=QUICK)
        assert isinstance(decision.answer, Placed)

    fifth = scheduler.place(batch(pod("p4", 8)), DEADLINE_S, options=EXACT)

    assert isinstance(fifth.answer, Infeasible)
    check_fresh_count(scheduler)


def test_pools_follow_pods_that_come_and_go() -> None:
    """
    LS and BE pods lose the CPUs that an LSE pod takes, and have them back when it goes (C7).
    """
    scheduler = Scheduler([Node("n0", BOX)])
    scheduler.place(
        batch(pod("web", 1, QosClass.LS), pod("job", 1, QosClass.BE)), DEADLINE_S, options=QUICK
    )
    everything = frozenset(range(16))

    taken = scheduler.place(batch(pod("lse", 4, QosClass.LSE)), DEADLINE_S, options=QUICK)

    own = scheduler.placement_of(key("lse")).cpuset
    assert taken.change is not None
    assert {place.name for place in taken.change.followers} == {"web", "job"}
    for place in taken.change.followers:
        assert place.cpuset == everything - own
        assert [container.cpuset for container in place.containers] == [everything - own]
        assert scheduler.placement_of(place.key) == place

    back = scheduler.release([key("lse")])

    assert {(place.name, place.cpuset) for place in back.followers} == {
        ("web", everything),
        ("job", everything),
    }


def test_a_pod_that_follows_its_pool_still_may_not_move() -> None:
    """
    Its CPUs change with every owner that comes and goes; that it is not to be moved does not.
    """
    first = Scheduler([Node("n0", BOX)])
    first.place(batch(pod("web", 1, QosClass.LS)), DEADLINE_S, options=QUICK)
    (web,) = first.snapshot().instance.running
    scheduler = Scheduler([Node("n0", BOX)], [replace(web, movable=False)])

    scheduler.place(batch(pod("lse", 4, QosClass.LSE)), DEADLINE_S, options=QUICK)
    scheduler.update_node(Node("n0", machine(numa_nodes=1, gpus=0)))

    running = {each.pod.name: each for each in scheduler.snapshot().instance.running}
    assert running["web"].placement.cpuset != web.placement.cpuset
    assert not running["web"].movable


def test_best_effort_pods_do_not_follow_lsr_pods() -> None:
    """
    BE pods may run on the CPUs of LSR pods, so only LS pods move (C6).
    """
    scheduler = Scheduler([Node("n0", BOX)])
    scheduler.place(
        batch(pod("web", 1, QosClass.LS), pod("job", 1, QosClass.BE)), DEADLINE_S, options=QUICK
    )

    taken = scheduler.place(batch(pod("lsr", 4)), DEADLINE_S, options=QUICK)

    assert taken.change is not None
    assert [place.name for place in taken.change.followers] == ["web"]


def asking(**amounts: Any) -> Batch:
    one = pod("a", 1)
    container = replace(one.spec.containers[0], requests=Resources(**amounts))
    return batch(replace(one, spec=replace(one.spec, containers=(container,))))


def with_containers(*names: str) -> Batch:
    one = pod("a", 1)
    container = one.spec.containers[0]
    containers = tuple(replace(container, name=name) for name in names)
    return batch(replace(one, spec=replace(one.spec, containers=containers)))


A, B = pod("a", 1), pod("b", 1)
BAD_BATCHES = {
    "two gangs of a key": (Batch((gang("g", [A]), gang("g", [B]))), "two gangs are called 'g'"),
    "a gang with a pod twice": (Batch((gang("g", [A, A]),)), "pod 'a' waits twice"),
    "a pod in two gangs": (Batch((gang("g", [A]), lone_gang(A))), "pod 'a' waits twice"),
    "an empty gang": (Batch((gang("g", []),)), "it has 0 pods"),
    "no minimum": (Batch((gang("g", [A], 0),)), "a minimum of 0"),
    "too large a minimum": (Batch((gang("g", [A], 2),)), "a minimum of 2"),
    "no weight": (Batch((replace(gang("g", [A]), weight=0),)), "has the weight 0"),
    "lone by another name": (
        Batch((replace(gang("g", [A]), lone=True),)),
        "the one pod of its own name",
    ),
    "two lone pods": (Batch((replace(lone_gang(A), pods=(A, B)),)), "the one pod of its own name"),
    "no container": (with_containers(), "has the containers none"),
    "two containers of a name": (with_containers("x", "x"), "has the containers x, x"),
    "negative CPU": (asking(cpu_milli=-1), "asks for -1 cpu_milli"),
    "negative memory": (asking(memory_bytes=-1), "asks for -1 memory_bytes"),
    "negative hugepages": (
        asking(hugepages=(Hugepages(2**21, -1),)),
        "asks for -1 hugepages of 2097152 bytes",
    ),
    "negative devices": (
        asking(devices=(DeviceRequest("gpu", -2),)),
        "asks for -2 devices of type 'gpu'",
    ),
    "two scopes of a type": (
        batch(
            pod(
                "a",
                gpus=2,
                scopes=(("gpu", SameTypeDevicesScope.NODE), ("gpu", SameTypeDevicesScope.PCIE)),
            )
        ),
        "scopes for devices of the types gpu, gpu",
    ),
    "a group of nobody": (
        Batch((gang("g", [A]),), (GangGroup("x", "default", (("default", "h"),)),)),
        "names 'h'; the batch has no such gang",
    ),
    "a group of a lone pod": (
        Batch((lone_gang(A),), (GangGroup("x", "default", (("default", "a"),)),)),
        "pods without a gang are in no group",
    ),
    "a gang twice in a group": (
        Batch((gang("g", [A]),), (GangGroup("x", "default", (("default", "g"),) * 2),)),
        "gang 'g' is in the groups 'x' and 'x'",
    ),
    "two groups of a name": (
        Batch((gang("g", [A]),), (GangGroup("x", "default", (("default", "g"),)),) * 2),
        "two gang groups are called 'x'",
    ),
}


@pytest.mark.parametrize(("bad", "message"), BAD_BATCHES.values(), ids=BAD_BATCHES)
@pytest.mark.parametrize("dry_run", [False, True], ids=["taken", "dry"])
def test_a_batch_that_contradicts_itself_is_refused(
    bad: Batch, message: str, dry_run: bool
) -> None:
    """
    The message names the part and what it may be; nothing changes.
    """
    scheduler = two_nodes()
    before = scheduler.snapshot()

    with pytest.raises(ContradictionError, match=message):
        scheduler.place(bad, DEADLINE_S, dry_run=dry_run, options=QUICK)

    assert scheduler.snapshot() == before


def test_a_pod_that_runs_is_not_placed_again() -> None:
    """
    A batch with a running pod is refused whole; the error carries the pod's key.
    """
    scheduler = two_nodes()
    scheduler.place(batch(A), DEADLINE_S, options=QUICK)
    before = scheduler.snapshot()

    with pytest.raises(PodAlreadyRunningError, match="pods a run already") as refused:
        scheduler.place(batch(B, A), DEADLINE_S, options=QUICK)

    assert refused.value.pods == (key("a"),)
    assert isinstance(refused.value, SchedulerError)
    assert scheduler.snapshot() == before


@pytest.mark.parametrize("deadline_s", [0.0, -1.0, float("nan")])
def test_a_call_needs_time(deadline_s: float) -> None:
    """
    No time, or none that is a number, is refused at once.
    """
    with pytest.raises(ValueError, match="give the call more than 0 seconds"):
        two_nodes().place(batch(A), deadline_s)


def test_equal_states_decide_equally() -> None:
    """
    The order in which nodes and pods came does not matter.
    """
    first = Scheduler([Node("n0", BOX), Node("n1", BOX)])
    second = Scheduler([Node("n1", BOX)])
    second.add_node(Node("n0", BOX))

    assert first.snapshot().instance == second.snapshot().instance
    assert (
        first.place(batch(A, B), DEADLINE_S, options=QUICK).answer
        == second.place(batch(A, B), DEADLINE_S, options=QUICK).answer
    )
