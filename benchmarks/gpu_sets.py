"""The best GPU set among random free GPUs, cold and warm, beside listing all sets.

For every machine of the catalogue with two GPUs or more, and for a few boards that are
harder than any of them: draw free GPUs and a size, ask `best_device_set_among_free`.

cold    every cache is cleared first; the classes of the board are found anew
warm    the same question again
plain   what listing all sets with itertools for (slowest pair, pair sum) takes in this
        same run, over the cold time; from 20,000 sets on it is timed on 20,000 of them
        and scaled up, marked ~. Listing answers less: no nearness, nothing of what is
        left; on 8 GPUs, with 70 sets at most, it is the quicker way to that less.

    python benchmarks/gpu_sets.py [--draws 40] [--seed 0] [MACHINE ...]
"""

import importlib
import pkgutil
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from random import Random
from statistics import median, quantiles
from time import process_time
from typing import TypeVar

import _timing
from _arguments import one_of, parser_for

import placer_models.links
from placer_models.device import GPU, Device, GpuLinkMatrix
from placer_models.links import (
    best_device_set_among_free,
    counts_by_class,
    linked_classes_of_devices,
    lowest_free_minors,
)
from placer_models.machines.catalogue import catalogue_machine_names, load_machine

T = TypeVar("T")

LISTED_SETS = 20_000
TARGETS_MS = ((8, 20.0), (24, 200.0))
"""(at most so many GPUs, the longest cold answer wanted in ms)."""

CACHED = [
    value
    for module in pkgutil.iter_modules(placer_models.links.__path__, "placer_models.links.")
    for value in vars(importlib.import_module(module.name)).values()
    if hasattr(value, "cache_clear")
]


@dataclass(frozen=True)
class Case:
    """GPUs of one machine and their links."""

    name: str
    devices: tuple[Device, ...]
    links: GpuLinkMatrix | None


@dataclass(frozen=True)
class Timing:
    """One question, in ms."""

    cold: float
    warm: float
    plain: float
    scaled: bool


def main() -> None:
    parser = parser_for(__doc__)
    names = [case.name for case in (*catalogue(), *hard_boards())]
    parser.add_argument("machines", type=one_of(names), nargs="*", metavar="MACHINE")
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    print(f"Python {platform.python_version()}, {platform.machine()}, one thread;", end=" ")
    print(f"CPU time in ms; {args.draws} draws each, seed {args.seed}")
    print(
        f"{'machine':30} {'GPUs':>4} {'classes':>7}"
        f" {'cold med':>9} {'p99':>8} {'max':>8} {'warm med':>9} {'plain/cold med':>15} {'max':>9}"
    )
    over = []
    for case in catalogue():
        if not args.machines or case.name in args.machines:
            slowest = measure(case, args.draws, args.seed)
            wanted = next((ms for gpus, ms in TARGETS_MS if len(case.devices) <= gpus), None)
            if wanted is not None and slowest > wanted:
                over.append(f"{case.name}: {slowest:.0f} ms, wanted {wanted:.0f}")
    limits = ", ".join(f"up to {gpus} GPUs {ms:.0f} ms" for gpus, ms in TARGETS_MS)
    print(f"wanted of every cold answer: {limits}; over it: {'; '.join(over) or 'none'}")
    print("harder than any machine, no target:")
    for case in hard_boards():
        if not args.machines or case.name in args.machines:
            measure(case, args.draws, args.seed)


def measure(case: Case, count: int, seed: int) -> float:
    """Print the line of one machine and return its slowest cold answer, in ms."""
    timings = [ask(case, free, size) for free, size in draws(case, count, seed)]
    print(row(case, timings))
    return max(t.cold for t in timings)


