"""Workloads of a Scheduler, part by part: each yields what its calls took, and a hash of answers.

A cluster is that of mixed_places: 1,213 nodes of 15 kinds, unless a workload says otherwise.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from random import Random
from time import thread_time

from _timing import timed
from _worlds import nodes_in_turn
from mixed_places import KINDS, NODES, machine, spec, with_shares, without_shares

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision
from placer.search import options as search_options
from placer.search.options import Engine, SolveOptions
from placer_models.affinity import AffinityTerm
from placer_models.node_strategy import NodeStrategy
from placer_models.pod import Pod, PodSpec, lone_gang
from placer_models.policy import RequiredOrPreferred
from placer_models.topology_spread import SpreadConstraint

SEED = 29
DEADLINE_S = 600.0

Part = list[tuple[str, float, str]]
"""(kind of call, milliseconds of CPU time a pod, hash of the answer) of each call."""

Parts = Iterator[Part]


def cluster(count: int = NODES) -> Scheduler:
    return Scheduler(nodes_in_turn(count, [machine(kind) for kind in KINDS]))


def greedy(strategy: NodeStrategy | None = None) -> SolveOptions:
    return SolveOptions(engine=Engine.GREEDY, workers=1, strategy=strategy)


def largest_first(asked: SolveOptions) -> SolveOptions:
    """Return options that place a batch as a whole, as checkouts do that know no other order."""
    orders = getattr(search_options, "BatchOrder", None)
    return asked if orders is None else replace(asked, order=orders.LARGEST_FIRST)


def specs() -> list[PodSpec]:
    return [*with_shares(), *without_shares()]


def hashed(decision: Decision) -> str:
    reasons = getattr(decision.answer, "unplaced", ())
    return sha256(repr((decision.placement, reasons)).encode()).hexdigest()[:16]


def placed(
    call: str, scheduler: Scheduler, pods: list[Pod], options: SolveOptions
) -> tuple[str, float, str]:
    batch = Batch(tuple(map(lone_gang, pods)))
    took_s, decision = timed(thread_time, scheduler.place, batch, DEADLINE_S, options=options)
    took_ms = 1_000 * took_s / len(pods)
    refused = "refused" if len(pods) == 1 and not decision.placement.pods else call
    return refused, took_ms, hashed(decision)


def drawn(rng: Random, prefix: str, count: int, among: list[PodSpec]) -> list[Pod]:
    return [Pod(f"{prefix}-{i}", "default", rng.choice(among)) for i in range(count)]


def half_full(
    rng: Random, among: list[PodSpec], pods: int = 2_500, strategy: NodeStrategy | None = None
) -> Scheduler:
    """Return nodes with pods placed one by one: checkouts differ in what they do with a batch."""
    scheduler = cluster()
    for pod in drawn(rng, "old", pods, among):
        placed("fill", scheduler, [pod], greedy(strategy))
    return scheduler


def singles(strategy: NodeStrategy | None, parts: int = 12, pods: int = 25) -> Parts:
    """Yield pods placed one by one on a cluster that is half full."""
    rng = Random(SEED)
    among = specs()
    scheduler = half_full(rng, among, strategy=strategy)
    options = greedy(strategy)
    for pod in [Pod(f"warm-{i}", "default", one) for i, one in enumerate(among)]:
        placed("warm", scheduler, [pod], options)
    for part in range(parts):
        yield [
            placed("single", scheduler, [pod], options)
            for pod in drawn(rng, f"new-{part}", pods, among)
        ]


def batches(size: int, parts: int = 6) -> Parts:
    """Yield batches on a cluster that is a quarter full."""
    rng = Random(SEED)
    among = specs()
    scheduler = half_full(rng, among, 1_000)
    for part in range(parts):
        yield [placed("batch, a pod", scheduler, drawn(rng, f"{part}", size, among), greedy())]


def refusals(parts: int = 15, pods: int = 20) -> Parts:
    """Yield pods one by one on a cluster that is full, while now and then some pods end."""
    rng = Random(SEED)
    among = specs()
    scheduler = cluster()
    placed("fill", scheduler, drawn(rng, "old", 6_000, among), greedy())
    for part in range(parts):
        keys = [one.pod.key for one in scheduler.snapshot().instance.running]
        scheduler.release(rng.sample(sorted(keys), 3))
        yield [
            placed("placed", scheduler, [pod], greedy())
            for pod in drawn(rng, f"new-{part}", pods, among)
        ]


def first_calls(count: int) -> Parts:
    """Yield the first call of a Scheduler, then pods that are each the first of their shape."""
    for _ in range(3):
        scheduler = cluster(count)
        rng = Random(SEED)
        part = [placed("first call", scheduler, drawn(rng, "a", 1, specs()), greedy())]
        for i in range(10):
            one = spec(rng.randrange(100, 9_000), rng.randrange(100, 30_000))
            if i % 2:
                gpu = with_shares()[i % 4].containers[0].requests.devices
                one = spec(rng.randrange(100, 9_000), rng.randrange(100, 30_000), *gpu)
            pod = Pod(f"b-{i}", "default", one)
            part.append(placed("first of a shape", scheduler, [pod], greedy()))
        known = specs()[0]
        for i in range(10):
            pod = Pod(f"c-{i}", "default", known)
            part.append(placed("known shape", scheduler, [pod], greedy()))
        yield part


RACK, ZONE = "topology.example/rack", "topology.kubernetes.io/zone"
NODES_PER_RACK = 40


def racks(count: int) -> Scheduler:
    """Return idle nodes with GPUs in racks of 40, whose racks take turns among three zones."""
    return Scheduler(
        replace(
            node,
            labels=((RACK, f"r{i // NODES_PER_RACK}"), (ZONE, f"z{i // NODES_PER_RACK % 3}")),
        )
        for i, node in enumerate(nodes_in_turn(count, [machine(kind) for kind in KINDS]))
    )


def services(rng: Random, pods: int, minded: bool) -> list[Pod]:
    """Return pods of services of 5 to 25 that want GPUs, in any order.

    If they are minded, the services take turns: spread over racks; over zones, and as they like
    over racks; one a node; one a rack, if possible, and together in a zone.
    """
    wants = [
        *with_shares(),
        *[one for one in without_shares() if one.containers[0].requests.devices],
    ]
    made: list[Pod] = []
    service = 0
    while len(made) < pods:
        labels = (("app", f"s{service}"),)
        wish = replace(rng.choice(wants), labels=labels)
        if minded and service % 4 == 0:
            wish = replace(wish, spread=(SpreadConstraint(RACK, labels=labels),))
        elif minded and service % 4 == 1:
            liked = SpreadConstraint(RACK, strength=RequiredOrPreferred.PREFERRED, labels=labels)
            wish = replace(wish, spread=(SpreadConstraint(ZONE, labels=labels), liked))
        elif minded and service % 4 == 2:
            wish = replace(wish, affinity=(AffinityTerm(labels, apart=True),))
        elif minded:
            apart = AffinityTerm(
                labels, True, RequiredOrPreferred.PREFERRED, topology=RACK, weight=10
            )
            wish = replace(wish, affinity=(AffinityTerm(labels, topology=ZONE), apart))
        size = min(rng.randint(5, 25), pods - len(made))
        made += [Pod(f"s{service}-{i}", "default", wish) for i in range(size)]
        service += 1
    rng.shuffle(made)
    return made


def over_racks(pods: int = 500, nodes: int = 3_000) -> Parts:
    """Yield services on nodes with GPUs, as one batch and one by one, with rules and without.

    A batch is placed in the order in which it stands, as if one by one, and largest first.
    """
    usable = greedy(NodeStrategy.USABLE)
    for minded, rules in ((True, "with rules"), (False, "without")):
        wanted = services(Random(SEED), pods, minded)
        yield [placed(f"batch {rules}", racks(nodes), wanted, usable)]
        yield [placed(f"whole {rules}", racks(nodes), wanted, largest_first(usable))]
        scheduler = racks(nodes)
        yield [placed(f"single {rules}", scheduler, [pod], usable) for pod in wanted]


WORKLOADS: dict[str, Callable[[], Parts]] = {
    "singles": partial(singles, None),
    **{str(one): partial(singles, one) for one in NodeStrategy},
    "batches of 100": partial(batches, 100),
    "batches of 1000": partial(batches, 1_000, 3),
    "refusals": refusals,
    "over racks, 3000 nodes": over_racks,
    "first, 1213 nodes": partial(first_calls, NODES),
    "first, 20000 nodes": partial(first_calls, 20_000),
}
