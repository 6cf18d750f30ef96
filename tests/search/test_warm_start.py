"""A warm start: the search begins with earlier places, where they are right and better."""

from dataclasses import replace
from random import Random

import pytest

from even_topologies import even_topology
from mixed_worlds import mixed_instance
from placer.judge.breaches import breaches
from placer.judge.measure import are_tier_values_better, measure
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.scheduling.refusal import Refusal
from placer.search.baseline import starting_accounts_of
from placer.search.joint_search import JointSearch
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.search.warm_start import placement_from_earlier
from placer_models.cluster import Instance, Machine, Node
from placer_models.legal import illegal_pods
from placer_models.placement import Answer, PartlyPlaced, Placed, Placement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources, pods_of_gangs
from placer_models.policy import QosClass

GIB = 2**30
TEN = Machine("ten", "10 CPUs", even_topology(10, 100 * GIB))
BRIEF = SolveOptions(work_limit=1, workers=1, seed=1)


def lone(name: str, cpus: int, priority: int = 0) -> Gang:
    spec = PodSpec((Container("main", Resources(1_000 * cpus, GIB)),), QosClass.LS)
    return Gang(name, "default", (Pod(name, "default", spec),), 1, priority, lone=True)


def full(*more: Gang, nodes: int = 3) -> Instance:
    """Return nodes that pods fill to the last CPU, which the greedy path does not find."""
    sizes = (5, 3, 2, 4, 3, 3, 4, 3, 3)[: 3 * nodes]
    gangs = (*(lone(f"p-{i}", size) for i, size in enumerate(sizes)), *more)
    return Instance(tuple(Node(f"n-{i}", TEN) for i in range(nodes)), gangs)


def placement_of(answer: Answer) -> Placement:
    return answer.placement if isinstance(answer, Placed | PartlyPlaced) else Placement()


def without_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let answers be what the search begins with."""
    monkeypatch.setattr(JointSearch, "run", lambda *_, **__: None)


def test_a_search_begins_with_earlier_places(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = full()
    best = placement_of(solve(instance, BRIEF))
    without_search(monkeypatch)

    cold, warm = (placement_of(solve(instance, BRIEF, earlier=e)) for e in (None, best))

    assert len(cold.pods) < len(warm.pods)
    assert warm == best


def test_pods_that_are_new_come_beside_those_that_had_places() -> None:
    """
    They go to a node that is new, too.
    """
    best = placement_of(solve(full(), BRIEF))
    more = full(lone("new", 8))
    more = replace(more, nodes=(*more.nodes, Node("n-9", TEN)))
    warm = placement_from_earlier(more, starting_accounts_of(more), best, lambda: False)

    assert warm is not None
    assert {p.name: p.node for p in warm.placement.pods} == {p.name: p.node for p in best.pods} | {
        "new": "n-9"
    }


def test_a_node_that_is_gone_costs_its_pods_alone() -> None:
    best = placement_of(solve(full(), BRIEF))
    fewer = full()
    fewer = replace(fewer, nodes=fewer.nodes[1:])
    warm = placement_from_earlier(fewer, starting_accounts_of(fewer), best, lambda: False)

    assert warm is not None
    stay = {p.name: p.node for p in best.pods if p.node != "n-0"}
    assert {p.name: p.node for p in warm.placement.pods} == stay


def test_places_on_a_node_that_shrank_are_given_up_and_no_others() -> None:
    best = placement_of(solve(full(), BRIEF))
    now = full()
    now = replace(now, nodes=(replace(now.nodes[0], reserved_cpus=frozenset({0})), *now.nodes[1:]))
    warm = placement_from_earlier(now, starting_accounts_of(now), best, lambda: False)

    assert warm is not None
    assert not breaches(now, warm.placement)
    there = {p.name: p.node for p in warm.placement.pods}
    stay = {p.name: p.node for p in best.pods if p.node != "n-0"}
    assert there.items() >= stay.items()
    assert len(there) > len(stay)


def test_a_gang_that_lost_its_minimum_has_no_place() -> None:
    best = placement_of(solve(full(nodes=2), BRIEF))
    instance = full(nodes=2)
    names = [gang.pods[0] for gang in instance.gangs]
    gang = Gang("all", "default", (*names, *lone("ninth", 9).pods), len(names) + 1)
    together = replace(instance, gangs=(gang,))

    assert (
        placement_from_earlier(together, starting_accounts_of(together), best, lambda: False)
        is None
    )


def test_no_time_means_no_warm_start() -> None:
    instance = full()
    best = placement_of(solve(instance, BRIEF))

    assert (
        placement_from_earlier(instance, starting_accounts_of(instance), best, lambda: True) is None
    )


def test_the_greedy_engine_does_not_look_at_earlier_places() -> None:
    best = placement_of(solve(full(), BRIEF))
    greedy = SolveOptions(Engine.GREEDY)

    assert solve(full(), greedy, earlier=best) == solve(full(), greedy)


@pytest.mark.parametrize("seed", range(150))
def test_in_mixed_worlds_it_is_legal_and_the_answer_never_worse_than_greedy(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The earlier answer was for other pods and nodes: some are gone, and some of them run.
    """
    rng = Random(f"warm-{seed}")
    now = mixed_instance(seed)
    if illegal_pods(pods_of_gangs(now.gangs), now.nodes):
        pytest.skip("pods ask for what no pod may ask for")
    before = replace(
        now,
        gangs=tuple(gang for gang in now.gangs if now.groups or rng.random() < 0.7),
        running=tuple(runner for runner in now.running if rng.random() < 0.7),
    )
    earlier = placement_of(solve(before, BRIEF))
    without_search(monkeypatch)
    warm = solve(now, BRIEF, earlier=earlier)
    cold = solve(now, BRIEF)

    assert not breaches(now, placement_of(warm))
    worths = [measure(now, placement_of(one)) for one in (warm, cold)]
    assert not are_tier_values_better(worths[1], worths[0])


def test_a_dry_run_goes_on_where_the_last_one_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = full()
    scheduler = Scheduler(instance.nodes)
    batch = Batch(instance.gangs)
    first = scheduler.place(batch, 10, dry_run=True, options=BRIEF)
    without_search(monkeypatch)
    again = scheduler.place(batch, 10, dry_run=True, options=BRIEF)

    assert again.placement == first.placement
    assert scheduler.fork().place(batch, 10, options=BRIEF).placement == first.placement
    fresh = Scheduler(instance.nodes).place(batch, 10, dry_run=True, options=BRIEF)
    assert len(fresh.placement.pods) < len(first.placement.pods)


def test_a_decision_that_came_too_late_is_where_the_next_search_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    One node has another pod meanwhile; pods of the other nodes go where they were to go.
    """
    instance = full()
    scheduler = Scheduler(instance.nodes)
    batch = Batch(instance.gangs)
    late = scheduler.fork().place(batch, 10, dry_run=True, options=BRIEF)
    scheduler.place(Batch((lone("other", 4),)), 10, options=SolveOptions(Engine.GREEDY))
    knows_nothing = Scheduler.restore(scheduler.snapshot())
    assert isinstance(scheduler.confirm(late), Refusal)
    without_search(monkeypatch)
    cold, warm = (one.place(batch, 10, options=BRIEF) for one in (knows_nothing, scheduler))

    taken = scheduler.placement_of(("default", "other")).node
    stay = {p.name: p.node for p in late.placement.pods if p.node != taken}
    assert {p.name: p.node for p in warm.placement.pods}.items() >= stay.items()
    assert len(warm.placement.pods) > len(cold.placement.pods)
