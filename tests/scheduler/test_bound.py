"""Pods that a policy binds to NUMA nodes, whatever comes and goes: they stay bound to them (C12).

Pods under ConstrainedBurst follow their pool, on their NUMA nodes, as owners come and go.
"""

from dataclasses import replace

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer_models.annotations.resource_status import resource_status_of_placement
from placer_models.cluster import Node
from placer_models.pod import Container, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import AlignmentPolicy, QosClass
from scheduler.cluster import BOX, DEADLINE_S, EXACT, pod

LOW, HIGH = frozenset(range(8)), frozenset(range(8, 16))
SINGLE = Node("n", BOX, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)
RESTRICTED = replace(SINGLE, alignment=AlignmentPolicy.RESTRICTED)
WEB = ("default", "web")


def place(scheduler: Scheduler, *pods: Pod) -> int:
    """Return how many of the pods get a place."""
    batch = Batch(tuple(map(lone_gang, pods)))
    return len(scheduler.place(batch, DEADLINE_S, options=EXACT).placement.pods)


def test_the_pool_follows_owners_on_its_numa_node() -> None:
    """
    5 CPUs of one NUMA node are asked for: owners may have 3 there, and give them back.
    """
    scheduler = Scheduler([SINGLE])
    place(scheduler, pod("web", 5, QosClass.LS))
    before = scheduler.placement_of(WEB)
    assert before.cpuset in (LOW, HIGH)

    assert place(scheduler, pod("a", 8), pod("b", 3)) == 2
    assert place(scheduler, pod("c", 1)) == 0
    shrunk = scheduler.placement_of(WEB)
    restored = Scheduler.restore(scheduler.snapshot())

    assert shrunk.cpuset < before.cpuset
    assert len(shrunk.cpuset) == 5
    assert shrunk.cpu_milli == before.cpu_milli
    assert restored.placement_of(WEB) == shrunk
    scheduler.release([("default", "a"), ("default", "b")])
    assert scheduler.placement_of(WEB) == before


def test_a_pod_of_two_numa_nodes_is_counted_where_there_is_room() -> None:
    """
    10 CPUs over both leave 6; those of one pod are on one, and the 10 move over.
    """
    scheduler = Scheduler([RESTRICTED])
    place(scheduler, pod("web", 10, QosClass.LS))

    assert place(scheduler, pod("small", 6, QosClass.LS)) == 1
    counted = dict(scheduler.placement_of(WEB).cpu_milli or ())
    ((home, _),) = scheduler.placement_of(("default", "small")).cpu_milli or ()
    assert counted == {home: 2000, 1 - home: 8000}


def test_another_policy_of_the_node_binds_nobody_who_runs() -> None:
    """
    A pod that floats goes on floating, and one that is bound stays bound.
    """
    scheduler = Scheduler([replace(SINGLE, alignment=AlignmentPolicy.NONE)])
    place(scheduler, pod("web", 1, QosClass.LS))
    scheduler.update_node(SINGLE)
    place(scheduler, pod("api", 1, QosClass.LS))
    scheduler.update_node(replace(SINGLE, alignment=AlignmentPolicy.BEST_EFFORT))
    api = scheduler.placement_of(("default", "api"))

    assert scheduler.placement_of(WEB).cpuset == LOW | HIGH
    assert api.cpuset in (LOW, HIGH)
    assert place(scheduler, pod("a", 8)) == 1
    owned = scheduler.placement_of(("default", "a")).cpuset
    assert len(scheduler.placement_of(("default", "api")).cpuset - owned) >= 1


def test_what_is_written_for_the_node_agent_follows_the_place() -> None:
    """
    A bound pod names its NUMA node, one that floats names none.
    """
    scheduler = Scheduler([SINGLE, Node("plain", BOX, labels=(("kind", "plain"),))])
    floating = pod("free", 1, QosClass.LS, gib=1, node_selector=(("kind", "plain"),))
    bound = pod("web", 1, QosClass.LS, gib=1, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)
    place(scheduler, bound, floating)
    web, free = scheduler.placement_of(WEB), scheduler.placement_of(("default", "free"))
    nodes = {"n": SINGLE, "plain": Node("plain", BOX)}

    status = resource_status_of_placement(web, bound.spec, nodes[web.node])
    assert [share.node for share in status.numa] == [pool.node for pool in status.shared_pools]
    assert len(status.numa) == 1
    assert resource_status_of_placement(free, floating.spec, nodes["plain"]).numa == ()


def burst(name: str, milli: int, limit_milli: int) -> Pod:
    """Return a pod of one container that stays where its limit holds."""
    container = Container("main", Resources(milli), cpu_limit_milli=limit_milli)
    return Pod(name, "default", PodSpec((container,), constrained_burst=True))


def test_the_pool_follows_owners_and_comes_back() -> None:
    """
    The pod stays on its NUMA node; what owners took there is its pool's again when they go.
    """
    scheduler = Scheduler([Node("n", BOX)])
    place(scheduler, burst("web", 1000, 4000))
    before = scheduler.placement_of(WEB).cpuset
    assert before in (frozenset(range(8)), frozenset(range(8, 16)))

    assert place(scheduler, pod("a", 12)) == 1
    shrunk = scheduler.placement_of(WEB)
    restored = Scheduler.restore(scheduler.snapshot())
    assert place(scheduler, pod("b", 1)) == 0

    assert len(shrunk.cpuset) == 4
    assert shrunk.cpuset < before
    assert shrunk.containers[0].cpuset == shrunk.cpuset
    assert restored.placement_of(WEB) == shrunk
    scheduler.release([("default", "a")])
    assert scheduler.placement_of(WEB).cpuset == before


def test_owners_leave_a_cpu_on_every_numa_node_of_the_pod() -> None:
    """
    So the pod never forgets a NUMA node: it has all of them back when the owner is gone.
    """
    scheduler = Scheduler([Node("n", BOX)])
    place(scheduler, burst("web", 1000, 9000))
    before = scheduler.placement_of(WEB).cpuset

    assert place(scheduler, pod("a", 7)) == 1
    assert place(scheduler, pod("b", 1)) == 0
    scheduler.release([("default", "a")])

    assert before == frozenset(range(16))
    assert scheduler.placement_of(WEB).cpuset == before