def draws(case: Case, count: int, seed: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield free GPUs, one at least, and a size that they can fill."""
    rng = Random(f"{case.name} {seed}")
    minors = [device.minor for device in case.devices]
    for _ in range(count):
        free = sorted(rng.sample(minors, rng.randint((len(minors) + 1) // 2, len(minors))))
        yield tuple(free), rng.randint(1, len(free))


def ask(case: Case, free: tuple[int, ...], size: int) -> Timing:
    """Time one question, cold and warm, and check it against the list of all sets."""
    for function in CACHED:
        function.cache_clear()
    cold, chosen = timed(lambda: choose(case, free, size))
    warm, _ = timed(lambda: choose(case, free, size))
    total = comb(len(free), size)
    listed = min(total, LISTED_SETS)
    plain, best = timed(lambda: list_all(case, free, size, listed))
    if listed == total and worth(speeds(case), chosen) != best:
        raise AssertionError(f"{case.name}: of {free}, {chosen} is not the best set")
    return Timing(cold, warm, plain * total / listed, listed < total)


def choose(case: Case, free: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the best set, from the devices on."""
    board = linked_classes_of_devices(case.devices, case.links)
    best = best_device_set_among_free(board, size, counts_by_class(board, free))
    assert best is not None
    return lowest_free_minors(board, best.counts, free)


def list_all(case: Case, free: tuple[int, ...], size: int, listed: int) -> tuple[int, int]:
    """Return the best slowest pair and pair sum of the first so many sets."""
    table = speeds(case)
    return max(worth(table, s) for s in islice(combinations(free, size), listed))


def speeds(case: Case) -> dict[int, dict[int, int]]:
    """Return the speed of each pair by minors."""
    if case.links is None:
        return {a.minor: {b.minor: 0 for b in case.devices} for a in case.devices}
    minors = case.links.minors
    rows = zip(minors, case.links.centi_gb_per_s, strict=True)
    return {a: dict(zip(minors, row, strict=True)) for a, row in rows}


def worth(table: dict[int, dict[int, int]], chosen: Sequence[int]) -> tuple[int, int]:
    """Return the slowest pair and the pair sum of a set."""
    pairs = [table[a][b] for a, b in combinations(chosen, 2)]
    return min(pairs, default=0), sum(pairs)


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Return how many ms a call takes, and what it returns."""
    took_s, found = _timing.timed(process_time, call)
    return 1000 * took_s, found


def row(case: Case, timings: list[Timing]) -> str:
    """Return the line of one machine."""
    cold = sorted(t.cold for t in timings)
    ratios = sorted((t.plain / t.cold, t.scaled) for t in timings)
    middle, most = ratios[len(ratios) // 2], ratios[-1]
    p99 = quantiles(cold, n=100, method="inclusive")[98] if len(cold) > 1 else cold[0]
    board = linked_classes_of_devices(case.devices, case.links)
    return (
        f"{case.name:30} {len(case.devices):4} {len(board.classes):7}"
        f" {median(cold):9.2f} {p99:8.2f} {cold[-1]:8.2f} {median(t.warm for t in timings):9.3f}"
        f" {'~' * middle[1] + f'{middle[0]:.1f}':>15} {'~' * most[1] + f'{most[0]:.0f}':>9}"
    )


def catalogue() -> Iterator[Case]:
    """Yield the machines of the catalogue with GPUs to choose among."""
    for name in catalogue_machine_names():
        machine = load_machine(name)
        gpus = tuple(d for d in machine.devices if d.type == GPU and d.healthy)
        if len(gpus) > 1:
            yield Case(name, gpus, machine.gpu_links)


def hard_boards() -> Iterator[Case]:
    """Yield boards that are harder than machines: many classes, and no pattern."""
    yield typed("12 bridged pairs", 24, lambda a, b: 5625 if a // 2 == b // 2 else 3150)
    yield typed("ring of 24", 24, lambda a, b: 5000 if (a - b) % 24 in (1, 23) else 1575)
    rng = Random(0)
    yield typed("random speeds, 24", 24, lambda a, b: rng.choice((1575, 2500, 5000)))


def typed(name: str, gpus: int, speed: Callable[[int, int], int]) -> Case:
    """Return a board of two NUMA nodes with the speeds."""
    table = [[0] * gpus for _ in range(gpus)]
    for a, b in combinations(range(gpus), 2):
        table[a][b] = table[b][a] = speed(a, b)
    return Case(
        name,
        tuple(Device(GPU, i, numa_node=2 * i // gpus) for i in range(gpus)),
        GpuLinkMatrix(tuple(range(gpus)), tuple(map(tuple, table)), (("",) * gpus,) * gpus),
    )


if __name__ == "__main__":
    main()
