"""Hugepages and devices in the Scheduler's accounts: given out, given back, never twice.

Devices are virtual functions, partitions, MIG instances, and those that a strategy chooses.
"""

from dataclasses import replace

from judge.cases_functions import HERE, sharing
from judge.cases_strategies import EACH, applying
from judge.cases_strategies import HERE as SWITCHED
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.placement import Infeasible, PartlyPlaced, Placed
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import PartitionPolicy
from placer_models.topology import Hugepages
from scheduler.cluster import BOX, DEADLINE_S, QUICK

PAGE_BYTES = 2**21
NODE = Node("n", BOX, hugepages=((0, PAGE_BYTES, 2), (1, PAGE_BYTES, 1)))


def asking(name: str, pages: int) -> Pod:
    """Return a pod that asks for hugepages alone."""
    requests = Resources(hugepages=(Hugepages(PAGE_BYTES, pages),))
    return Pod(name, "default", PodSpec((Container("main", requests),)))


def test_pages_are_given_out_once_and_come_back() -> None:
    """
    Three pages: a pod of two leaves none for another of two until it is released.
    """
    scheduler = Scheduler([NODE])
    batch = Batch((lone_gang(asking("a", 2)),))
    scheduler.place(batch, DEADLINE_S, options=QUICK)
    other = Batch((lone_gang(asking("b", 2)),))

    refused = scheduler.place(other, DEADLINE_S, options=QUICK)
    left = sum(scheduler.account_of("n").memory.pages.values())
    restored = Scheduler.restore(scheduler.snapshot())
    scheduler.release([("default", "a")])
    placed = scheduler.place(other, DEADLINE_S, options=QUICK)

    assert not refused.placement.pods
    assert left == 1
    assert sum(restored.account_of("n").memory.pages.values()) == 1
    assert len(placed.placement.pods) == 1


def test_a_node_that_sets_fewer_pages_aside_has_misfits() -> None:
    """
    What runs stays, and is told of; nothing more goes there.
    """
    scheduler = Scheduler([NODE])
    scheduler.place(Batch((lone_gang(asking("a", 3)),)), DEADLINE_S, options=QUICK)

    change = scheduler.update_node(replace(NODE, hugepages=((0, PAGE_BYTES, 1),)))
    refused = scheduler.place(Batch((lone_gang(asking("b", 1)),)), DEADLINE_S, options=QUICK)

    assert {misfit.rule for misfit in change.misfits} == {"hugepages"}
    assert not isinstance(refused.answer, PartlyPlaced)
    assert not refused.placement.pods


GPUS = [device.minor for device in BOX.devices if device.type == GPU]
CUT = Node("n", BOX, mig=((GPUS[0], "A100-40GB"),))
TABLE = ((GPUS[0], GPUS[1]), (GPUS[2], GPUS[3]))
FABRIC = Node("n", BOX, partitions=TABLE, partition_policy=PartitionPolicy.HONOR)


def asking_devices(name: str, kind: str, count: int) -> Batch:
    requests = Resources(devices=(DeviceRequest(kind, count),))
    return Batch((lone_gang(Pod(name, "default", PodSpec((Container("main", requests),)))),))


def test_instances_are_given_out_once_and_come_back() -> None:
    """
    Beside a 3g there is no 4g and 7g where it is at start 0; released, all is as before.
    """
    scheduler = Scheduler([CUT])
    before = scheduler.account_of("n")

    scheduler.place(asking_devices("a", "mig-3g.20gb", 1), DEADLINE_S, options=QUICK)
    beside = scheduler.place(asking_devices("b", "mig-4g.20gb", 1), DEADLINE_S, options=QUICK)
    refused = scheduler.place(asking_devices("c", "mig-1g.5gb", 1), DEADLINE_S, options=QUICK)
    restored = Scheduler.restore(scheduler.snapshot())
    scheduler.release([("default", "a"), ("default", "b")])

    assert len(beside.placement.pods) == 1
    assert not refused.placement.pods
    assert not any(kind.startswith("mig-") for kind, _ in restored.account_of("n").devices.free)
    assert scheduler.account_of("n") == before


