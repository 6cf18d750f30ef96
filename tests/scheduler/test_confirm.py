"""Decisions that wait to be taken, and what may happen to them meanwhile (B16)."""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import pytest

from answers import expect
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, ClusterChange, Decision
from placer.scheduling.refusal import DecisionResourceShortage, Refusal
from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.device_share import DeviceShare
from placer_models.placement import GaveUp, Placed, Placement, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources, Variant
from placer_models.policy import AlignmentPolicy, QosClass
from scheduler.cluster import (
    BOX,
    DEADLINE_S,
    EXACT,
    GIB,
    QUICK,
    batch,
    check_fresh_count,
    gang,
    key,
    pod,
)


def dry(scheduler: Scheduler, *names: str) -> Decision:
    """Decide on pods of 4 CPUs each."""
    pods = [pod(name, 4, gpus=1, gib=1) for name in names]
    return scheduler.place(batch(*pods), DEADLINE_S, dry_run=True, options=QUICK)


def deciding(scheduler: Scheduler, *pods: Pod) -> Decision:
    return scheduler.place(batch(*pods), DEADLINE_S, dry_run=True, options=QUICK)


def on(scheduler: Scheduler, node: str, name: str) -> Decision:
    """Decide on a pod that asks for one node."""
    return deciding(scheduler, pod(name, 4, node_selector=(("name", node),)))


def labelled() -> Scheduler:
    return Scheduler([Node(name, BOX, (("name", name),)) for name in ("n0", "n1")])


def sharing(name: str, percent: int) -> Pod:
    request = DeviceRequest(GPU, 1, DeviceShare(percent=percent, memory_percent=percent))
    return Pod(name, "default", PodSpec((Container("main", Resources(devices=(request,))),)))


def taken(outcome: ClusterChange | Refusal) -> tuple[PodPlacement, ...]:
    """Return the places that are not those of the decision; it has to be taken."""
    assert isinstance(outcome, ClusterChange), outcome.message
    return outcome.laid_anew


def test_a_fresh_decision_is_taken() -> None:
    """
    Confirming does what place would have done.
    """
    scheduler, other = labelled(), labelled()
    decision = dry(scheduler, "a", "b")

    change = scheduler.confirm(decision)

    assert change == ClusterChange(version=1)
    taken_at_once = other.place(decision.batch, DEADLINE_S, options=QUICK)
    assert taken_at_once.change == change
    assert scheduler.snapshot() == other.snapshot()
    check_fresh_count(scheduler)


