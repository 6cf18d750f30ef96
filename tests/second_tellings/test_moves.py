"""Running pods that may move, told a second time from docs/rules/moves.md (G5).

Who may move is told by `moving_question`; here is what a placement says of them.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from features.misfits import with_breaches
from moving_question import asked_of, may_move, questions
from moving_worlds import mixed_moving_instance, tied_instance
from placer.judge import homes
from placer.judge.breaches import breaches_of_complete_placement
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, RunningPod
from placer_models.device_share import DeviceShare
from placer_models.moves import (
    is_where_it_was,
    movable_pods,
    moves_in_answer,
    placement_without_stayers,
    rules_mended,
    vacated_homes,
    with_movable_pods_as_waiting,
    with_unplaced_at_home,
)
from placer_models.placement import DeviceGrant, Placement, PodPlacement
from placer_models.pod import Pod, PodSpec
from placer_models.reach import any_pod_asks_beyond_node, asks_beyond_node, without_asks_beyond_node
from placer_models.topology_spread import SpreadConstraint
from pools import pools

HOME = PodPlacement(
    "p",
    "default",
    None,
    "n",
    frozenset({0, 1}),
    memory_bytes=((0, 5), (1, 2)),
    hugepages=((0, 2, 1),),
    devices=(DeviceGrant("gpu", 0), DeviceGrant("gpu", 1, share=DeviceShare(percent=50))),
    cpu_milli=((0, 700), (1, 0)),
)
OF_POOLS = (
    replace(HOME, cpuset=frozenset({4})),
    replace(HOME, containers=()),
    replace(HOME, cpu_milli=((0, 0), (1, 700))),
)
"""A pool that shrank or grew, and a request that is shared out otherwise: no move."""

ELSEWHERE = (
    replace(HOME, node="m"),
    replace(HOME, memory_bytes=((0, 6), (1, 1))),
    replace(HOME, memory_bytes=((1, 7),)),
    replace(HOME, hugepages=((1, 2, 1),)),
    replace(HOME, hugepages=()),
    replace(HOME, devices=HOME.devices[:1]),
    replace(HOME, devices=(DeviceGrant("gpu", 2), HOME.devices[1])),
    replace(HOME, devices=(DeviceGrant("nic", 0), HOME.devices[1])),
    replace(HOME, devices=(HOME.devices[0], DeviceGrant("gpu", 1))),
    replace(HOME, cpu_milli=((0, 700),)),
    replace(HOME, cpu_milli=None),
)


def leaving_instance(seed: int) -> Instance:
    """Draw a world with moves, in which running pods are in breach of any rule."""
    make = (tied_instance, mixed_moving_instance)[seed % 2]
    return with_breaches(Random(f"leaving-{seed}"), make(seed))


def drawn_placement(rng: Random, instance: Instance) -> Placement:
    """Send some of the pods that wait, or that run, to places at random."""
    here = [r.placement for r in instance.running] + list(instance.homes)
    names = {home.key for home in here}
    waiting = [pod.key for gang in instance.gangs for pod in gang.pods]
    places = []
    for key in dict.fromkeys([*waiting, *(place.key for place in here)]):
        home = next((place for place in here if place.key == key), None)
        if home is not None and rng.random() < 0.5:
            places.append(home if rng.random() < 0.4 else elsewhere(rng, home, instance))
        elif key not in names and rng.random() < 0.5:
            cpus = frozenset(rng.sample(range(6), rng.randint(0, 3)))
            on = rng.choice(instance.nodes).name
            places.append(PodPlacement(key[1], key[0], None, on, cpus))
    return Placement(tuple(places))


def all_elsewhere(rng: Random, instance: Instance) -> Placement:
    """Send all that runs to another place."""
    return Placement(tuple(elsewhere(rng, r.placement, instance) for r in instance.running))


def elsewhere(rng: Random, home: PodPlacement, instance: Instance) -> PodPlacement:
    """Change one thing of a place."""
    cpus = frozenset(rng.sample(range(6), rng.randint(0, 3)))
    return rng.choice(
        (
            replace(home, cpuset=cpus),
            replace(home, node=rng.choice(instance.nodes).name),
            replace(home, memory_bytes=((0, 1),)),
            replace(home, devices=()),
        )
    )


def has_moved(instance: Instance, home: PodPlacement, place: PodPlacement) -> bool:
    """Return whether anything that the pod holds has changed, or the pod cannot stay."""
    spec = next(p.spec for g in instance.gangs for p in g.pods if p.key == home.key)
    own = [place.cpuset == home.cpuset] if spec.qos.owns_cpus else []
    same = [
        place.node == home.node,
        sorted(place.memory_bytes) == sorted(home.memory_bytes),
        sorted(place.hugepages) == sorted(home.hugepages),
        {(g.type, g.minor, g.share) for g in place.devices}
        == {(g.type, g.minor, g.share) for g in home.devices},
        dict(place.cpu_milli or ()).keys() == dict(home.cpu_milli or ()).keys(),
    ]
    return home.key in instance.gone or not all([*own, *same])


def completed(asked: Instance, placement: Placement) -> dict[tuple[str, str], PodPlacement]:
    """Return key -> place where who is not named stays, in what is left of its pool."""
    breaching = {running.pod.key for running in asked.could_leave}
    places = {place.key: place for place in placement.pods if place.key not in breaching}
    named = set(places)
    pods = {pod.key: pod for gang in asked.gangs for pod in gang.pods}
    for home in asked.homes:
        places.setdefault(home.key, home)
    there = [(pods[key], place) for key, place in places.items() if key in pods]
    there += [(running.pod, running.placement) for running in asked.running]
    for home in asked.homes:
        node = next(node for node in asked.nodes if node.name == home.node)
        pool = pools(node, there).get(pods[home.key].spec.qos)
        if home.key not in named and pool is not None:
            numa_nodes = {numa for numa, _ in home.cpu_milli or ()}
            cpu = node.machine.topology.cpu
            mine = frozenset(c for c in pool if not numa_nodes or cpu[c].numa_node in numa_nodes)
            parts = tuple(replace(part, cpuset=mine) for part in home.containers)
            places[home.key] = replace(home, cpuset=mine, containers=parts)
    return places


def test_a_move_is_any_change_of_what_a_pod_holds() -> None:
    """
    By the judge and by the solver's words: who owns CPUs, and who runs in a pool.
    """
    turned = replace(HOME, devices=HOME.devices[::-1], memory_bytes=HOME.memory_bytes[::-1])
    owned = (replace(HOME, cpuset=frozenset({0})), replace(HOME, cpuset=frozenset({0, 2})))
    for tell in (is_where_it_was, homes.has_same_place_as_home):
        for owns in (False, True):
            assert tell(HOME, HOME, owns_cpus=owns)
            assert tell(turned, HOME, owns_cpus=owns)
            assert not any(tell(place, HOME, owns_cpus=owns) for place in ELSEWHERE)
        assert all(tell(place, HOME, owns_cpus=False) for place in (*OF_POOLS, *owned))
        assert not any(tell(place, HOME, owns_cpus=True) for place in owned)


@pytest.mark.parametrize("batch", range(5))
def test_who_moves_and_who_stays_is_as_the_page_says(batch: int) -> None:
    """
    On worlds with misfits and random placements: who has moved, and where who stays is.
    """
    rng = Random(f"moves-{batch}")
    moves = stayers = 0
    for seed in range(8 * batch, 8 * batch + 8):
        for asked in questions(leaving_instance(seed)):
            for _ in range(12):
                placement = drawn_placement(rng, asked)
                place_of = {place.key: place for place in placement.pods}
                gone = [
                    home
                    for home in asked.homes
                    if home.key in place_of and has_moved(asked, home, place_of[home.key])
                ]
                moves += len(gone)
                full = completed(asked, placement)
                stayers += sum(home.key not in place_of for home in asked.homes)

                assert list(vacated_homes(asked, placement)) == gone
                assert homes.homes_of_moved_pods(asked, placement.pods) == gone
                if any(key not in {p.key for g in asked.gangs for p in g.pods} for key in place_of):
                    continue
                assert {p.key: p for p in with_unplaced_at_home(asked, placement).pods} == full
                left = {place.key for place in placement_without_stayers(asked, placement).pods}
                staying = {home.key for home in asked.homes} - {home.key for home in gone}
                assert left == place_of.keys() - staying
    assert moves > 10
    assert stayers > 10


def misplaced(instance: Instance) -> Iterator[tuple[set[str], set[tuple[str, str]]]]:
    """Yield the groups in breach: the names of their pods, and (pod, rule) that each breaks."""
    _, breaking = may_move(instance)
    for group in breaking:
        asked = asked_of(replace(instance, gangs=(), groups=()), [group])
        faults = breaches_of_complete_placement(
            asked, Placement(tuple(completed(asked, Placement()).values()))
        )
        gangs = {gang.name for gang in asked.gangs}
        broken = {
            (running.pod.name, fault.rule)
            for running in group
            for fault in faults
            if fault.subject in (running.pod.name, running.placement.node) or fault.subject in gangs
        }
        yield {running.pod.name for running in group}, broken


@pytest.mark.parametrize("batch", range(5))
def test_moves_name_the_rules_that_they_mend(batch: int) -> None:
    """
    Those that a pod in breach would break if it came anew to where it is, and no others.
    """
    rng = Random(f"mends-{batch}")
    mended = 0
    for seed in range(8 * batch, 8 * batch + 8):
        instance = leaving_instance(seed)
        movable = movable_pods(instance, breaches_of_complete_placement)
        groups = list(misplaced(instance))
        fitting, _ = may_move(instance)

        assert {key[1] for key in movable.fitting} == {r.pod.name for g in fitting for r in g}
        assert [{key[1] for key in one.pods} for one in movable.misplaced] == [
            names for names, _ in groups
        ]
        for one, (_, broken) in zip(movable.misplaced, groups, strict=True):
            assert {(key[1], rule) for key, rule in one.broken} == broken
        placement = all_elsewhere(rng, instance) if seed % 2 else drawn_placement(rng, instance)
        placed = {place.key for place in placement.pods}
        expected: dict[str, set[str]] = {}
        for name, rule in (pair for _, broken in groups for pair in broken):
            if ("default", name) in placed:
                expected.setdefault(name, set()).add(rule)
        found = rules_mended(movable, placement)
        mended += len(found)
        assert {key[1]: set(rules) for key, rules in found.items()} == expected
        running = {r.pod.key: r.placement for r in instance.running}
        told = [
            (running[p.key], p, found.get(p.key, ())) for p in placement.pods if p.key in running
        ]
        assert list(moves_in_answer(instance, placement, found)) == told
    assert mended


@pytest.mark.parametrize("batch", range(5))
def test_who_is_placed_elsewhere_leaves_and_nobody_else(batch: int) -> None:
    """
    A group in breach is part of the question if the placement moves one of its pods.
    """
    rng = Random(f"leaves-{batch}")
    leaving = 0
    for seed in range(8 * batch, 8 * batch + 8):
        instance = leaving_instance(seed)
        fitting, breaking = may_move(instance)
        if not instance.gangs or not instance.move_budget or not (fitting or breaking):
            continue
        placement = all_elsewhere(rng, instance) if seed % 2 else drawn_placement(rng, instance)
        away = {place.key for place in placement.pods if is_away(instance, place)}
        go = [group for group in breaking if any(r.pod.key in away for r in group)]
        expected = asked_of(instance, fitting, go, [g for g in breaking if g not in go])
        asked = with_movable_pods_as_waiting(instance, breaches_of_complete_placement, placement)
        leaving += len(go)

        assert {home.key for home in asked.homes} == {home.key for home in expected.homes}
        assert {home.key: home.cpu_milli for home in asked.homes} == {
            home.key: home.cpu_milli for home in expected.homes
        }
        assert {r.pod.key for r in asked.could_leave} == {r.pod.key for r in expected.could_leave}
        assert [r.pod.key for r in asked.running] == [r.pod.key for r in expected.running]
        assert [pods(gang.pods) for gang in asked.gangs if gang not in instance.gangs] == [
            pods(gang.pods) for gang in expected.gangs if gang not in instance.gangs
        ]
    assert leaving


def pods(some: tuple[Pod, ...]) -> list[tuple[str, str]]:
    """Return the keys of pods."""
    return [pod.key for pod in some]


def is_away(instance: Instance, place: PodPlacement) -> bool:
    """Return whether a running pod is placed where it is not."""
    running: RunningPod | None = next((r for r in instance.running if r.pod.key == place.key), None)
    if running is None:
        return False
    ((home,), gang) = asked_of(instance, [(running,)]).homes, running.pod
    return not homes.has_same_place_as_home(place, home, owns_cpus=gang.spec.qos.owns_cpus)


def test_what_reaches_beyond_a_node_is_left_out_of_one_node() -> None:
    """
    Spread constraints, and terms about domains of nodes; what a pod asks of its node stays.
    """
    near, wide = AffinityTerm((("a", "b"),)), AffinityTerm((), topology="zone")
    spread = (SpreadConstraint("zone"),)

    def pod(*terms: AffinityTerm, over: tuple[SpreadConstraint, ...] = ()) -> Pod:
        return Pod("p", "default", PodSpec((), affinity=terms, spread=over))

    alone, far, over = pod(near), pod(near, wide), pod(near, over=spread)
    assert [asks_beyond_node(one.spec) for one in (alone, far, over)] == [False, True, True]
    assert any_pod_asks_beyond_node([alone, far])
    assert not any_pod_asks_beyond_node([alone, alone])
    assert [without_asks_beyond_node(one) for one in (alone, far, over)] == [alone] * 3
