"""Pods under ConstrainedBurst follow their pool, on their NUMA nodes, as owners come and go."""

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, lone_gang
from placer_models.cluster import Node
from placer_models.pod import Container, Pod, PodSpec, Resources
from scheduler.cluster import BOX, DEADLINE_S, EXACT, pod

KEY = ("default", "web")


def burst(name: str, milli: int, limit_milli: int) -> Pod:
    """Return a pod of one container that stays where its limit holds."""
    container = Container("main", Resources(milli), cpu_limit_milli=limit_milli)
    return Pod(name, "default", PodSpec((container,), constrained_burst=True))


def place(scheduler: Scheduler, *pods: Pod) -> int:
    """Return how many of the pods get a place."""
    batch = Batch(tuple(map(lone_gang, pods)))
    return len(scheduler.place(batch, DEADLINE_S, options=EXACT).placement.pods)


def test_the_pool_follows_owners_and_comes_back() -> None:
    """
    The pod stays on its NUMA node; what owners took there is its pool's again when they go.
    """
    scheduler = Scheduler([Node("n", BOX)])
    place(scheduler, burst("web", 1000, 4000))
    before = scheduler.placement_of(KEY).cpuset
    assert before in (frozenset(range(8)), frozenset(range(8, 16)))

    assert place(scheduler, pod("a", 12)) == 1
    shrunk = scheduler.placement_of(KEY)
    restored = Scheduler.restore(scheduler.snapshot())
    assert place(scheduler, pod("b", 1)) == 0

    assert len(shrunk.cpuset) == 4
    assert shrunk.cpuset < before
    assert shrunk.containers[0].cpuset == shrunk.cpuset
    assert restored.placement_of(KEY) == shrunk
    scheduler.release([("default", "a")])
    assert scheduler.placement_of(KEY).cpuset == before


def test_owners_leave_a_cpu_on_every_numa_node_of_the_pod() -> None:
    """
    So the pod never forgets a NUMA node: it has all of them back when the owner is gone.
    """
    scheduler = Scheduler([Node("n", BOX)])
    place(scheduler, burst("web", 1000, 9000))
    before = scheduler.placement_of(KEY).cpuset

    assert place(scheduler, pod("a", 7)) == 1
    assert place(scheduler, pod("b", 1)) == 0
    scheduler.release([("default", "a")])

    assert before == frozenset(range(16))
    assert scheduler.placement_of(KEY).cpuset == before