CHANGES: dict[str, Callable[[Scheduler], object]] = {
    "a pod came": lambda s: s.confirm(on(s, "n0", "other")),
    "a pod went": lambda s: s.release([key("old")]),
    "a device broke": lambda s: s.update_node(
        Node("n0", BOX, (("name", "n0"),), unhealthy=frozenset({("gpu", 3)}))
    ),
    "came and went": lambda s: (s.confirm(on(s, "n0", "other")), s.release([key("other")])),
    "cordoned, and not any more": lambda s: (s.cordon("n0"), s.uncordon("n0")),
    "elsewhere": lambda s: (s.confirm(on(s, "n1", "other")), s.cordon("n1")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_decision_on_a_node_that_changed_is_taken_if_it_fits(
    change: Callable[[Scheduler], object],
) -> None:
    """
    Where the very CPUs of the decision are free still, the pod has those.
    """
    scheduler = labelled()
    scheduler.confirm(on(scheduler, "n0", "old"))
    decision = on(scheduler, "n0", "late")
    change(scheduler)
    (place,) = decision.placement.pods
    free = place.cpuset <= scheduler.account_of("n0").cores.free_cpus

    anew = taken(scheduler.confirm(decision))

    assert (anew == ()) == free
    assert scheduler.placement_of(key("late")) == (place if free else anew[0])
    check_fresh_count(scheduler)


def test_decisions_on_one_version_are_taken_until_the_node_is_full() -> None:
    """
    Four pods of 4 of 16 CPUs, decided on one empty node: all fit, whatever the order; a fifth not.
    """
    for order in [*permutations(range(4))][::7]:
        scheduler = Scheduler([Node("n0", BOX)])
        decisions = [dry(scheduler, f"p{i}") for i in range(5)]

        for count, i in enumerate(order):
            anew = taken(scheduler.confirm(decisions[i]))
            assert len(anew) == bool(count)

        owned = [runner.placement.cpuset for runner in scheduler.running_on("n0")]
        assert len(frozenset().union(*owned)) == 16
        refusal = scheduler.confirm(decisions[4])
        assert refusal == Refusal(
            (
                DecisionResourceShortage("n0", "cpu", 4000, 0),
                DecisionResourceShortage("n0", "gpu", 1, 0),
            )
        )
        check_fresh_count(scheduler)


def test_what_a_variant_asks_for_on_the_node_decides_whether_it_is_gone() -> None:
    """
    Of two pods that take a GPU there, and would ask for what the node has not elsewhere, the later
    one is laid anew on another GPU.
    """
    scheduler = Scheduler([Node("n0", BOX, (("kind", "a"),))])
    (elsewhere, here) = (
        (Container("main", Resources(cpu_milli=1_000, devices=(DeviceRequest(kind, 1),))),)
        for kind in ("tpu", GPU)
    )
    spec = PodSpec(elsewhere, variants=(Variant((("kind", "a"),), here),))
    first, second = (deciding(scheduler, Pod(name, "default", spec)) for name in ("a", "b"))
    assert first.placement.pods[0].devices == second.placement.pods[0].devices

    assert taken(scheduler.confirm(first)) == ()
    assert len(taken(scheduler.confirm(second))) == 1
    check_fresh_count(scheduler)


def test_each_resource_that_is_gone_is_named() -> None:
    """
    B16: what, of which node, how much was asked for and how much is left; nothing is taken.
    """
    node = Node("n0", BOX, extended=(("licence", 3),))
    scheduler = Scheduler([node])
    asked = Resources(9_000, 9 * GIB, devices=(DeviceRequest(GPU, 3),), extended=(("licence", 2),))
    decisions = [
        deciding(
            scheduler,
            Pod(name, "default", PodSpec((Container("main", asked),), qos=QosClass.LSR)),
        )
        for name in ("a", "b")
    ]
    scheduler.confirm(decisions[0])
    before = scheduler.snapshot()

    refusal = scheduler.confirm(decisions[1])

    assert refusal == Refusal(
        (
            DecisionResourceShortage("n0", "cpu", 9_000, 7_000),
            DecisionResourceShortage("n0", "memory", 9 * GIB, 7 * GIB),
            DecisionResourceShortage("n0", "licence", 2, 1),
            DecisionResourceShortage("n0", "gpu", 3, 1),
        )
    )
    assert refusal.message == (
        "node n0: cpu: 9 asked, 7 left; node n0: memory: 9Gi asked, 7Gi left; "
        "node n0: licence: 2 asked, 1 left; node n0: gpu: 3 asked, 1 left; place the batch again"
    )
    assert scheduler.snapshot() == before


def test_pools_are_too_full_for_late_pods_too() -> None:
    """
    Requests in the shared pool and in the BE pool are resources like any other.
    """
    scheduler = Scheduler([Node("n0", BOX)])
    late = deciding(scheduler, pod("web", 6.5, QosClass.LS), pod("batch", 6.5, QosClass.BE))
    scheduler.place(batch(pod("owner", 10, QosClass.LSE)), DEADLINE_S, options=QUICK)

    assert scheduler.confirm(late) == Refusal(
        (
            DecisionResourceShortage("n0", "cpu", 6_500, 6_000),
            DecisionResourceShortage("n0", "cpu.best-effort", 6_500, 6_000),
        )
    )


def test_a_node_that_is_gone_is_named_and_welcome_back() -> None:
    """
    A decision asks for resources: once a node of the name has them again, it is taken.
    """
    scheduler = labelled()
    decision = on(scheduler, "n0", "late")
    scheduler.remove_node("n0")

    refusal = scheduler.confirm(decision)

    assert refusal == Refusal((DecisionResourceShortage("n0", "node", 1, 0),))
    assert refusal.message == "node n0 is gone; place the batch again"
    scheduler.add_node(Node("n0", BOX, (("name", "n0"),)))
    assert taken(scheduler.confirm(decision)) == ()


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (Node("n0", BOX, (("name", "n0"),), cordoned=True), "cordon"),
        (Node("n0", BOX), "node-selector name=n0"),
        (
            Node(
                "n0",
                BOX,
                (("name", "n0"),),
                reserved_cpus=frozenset({0, 1, 2, 3, 4, 8, 9, 10, 11, 12}),
            ),
            "alignment asks 4 CPUs on one NUMA node",
        ),
    ],
)
def test_a_rule_that_nothing_on_the_node_keeps_any_more_is_named(node: Node, reason: str) -> None:
    """
    There is enough of everything, and no place all the same.
    """
    scheduler = labelled()
    alone = AlignmentPolicy.SINGLE_NUMA_NODE
    wanted = pod("late", 4, alignment=alone, node_selector=(("name", "n0"),))
    decision = deciding(scheduler, wanted)
    scheduler.update_node(node)
    before = scheduler.snapshot()

    refusal = expect(Refusal, scheduler.confirm(decision))

    assert refusal.gone == ()
    assert [(one.name, reason in one.reasons[0]) for one in refusal.unplaced] == [("late", True)]
    assert reason in refusal.message
    assert scheduler.snapshot() == before


