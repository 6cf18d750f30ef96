"""Expected fill and prices, told a second time from the page: slow and simple, no short cuts."""

from fractions import Fraction
from math import floor

from placer_models.demand import ExpectedDemand
from placer_models.expected import ResourcesLeftForExpectedPods


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


def splitmix(seed: int, number: int) -> int:
    state = (seed + (number + 1) * 0x9E3779B97F4A7C15) % 2**64
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
    return state ^ state >> 31


def streams(demand: ExpectedDemand) -> list[list[int]]:
    urn = [k for k, count in enumerate(demand.counts) for _ in range(count)]
    found = []
    for j in range(demand.streams):
        numbers = range(j * demand.length, (j + 1) * demand.length)
        drawn = [urn[splitmix(demand.seed, n) * len(urn) // 2**64] for n in numbers]
        if j < demand.streams // 2:
            drawn.sort(key=lambda k: demand.shapes[k].gpus * demand.shapes[k].gpu_milli)
            # Biggest first, and equal ones as drawn.
            sizes = [demand.shapes[k].size_milli for k in drawn]
            drawn = [
                k
                for s in sorted(set(sizes), reverse=True)
                for k in drawn
                if demand.shapes[k].size_milli == s
            ]
        found.append(drawn)
    return found


def fill(demand: ExpectedDemand, may: tuple[bool, ...], left: ResourcesLeftForExpectedPods) -> int:
    placed = 0
    for stream in streams(demand):
        cpu, memory, gpus = left.cpu_milli, left.memory_bytes, list(left.gpu_milli)
        for k in stream:
            shape = demand.shapes[k]
            fitting = sorted((g, i) for i, g in enumerate(gpus) if g >= shape.gpu_milli)
            enough = shape.cpu_milli <= cpu and shape.memory_bytes <= memory
            if may[k] and enough and len(fitting) >= shape.gpus:
                cpu -= shape.cpu_milli
                memory -= shape.memory_bytes
                for _, i in fitting[: shape.gpus]:
                    gpus[i] -= shape.gpu_milli
                    placed += shape.gpu_milli
    return half_up(Fraction(1000 * placed, demand.streams))


def places(demand: ExpectedDemand, k: int, left: ResourcesLeftForExpectedPods) -> int:
    shape = demand.shapes[k]
    limits = []
    if shape.gpus:
        limits.append(sum(gpu // shape.gpu_milli for gpu in left.gpu_milli) // shape.gpus)
    if shape.cpu_milli:
        limits.append(left.cpu_milli // shape.cpu_milli)
    if shape.memory_bytes:
        limits.append(left.memory_bytes // shape.memory_bytes)
    return min(limits)


def prices(
    demand: ExpectedDemand, nodes: list[tuple[tuple[bool, ...], ResourcesLeftForExpectedPods]]
) -> tuple[int, ...]:
    idle = sum(sum(left.gpu_milli) for _, left in nodes)
    mean = sum(c * s.size_milli for c, s in zip(demand.counts, demand.shapes, strict=True))
    found = []
    for k, shape in enumerate(demand.shapes):
        fit = sum(places(demand, k, left) for may, left in nodes if may[k])
        if shape.gpus == 0:  # Its size is 0, and its price with it.
            found.append(0)
            continue
        coming = Fraction(demand.counts[k] * idle, mean)
        pressure = min(Fraction(1), coming / max(Fraction(fit), Fraction(1, 2)))
        reach = min(Fraction(1), Fraction(fit * shape.size_milli, max(1, idle)))
        price = half_up(1000 * Fraction(3, 10) * shape.size_milli * pressure * (1 - reach))
        found.append(price if price >= 1000 else 0)
    return tuple(found)


def worth(demand: ExpectedDemand, may: tuple[bool, ...], left: ResourcesLeftForExpectedPods) -> int:
    assert demand.prices is not None
    paid = sum(price * places(demand, k, left) for k, price in enumerate(demand.prices) if may[k])
    return fill(demand, may, left) + paid
