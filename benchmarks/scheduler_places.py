"""Pods placed one by one through the Scheduler on a fleet of 1,000 nodes, call by call.

What a call works out about the nodes is kept for the next one, which compares the row of
all nodes with that of the last time and looks at those alone that are others. The
baseline, in the same run, is the same Scheduler with all of that forgotten before each
call. Decisions are held against each other: they have to be equal.

The fleet is measured empty, and again after thousands of pods have made its nodes differ.
A pod is the first of its kind where no earlier call asked for the same.

Times are CPU times of the one thread that works: the same as the clock's on an idle
machine, and no worse on a busy one.

Run: python benchmarks/scheduler_places.py [NODES [PODS [ENGINE [STRATEGY]]]]
"""

from collections.abc import Sequence
from random import Random
from statistics import median

from _arguments import add_numbers, parser_for
from _timing import print_times
from _worlds import nodes_in_turn
from greedy_fleet import MACHINES, SPECS
from mixed_places import placed as placed_alone

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Node
from placer_models.machines.catalogue import load_machine
from placer_models.node_strategy import NodeStrategy
from placer_models.pod import Pod, lone_gang

SEED = 7
BEFORE_PER_NODE = 3
FORGETFUL_PODS = 12


def fleet(count: int) -> tuple[Node, ...]:
    return nodes_in_turn(count, [load_machine(name) for name in MACHINES])


def crowded(scheduler: Scheduler, rng: Random, pods: int) -> None:
    """Let pods run, and half of them end: so no two nodes stay alike."""
    old = [Pod(f"old-{i}", "default", rng.choice(SPECS)) for i in range(pods)]
    greedy = SolveOptions(engine=Engine.GREEDY, workers=1)
    decision = scheduler.place(Batch(tuple(map(lone_gang, old))), 600, options=greedy)
    keys = [place.key for place in decision.placement.pods]
    scheduler.release(rng.sample(keys, len(keys) // 2))


def report(
    title: str, nodes: Sequence[Node], before: int, pods: int, options: SolveOptions
) -> None:
    rng = Random(SEED)
    scheduler = Scheduler(nodes)
    if before:
        crowded(scheduler, rng, before)
    drawn = [Pod(f"pod-{i}", "default", rng.choice(SPECS)) for i in range(pods)]
    first, later, forgetful = [], [], []
    seen = set()
    placed = 0
    for i, pod in enumerate(drawn):
        if i % (len(drawn) // FORGETFUL_PODS or 1) == 0:
            took_ms, other = placed_alone(Scheduler.restore(scheduler.snapshot()), pod, options)
            forgetful.append(took_ms)
        else:
            other = None
        took_ms, decision = placed_alone(scheduler, pod, options)
        (later if pod.spec in seen else first).append(took_ms)
        seen.add(pod.spec)
        placed += bool(decision.placement.pods)
        assert other is None or other.placement == decision.placement
    print(f"{title}, {options.engine}: {len(nodes)} nodes, {placed} of {pods} pods placed")
    print_times("first pod of a kind", first)
    print_times("every later pod", later)
    print_times("all", first + later)
    print_times("all forgotten before, the baseline", forgetful)
    print(f"  baseline / all, medians: {median(forgetful) / median(first + later):.1f}")


def main() -> None:
    parser = parser_for(__doc__)
    add_numbers(parser, nodes=1_000, pods=200)
    parser.add_argument(
        "engine", type=Engine, choices=list(Engine), nargs="?", default=Engine.GREEDY
    )
    parser.add_argument("strategy", type=NodeStrategy, choices=list(NodeStrategy), nargs="?")
    said = parser.parse_args()
    count, pods = said.nodes, said.pods
    options = SolveOptions(engine=said.engine, workers=1, strategy=said.strategy)
    nodes = fleet(count)
    report("empty fleet", nodes, 0, pods, options)
    report("busy fleet", nodes, BEFORE_PER_NODE * count, pods, options)


if __name__ == "__main__":
    main()