def test_a_pool_that_shrank_is_the_pool_of_a_late_pod() -> None:
    """
    LS pods run where nobody owns CPUs: the place says the pool as it is now.
    """
    scheduler = labelled()
    selector = (("name", "n0"),)
    decision = deciding(scheduler, pod("web", 1, QosClass.LS, node_selector=selector))
    scheduler.confirm(on(scheduler, "n0", "owner"))

    (anew,) = taken(scheduler.confirm(decision))

    assert anew.cpuset == scheduler.account_of("n0").pools.shared.cpus
    assert len(anew.cpuset) == 12
    check_fresh_count(scheduler)


def test_shares_move_on_to_another_device() -> None:
    """
    Two pods decided on one GPU share it if it can give both; else each has its own.
    """
    scheduler = Scheduler([Node("n0", replace(BOX, devices=BOX.devices[:2]))])
    decisions = [deciding(scheduler, sharing(f"p{i}", 60)) for i in range(3)]
    assert taken(scheduler.confirm(decisions[0])) == ()

    (anew,) = taken(scheduler.confirm(decisions[1]))

    assert {scheduler.placement_of(key(f"p{i}")).minors(GPU) for i in (0, 1)} == {(0,), (1,)}
    assert anew.devices[0].share == DeviceShare(percent=60, memory_percent=60)
    refusal = scheduler.confirm(decisions[2])
    share = DeviceShare(percent=60, memory_percent=60)
    assert refusal == Refusal((DecisionResourceShortage("n0", "gpu", 1, 0, share),))
    assert "60 % and 60 % of the memory of gpu: 1 asked, 0 left" in refusal.message
    assert taken(scheduler.confirm(deciding(scheduler, sharing("small", 40)))) == ()
    check_fresh_count(scheduler)


def test_shares_that_no_longer_fit_together_are_named() -> None:
    """
    Each of two pods would fit, but one device is left for both; the same of unequal shares.
    """
    scheduler = Scheduler([Node("n0", replace(BOX, devices=BOX.devices[:2]))])
    both = deciding(scheduler, sharing("a", 60), sharing("b", 60))
    late = deciding(scheduler, sharing("c", 70), sharing("d", 60))
    scheduler.confirm(deciding(scheduler, sharing("early", 60)))

    refusal = scheduler.confirm(both)

    share = DeviceShare(percent=60, memory_percent=60)
    assert refusal == Refusal((DecisionResourceShortage("n0", "gpu", 2, 1, share),))
    unequal = expect(Refusal, scheduler.confirm(late))
    assert unequal.gone == (DecisionResourceShortage("n0", "gpu", 1, 0, share),)
    assert [one.name for one in unequal.unplaced] == ["d"]
    assert len(scheduler.running_on("n0")) == 1


def test_a_gang_is_taken_whole_or_not_at_all() -> None:
    """
    One member of two has no place any more, so the other is not taken, either.
    """
    scheduler = labelled()
    members = [pod(f"m{i}", 12) for i in range(2)]
    wanted = Batch((gang("g", members),))
    decision = scheduler.place(wanted, DEADLINE_S, dry_run=True, options=QUICK)
    assert {place.node for place in decision.placement.pods} == {"n0", "n1"}
    scheduler.confirm(on(scheduler, "n1", "early"))
    before = scheduler.snapshot()
    laid = taken(Scheduler.restore(before).confirm(decision))
    assert len(laid) <= 1

    scheduler.place(batch(pod("more", 2, node_selector=(("name", "n1"),))), DEADLINE_S)
    before = scheduler.snapshot()

    assert scheduler.confirm(decision) == Refusal(
        (DecisionResourceShortage("n1", "cpu", 12_000, 10_000),)
    )
    assert scheduler.snapshot() == before


def test_a_pod_released_and_placed_elsewhere_makes_room() -> None:
    """
    What counts is what runs when the decision is confirmed, not what came between.
    """
    scheduler = labelled()
    scheduler.confirm(on(scheduler, "n0", "old"))
    decision = deciding(scheduler, pod("late", 12, node_selector=(("name", "n0"),)))
    scheduler.confirm(on(scheduler, "n0", "between"))
    assert scheduler.confirm(decision) == Refusal(
        (DecisionResourceShortage("n0", "cpu", 12_000, 8_000),)
    )

    scheduler.release([key("old")])
    scheduler.place(batch(pod("old", 4, node_selector=(("name", "n1"),))), DEADLINE_S)

    taken(scheduler.confirm(decision))
    check_fresh_count(scheduler)


