"""The Scheduler with pods that keep apart (C9)."""

import pytest

from answers import expect
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, ClusterChange
from placer.scheduling.errors import ContradictionError
from placer_models.cluster import Node
from placer_models.pod import lone_gang
from placer_models.policy import BindPolicy, ExclusivePolicy, QosClass, RequiredOrPreferred
from scheduler.cluster import BOX, DEADLINE_S, EXACT, machine, pod, running

PCPU, REQUIRED = ExclusivePolicy.PCPU_LEVEL, RequiredOrPreferred.REQUIRED
SPREAD = BindPolicy.SPREAD_BY_PCPUS


def test_who_keeps_apart_is_known_from_call_to_call() -> None:
    """
    Eight pods have a core each, a ninth has none until one is released; a snapshot knows.
    """
    scheduler = Scheduler([Node("n", BOX)])  # eight cores of two threads
    pods = [
        pod(f"p{i}", 1, exclusive=PCPU, exclusive_strength=REQUIRED, bind=SPREAD) for i in range(9)
    ]
    for one in pods[:8]:
        batch = Batch((lone_gang(one),))
        assert scheduler.place(batch, DEADLINE_S, options=EXACT).placement.pods

    last = Batch((lone_gang(pods[8]),))
    restored = Scheduler.restore(scheduler.snapshot())
    for one in (scheduler, restored):
        before = one.account_of("n")
        assert one.place(last, DEADLINE_S, options=EXACT).placement.pods == ()
        one.release([pods[3].key])
        freed = before.cores.held.keys() - one.account_of("n").cores.held.keys()
        assert len(freed) == 1
        assert one.place(last, DEADLINE_S, options=EXACT).placement.pods
        assert one.account_of("n").cores.held == before.cores.held


def test_two_decisions_that_would_share_a_core_are_not_both_taken() -> None:
    """
    Each would have the first core; the second is laid anew, on another one.
    """
    scheduler = Scheduler([Node("n", BOX)])
    decisions = [
        scheduler.place(
            Batch((lone_gang(pod(name, 1, exclusive=PCPU, exclusive_strength=REQUIRED)),)),
            DEADLINE_S,
            dry_run=True,
            options=EXACT,
        )
        for name in ("a", "b")
    ]
    scheduler.confirm(decisions[0])

    change = expect(ClusterChange, scheduler.confirm(decisions[1]))

    assert [place.name for place in change.laid_anew] == ["b"]
    cores = [min(runner.placement.cpuset) // 2 for runner in scheduler.running_on("n")]
    assert len(set(cores)) == 2


def test_a_pod_without_cpus_of_its_own_keeps_apart_from_nobody() -> None:
    """
    That is a slip of the caller, and is said at once.
    """
    shared = pod("web", 1, QosClass.LS, exclusive=PCPU)

    with pytest.raises(
        ContradictionError, match=r"exclusive is 'PCPULevel': the qos of this pod is LS"
    ):
        Scheduler([Node("n", BOX)]).place(Batch((lone_gang(shared),)), DEADLINE_S)


@pytest.mark.parametrize("policy", [PCPU, ExclusivePolicy.NUMA_NODE_LEVEL])
def test_a_machine_that_lost_cpus_keeps_apart_on_those_that_are_left(
    policy: ExclusivePolicy,
) -> None:
    """
    The running pod holds CPU 0 of core 0, which stays, and CPU 8, which an update takes away.
    """
    holder = pod("holder", 2, exclusive=policy, exclusive_strength=REQUIRED)
    scheduler = Scheduler([Node("n", BOX)], [running(holder, "n", frozenset({0, 8}))])

    change = scheduler.update_node(Node("n", machine(numa_nodes=1)))

    assert {misfit.pod for misfit in change.misfits} == {holder.key}
    account = scheduler.account_of("n")
    held = account.cores.held if policy is PCPU else account.cores.numa_nodes_held
    assert held == {0: REQUIRED}
