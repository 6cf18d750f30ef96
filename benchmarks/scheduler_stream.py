"""A stream of pods through the Scheduler on 1,000 busy nodes, call by call.

Pods come one by one (greedy engine) and go again; nodes change in between. The Scheduler
counts anew only what has changed. The baseline is the solve alone: what a caller without a
Scheduler would pay for the same answer. Its parts are timed too: what counting costs, what
the Problem, the choice and the judge cost.

Times are CPU times of the one thread that works: the same as the clock's on an idle
machine, and no worse on a busy one.

Run: python benchmarks/scheduler_stream.py [NODES [PODS]]
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from random import Random
from statistics import median
from time import thread_time
from typing import ParamSpec, TypeVar

import greedy_fleet
from _arguments import numbers_asked
from _timing import print_times, timed
from _worlds import WHOLE_CORES, nodes_in_turn, spec

from placer.counting.account import accounts_of
from placer.greedy.place import place_greedily
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.scheduling.refusal import Refusal
from placer.search.baseline import starting_accounts_of
from placer.search.judged import realise_and_judge
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.machines.catalogue import load_machine
from placer_models.pod import Pod, lone_gang
from placer_models.policy import AlignmentPolicy, QosClass

SEED = 11
PODS_PER_NODE = 3
DEADLINE_S = 60.0
PLACE, ALONE = "place", "solve alone, the baseline"
GREEDY = SolveOptions(engine=Engine.GREEDY, workers=1)
ABSENT = ("p4d-24xlarge", "threadripper-2990wx")
MACHINES = tuple(name for name in greedy_fleet.MACHINES if name not in ABSENT)

SPECS = (
    spec(QosClass.LSR, 4_000, 8),
    spec(QosClass.LSR, 8_000, 16, **WHOLE_CORES),
    spec(QosClass.LSE, 8_000, 8, alignment=AlignmentPolicy.SINGLE_NUMA_NODE),
    spec(QosClass.LSR, 8_000, 32, gpus=1, alignment=AlignmentPolicy.BEST_EFFORT),
    spec(QosClass.LS, 16_000, 64, gpus=4, alignment=AlignmentPolicy.BEST_EFFORT),
    spec(QosClass.LS, 500, 1),
    spec(QosClass.BE, 3_000, 8),
)

P = ParamSpec("P")
T = TypeVar("T")


class Clock:
    """Gathers the times of calls by name."""

    def __init__(self) -> None:
        self.times_ms: defaultdict[str, list[float]] = defaultdict(list)

    def __call__(self, what: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        took_s, result = timed(thread_time, call, *args, **kwargs)
        self.times_ms[what].append(1_000 * took_s)
        return result

    def median_ms(self, what: str) -> float:
        return median(self.times_ms[what])

    def show(self) -> None:
        for what, taken in self.times_ms.items():
            print_times(what, taken)


def drawn(rng: Random, name: str) -> Batch:
    return Batch((lone_gang(Pod(name, "default", rng.choice(SPECS))),))


def busy(rng: Random, count: int) -> Scheduler:
    scheduler = Scheduler(nodes_in_turn(count, [load_machine(name) for name in MACHINES]))
    pods = [Pod(f"old-{i}", "default", rng.choice(SPECS)) for i in range(PODS_PER_NODE * count)]
    scheduler.place(Batch(tuple(map(lone_gang, pods))), 600, options=GREEDY)
    return scheduler


def stream(scheduler: Scheduler, rng: Random, pods: int, clock: Clock) -> None:
    """Let pods come; for each one that comes one goes, and now and then a node changes."""
    for i in range(pods):
        batch = drawn(rng, f"new-{i}")
        if i % 3 == 0:
            clock(PLACE, scheduler.place, batch, DEADLINE_S, options=GREEDY)
        elif i % 3 == 1:
            decision = clock(
                "place, dry run", scheduler.place, batch, DEADLINE_S, dry_run=True, options=GREEDY
            )
            assert not isinstance(clock("confirm", scheduler.confirm, decision), Refusal)
        else:
            asked = replace(scheduler.snapshot().instance, gangs=batch.gangs)
            clock(ALONE, solve, asked, GREEDY)
        snapshot = clock("snapshot", scheduler.snapshot)
        stays, goes = rng.sample([runner.pod.key for runner in snapshot.instance.running], 2)
        clock("release", scheduler.release, [goes])
        clock("placement_of", scheduler.placement_of, stays)
        node = rng.choice(snapshot.instance.nodes)
        broken = frozenset((d.type, d.minor) for d in node.machine.devices[:1])
        clock("update_node", scheduler.update_node, replace(node, unhealthy=broken))
        clock("cordon", scheduler.cordon, node.name)
        clock("uncordon", scheduler.uncordon, node.name)


def parts(scheduler: Scheduler, rng: Random, clock: Clock) -> None:
    """Time the parts of a solve by themselves."""
    for i in range(10):
        snapshot = scheduler.snapshot()
        instance = replace(snapshot.instance, gangs=drawn(rng, f"part-{i}").gangs)
        accounts = clock("  counting the accounts", accounts_of, instance)
        problem = clock("  building the Problem", build_problem, instance, accounts)
        choices = clock("  choosing", place_greedily, problem)
        baseline = clock("  the same for the judge, too", starting_accounts_of, instance)
        clock(
            "  realising, judging, measuring",
            realise_and_judge,
            instance,
            baseline,
            problem,
            choices,
        )
        clock("restore", Scheduler.restore, snapshot)
    clock("misfits, all nodes", scheduler.misfits)


def main() -> None:
    said = numbers_asked(__doc__, nodes=1_000, pods=90)
    count, pods = said.nodes, said.pods
    rng = Random(SEED)
    scheduler = busy(rng, count)
    clock = Clock()
    stream(scheduler, rng, pods, clock)
    parts(scheduler, rng, clock)
    running = len(scheduler.snapshot().instance.running)
    print(f"{count} nodes, {running} pods run, version {scheduler.version}")
    clock.show()
    print(f"place / solve alone, medians: {clock.median_ms(PLACE) / clock.median_ms(ALONE):.2f}")


if __name__ == "__main__":
    main()
