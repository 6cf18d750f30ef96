"""Shares of devices in the Scheduler: given, counted, given back, and lost to health."""

from dataclasses import replace

import pytest

from placer.scheduler import Scheduler
from placer.scheduling.errors import ContradictionError
from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.device_share import DeviceShare
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from scheduler.cluster import BOX, DEADLINE_S, EXACT, QUICK, batch, check_fresh_count, key

TEN_BYTES = replace(BOX, devices=tuple(replace(d, memory_bytes=10) for d in BOX.devices[:1]))
NODE = Node("n0", TEN_BYTES)
TENTH = DeviceShare(percent=10, memory_percent=10)


def sharing(name: str, share: DeviceShare) -> Pod:
    requests = Resources(devices=(DeviceRequest(GPU, 1, share),))
    return Pod(name, "default", PodSpec((Container("main", requests),)))


@pytest.mark.parametrize("options", [QUICK, EXACT], ids=["greedy", "exact"])
def test_ten_tenths_fill_a_device_and_an_eleventh_does_not_fit(options: object) -> None:
    """
    One by one, as they come; released, they leave the device free as before.
    """
    scheduler = Scheduler((NODE,))
    empty = scheduler.account_of("n0")
    for i in range(10):
        decision = scheduler.place(
            batch(sharing(f"p{i}", TENTH)),
            DEADLINE_S,
            options=options,
        )
        assert len(decision.placement.pods) == 1
        check_fresh_count(scheduler)
    assert scheduler.account_of("n0").devices.shared == {(GPU, 0): (0, 0)}
    more = scheduler.place(batch(sharing("more", TENTH)), DEADLINE_S, options=QUICK)
    assert more.placement.pods == ()

    scheduler.release([key(f"p{i}") for i in range(10)])

    assert scheduler.account_of("n0") == empty
    check_fresh_count(scheduler)


def test_a_device_that_breaks_is_reported_with_all_that_share_it() -> None:
    """
    Both pods stay where they are, and nothing new comes there.
    """
    scheduler = Scheduler((NODE,))
    scheduler.place(batch(sharing("a", TENTH), sharing("b", TENTH)), DEADLINE_S, options=QUICK)

    change = scheduler.update_node(replace(NODE, unhealthy=frozenset({(GPU, 0)})))

    assert [(m.pod, m.rule) for m in change.misfits] == [
        (key("a"), "device-health"),
        (key("b"), "device-health"),
    ]
    later = scheduler.place(batch(sharing("c", TENTH)), DEADLINE_S, options=QUICK)
    assert later.placement.pods == ()


def test_a_share_below_nothing_is_refused() -> None:
    """
    The message names the pod and the amount.
    """
    scheduler = Scheduler((NODE,))

    with pytest.raises(
        ContradictionError, match="asks for -1 percent of each device of type 'gpu'"
    ):
        scheduler.place(batch(sharing("a", DeviceShare(-1, 1))), DEADLINE_S)