def test_partitions_are_given_out_whole_and_come_back() -> None:
    """
    Two pairs are two partitions; a third pod of two has none until one is released.
    """
    scheduler = Scheduler([FABRIC])
    for name in "ab":
        scheduler.place(asking_devices(name, GPU, 2), DEADLINE_S, options=QUICK)

    refused = scheduler.place(asking_devices("c", GPU, 2), DEADLINE_S, options=QUICK)
    held = {scheduler.placement_of(("default", name)).minors(GPU) for name in "ab"}
    scheduler.release([("default", "b")])
    placed = scheduler.place(asking_devices("c", GPU, 2), DEADLINE_S, options=QUICK)

    assert held == set(TABLE)
    assert not refused.placement.pods
    assert placed.placement.pods[0].minors(GPU) in TABLE


def test_who_is_outside_a_new_table_or_on_a_gpu_cut_up_is_a_misfit() -> None:
    """
    What runs stays, and is told of.
    """
    scheduler = Scheduler([FABRIC])
    scheduler.place(asking_devices("a", GPU, 2), DEADLINE_S, options=QUICK)

    other = scheduler.update_node(replace(FABRIC, partitions=((GPUS[0], GPUS[2]),)))
    gpu = scheduler.placement_of(("default", "a")).minors(GPU)[0]
    cut = scheduler.update_node(Node("n", BOX, mig=((gpu, "A100-40GB"),)))

    assert {misfit.rule for misfit in other.misfits} == {"partition"}
    assert {misfit.rule for misfit in cut.misfits} == {"mig"}


BRIEFLY = SolveOptions(engine=Engine.EXACT, workers=1, work_limit=5)


def test_a_virtual_function_is_given_once_and_comes_back() -> None:
    """
    Two of kind a: the third pod waits until one of them is released.
    """
    scheduler = Scheduler(HERE)
    both = Batch((lone_gang(sharing("a")), lone_gang(sharing("b"))))
    assert isinstance(scheduler.place(both, 60.0, options=BRIEFLY).answer, Placed)
    third = Batch((lone_gang(sharing("c")),))

    assert isinstance(scheduler.place(third, 60.0, options=BRIEFLY).answer, Infeasible)
    freed = scheduler.placement_of(("default", "a")).devices
    scheduler.release([("default", "a")])
    decision = scheduler.place(third, 60.0, options=BRIEFLY)
    assert decision.placement.pods[0].devices == freed

    restored = Scheduler.restore(scheduler.snapshot())
    assert restored.account_of("n") == scheduler.account_of("n")
    restored.release([("default", "b"), ("default", "c")])
    assert restored.account_of("n") == Scheduler(HERE).account_of("n")


def test_what_is_given_by_a_strategy_comes_back() -> None:
    """
    Two NICs beside three GPUs; who wants all NICs waits until these are released.
    """
    scheduler = Scheduler(SWITCHED)
    train = Batch((lone_gang(applying("train", 3, EACH)),))
    host = Batch((lone_gang(applying("host")),))
    decision = scheduler.place(train, 60.0, options=BRIEFLY)
    assert isinstance(decision.answer, Placed)
    assert len(decision.placement.pods[0].minors("rdma")) == 2
    assert isinstance(scheduler.place(host, 60.0, options=BRIEFLY).answer, Infeasible)

    restored = Scheduler.restore(scheduler.snapshot())
    assert restored.account_of("n") == scheduler.account_of("n")
    restored.release([("default", "train")])
    assert restored.account_of("n") == Scheduler(SWITCHED).account_of("n")
    assert restored.place(host, 60.0, options=BRIEFLY).placement.pods[0].minors("rdma") == (0, 1, 2)
    restored.release([("default", "host")])
    assert restored.account_of("n") == Scheduler(SWITCHED).account_of("n")
