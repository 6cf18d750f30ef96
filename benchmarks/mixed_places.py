"""Pods with and without shares of GPUs, one by one through the Scheduler until it is full.

1,213 nodes of 15 kinds; whoever asks for shares and whoever does not take turns, with amounts
of memory that have no unit in common. So each call asks for something else than the last one,
and a Scheduler that said what its nodes have left in the terms of a batch would say it anew
each time.

The baseline, in the same run, is the same Scheduler with all that it keeps forgotten before a
call, for a few of them. Decisions are held against each other: they have to be equal.

Times are CPU times of the one thread that works.

Run: python benchmarks/mixed_places.py [NODES [STRATEGY]]
"""

from random import Random
from statistics import mean
from time import thread_time

import _worlds
from _arguments import add_numbers, parser_for
from _timing import print_times, timed
from _worlds import GIB, nodes_in_turn

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Machine
from placer_models.device import Device
from placer_models.device_share import DeviceShare
from placer_models.node_strategy import NodeStrategy
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import QosClass

SEED = 13
NODES = 1_213
MIB = 2**20
DEADLINE_S = 60.0
MISSES = 10
"""Pods without a place after which the cluster counts as full."""

FORGETFUL_EVERY = 500
"""Calls between two that are held against a Scheduler that knows nothing."""

FIRST_FORGETFUL = MISSES // 2
"""The first of them: there is one however small the cluster is."""

KINDS = (
    # CPUs, GiB of memory, GPUs, GiB of each
    (64, 256, 2, 16),
    (96, 384, 2, 16),
    (96, 512, 4, 16),
    (64, 245, 4, 16),
    (96, 736, 8, 32),
    (82, 351, 8, 32),
    (96, 320, 8, 16),
    (128, 768, 8, 40),
    (128, 1_024, 8, 80),
    (104, 412, 2, 24),
    (128, 512, 1, 24),
    (48, 190, 4, 24),
    (72, 280, 2, 32),
    (32, 125, 1, 16),
    (96, 1_007, 8, 80),
)

CPU_POD = ((1_000, 1_954), (4_000, 15_258), (8_000, 30_517), (12_000, 16_384), (32_000, 122_070))
"""Milli CPUs and MiB of pods without GPUs."""

GPU_POD = ((1, 7_500, 28_610), (1, 11_000, 46_080), (2, 16_000, 65_536), (8, 64_000, 262_144))
"""GPUs, milli CPUs, MiB."""

SHARE_POD = ((25, 3_152, 6_144), (47, 6_200, 12_288), (50, 5_000, 19_073), (80, 9_000, 36_621))
"""Percent of a GPU, milli CPUs, MiB."""


def machine(kind: tuple[int, int, int, int]) -> Machine:
    """Return a machine of two NUMA nodes."""
    cpus, memory_gib, gpus, gpu_gib = kind
    gib = GIB * memory_gib // 2
    memory = gpu_gib * GIB
    gpu_list = (Device("gpu", i, memory_bytes=memory, numa_node=2 * i // gpus) for i in range(gpus))
    return _worlds.machine(
        "-".join(map(str, kind)), cpus, (gib, gib), packages=2, devices=tuple(gpu_list)
    )


def spec(cpu_milli: int, memory_mib: int, *devices: DeviceRequest) -> PodSpec:
    requests = Resources(cpu_milli, memory_mib * MIB, devices=devices)
    return PodSpec((Container("main", requests),), QosClass.LS)


def with_shares() -> list[PodSpec]:
    return [
        spec(cpu, mib, DeviceRequest("gpu", 1, DeviceShare(percent, memory_percent=percent)))
        for percent, cpu, mib in SHARE_POD
    ]


def without_shares() -> list[PodSpec]:
    whole = [spec(cpu, mib, DeviceRequest("gpu", gpus)) for gpus, cpu, mib in GPU_POD]
    return [*(spec(cpu, mib) for cpu, mib in CPU_POD), *whole]


def placed(scheduler: Scheduler, pod: Pod, options: SolveOptions) -> tuple[float, Decision]:
    """Return the milliseconds of a call for one pod, and what it decides."""
    batch = Batch((lone_gang(pod),))
    took_s, decision = timed(thread_time, scheduler.place, batch, DEADLINE_S, options=options)
    return 1_000 * took_s, decision


def main() -> None:
    parser = parser_for(__doc__)
    add_numbers(parser, nodes=NODES)
    parser.add_argument("strategy", type=NodeStrategy, choices=list(NodeStrategy), nargs="?")
    said = parser.parse_args()
    count = said.nodes
    scheduler = Scheduler(nodes_in_turn(count, [machine(kind) for kind in KINDS]))
    options = SolveOptions(engine=Engine.GREEDY, workers=1, strategy=said.strategy)
    rng = Random(SEED)
    turns = (with_shares(), without_shares())
    times: list[float] = []
    forgetful: list[float] = []
    misses = 0
    while misses < MISSES:
        asked = len(times)
        pod = Pod(f"pod-{asked}", "default", rng.choice(turns[asked % 2]))
        other = None
        if asked % FORGETFUL_EVERY == FIRST_FORGETFUL:
            took_ms, other = placed(Scheduler.restore(scheduler.snapshot()), pod, options)
            forgetful.append(took_ms)
        took_ms, decision = placed(scheduler, pod, options)
        assert other is None or other.placement == decision.placement
        times.append(took_ms)
        misses += not decision.placement.pods
    print(f"{count} nodes of {len(KINDS)} kinds, {len(times) - misses} pods placed one by one")
    print_times("place", times)
    print_times("all forgotten before, the baseline", forgetful)
    print(f"  baseline / place, means: {mean(forgetful) / mean(times):.1f}")


if __name__ == "__main__":
    main()
