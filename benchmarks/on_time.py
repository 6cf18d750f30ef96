"""Answers by the deadline: the worst cases of all that is done beside the search itself.

A row is a world and a time limit. It says when the greedy answer was there, when the answer
was, and how far that is beyond what is allowed: the limit, or greedy's own time where that is
longer, plus a tenth and 50 ms. Beside it stands what the answer is worth: pods placed, tiers
proven, and how many of the pods that are left out only hear that time ran out.

The clock is the CPU time of the process, so that other work on the machine does not count;
with --slower 8 it goes eight times as fast, as on a machine that is as much slower or has as much
else to do, and CP-SAT has an eighth of its time.

Before all that: how long it takes to find the first pods of their kind, beside a plain look at
each pod for each of the others. Twice as many pods should take twice as long.

With --against FOLDER each row is measured with the placer of another checkout too, the
two in turn: before and after, in one run. Worlds:
--worlds cluster,firsts,gangs,left-out,nodes,pairs.

Run: python benchmarks/on_time.py [--slower K] [--against FOLDER] [--worlds NAMES] [LIMIT...]
"""

import json
import tempfile
import time
from argparse import SUPPRESS
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from _arguments import parser_for
from _checkouts import HERE, json_of
from _mixed_cluster import mixed_cluster
from _timing import timed
from _worlds import gang, lone, machine, nodes_in_turn, running_pod, spec
from ortools.sat.python import cp_model

from placer.search import budget as budget_module
from placer.search import halt as halt_module
from placer.search import solver
from placer.search.budget import SolveBudget
from placer.search.options import Engine, SolveOptions
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.machines.catalogue import load_machine
from placer_models.placement import PartlyPlaced, Placed
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import QosClass

LIMITS_S = (0.05, 1.0, 2.0, 5.0, 10.0, 30.0)
FIRSTS = (250, 500, 1_000, 2_000)
MOST_PLAINLY = 1_000
"""Up to so many pods the plain look at all pairs is waited for."""

PLAIN = machine("plain", 64, (1 << 40,), title="64 CPUs")


def pod(name: str, asked: PodSpec) -> Pod:
    return Pod(name, "default", asked)


def of_its_own(name: str, milli: int) -> PodSpec:
    """Return a pod that has to be with its like, of which there is no other."""
    kind = (("app", name),)
    containers = (Container("main", Resources(milli, 1 << 20)),)
    return PodSpec(containers, QosClass.LS, labels=kind, affinity=(AffinityTerm(kind),))


def firsts() -> Instance:
    """2,000 pods that are each the first of their kind on 50 nodes, and 20 that are too large."""
    waiting = [pod(f"p-{i}", of_its_own(f"p-{i}", 1_400)) for i in range(2_000)]
    waiting += [pod(f"x-{i}", of_its_own(f"x-{i}", 65_000)) for i in range(20)]
    return Instance(nodes_in_turn(50, (PLAIN,), "n-{}"), tuple(map(lone, waiting)))


def with_gpus(count: int) -> tuple[Node, ...]:
    """Return nodes with GPUs, of two machines."""
    machines = [load_machine(name) for name in ("dgx-a100", "p4d-24xlarge")]
    return nodes_in_turn(count, machines, "n-{}")


def gangs() -> Instance:
    """Five gangs that want more than all of 1,000 nodes, and 20 pods."""
    nodes = with_gpus(1_000)
    large, small = spec(QosClass.LSR, 8_000, 8, gpus=8), spec(QosClass.LSR, 1_000, 1)
    found = []
    for i in range(5):
        asked = replace(large, labels=(("gang", str(i)),))
        found.append(gang(f"g-{i}", asked, len(nodes) + 1 + i, len(nodes) + 1 + i))
    return Instance(nodes, (*found, *(lone(pod(f"s-{i}", small)) for i in range(20))))


def left_out() -> Instance:
    """1,000 different pods for six nodes."""
    nodes = nodes_in_turn(6, (load_machine("dgx-a100"),), "n-{}")
    found = []
    for i in range(1_000):
        gpus = 1 + i % 3 if i % 2 else 0
        label = ("app", f"p-{i}")
        asked = spec(QosClass.LSR, 1_000 * (1 + i % 17), 1, gpus, labels=(label,))
        found.append(lone(pod(f"p-{i}", asked)))
    return Instance(nodes, tuple(found))


def pairs() -> Instance:
    """The same 1,000 pods on 4,000 nodes: four million pairs."""
    return replace(left_out(), nodes=with_gpus(4_000))


def many_nodes() -> Instance:
    """Three pods on 8,000 nodes: the nodes are most of the work."""
    nodes = with_gpus(8_000)
    asked = spec(QosClass.LSR, 8_000, 8)
    return Instance(nodes, tuple(lone(pod(f"p-{i}", asked)) for i in range(3)))


def cluster() -> Instance:
    """A mixed cluster of 50 nodes, as a dump, with claims."""
    with tempfile.TemporaryDirectory() as folder:
        return mixed_cluster(Path(folder))


WORLDS: dict[str, Callable[[], Instance]] = {
    "cluster": cluster,
    "firsts": firsts,
    "gangs": gangs,
    "left-out": left_out,
    "nodes": many_nodes,
    "pairs": pairs,
}


def seconds_of_firsts(count: int) -> tuple[float, float | None]:
    """Return the seconds to find that each of so many pods is the first; and that plainly."""
    pods = [pod(f"p-{i}", of_its_own(f"p-{i}", 1)) for i in range(count)]
    nodes = nodes_in_turn(50, (PLAIN,), "n-{}")
    everyone = [running_pod(one, f"n-{i % 50}", frozenset()) for i, one in enumerate(pods)]
    took_s, _ = timed(time.process_time, _found, nodes, everyone)
    plain_s = timed(time.process_time, plainly, pods)[0] if count <= MOST_PLAINLY else None
    return took_s, plain_s


