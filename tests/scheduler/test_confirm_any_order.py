"""Decisions made on one version, confirmed in any order, against trying every place (B16)."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import permutations
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from features.shares import sharing_gangs, sharing_instance
from mixed_worlds import FEATURES
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, ClusterChange, Decision
from placer.scheduling.errors import NodeInUseError
from placer.search.options import SolveOptions
from placer_models.cluster import Instance
from placer_models.pod import Gang
from scheduler.by_trying import can_be_confirmed
from scheduler.cluster import DEADLINE_S, QUICK, check_fresh_count
from tiny_pods import scale_of, tiny_gangs, tiny_groups
from worlds import tiny_instance

ENOUGH = SolveOptions(workers=1, work_limit=5)
DECISIONS = 3


def drawn_world(rng: Random) -> Instance:
    """Draw nodes and what runs there, with words of some families."""
    seed = rng.randrange(2**32)
    world = (sharing_instance if rng.random() < 0.4 else tiny_instance)(seed)
    for feature in FEATURES:
        if rng.random() < 0.15:
            world = feature.dress(rng, world)
    return replace(world, move_budget=0)


def drawn_batches(rng: Random, world: Instance) -> list[Batch]:
    """Draw a few batches for the world, small enough to try every place of each."""
    batches = []
    for number in range(DECISIONS):
        gangs = tiny_gangs(rng, scale_of(world.nodes, unit_bytes=1 << 20))[:2]
        if rng.random() < 0.4:
            gangs = sharing_gangs(rng, gangs)
        wanted = replace(world, gangs=gangs, groups=tiny_groups(rng, gangs), running=())
        for feature in FEATURES:
            if rng.random() < 0.1:
                wanted = replace(wanted, gangs=feature.dress(rng, wanted).gangs)
        gangs = tuple(_renamed(gang, f"b{number}") for gang in wanted.gangs)
        batches.append(Batch(gangs))
    return batches


def _renamed(gang: Gang, prefix: str) -> Gang:
    pods = tuple(replace(pod, name=f"{prefix}-{pod.name}") for pod in gang.pods)
    return replace(gang, name=f"{prefix}-{gang.name}", pods=pods)


def something_changes(rng: Random, scheduler: Scheduler) -> None:
    """Let a pod end, a node be cordoned, break in part, change its labels, or go."""
    instance = scheduler.snapshot().instance
    if not instance.nodes:
        return
    node = rng.choice(instance.nodes)
    match rng.randrange(6):
        case 0 if instance.running:
            scheduler.release([rng.choice(list(instance.running)).pod.key])
        case 1:
            scheduler.cordon(node.name)
        case 2:
            broken = frozenset(
                (d.type, d.minor) for d in node.machine.devices if rng.random() < 0.3
            )
            scheduler.update_node(replace(node, unhealthy=broken))
        case 3:
            online = sorted(node.machine.topology.online)
            reserved = frozenset(rng.sample(online, min(len(online) - 1, rng.randint(0, 2))))
            scheduler.update_node(replace(node, reserved_cpus=reserved))
        case 4:
            scheduler.uncordon(node.name)
        case _ if len(instance.nodes) > 1:
            with suppress(NodeInUseError):
                scheduler.remove_node(node.name)


def confirm_in_any_order(seed: int, counts: Counter[str]) -> None:
    """Draw a world and decisions, and hold each confirmation against trying everything."""
    rng = Random(f"confirm-{seed}")
    world = drawn_world(rng)
    begun = Scheduler(world.nodes, world.running)
    decisions = [
        begun.place(batch, DEADLINE_S, dry_run=True, options=QUICK)
        for batch in drawn_batches(rng, world)
    ]
    decisions = [decision for decision in decisions if decision.placement.pods]
    snapshot = begun.snapshot()
    for order in permutations(decisions):
        scheduler = Scheduler.restore(snapshot)
        for decision in order:
            if rng.random() < 0.3:
                something_changes(rng, scheduler)
            check_one(scheduler, decision, counts)


def check_one(scheduler: Scheduler, decision: Decision, counts: Counter[str]) -> None:
    before = scheduler.snapshot()
    expected = can_be_confirmed(before.instance, decision)

    outcome = scheduler.confirm(decision, options=ENOUGH)

    taken = isinstance(outcome, ClusterChange)
    counts["too many ways" if expected is None else "taken" if taken else "refused"] += 1
    if expected is not None:
        assert taken == expected, getattr(outcome, "message", "taken")
    check_fresh_count(scheduler)
    if not isinstance(outcome, ClusterChange):
        assert scheduler.snapshot() == before
        assert outcome.gone or outcome.unplaced or outcome.breaches
        return
    counts["laid anew"] += bool(outcome.laid_anew)
    places = {place.key: place for place in decision.placement.pods}
    places |= {place.key: place for place in outcome.laid_anew}
    for key, place in places.items():
        assert scheduler.placement_of(key) == place
        assert place.node == next(p.node for p in decision.placement.pods if p.key == key)


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_fits_is_taken_and_nothing_else(seed: int) -> None:
    """
    All or nothing, whatever the order, and whatever has changed between.
    """
    confirm_in_any_order(seed, Counter())


@pytest.mark.check
@settings(max_examples=150)
@given(seed=st.integers(0, 2**32 - 1))
@example(30016)
@example(30175)
@example(40473)
def test_what_fits_is_taken_in_more_worlds(seed: int) -> None:
    """
    The same more often. In the examples a share by memory fits a GPU that has no percent left, a
    gang spreads over nodes of which its pods ask for one, and new pods own CPUs once pinned.
    """
    confirm_in_any_order(seed, Counter())


def test_the_worlds_take_refuse_and_lay_anew() -> None:
    """
    Each of the outcomes that the tests above are about comes about often.
    """
    counts = Counter[str]()
    for seed in range(60):
        confirm_in_any_order(seed, counts)
        if min(counts["taken"], counts["refused"], counts["laid anew"]) > 2:
            break
    else:
        pytest.fail(f"too few of some: {counts}")
