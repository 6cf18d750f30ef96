"""What is kept from batch to batch: no Problem, no answer and no verdict depends on it."""

import gc
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from features.shares import sharing_gangs, sharing_instance
from mixed_worlds import mixed, mixed_instance
from placer.greedy import node_table
from placer.greedy.place import place_greedily
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, ClusterChange
from placer.scheduling.scheduler_state import NodesAndPods, nodes_and_pods_of
from placer.search.baseline import CacheBetweenSolves, StartingAccounts
from placer.search.solver import solve
from placer.state import problem_cache
from placer.state.batch import build_problem
from placer.state.node_states import RelevantNodeFactNames
from placer_models import incremental
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import Device
from placer_models.placement import Answer, GaveUp, Placement
from placer_models.pod import Pod, pods_of_gangs
from placer_models.policy import QosClass
from scheduler.cluster import BOX, DEADLINE_S, QUICK, batch, check_fresh_count, pod
from tiny_pods import scale_of, tiny_gangs, tiny_groups
from worlds import tiny_instance

STEPS = 6


def drawn_batch(rng: Random, nodes: tuple[Node, ...], prefix: str) -> Batch:
    gangs = tiny_gangs(rng, scale_of(list(nodes), unit_bytes=1 << 20))
    if rng.random() < 0.4:
        gangs = sharing_gangs(rng, gangs)
    named = tuple(
        replace(
            gang,
            name=f"{prefix}-{gang.name}",
            pods=tuple(replace(one, name=f"{prefix}-{one.name}") for one in gang.pods),
        )
        for gang in gangs
    )
    drawn = Instance(nodes, named, tiny_groups(rng, named))
    if rng.random() < 0.5:
        drawn = mixed(rng, drawn)
    return Batch(drawn.gangs, drawn.groups)


def changed(rng: Random, state: NodesAndPods, placed: list[RunningPod], step: int) -> NodesAndPods:
    """Let pods come or go, or a node become another one, come or go."""
    state = state.with_pods(placed) if rng.random() < 0.7 else state
    keys = sorted(state.node_of)
    if keys and rng.random() < 0.4:
        state = state.without_pods(rng.sample(keys, rng.randint(1, len(keys))))
    name = rng.choice(state.nodes).name
    node = state.of(name).node
    match rng.randrange(6):
        case 0:
            state = state.with_node(replace(node, cordoned=not node.cordoned))
        case 1:
            sick = frozenset((d.type, d.minor) for d in node.machine.devices if rng.random() < 0.3)
            state = state.with_node(replace(node, unhealthy=sick))
        case 2:
            # Before the others, so that kinds get other numbers.
            state = state.with_node(
                replace(mixed_instance(rng.randrange(10**6)).nodes[0], name=f"a{step}")
            )
        case 3 if not state.of(name).pods and len(state.nodes) > 1:
            state = state.without_node(name)
    return state