def _found(nodes: Sequence[Node], everyone: Sequence[RunningPod]) -> int:
    try:
        from placer.search.reasons.firsts import find_first_affinity_pods
        from placer.search.reasons.question import OtherPods
    except ImportError:  # an older checkout
        question: Any = import_module("placer.search.reasons.question")
        return len(list(question.firsts_of(nodes, everyone, everyone)))
    company = OtherPods(everyone)
    return len(list(find_first_affinity_pods(nodes, everyone, company, lambda: False)))


def plainly(pods: Sequence[Pod]) -> int:
    """Return how many pods have no company, by a look at every pair."""
    return sum(
        not any(
            other is not one
            and term.looks_into(other.namespace, one.namespace)
            and term.means(other.spec.labels, owns_cpus=other.spec.qos.owns_cpus)
            for other in pods
        )
        for one in pods
        for term in one.spec.affinity
    )


def solved(instance: Instance, limit_s: float, slower: float) -> dict[str, float]:
    """Return when the answer was there and what it is worth, by a clock of CPU time."""
    clock = SimpleNamespace(monotonic=lambda: slower * time.process_time())
    really = cp_model.CpSolver.solve
    budgets: list[SolveBudget] = []

    def work(one: cp_model.CpSolver, *given: Any) -> Any:
        one.parameters.max_time_in_seconds /= slower
        return really(one, *given)

    def watched(options: SolveOptions) -> SolveBudget:
        budgets.append(SolveBudget(options, started_s=clock.monotonic()))
        return budgets[0]

    def started(budget: SolveBudget, *given: Any, **named: Any) -> None:
        named.setdefault("started_s", clock.monotonic())
        begin(budget, *given, **named)

    modules: Sequence[Any] = (budget_module, halt_module)
    begin = SolveBudget.__init__
    SolveBudget.__init__ = started
    for module in modules:
        module.time = clock
    cp_model.CpSolver.solve = work
    solver.SolveBudget = watched
    options = SolveOptions(Engine.AUTO, limit_s, workers=1, seed=1)
    ended_s, answer = timed(clock.monotonic, solver.solve, instance, options)
    tiers = answer.tiers if isinstance(answer, Placed | PartlyPlaced) else ()
    unplaced = () if isinstance(answer, Placed) else answer.unplaced
    greedy_s = budgets[0].greedy_s
    return {
        "greedy_s": greedy_s,
        "answer_s": ended_s,
        "late_s": ended_s - 1.1 * max(limit_s, greedy_s) - 0.05,
        "placed": sum(len(one.pods) for one in instance.gangs) - len(unplaced),
        "proven": sum(tier.proven for tier in tiers),
        "tiers": len(tiers),
        "out": len(unplaced),
        "time": sum(left.reasons[0].startswith("time") for left in unplaced),
    }


def measured(what: Sequence[str]) -> Any:
    """Return what one row is about, measured here and now."""
    if what[0] == "first-pods":
        return seconds_of_firsts(int(what[1]))
    world, limit_s, slower = what
    return solved(WORLDS[world](), float(limit_s), float(slower))


def main(
    worlds: Sequence[str], limits_s: Sequence[float], slower: float, other: Path | None
) -> None:
    checkouts = {"": HERE} if other is None else {"before": other, "after": HERE}
    print("first pods of their kind; s of CPU, and times those of half as many pods")
    print("pods           s    times  plainly s")
    last: dict[str, float] = {}
    for count in FIRSTS:
        for label, folder in checkouts.items():
            took_s, plain_s = json_of(folder, __file__, "--row", "first-pods", str(count))
            times = f"{took_s / last[label]:7.1f}" if label in last else " " * 7
            beside = "" if plain_s is None else f"{plain_s:9.3f}"
            print(f"{count:5}  {took_s:9.3f}  {times}  {beside}  {label}", flush=True)
            last[label] = took_s
    print(f"\nwhole solves; a clock of CPU time, {slower:g} times as fast")
    print("world     limit s  greedy s  answer s   late s  placed  proven    time ran out")
    late = dict.fromkeys(checkouts, 0)
    for world in worlds:
        for limit_s in limits_s:
            for label, folder in checkouts.items():
                asked = (world, str(limit_s), str(slower))
                found = json_of(folder, __file__, "--row", *asked)
                late[label] += found["late_s"] > 0
                print(
                    f"{world:8}  {limit_s:7.2f}  {found['greedy_s']:8.2f}"
                    f"  {found['answer_s']:8.2f}  {found['late_s']:+7.2f}  {found['placed']:6}"
                    f"  {found['proven']:2} of {found['tiers']:2}"
                    f"  {found['time']:5} of {found['out']:5}  {label}",
                    flush=True,
                )
    for label, count in late.items():
        print(f"late: {count} of {len(worlds) * len(limits_s)}  {label}")


if __name__ == "__main__":
    parser = parser_for(__doc__)
    parser.add_argument("limits", nargs="*", type=float)
    parser.add_argument("--slower", type=float, default=1.0)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--worlds", default=",".join(WORLDS))
    parser.add_argument("--row", nargs="+", help=SUPPRESS)
    said = parser.parse_args()
    if unknown := set(said.worlds.split(",")) - set(WORLDS):
        parser.error(f"no such worlds: {', '.join(sorted(unknown))}; there are {', '.join(WORLDS)}")
    if said.row:
        print(json.dumps(measured(said.row)))
    else:
        main(said.worlds.split(","), said.limits or LIMITS_S, said.slower, said.against)
