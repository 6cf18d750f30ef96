"""Shares of GPUs: what they cost beside whole ones, exactly and greedily.

Exact: one pod on a node of 8 GPUs on which shares run already; it asks for a whole GPU, and
for a share of one. Greedy: 200 pods one by one on 1,000 nodes of 8 GPUs with shares on
some of them; whole GPUs, and shares.

Baseline in the same run: a walk over all devices of all nodes for the fullest that fits.

Run: python benchmarks/shares.py [ROUNDS]
"""

import random
import statistics
from collections.abc import Iterator
from functools import partial
from time import perf_counter

from _arguments import numbers_asked
from _timing import solved_exactly, timed
from _worlds import GIB, lone, machine, running_pod

from placer.counting.account import Account, accounts_of
from placer.greedy.node_table import GreedyNodeTable
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.device import Device
from placer_models.device_share import DeviceShare, device_capacity_of
from placer_models.placement import DeviceGrant
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.problem.banks import ShareableDevice

GPUS = 8
SHARES = tuple(DeviceShare(percent, memory_percent=percent) for percent in (10, 20, 25, 50))
MACHINE = machine(
    "node",
    64,
    (512 * GIB, 512 * GIB),
    devices=tuple(Device("gpu", i, memory_bytes=80 * GIB, numa_node=i // 4) for i in range(GPUS)),
)


def pod(name: str, share: DeviceShare | None) -> Pod:
    requests = Resources(1000, GIB, devices=(DeviceRequest("gpu", 1, share),))
    return Pod(name, "default", PodSpec((Container("main", requests),)))


def running(node: str, rng: random.Random) -> Iterator[RunningPod]:
    """Take shares of some of the GPUs of a node."""
    for minor in range(GPUS):
        if rng.random() < 0.4:
            share = rng.choice(SHARES)
            one = pod(f"{node}-{minor}", share)
            grants = (DeviceGrant("gpu", minor, share=share),)
            held = {"memory_bytes": ((minor // 4, GIB),), "devices": grants}
            yield running_pod(one, node, MACHINE.topology.online, **held)


def asking(share: DeviceShare | None, nodes: int, pods: int, seed: int) -> Instance:
    """Return so many nodes and pods that ask for the share, or for whole GPUs."""
    rng = random.Random(seed)
    names = [f"n{i:04}" for i in range(nodes)]
    waiting = [pod(f"p{i}", share) for i in range(pods)]
    return Instance(
        nodes=tuple(Node(name, MACHINE) for name in names),
        gangs=tuple(map(lone, waiting)),
        running=tuple(one for name in names for one in running(name, rng)),
    )


def walk(accounts: list[Account], share: DeviceShare) -> int:
    """Return what is left of the fullest device that fits, in 0.01 bytes of its memory."""
    totals = {(d.type, d.minor): device_capacity_of(d) for d in MACHINE.devices}
    return min(
        left[1]
        for account in accounts
        for key, left in account.devices.shared.items()
        if ShareableDevice(left, totals[key]).takes(share)
    )


def main(rounds: int) -> None:
    half = DeviceShare(50, memory_percent=50)
    print("what                                    ms: median    max")
    for name, share in (("a whole GPU", None), ("half a GPU", half)):
        times, _ = solved_exactly(partial(asking, share, 1, 1), rounds)
        print(f"exact, 1 node, {name:24} {statistics.median(times):10.1f} {max(times):6.1f}")
    for name, share in (("a whole GPU", None), ("half a GPU", half)):
        instance = asking(share, nodes=1000, pods=200, seed=0)
        accounts = accounts_of(instance)
        fleet = GreedyNodeTable(build_problem(instance, accounts))
        times = []
        for index in range(200):
            started = perf_counter()
            choice = fleet.find(index)
            assert choice is not None
            fleet.take(index, choice)
            times.append(1e3 * (perf_counter() - started))
        first, *later = times
        print(
            f"greedy, 1,000 nodes, {name:18} {statistics.median(later):10.2f} {max(later):6.2f}"
            f"  (first {first:.0f})"
        )
    took_s, _ = timed(perf_counter, walk, list(accounts), half)
    print(f"a walk over 8,000 GPUs                  {1e3 * took_s:10.2f}")


if __name__ == "__main__":
    main(numbers_asked(__doc__, rounds=10).rounds)