def states(seed: int) -> Iterator[tuple[Instance, StartingAccounts, Random]]:
    """Yield problems of one cluster, one after the other, on what the earlier ones left."""
    rng = Random(seed)
    world = (sharing_instance, mixed_instance, tiny_instance)[seed % 3](seed)
    state, cache = nodes_and_pods_of(world.nodes, world.running, 0), CacheBetweenSolves()
    wanted = Batch(world.gangs, world.groups)
    for step in range(STEPS):
        instance = state.asking(wanted)
        yield instance, state.baseline(cache), rng
        answer = solve(instance, QUICK)
        placement = getattr(answer, "placement", Placement())
        pods = {one.key: one for one in pods_of_gangs(wanted.gangs)}
        placed = [RunningPod(pods[place.key], place) for place in placement.pods]
        state = changed(rng, state, placed, step)
        # The same words again, under other names, and words that are new.
        wanted = drawn_batch(Random(seed + step // 2), state.nodes, f"b{step}")


def check(seed: int) -> None:
    for instance, baseline, rng in states(seed):
        known, cache = baseline.cache.problems, baseline.cache.greedy
        for each_core in (False, True):
            problem = build_problem(instance, baseline.accounts, each_core=each_core, cache=known)
            fresh = build_problem(instance, each_core=each_core)

            assert problem == fresh
            assert [node.name for node in problem.nodes] == [node.name for node in fresh.nodes]
            choices = place_greedily(problem, cache=cache)
            assert choices == place_greedily(fresh)
        answer = solve(instance, QUICK, baseline=baseline)
        assert timeless(answer) == timeless(solve(instance, QUICK))
        placement = getattr(answer, "placement", Placement())
        for places in (placement, disordered(rng, placement, instance)):
            assert breaches(instance, places, baseline.nodes_before) == breaches(instance, places)
            assert measure(instance, places, baseline.nodes_before) == measure(instance, places)


def timeless(answer: Answer) -> Answer:
    return replace(answer, after_s=0) if isinstance(answer, GaveUp) else answer


def disordered(rng: Random, placement: Placement, instance: Instance) -> Placement:
    """Send some pods to other nodes, with all they hold."""
    names = [node.name for node in instance.nodes]
    return Placement(
        tuple(
            replace(place, node=rng.choice(names)) if rng.random() < 0.6 else place
            for place in placement.pods
        )
    )


@pytest.mark.check
def test_nothing_depends_on_what_was_kept() -> None:
    for seed in range(30):
        check(seed)


@pytest.mark.check
def test_nothing_depends_on_what_had_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With room for hardly anything, things are let go in the middle of a Problem, too. And
    nodes are compared in pieces of one or two.
    """
    monkeypatch.setattr(problem_cache, "MOST_VALUES", 3)
    monkeypatch.setattr(problem_cache, "MOST_LOOKS", 1)
    monkeypatch.setattr(node_table, "NEW_STATES", 0)
    for seed in range(12):
        monkeypatch.setattr(incremental, "PIECE", 1 + seed % 2)
        check(seed)


def test_equal_kinds_are_one_also_after_some_had_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A node known before and one like it that is new are of one kind.
    """
    monkeypatch.setattr(problem_cache, "MOST_VALUES", 0)
    relevant = RelevantNodeFactNames(frozenset(), frozenset(), frozenset())
    first, second = Node("n0", BOX), Node("n1", BOX)
    known = problem_cache.ProblemCache()
    known.kinds_of((first,), relevant)

    kinds, numbers = known.kinds_of((first, second), relevant)

    assert (len(kinds), numbers) == (1, (0, 0))


def test_what_devices_are_called_makes_no_kinds() -> None:
    """
    In a cluster every GPU has a UUID; nodes are of one kind all the same.
    """
    relevant = RelevantNodeFactNames(frozenset(), frozenset(), frozenset())
    nodes = []
    for name in ("n0", "n1"):
        gpus = tuple(Device("gpu", minor, f"GPU-{name}-{minor}") for minor in range(2))
        nodes.append(Node(name, replace(BOX, name=f"box of {name}", devices=gpus)))

    kinds, numbers = problem_cache.ProblemCache().kinds_of(tuple(nodes), relevant)

    assert (len(kinds), numbers) == (1, (0, 0))


def test_machines_that_are_read_anew_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A node whose machine is another object each time, though an equal one, leaves few behind.
    """
    monkeypatch.setattr(problem_cache, "MOST_OLD_MACHINES", 3)
    relevant = RelevantNodeFactNames(frozenset(), frozenset(), frozenset())
    known = problem_cache.ProblemCache()
    read = [replace(BOX) for _ in range(20)]
    alive = set(map(id, read))
    for machine in read:
        known.kinds_of((Node("n0", machine),), relevant)
    del read, machine
    gc.collect()

    left = [one for one in gc.get_objects() if isinstance(one, Machine) and id(one) in alive]

    assert 0 < len(left) <= 3 + 2  # and one for the node, and one that came before all went


def drawn_pod(rng: Random, name: str) -> Pod:
    """Draw one that owns CPUs or not, large or small, among others with wishes about each other."""
    apart = (AffinityTerm((("app", "x"),), apart=True),)
    wishes: tuple[dict[str, Any], ...] = (
        {},
        {},
        {"labels": (("app", "x"),)},
        {"labels": (("app", "x"),), "affinity": apart},
        {"node_selector": (("zone", rng.choice("ab")),)},
    )
    qos = rng.choice([QosClass.LSE, QosClass.LSR, QosClass.LS, QosClass.BE])
    cpus = rng.choice([1, 2, 4, 100]) if rng.random() < 0.3 else 2
    gib, gpus = rng.randrange(4), rng.choice([0, 0, 1, 2])
    return pod(name, cpus, qos, gib=gib, gpus=gpus, **rng.choice(wishes))


def jumbled(rng: Random, scheduler: Scheduler, step: int) -> None:
    """Let a node come, go or become another one, or pods go."""
    nodes = scheduler.snapshot().instance.nodes
    node = rng.choice(nodes)
    running = [runner.pod.key for runner in scheduler.running_on(node.name)]
    match rng.randrange(8):
        case 0:
            scheduler.update_node(replace(node, cordoned=not node.cordoned))
        case 1:
            scheduler.update_node(replace(node, unhealthy=frozenset({("gpu", rng.randrange(4))})))
        case 2:
            zone = (("zone", rng.choice("ab")),)
            scheduler.add_node(replace(node, name=f"m{rng.randrange(1000):03}-{step}", labels=zone))
        case 3 if not running:
            scheduler.remove_node(node.name)
        case _:
            scheduler.release(running[:1])


@pytest.mark.check
def test_a_long_row_of_calls_on_many_nodes_is_decided_as_if_nothing_was_kept() -> None:
    """
    Of several pieces of nodes; each call is held against a Scheduler that forgot everything.
    """
    rng = Random(11)
    zone = {name: (("zone", name),) for name in "ab"}
    scheduler = Scheduler(
        [Node(f"n{i:03}", BOX, labels=zone["ab"[i % 2]]) for i in range(2 * incremental.PIECE + 9)]
    )
    placed = 0
    for step in range(60):
        wanted = batch(*(drawn_pod(rng, f"p{step}-{i}") for i in range(rng.choice([1, 1, 1, 30]))))
        fresh = Scheduler.restore(scheduler.snapshot())
        dry = rng.random() < 0.3
        decision = scheduler.place(wanted, DEADLINE_S, dry_run=dry, options=QUICK)

        assert timeless(decision.answer) == timeless(
            fresh.place(wanted, DEADLINE_S, options=QUICK).answer
        )
        placed += len(decision.placement.pods)
        if dry and rng.random() < 0.5:
            assert isinstance(scheduler.confirm(decision), ClusterChange)
        for _ in range(rng.randrange(3)):
            jumbled(rng, scheduler, step)
    check_fresh_count(scheduler)
    assert placed > 100


@pytest.mark.slow
def test_nothing_depends_on_what_was_kept_for_long() -> None:
    for seed in range(30, 600):
        check(seed)


def test_a_node_that_was_cordoned_is_open_to_pods_of_a_new_kind() -> None:
    """
    Kinds of nodes get other numbers when the node becomes like its neighbour.
    """
    scheduler = Scheduler([Node("n0", BOX, cordoned=True), Node("n1", BOX)])
    scheduler.place(batch(pod("a", 2)), DEADLINE_S, options=QUICK)
    scheduler.uncordon("n0")
    decision = scheduler.place(batch(pod("b", 16)), DEADLINE_S, options=QUICK)

    assert [place.node for place in decision.placement.pods] == ["n0"]
