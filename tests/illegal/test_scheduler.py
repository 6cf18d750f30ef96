"""One illegal pod ends no call of the Scheduler: waiting it is left out, running it is a misfit."""

from dataclasses import replace

import pytest

from answers import expect
from illegal.illegal_pods import ILLEGAL
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, ClusterChange
from placer.scheduling.errors import BadPodError, ContradictionError, PodAlreadyRunningError
from placer.scheduling.refusal import Refusal
from placer.search.options import Engine, SolveOptions
from placer_models.capacity import DeviceQuantity
from placer_models.cluster import Node
from placer_models.device import Device
from placer_models.device_share import DeviceShare
from placer_models.machines.catalogue import load_machine
from placer_models.placement import Infeasible, PartlyPlaced
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.reasons import Illegal
from tiny_pods import lone

DGX = load_machine("dgx-a100")
GREEDY = SolveOptions(Engine.GREEDY, workers=1)
FINE = PodSpec((Container("main", Resources(1000)),))


@pytest.mark.parametrize("spec", ILLEGAL.values(), ids=ILLEGAL)
def test_an_illegal_pod_is_left_out_and_the_rest_of_its_batch_runs(spec: PodSpec) -> None:
    """
    If it is to be skipped; otherwise the call is refused, and nothing runs.
    """
    scheduler = Scheduler([Node("n", DGX)])
    batch = Batch((lone(Pod("bad", "default", spec)), lone(Pod("fine", "default", FINE))))
    with pytest.raises(BadPodError) as refused:
        scheduler.place(batch, 60, options=GREEDY)
    assert scheduler.version == 0

    decision = scheduler.place(batch, 60, options=GREEDY, skip_illegal=True)

    assert isinstance(decision.answer, PartlyPlaced)
    (left,) = decision.answer.unplaced
    assert left.why == (Illegal(refused.value.fault.path, refused.value.fault.message),)
    assert [runner.pod.name for runner in scheduler.running_on("n")] == ["fine"]
    assert decision.batch == batch


def test_a_decision_without_its_illegal_pods_is_confirmed() -> None:
    """
    Decided now and taken later, on a node whose CPUs have become others.
    """
    scheduler = Scheduler([Node("n", DGX)])
    own = PodSpec((Container("main", Resources(2000)),), ILLEGAL["half a CPU of its own"].qos)
    pods = tuple(
        Pod(f"g-{i}", "default", spec)
        for i, spec in enumerate((own, ILLEGAL["half a CPU of its own"], own))
    )
    batch = Batch((Gang("g", "default", pods, 2),))
    decision = scheduler.place(batch, 60, dry_run=True, options=GREEDY, skip_illegal=True)
    scheduler.place(Batch((lone(Pod("other", "default", own)),)), 60, options=GREEDY)

    outcome = expect(ClusterChange, scheduler.confirm(decision))

    assert [place.name for place in outcome.laid_anew] == ["g-0", "g-2"]
    names = [runner.pod.name for runner in scheduler.running_on("n")]
    assert names == ["g-0", "g-2", "other"]


def test_a_batch_of_illegal_pods_alone_changes_nothing() -> None:
    """
    It is answered all the same.
    """
    scheduler = Scheduler([Node("n", DGX)])
    batch = Batch((lone(Pod("bad", "default", PodSpec(()))),))

    decision = scheduler.place(batch, 60, options=GREEDY, skip_illegal=True)

    assert isinstance(decision.answer, Infeasible)
    assert scheduler.version == 0


def test_what_contradicts_itself_is_refused_even_so() -> None:
    """
    Pods are skipped for what they ask for, not for being named twice, or running already.
    """
    scheduler = Scheduler([Node("n", DGX)])
    bad, fine = (lone(Pod(name, "default", s)) for name, s in (("bad", PodSpec(())), ("a", FINE)))
    with pytest.raises(ContradictionError, match="two gangs are called 'bad'"):
        scheduler.place(Batch((bad, bad)), 60, options=GREEDY, skip_illegal=True)
    scheduler.place(Batch((fine,)), 60, options=GREEDY)
    with pytest.raises(PodAlreadyRunningError):
        scheduler.place(Batch((bad, fine)), 60, options=GREEDY, skip_illegal=True)


def test_a_pod_that_has_become_illegal_is_refused_and_ends_no_call() -> None:
    """
    Its node's disks share no space any more: nobody may ask for any there, and the decision that
    counts on it is refused, with what is gone.
    """
    disk = Device("disk", 0, capacity=(DeviceQuantity("space", 8),))
    share = DeviceShare(capacity=(DeviceQuantity("space", 4),))
    asked = PodSpec((Container("main", Resources(devices=(DeviceRequest("disk", 1, share),))),))
    scheduler = Scheduler([Node("n", replace(DGX, devices=(disk,)))])
    batch = Batch((lone(Pod("late", "default", asked)),))
    decision = scheduler.place(batch, 60, dry_run=True, options=GREEDY)
    other = replace(disk, capacity=(DeviceQuantity("queues", 8),))
    scheduler.update_node(Node("n", replace(DGX, devices=(other,))))

    refusal = expect(Refusal, scheduler.confirm(decision))

    assert "4 of space of disk: 1 asked, 0 left" in refusal.message
