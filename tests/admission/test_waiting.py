"""Random clusters: the wait of a gang, and free capacity, held by brute force (Q12)."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import pytest

from admission.admission_worlds import GREEDY, MINUTE, desk_of, nodes, work
from placer.admission import AdmissionRound, ReservedWorkload, Workload
from queue_worlds import say

NO_LIMIT = 10**6
"""Passes without end: use of capacity goes before shares."""


@dataclass
class World:
    """Nodes of a few CPUs, flows with weights, and gangs that arrive.

    Attributes:
        arrivals: (minute, job, workload).
        minutes: How long each workload really runs, by key.
    """

    cpus: tuple[int, ...]
    weights_milli: dict[str, int]
    arrivals: list[tuple[int, str, Workload]]
    minutes: dict[str, int]
    bypass_limit: int


def random_world(seed: int, *, known: bool = True) -> World:
    """Draw two to four nodes of one to four CPUs, and gangs of which each fits when all is idle."""
    rng = random.Random(seed)
    cpus = tuple(rng.randint(1, 4) for _ in range(rng.randint(2, 4)))
    flows = {name: rng.choice([1000, 1000, 4000]) for name in "abc"[: rng.randint(2, 3)]}
    arrivals, minutes = [], {}
    for job in flows:
        wide = rng.random() < 0.5
        told = known or rng.random() < 0.5
        minute = 0
        for i in range(rng.randint(3, 9)):
            minute += rng.choice([0, 0, 1, 3])
            size, each = rng.randint(1, 4) if wide else 1, rng.randint(1, 3 if wide else 2)
            while not packs(cpus, [each] * size):
                size, each = max(1, size - 1), max(1, each - 1)
            key = f"{job}{i}"
            minutes[key] = rng.choice([1, 2, 5, 9])
            arrivals.append((minute, job, work(key, size, each, minutes[key] if told else None)))
    return World(cpus, flows, sorted(arrivals, key=lambda a: a[0]), minutes, rng.randint(0, 4))


def packs(free: Sequence[int], pods: Sequence[int]) -> bool:
    """Return whether pods of these sizes go on nodes with so many CPUs free: all ways are tried."""
    return _packs(tuple(sorted(free)), tuple(sorted(pods, reverse=True)))


@cache
def _packs(free: tuple[int, ...], pods: tuple[int, ...]) -> bool:
    return not pods or any(_packs(left, pods[1:]) for left in _without(free, pods[0]))


def _without(free: tuple[int, ...], cpus: int) -> set[tuple[int, ...]]:
    """Return what may be left of the nodes once a pod has its place on one of them."""
    return {
        tuple(sorted((*free[:i], left - cpus, *free[i + 1 :])))
        for i, left in enumerate(free)
        if left >= cpus
    }


def sizes(workload: Workload) -> list[int]:
    """Return the CPUs of each pod."""
    return [
        pod.spec.containers[0].requests.cpu_milli // 1000
        for gang in workload.gangs
        for pod in gang.pods
    ]


def fits_both(
    now: tuple[int, ...], then: tuple[int, ...] | None, pods: Sequence[int], waits: Sequence[int]
) -> bool:
    """Return whether pods go on nodes so that others go there later; then None: no matter."""
    if not pods:
        return then is None or packs(then, waits)
    return any(
        fits_both(
            (*now[:i], left - pods[0], *now[i + 1 :]),
            then and (*then[:i], then[i] - pods[0], *then[i + 1 :]),
            pods[1:],
            waits,
        )
        for i, left in enumerate(now)
        if left >= pods[0] and (then is None or then[i] >= pods[0])
    )


class Watch:
    """A run, held against brute force round by round.

    Attributes:
        ends: When what runs ends in truth, by key, in minutes.
        told: When it ends by what the queue was told; None: it was told no length.
        on: (node, CPUs) of each of its pods.
        turns: (when its turn came, when it is due) of what has a reservation.
        waits: How many workloads had to wait when their turn came.
        beside: How many started while another one had a reservation.
        looks: How often something that waited was looked at, to see if it could start.
        wasted: How often it could have, in some way that the fast path did not find.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.desk = desk_of(
            nodes(*world.cpus),
            world.weights_milli,
            bypass_limit=world.bypass_limit,
            hold_us=10**6 * MINUTE,
        )
        self.workloads = {workload.key: workload for _, _, workload in world.arrivals}
        self.ends: dict[str, int] = {}
        self.told: dict[str, int | None] = {}
        self.on: dict[str, list[tuple[int, int]]] = {}
        self.turns: dict[str, tuple[int, int | None]] = {}
        self.waits = self.beside = self.looks = self.wasted = 0

    def run(self) -> None:
        """Run the world to its end."""
        arrivals = list(self.world.arrivals)
        while arrivals or self.ends:
            minute = min([*self.ends.values(), *(arrival[0] for arrival in arrivals[:1])])
            for key in [key for key, end in self.ends.items() if end == minute]:
                self.desk.finish(key, minute * MINUTE)
                del self.ends[key], self.on[key], self.told[key]
            while arrivals and arrivals[0][0] == minute:
                _, job, workload = arrivals.pop(0)
                self.desk.submit(job, workload, now_us=minute * MINUTE)
            self.started(self.desk.step(minute * MINUTE, 20, GREEDY), minute)

        assert self.desk.waiting == ()

    def started(self, round_: AdmissionRound, minute: int) -> None:
        """Hold what has started, what waits, and what is free against what was promised."""
        reserved = round_.reserved
        for one in round_.admitted:
            key, length = one.workload.key, one.workload.length_us
            if key in self.turns:
                since, due = self.turns.pop(key)
                assert one.turn_us == since * MINUTE
                assert due is None or minute <= due
            else:
                self.beside += bool(self.turns or reserved)
            self.ends[key] = minute + self.world.minutes[key]
            self.told[key] = None if length is None else minute + length // MINUTE
            self.on[key] = []
        for place in round_.decision.placement.pods if round_.decision else ():
            self.on[place.name.rsplit("-", 1)[0]].append((int(place.node[1:]), len(place.cpuset)))
        if reserved is not None:
            self.waiting(reserved, minute)
        if self.world.bypass_limit == NO_LIMIT:
            self.count_waste(reserved, minute)

    def waiting(self, reserved: ReservedWorkload, minute: int) -> None:
        """Hold a reservation: brute force finds a place when it is due, or before.

        It is due no later than the last of what runs ends, and never later than it was.
        """
        key, due_us = reserved.workload.key, reserved.due_us
        due = None if due_us is None else due_us // MINUTE
        pods = sizes(reserved.workload)
        assert not packs(self.free(minute), pods)
        if key not in self.turns:
            self.waits += 1
            assert reserved.since_us == minute * MINUTE
            assert all(one.reasons for one in reserved.unplaced)
        before = self.turns.get(key, (minute, None))[1]
        times = sorted({end for end in self.told.values() if end is not None})
        found = next((t for t in times if t > minute and packs(self.free(t), pods)), None)
        if due is not None:
            assert found is not None
            assert found <= due <= times[-1]
        assert before is None or (due is not None and due <= before)
        self.turns[key] = (reserved.since_us // MINUTE, due)

    def count_waste(self, reserved: ReservedWorkload | None, minute: int) -> None:
        """Count what waits that could start in some way without putting anything off."""
        due = reserved.due_us // MINUTE if reserved and reserved.due_us else None
        for key in self.desk.waiting:
            length = self.workloads[key].length_us
            stays = length is None or due is None or minute + length // MINUTE > due
            then = None if due is None or not stays else self.free(due)
            if reserved is None or key != reserved.workload.key:
                waits = sizes(reserved.workload) if reserved else ()
                pods = sizes(self.workloads[key])
                self.looks += 1
                self.wasted += fits_both(self.free(minute), then, pods, waits)

    def free(self, minute: int) -> tuple[int, ...]:
        """Return the free CPUs of each node at a minute, as far as was told."""
        left = list(self.world.cpus)
        for key, places in self.on.items():
            end = self.told[key]
            for at, cpus in places:
                left[at] -= cpus if end is None or end > minute else 0
        return tuple(left)


@pytest.mark.parametrize(
    "seeds",
    [
        range(2),
        pytest.param(range(2, 30), marks=pytest.mark.check),
        pytest.param(range(30, 430), marks=pytest.mark.slow),
    ],
    ids=["few", "many", "others"],
)
@pytest.mark.parametrize("limit", [None, NO_LIMIT], ids=["some limit", "no limit"])
def test_nothing_waits_longer_than_promised_and_little_is_wasted(
    seeds: range, limit: int | None
) -> None:
    """
    A gang whose turn has come starts when brute force finds it due, or before. Without a
    limit of passes hardly anything waits that could start without putting it off: only where the
    fast path does not find how both have room.
    """
    waits = beside = looks = wasted = 0
    for seed in seeds:
        world = random_world(seed, known=seed % 3 > 0)
        world.bypass_limit = limit or world.bypass_limit
        watch = Watch(world)
        watch.run()
        waits, beside = waits + watch.waits, beside + watch.beside
        looks, wasted = looks + watch.looks, wasted + watch.wasted
    say(f"{len(seeds)} clusters, {waits} had to wait, {beside} started beside them")
    say(f"{wasted} of {looks} looks at what waits find a way to start it")

    assert waits > len(seeds)
    assert beside >= len(seeds)
    assert wasted <= looks // 1000