def test_a_place_as_good_as_decided_is_looked_for() -> None:
    """
    Two pods that would rather be on one NUMA node each: the fast path alone would part one.
    """
    scheduler = labelled()
    wanted = [pod(f"p{i}", 4, alignment=AlignmentPolicy.BEST_EFFORT) for i in range(2)]
    decision = deciding(scheduler, *wanted)
    scheduler.confirm(on(scheduler, decision.placement.pods[0].node, "between"))

    taken(scheduler.confirm(decision, options=EXACT))

    for one in wanted:
        place = scheduler.placement_of(one.key)
        assert len({BOX.topology.cpu[cpu].numa_node for cpu in place.cpuset}) == 1


def test_a_decision_is_taken_once() -> None:
    """
    Confirming again, or confirming what place has taken, is refused.
    """
    scheduler = labelled()
    decision = dry(scheduler, "a")
    scheduler.confirm(decision)
    placed = scheduler.place(batch(pod("b", 2)), DEADLINE_S, options=QUICK)
    before = scheduler.snapshot()

    assert isinstance(scheduler.confirm(decision), Refusal)
    assert isinstance(scheduler.confirm(placed), Refusal)
    assert scheduler.snapshot() == before


def test_a_pod_has_one_place_whoever_decided() -> None:
    """
    Of two decisions on one pod, on different nodes, the second is refused.
    """
    scheduler = labelled()
    here, there = on(scheduler, "n0", "a"), on(scheduler, "n1", "a")
    scheduler.confirm(here)

    refusal = scheduler.confirm(there)

    assert refusal == Refusal(running=(key("a"),))
    assert "running already: pods a" in refusal.message


def test_a_decision_that_places_nothing_holds_for_ever() -> None:
    """
    It touches no node, so it can be taken at any time and changes nothing.
    """
    scheduler = labelled()
    decision = scheduler.place(batch(pod("huge", 999)), DEADLINE_S, dry_run=True, options=QUICK)
    scheduler.cordon("n0")

    assert scheduler.confirm(decision) == ClusterChange(version=1)
    assert scheduler.version == 1


def forged(decision: Decision, *places: PodPlacement) -> Decision:
    assert isinstance(decision.answer, Placed)
    return replace(decision, answer=replace(decision.answer, placement=Placement(places)))


def test_a_forged_decision_gives_nothing_twice() -> None:
    """
    One that would give a CPU to two pods is laid anew, whatever version it claims.
    """
    scheduler = labelled()
    scheduler.confirm(on(scheduler, "n0", "a"))
    own = scheduler.placement_of(key("a"))
    honest = on(scheduler, "n0", "b")
    (place,) = honest.placement.pods
    containers = tuple(replace(c, cpuset=own.cpuset) for c in place.containers)

    (anew,) = taken(
        scheduler.confirm(forged(honest, replace(place, cpuset=own.cpuset, containers=containers)))
    )

    assert anew.cpuset.isdisjoint(own.cpuset)
    check_fresh_count(scheduler)


def test_a_forged_decision_is_judged() -> None:
    """
    Pods of another batch and a pod that is placed twice are refused.
    """
    scheduler = labelled()
    honest = on(scheduler, "n0", "b")
    (place,) = honest.placement.pods
    for places in ((replace(place, name="stranger"),), (place, place)):
        refusal = expect(Refusal, scheduler.confirm(forged(honest, *places)))

        assert "known" in {breach.rule for breach in refusal.breaches}
        assert "known" in refusal.message
    assert scheduler.version == 0


def test_a_decision_of_another_scheduler_is_a_decision() -> None:
    """
    A restored one, say: what fits is taken, whatever versions it counts.
    """
    scheduler, other = labelled(), labelled()
    other.cordon("n1")

    assert taken(scheduler.confirm(dry(other, "a"))) == ()
    check_fresh_count(scheduler)


def test_time_that_runs_out_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Nothing is taken, and the node is named.
    """
    scheduler = labelled()
    decision = on(scheduler, "n0", "late")
    scheduler.confirm(on(scheduler, "n0", "early"))
    monkeypatch.setattr("placer.scheduling.deployment.solve", lambda *_: GaveUp(0.1, ()))

    refusal = scheduler.confirm(decision)

    assert refusal == Refusal(undecided=("n0",))
    assert "no place was found in time on nodes n0" in refusal.message
    assert scheduler.version == 1
    with pytest.raises(ValueError, match="deadline_s is 0; give the call more than 0 seconds"):
        scheduler.confirm(decision, 0)
