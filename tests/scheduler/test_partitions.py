"""The Scheduler's accounts know partitions and MIG instances: given out, given back."""

from dataclasses import replace

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, lone_gang
from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import PartitionPolicy
from scheduler.cluster import BOX, DEADLINE_S, QUICK

GPUS = [device.minor for device in BOX.devices if device.type == GPU]
CUT = Node("n", BOX, mig=((GPUS[0], "A100-40GB"),))
TABLE = ((GPUS[0], GPUS[1]), (GPUS[2], GPUS[3]))
FABRIC = Node("n", BOX, partitions=TABLE, partition_policy=PartitionPolicy.HONOR)


def asking(name: str, kind: str, count: int) -> Batch:
    requests = Resources(devices=(DeviceRequest(kind, count),))
    return Batch((lone_gang(Pod(name, "default", PodSpec((Container("main", requests),)))),))


def test_instances_are_given_out_once_and_come_back() -> None:
    """
    Beside a 3g there is no 4g and 7g where it is at start 0; released, all is as before.
    """
    scheduler = Scheduler([CUT])
    before = scheduler.account_of("n")

    scheduler.place(asking("a", "mig-3g.20gb", 1), DEADLINE_S, options=QUICK)
    beside = scheduler.place(asking("b", "mig-4g.20gb", 1), DEADLINE_S, options=QUICK)
    refused = scheduler.place(asking("c", "mig-1g.5gb", 1), DEADLINE_S, options=QUICK)
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
        scheduler.place(asking(name, GPU, 2), DEADLINE_S, options=QUICK)

    refused = scheduler.place(asking("c", GPU, 2), DEADLINE_S, options=QUICK)
    held = {scheduler.placement_of(("default", name)).minors(GPU) for name in "ab"}
    scheduler.release([("default", "b")])
    placed = scheduler.place(asking("c", GPU, 2), DEADLINE_S, options=QUICK)

    assert held == set(TABLE)
    assert not refused.placement.pods
    assert placed.placement.pods[0].minors(GPU) in TABLE


def test_who_is_outside_a_new_table_or_on_a_gpu_cut_up_is_a_misfit() -> None:
    """
    What runs stays, and is told of.
    """
    scheduler = Scheduler([FABRIC])
    scheduler.place(asking("a", GPU, 2), DEADLINE_S, options=QUICK)

    other = scheduler.update_node(replace(FABRIC, partitions=((GPUS[0], GPUS[2]),)))
    gpu = scheduler.placement_of(("default", "a")).minors(GPU)[0]
    cut = scheduler.update_node(Node("n", BOX, mig=((gpu, "A100-40GB"),)))

    assert {misfit.rule for misfit in other.misfits} == {"partition"}
    assert {misfit.rule for misfit in cut.misfits} == {"mig"}
