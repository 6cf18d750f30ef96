"""CPUs in no pool, once those have ended to whom a kubelet had pinned them (C6)."""

from dataclasses import replace

from judge.hand import node, pod, put
from placer.scheduler import Scheduler
from placer_models.cluster import RunningPod
from placer_models.cpuset import parse_cpu_list
from placer_models.policy import QosClass
from scheduler.cluster import DEADLINE_S, QUICK, batch


def test_who_comes_to_pinned_cpus_shares_them_with_be_pods() -> None:
    """
    As all that it owns: no kubelet has pinned it, so that the BE pod beside it fits.
    """
    pinning = replace(node(reserved="8"), unpooled_cpus=parse_cpu_list("0-3,8"))
    runner = RunningPod(pod("r", 4), put("r", "0-3"))
    scheduler = Scheduler([pinning], [runner])
    scheduler.release([runner.pod.key])

    wanted = batch(pod("a", 4), pod("b", 8, qos=QosClass.BE))
    decision = scheduler.place(wanted, DEADLINE_S, options=QUICK)
    a, b = decision.placement.pods
    assert a.cpuset == parse_cpu_list("0-3")
    assert b.cpuset == parse_cpu_list("0-7")
    assert scheduler.misfits() == ()
    assert scheduler.placement_of(b.key) == b
    assert scheduler.snapshot().instance.nodes[0].unpooled_cpus == {8}
