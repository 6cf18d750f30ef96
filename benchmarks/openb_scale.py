"""openb's cluster several times over: the first call, pods a second one by one, and memory.

Each node is there so many times, and pods of the list come by chance. First one pod, then batches
until a share of all GPUs is asked for, then pods one by one, whose shapes are all known. Times are
CPU times of the thread that works; the memory is the most that the process had, all modules
included. One size a process, because memory is of a process.

With --others so many machines of the catalogue (DGX A100, HGX H100, Minsky) stand among openb's
nodes: they have several NUMA nodes, and links between GPUs. It is told how many pods came to them.
With --by-greedy the greedy path places all pods, and columns none: the baseline, which has to find
the same places; the last line is a hash of them.

Run: python benchmarks/openb_scale.py [FOLDER] [--copies N] [--percent N] [--singles N]
[--others N] [--by-greedy] [--strategy NAME] [--without-numba]; FOLDER has openb's CSV files.
"""

import resource
import sys
from collections.abc import Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from statistics import mean, median
from time import thread_time

import numpy as np
from _arguments import not_run, parser_for
from _openb import TRACES_MISSING, add_folder_of_traces
from _timing import p99, timed

from placer.openb.arrivals import TraceArrivalOrder
from placer.openb.lists import read_trace_nodes, read_trace_pods
from placer.openb.policies import POLICIES, solve_options_for_policy
from placer.openb.replay import DEADLINE_S, gpu_milli_asked_by_lone_pod
from placer.openb.trace import WorkloadTrace
from placer.openb.words import TraceConverter, gpu_models_of_nodes
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.by_columns.places import SimplePodPlacer
from placer.search.options import SolveOptions
from placer_models.cluster import Node
from placer_models.pod import Gang

SEED = 42
BATCH = 1_000
KIB_PER_MIB = 1024
OTHERS = ("dgx-a100", "hgx-h100", "minsky")


def trace_of(folder: Path, copies: int) -> WorkloadTrace:
    """Return the nodes so many times, and twice as many pods as they have room for."""
    nodes = read_trace_nodes(folder / "openb_node_list_gpu_node.csv")
    pods = tuple(read_trace_pods(folder / "openb_pod_list_default.csv", gpu_models_of_nodes(nodes)))
    random = np.random.default_rng(SEED)
    ranks = tuple(map(int, random.permutation(len(nodes) * copies)))
    order = tuple(map(int, random.integers(len(pods), size=2 * copies * len(pods))))
    return WorkloadTrace(tuple(nodes) * copies, pods, TraceArrivalOrder(order, ranks))


def others_among(count: int, nodes: int) -> tuple[Node, ...]:
    """Return nodes of the catalogue whose names begin with ranks drawn among those of openb's."""
    # Only now: it takes memory, which is measured.
    from placer_models.machines.catalogue import load_machine

    ranks = np.random.default_rng(SEED).integers(nodes, size=count)
    width = len(str(nodes))
    names = [f"{rank:0{width}}-other-{i}" for i, rank in enumerate(ranks)]
    machines = [load_machine(name) for name in OTHERS]
    return tuple(Node(name, machines[i % len(machines)]) for i, name in enumerate(names))


def placed(scheduler: Scheduler, gangs: list[Gang], options: SolveOptions) -> tuple[float, int]:
    """Return the seconds of a call, and how many pods got a place."""
    batch = Batch(tuple(gangs))
    took_s, decision = timed(thread_time, scheduler.place, batch, DEADLINE_S, options=options)
    return took_s, len(decision.placement.pods)


def main(
    trace: WorkloadTrace, percent: int, singles: int, policy: str, others: Sequence[Node] = ()
) -> None:
    """Print what was measured."""
    words = TraceConverter()
    options = solve_options_for_policy(policy, map(words.spec, trace.pods))
    nodes = (*trace.ranked_nodes(words), *others)
    made_s, scheduler = timed(thread_time, Scheduler, nodes)
    arriving = trace.arriving(words)
    first_s, _ = placed(scheduler, list(islice(arriving, 1)), options)
    print(f"{len(nodes)} nodes, {policy}: made in {made_s:.2f} s, first call {first_s:.3f} s")
    asked, batched_s, batched = 0, 0.0, 0
    while 100 * asked < percent * trace.capacity_milli:
        gangs = list(islice(arriving, BATCH))
        asked += sum(map(gpu_milli_asked_by_lone_pod, gangs))
        batched_s, batched = batched_s + placed(scheduler, gangs, options)[0], batched + len(gangs)
    if batched:
        print(
            f"  batches of {BATCH}: {batched / batched_s:.0f} pods a second, "
            f"{1000 * batched_s / batched:.2f} ms each, {batched} pods"
        )
    calls = [placed(scheduler, [gang], options) for gang in islice(arriving, singles)]
    times_ms = [1000 * took_s for took_s, _ in calls]
    if calls:
        print_calls(times_ms, sum(got for _, got in calls))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_PER_MIB
    running = scheduler.snapshot().instance.running
    if others:
        names = {node.name for node in others}
        there = sum(one.placement.node in names for one in running)
        print(
            f"  {there} of {len(running)} pods are on the {len(others)} machines of the catalogue"
        )
    places = sorted(repr(one.placement) for one in running)
    print(f"  {most:.0f} MiB; places {sha256(repr(places).encode()).hexdigest()[:12]}")


def print_calls(times_ms: Sequence[float], got: int) -> None:
    """Print what calls for one pod took, and how many of the pods got a place."""
    print(
        f"  one by one: {1000 / mean(times_ms):.0f} pods a second, p50 {median(times_ms):.2f} ms, "
        f"p99 {p99(times_ms):.2f} ms, {got} of {len(times_ms)} placed"
    )


if __name__ == "__main__":
    parser = parser_for(__doc__)
    add_folder_of_traces(parser)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--percent", type=int, default=50)
    parser.add_argument("--singles", type=int, default=1_000)
    parser.add_argument("--strategy", choices=POLICIES, default="expected")
    parser.add_argument("--others", type=int, default=0, help="machines of the catalogue")
    parser.add_argument("--by-greedy", action="store_true", help="no pod is placed by columns")
    parser.add_argument("--without-numba", action="store_true")
    said = parser.parse_args()
    if said.folder is None:
        not_run(TRACES_MISSING)
    if said.without_numba:
        sys.modules["numba"] = None  # type: ignore[assignment]  # As where it is not installed.
    if said.by_greedy:
        SimplePodPlacer.find = lambda *_: None
    trace = trace_of(said.folder, said.copies)
    others = others_among(said.others, len(trace.nodes)) if said.others else ()
    main(trace, said.percent, said.singles, said.strategy, others)
