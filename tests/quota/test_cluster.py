"""The quotas of a Scheduler are a fresh encoding after anything that happens (B9, B15)."""

import pytest
from hypothesis import settings
from hypothesis.stateful import initialize, invariant

from placer.quota.cluster_quotas import SchedulerQuotaStore
from placer.quota.filter import ClassRequest
from placer.quota.store import EncodedClassQuotasOnNode, QuotaStore
from placer.scheduler import Scheduler
from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.cluster import Machine, Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from scheduler.cluster import BOX, DEADLINE_S, GIB, QUICK, batch, key, pod
from scheduler.test_any_sequence import SEEDS, AnySequence

Copy = dict[str, dict[str, EncodedClassQuotasOnNode]]


def synchronise(copy: Copy, store: QuotaStore, version: int) -> int:
    """Bring a copy up to date with what has changed since its version."""
    changes = store.changes_since(version)
    copy |= {name: dict(classes) for name, classes in changes.nodes.items()}
    for name in changes.gone:
        copy.pop(name, None)
    return changes.version


def everything(store: QuotaStore) -> Copy:
    return {name: dict(store.encoded(name)) for name in store.nodes}


class SynchronisedSequence(AnySequence):
    """Any calls of a Scheduler, and a scheduler elsewhere that is told what changed."""

    @initialize(seed=SEEDS)
    def begin(self, seed: int) -> None:
        super().begin(seed)
        self.quotas = SchedulerQuotaStore()
        self.copy: Copy = {}
        self.seen = 0

    @invariant()
    def the_copy_is_a_fresh_encoding(self) -> None:
        self.quotas.follow(self.scheduler)
        self.seen = synchronise(self.copy, self.quotas.store, self.seen)

        assert self.copy == everything(self.quotas.store)
        anew = SchedulerQuotaStore()
        anew.follow(self.scheduler)
        fresh = anew.store
        assert set(self.copy) == set(fresh.nodes)
        for name, classes in self.copy.items():
            # The widest total may have left the cluster: its class keeps the width.
            numbers = {of: (e.total.quotas, e.free.quotas) for of, e in classes.items()}
            assert numbers == {
                of: (quotas.total, quotas.free) for of, quotas in fresh.quotas(name).items()
            }


SynchronisedSequence.TestCase.settings = settings(max_examples=15, stateful_step_count=20)
test_any_sequence_of_calls_is_synchronised = pytest.mark.check(SynchronisedSequence.TestCase)


def test_what_a_pod_holds_is_missing_until_it_is_released() -> None:
    """
    Four GPUs of 20 GiB: half of one is taken, by percent and by bytes, and comes back.
    """
    gpus = tuple(Device(GPU, i, memory_bytes=20 * GIB, numa_node=0) for i in range(4))
    node = Node("n", Machine("m", "", BOX.topology, gpus), unhealthy=frozenset({(GPU, 3)}))
    scheduler = Scheduler([node])
    quotas = SchedulerQuotaStore()
    quotas.follow(scheduler)
    free = (100, 100, 100, 0), (20 * GIB,) * 3 + (0,)
    assert shares_left(quotas) == free
    share = DeviceRequest(GPU, 1, DeviceShare(percent=50, memory_bytes=5 * GIB))
    spec = PodSpec((Container("main", Resources(1500, GIB, devices=(share,))),), qos=QosClass.LS)

    scheduler.place(batch(Pod("half", "default", spec), pod("own", 4)), DEADLINE_S, options=QUICK)
    quotas.follow(scheduler)

    held = quotas.store.quotas("n")
    assert sorted(shares_left(quotas)[0]) == [0, 50, 100, 100]
    assert sorted(shares_left(quotas)[1]) == [0, 15 * GIB, 20 * GIB, 20 * GIB]
    assert held["cpu"].free == (16_000 - 1_500 - 4_000,)
    assert held["memory"].free == (15 * GIB,)
    assert (held["gpu"].total, held["gpu"].free) == ((3,), (2,))

    scheduler.release([key("half")])
    quotas.follow(scheduler)
    assert shares_left(quotas) == free


def test_every_quantity_of_every_type_is_a_class() -> None:
    """
    Bytes, percent and plain units of a disk, a NIC and a pool of addresses (B1): two pods take
    their parts, a disk without bandwidth counts as one with none, and all comes back (B15).
    """
    space = DeviceQuantity("space", 2**40, DeviceQuantityUnit.BYTES)
    devices = (
        Device("addresses", 0, capacity=(DeviceQuantity("ip", 16),)),
        Device("disk", 0, capacity=(DeviceQuantity("bandwidth", 3_000), space)),
        Device("disk", 1, capacity=(space,)),
        Device("nic", 0, capacity=(DeviceQuantity("engine", 100, DeviceQuantityUnit.PERCENT),)),
    )
    scheduler = Scheduler([Node("n", Machine("m", "", BOX.topology, devices))])
    quotas = SchedulerQuotaStore()

    def free() -> dict[str, tuple[int, ...]]:
        quotas.follow(scheduler)
        return {name: has.free for name, has in quotas.store.quotas("n").items() if "." in name}

    before = {
        "addresses.percent": (100,),
        "addresses.ip": (16,),
        "disk.percent": (100, 100),
        "disk.bandwidth": (3_000, 0),
        "disk.space": (2**40, 2**40),
        "nic.percent": (100,),
        "nic.engine": (100,),
    }
    assert free() == before
    share = DeviceShare(
        capacity=(
            DeviceQuantity("bandwidth", 200),
            DeviceQuantity("space", GIB, DeviceQuantityUnit.BYTES),
        )
    )
    asked = (
        DeviceRequest("addresses", 1, DeviceShare(capacity=(DeviceQuantity("ip", 1),))),
        DeviceRequest("disk", 1, share),
        DeviceRequest("nic", 1, DeviceShare(50)),
    )
    spec = PodSpec((Container("main", Resources(devices=asked)),), qos=QosClass.LS)
    pods = [Pod(name, "default", spec) for name in ("a", "b")]

    scheduler.place(batch(*pods), DEADLINE_S, options=QUICK)

    assert free() == before | {
        "addresses.ip": (14,),
        "disk.bandwidth": (2_600, 0),
        "disk.space": (2**40 - 2 * GIB, 2**40),
        "nic.percent": (0,),
        "nic.engine": (0,),
    }
    wants = {
        "disk.bandwidth": ClassRequest(1, 2_600),
        "disk.space": ClassRequest(1, 2**40 - 2 * GIB),
    }
    assert quotas.store.passing(wants).tolist() == [True]
    assert quotas.store.passing(wants | {"disk.space": ClassRequest(1, 2**40)}).tolist() == [False]

    scheduler.release([key("a"), key("b")])
    assert free() == before


def shares_left(quotas: SchedulerQuotaStore) -> tuple[tuple[int, ...], tuple[int, ...]]:
    held = quotas.store.quotas("n")
    return held["gpu.percent"].free, held["gpu.memory"].free
