"""The fair queue: dispatch decisions a second, against a naive scan, and memory per flow.

1,000,000 decisions over 10,000 flows that all wait: each is a thread that ends, the next
unit of the least served flow, and its charge. In one group, and in 100 groups of 100. Then
the same queue with lengths that it must estimate, a scan of all flows for each decision,
and what the queue and its flows take in memory at 1,000, 10,000 and 100,000 flows.

Times are processor time of the one thread that there is, best and worst of the tenths.

Run: python benchmarks/queue_decisions.py [DECISIONS]
"""

import random
import time
import tracemalloc
from collections import deque

from _arguments import numbers_asked

from placer.queue.fair import FairQueue
from placer.queue.model import US_PER_S, DispatchTicket, DispatchUnit

FLOWS = 10_000
THREADS = 1_000
LENGTHS = tuple(random.Random(1).randint(20 * US_PER_S, 120 * US_PER_S) for _ in range(1024))


def waiting_queue(flows: int, groups: int, units: int, *, known: bool) -> FairQueue:
    """Return a queue of so many jobs, each with so many units that wait."""
    rng = random.Random(2)
    queue = FairQueue()
    for g in range(groups):
        queue.add_group(f"g{g}", weight_milli=rng.randint(1, 8000))
    for j in range(flows):
        name = f"j{j}"
        queue.add_job(name, weight_milli=rng.randint(1, 4000), group=f"g{j % groups}")
        lengths = [LENGTHS[(j + k) % 1024] if known else None for k in range(units)]
        queue.submit(name, *(DispatchUnit(k, length) for k, length in enumerate(lengths)))
    return queue


def decide(queue: FairQueue, decisions: int) -> list[float]:
    """End a thread and dispatch the next so often; return the seconds of each tenth."""
    running: deque[DispatchTicket] = deque()
    for _ in range(THREADS):
        ticket = queue.next(0)
        assert ticket is not None
        running.append(ticket)
    tenths = []
    for tenth in range(10):
        started = time.process_time()
        for i in range(decisions // 10):
            ended = running.popleft()
            length = ended.unit.length_us or LENGTHS[ended.sequence & 1023]
            queue.finish(ended, ended.start_us + length)
            queue.submit(ended.job, ended.unit)
            ticket = queue.next(tenth * decisions + i)
            assert ticket is not None
            running.append(ticket)
        tenths.append(time.process_time() - started)
    return tenths


def naive(flows: int, decisions: int) -> float:
    """Return the seconds a decision takes that looks at every flow."""
    rng = random.Random(2)
    weights = [rng.randint(1, 4000) for _ in range(flows)]
    tallies = [0] * flows
    started = time.process_time()
    for i in range(decisions):
        least = min(range(flows), key=lambda f: (tallies[f] << 62) // weights[f])
        tallies[least] += LENGTHS[i & 1023]
    return (time.process_time() - started) / decisions


def bytes_per_flow(flows: int) -> float:
    """Return the memory that a queue takes for each flow with four units that wait."""
    tracemalloc.start()
    queue = waiting_queue(flows, 100, 4, known=False)
    for now_us in range(2 * flows):
        ticket = queue.next(now_us)
        assert ticket is not None
        queue.finish(ticket, now_us + LENGTHS[now_us & 1023])
        queue.submit(ticket.job, ticket.unit)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / flows


def main(decisions: int) -> None:
    scan_s = naive(FLOWS, 50)
    print(f"naive scan of {FLOWS:,} flows: {scan_s * 1e6:,.0f} us a decision")
    for title, groups, known in (
        ("one group, known lengths", 1, True),
        ("100 groups, known lengths", 100, True),
        ("100 groups, estimates", 100, False),
    ):
        tenths = decide(waiting_queue(FLOWS, groups, 2, known=known), decisions)
        each_s = sum(tenths) / decisions
        best_us, worst_us = (s * 10 / decisions * 1e6 for s in (min(tenths), max(tenths)))
        print(
            f"{FLOWS:,} flows in {title}: {decisions:,} decisions in {sum(tenths):.2f} s, "
            f"{each_s * 1e6:.1f} us each ({best_us:.1f} to {worst_us:.1f}), "
            f"{scan_s / each_s:,.0f} times as fast as the scan"
        )
    for flows in (1_000, 10_000, 100_000):
        print(f"memory at {flows:,} flows: {bytes_per_flow(flows):,.0f} bytes a flow")


if __name__ == "__main__":
    main(numbers_asked(__doc__, decisions=1_000_000).decisions)
