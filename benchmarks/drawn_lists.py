"""How well policies pack lists that nobody tuned for: other shares of the same trace's pods.

A list of pods is drawn anew from the pods of the trace's list `default`: more of them without
GPUs, only parts of GPUs, half of all GPUs asked for in sets, one pod in ten, three or six tied to
GPU models, more memory for all pods alike, or for some far more than for others. The order of
arrival and the ranks of nodes are drawn, too. Each list is replayed through a Scheduler under FGD,
and under `expected`, which learns from arrivals or is given the list: percent of all GPUs
allocated at 95, 100 and 130 %, and what `expected` has above FGD at worst. Nothing here depends on
the clock.

Run: python benchmarks/drawn_lists.py [FOLDER OF openb's CSV FILES] [SEEDS] [LISTS...]
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from _arguments import add_numbers, not_run, one_of, parser_for
from _openb import TRACES_MISSING, add_folder_of_traces

from placer.openb.arrivals import TraceArrivalOrder
from placer.openb.lists import WHOLE_MILLI, TraceNode, TracePod, read_trace_nodes, read_trace_pods
from placer.openb.replay import MARKS, replay_without_departures
from placer.openb.trace import WorkloadTrace
from placer.openb.words import gpu_models_of_nodes

POLICIES = ("fgd", "expected", "expected-given")
MOST_ARRIVALS = max(MARKS) / 100
MOST_MEMORY_MIB = 320 * 1024
"""What a pod asks for at most: most nodes have 384 GiB."""

MODELS = (("V100M16", "V100M32"), ("T4",), ("P100", "T4"), ("G2",), ("G2", "G3"))
"""What pods that are tied to models name, one as often as another."""

Drawn = list[TracePod]


def without_gpus(pods: Drawn, share: float, random: np.random.Generator) -> Drawn:
    """Return the pods with GPUs, and so many without that these are a share of all."""
    with_gpus = [pod for pod in pods if pod.gpus]
    number = round(len(with_gpus) * share / (1 - share))
    return with_gpus + picked([pod for pod in pods if not pod.gpus], number, random)


def mostly(
    pods: Drawn, wanted: Callable[[TracePod], bool], share: float, random: np.random.Generator
) -> Drawn:
    """Return pods of which those wanted ask for a share of all GPU milli that are asked for."""
    total = sum(map(milli_of, pods))
    found = [pod for pod in pods if not pod.gpus]
    for is_wanted, part in ((True, share), (False, 1 - share)):
        alike = [pod for pod in pods if pod.gpus and wanted(pod) == is_wanted]
        asked = 0.0
        while asked < part * total:
            found += picked(alike, 1, random)
            asked += milli_of(found[-1])
    return found


def tied(pods: Drawn, share: float, random: np.random.Generator) -> Drawn:
    """Return the pods, a share of those with GPUs tied to models."""
    return [
        replace(pod, models=MODELS[random.integers(len(MODELS))])
        if pod.gpus and random.random() < share
        else pod
        for pod in pods
    ]


def with_memory(pods: Drawn, times: float, deviation: float, random: np.random.Generator) -> Drawn:
    """Return the pods with so many times their memory in all.

    Args:
        pods: The pods.
        times: How many times as much memory they ask for, all together.
        deviation: Of the logarithm of what a pod's own memory is multiplied by; 0: all alike.
        random: What the rest is drawn by.

    """
    factors = random.lognormal(0, deviation, len(pods))
    asked = [pod.memory_mib * factor for pod, factor in zip(pods, factors, strict=True)]
    scale = times * sum(pod.memory_mib for pod in pods) / sum(asked)
    return [
        replace(pod, memory_mib=min(MOST_MEMORY_MIB, round(scale * mib)))
        for pod, mib in zip(pods, asked, strict=True)
    ]


def picked(pods: Drawn, number: int, random: np.random.Generator) -> Drawn:
    """Return so many pods, each drawn from all of them."""
    return [pods[at] for at in random.integers(len(pods), size=number)]


def milli_of(pod: TracePod) -> int:
    """Return the GPU milli that a pod asks for."""
    return pod.gpus * pod.gpu_milli


def is_share(pod: TracePod) -> bool:
    """Tell whether a pod asks for a part of one GPU."""
    return pod.gpus == 1 and pod.gpu_milli < WHOLE_MILLI


def is_set(pod: TracePod) -> bool:
    """Tell whether a pod asks for several GPUs."""
    return pod.gpus > 1


LISTS: dict[str, Callable[[Drawn, np.random.Generator], Drawn]] = {
    "cpu 20 %": lambda pods, random: without_gpus(pods, 0.20, random),
    "cpu 25 %": lambda pods, random: without_gpus(pods, 0.25, random),
    "cpu 40 %": lambda pods, random: without_gpus(pods, 0.40, random),
    "shares 80 %": lambda pods, random: mostly(pods, is_share, 0.8, random),
    "shares 100 %": lambda pods, random: mostly(pods, is_share, 1.0, random),
    "sets 50 %": lambda pods, random: mostly(pods, is_set, 0.5, random),
    "tied 10 %": lambda pods, random: tied(pods, 0.1, random),
    "tied 33 %": lambda pods, random: tied(pods, 0.33, random),
    "tied 60 %": lambda pods, random: tied(pods, 0.6, random),
    "memory x 1.3": lambda pods, random: with_memory(pods, 1.3, 0, random),
    "memory x 1.7": lambda pods, random: with_memory(pods, 1.7, 0, random),
    "memory x 2": lambda pods, random: with_memory(pods, 2.0, 0, random),
    "uneven x 1.3": lambda pods, random: with_memory(pods, 1.3, 1, random),
    "uneven x 1.7": lambda pods, random: with_memory(pods, 1.7, 1, random),
}


def trace_of(nodes: tuple[TraceNode, ...], pods: Drawn, seed: int) -> WorkloadTrace:
    """Return a drawn list on the nodes, each pod once and then pods by chance, to the last mark."""
    named = tuple(replace(pod, name=f"pod-{at}") for at, pod in enumerate(pods))
    random = np.random.default_rng(seed)
    ranks = tuple(map(int, random.permutation(len(nodes))))
    trace = WorkloadTrace(nodes, named, TraceArrivalOrder((), ranks))
    order: list[int] = []
    waiting, asked = list(map(int, random.permutation(len(named)))), 0
    while asked < MOST_ARRIVALS * trace.capacity_milli:
        order.append(waiting.pop() if waiting else int(random.integers(len(named))))
        asked += milli_of(named[order[-1]])
    return replace(trace, arrivals=TraceArrivalOrder(tuple(order), ranks))


def main(nodes: tuple[TraceNode, ...], pods: Drawn, seeds: int, lists: Sequence[str]) -> None:
    """Print a row for each list, seed and policy."""
    print(f"{'list':14} {'seed':>4} {'policy':16} {'at 95':>7} {'100':>7} {'130 %':>7}  worst")
    for name in lists:
        drawn = LISTS[name](pods, np.random.default_rng(5))
        for seed in range(42, 42 + seeds):
            trace = trace_of(nodes, drawn, seed)
            fgd: dict[int, float] = {}
            for policy in POLICIES:
                found = replay_without_departures(trace, policy, 1, lambda _: None).allocation
                fgd = fgd or found
                worst = min(found[mark] - fgd[mark] for mark in found)
                figures = " ".join(f"{found[mark]:7.2f}" for mark in MARKS)
                print(f"{name:14} {seed:>4} {policy:16} {figures} {worst:+6.2f}", flush=True)


if __name__ == "__main__":
    parser = parser_for(__doc__)
    add_folder_of_traces(parser)
    add_numbers(parser, seeds=2)
    parser.add_argument("lists", type=one_of(LISTS), nargs="*", default=list(LISTS), metavar="LIST")
    said = parser.parse_args()
    folder = said.folder
    if folder is None:
        not_run(TRACES_MISSING)
    of_nodes = read_trace_nodes(folder / "openb_node_list_gpu_node.csv")
    of_pods = list(
        read_trace_pods(folder / "openb_pod_list_default.csv", gpu_models_of_nodes(of_nodes))
    )
    main(of_nodes, of_pods, said.seeds, said.lists)
