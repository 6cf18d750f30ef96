"""Misfits: running pods that break a rule of their own, each named once (C8, C12, G5)."""

from dataclasses import replace

import pytest

from judge.cases_bound import counting
from judge.hand import ALL_CPUS, node, pod, put
from placer.judge.misfits import misfits_on_node
from placer_models.cluster import Node, RunningPod
from placer_models.policy import AlignmentPolicy, QosClass

LS, BE, LSE = QosClass.LS, QosClass.BE, QosClass.LSE
SINGLE = node(alignment=AlignmentPolicy.SINGLE_NUMA_NODE)
RESTRICTED = node(alignment=AlignmentPolicy.RESTRICTED)


def ls(name: str, cpu: float, cpus: str, **counted: int) -> RunningPod:
    """Return an LS pod in the pool of some CPUs, or counted on NUMA nodes by name: ``n0=1000``."""
    place = put(name, cpus)
    if counted:
        place = counting(place, {int(numa[1:]): milli for numa, milli in counted.items()})
    return RunningPod(pod(name, cpu, qos=LS), place)


def owner(name: str, cpus: str, qos: QosClass = QosClass.LSR) -> RunningPod:
    place = put(name, cpus)
    return RunningPod(pod(name, len(place.cpuset), qos=qos), place)


def named(on: Node, *running: RunningPod) -> list[tuple[str, str]]:
    return [(misfit.pod[1], misfit.rule) for misfit in misfits_on_node(on, running)]


@pytest.mark.parametrize("asked", [0, 0.5])
def test_a_pod_whose_numa_node_has_no_cpu_left_is_named_once(asked: float) -> None:
    """
    Neither is who owns the CPUs, nor an owner elsewhere, nor a pod that has enough.
    """
    lost = ls("lost", asked, "", n0=round(1000 * asked))
    others = (owner("there", "0-3"), owner("else", "4"), ls("well", 1, "5-7", n1=1000))

    assert named(SINGLE, lost, *others) == [("lost", "bound-pool")]
    (misfit,) = misfits_on_node(SINGLE, (lost, *others))
    assert "LS pod 'lost' has no CPU on NUMA node 0 of node 'n'" in misfit.message


def test_all_who_share_a_pool_that_is_too_small_are_named() -> None:
    """
    2.5 and 2 on 4 CPUs are too much together; 3 on the other NUMA node are not.
    """
    both = ls("a", 2.5, "0-3", n0=2500), ls("b", 2, "0-3", n0=2000)

    assert named(SINGLE, *both, ls("c", 3, "4-7", n1=3000)) == [
        ("a", "bound-pool"),
        ("b", "bound-pool"),
    ]


def test_who_could_be_counted_elsewhere_is_no_misfit() -> None:
    """
    6 CPUs of a pod on both NUMA nodes are said to be on one of 4; they may be shared out anew.
    """
    wide = ls("wide", 6, "0-7", n0=6000, n1=0)

    assert named(RESTRICTED, wide) == []
    assert named(RESTRICTED, wide, ls("small", 2, "0-3", n0=2000)) == []
    assert named(RESTRICTED, wide, ls("large", 3, "0-3", n0=3000)) == [
        ("wide", "bound-pool"),
        ("large", "bound-pool"),
    ]


@pytest.mark.parametrize("qos", [LS, BE])
def test_owners_break_no_rule_about_pools(qos: QosClass) -> None:
    """
    6 CPUs are owned, and 5 asked for of the 3 left: who asks is the misfit.
    """
    asks = RunningPod(pod("asks", 5, qos=qos), put("asks", "6-8"))
    idle = RunningPod(pod("idle", 0, qos=qos), put("idle", "6-8"))

    rule = "shared-pool" if qos is LS else "be-pool"
    assert named(node(), owner("o", "0-5", LSE), asks, idle) == [("asks", rule)]


def test_a_pod_is_named_once_for_each_rule() -> None:
    """
    Two broken GPUs are one line, and a CPU that is reserved now is another.
    """
    broken = node(broken_gpus=[0, 1], reserved="0")
    held = RunningPod(pod("a", 1, gpus=2), put("a", "0", gpus=[0, 1]))

    assert named(broken, held) == [("a", "cpu-allocatable"), ("a", "device-health")]
    *_, health = misfits_on_node(broken, (held,))
    assert "gpu 0" in health.message
    assert "gpu 1" in health.message


def test_nobody_is_named_where_all_could_come() -> None:
    """
    Owners and pods of the pool that have what they ask for.
    """
    fine = owner("o", "0-1"), ls("a", 2, "2-3", n0=2000), ls("b", 1, ALL_CPUS)

    assert named(SINGLE, *fine[:2]) == []
    assert named(node(), fine[0], replace(fine[2], placement=put("b", "2-8"))) == []
