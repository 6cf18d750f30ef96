"""One pod, placed and proven, on one large machine: 8 and 34 NUMA nodes.

The pod wants 3 GPUs, 40 CPUs of its own and memory that one NUMA node cannot hold, on as
few NUMA nodes as can be. Parts of every NUMA node are taken at random before. The time is
that of a whole call: greedy, exact, realised, judged.

Baseline in the same run: walk through the sets of NUMA nodes, smallest first, and take
the first with room by counts. Merging one list of hints a resource, as the kubelet does,
walks through the product of such lists instead.

Run: python benchmarks/one_pod.py [ROUNDS]
"""

import random
import statistics
import sys
import time
from collections.abc import Mapping
from itertools import combinations

from _worn import taken

from placer.counting.account import Account, accounts_of
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import Device
from placer_models.placement import Placed
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass
from placer_models.topology import Cpu, NumaNode, Topology

GIB = 2**30
CORES = 32  # of each NUMA node, two threads each
MEMORY_BYTES = 64 * GIB
NEED = (40, 100 * GIB, 3)
"""CPUs, bytes of memory and GPUs that the pod wants."""


def machine(numa_nodes: int) -> Machine:
    """Return a machine of so many equal NUMA nodes, with 8 GPUs spread over them."""
    count = numa_nodes * CORES
    cpus = tuple(
        Cpu(id=cpu, core=cpu % count, package=0, numa_node=cpu % count // CORES)
        for cpu in range(2 * count)
    )
    gpus = tuple(Device("gpu", i, numa_node=i * numa_nodes // 8) for i in range(8))
    nodes = tuple(NumaNode(i, MEMORY_BYTES) for i in range(numa_nodes))
    return Machine(f"numa-{numa_nodes}", "", Topology("x86_64", cpus, nodes), gpus)


def pod(name: str, cpus: int, memory_bytes: int, gpus: int) -> Pod:
    devices = (DeviceRequest("gpu", gpus),) if gpus else ()
    requests = Resources(1000 * cpus, memory_bytes, devices=devices)
    containers = (Container("main", requests),)
    return Pod(
        name,
        "default",
        PodSpec(containers, qos=QosClass.LSR, alignment=AlignmentPolicy.BEST_EFFORT),
    )


def holder(name: str, cpus: int, memory: int, held: Mapping[str, int]) -> Pod:
    """Return a pod that holds so much of a NUMA node."""
    return pod(name, cpus, memory, held.get("gpu", 0))


def walk(account: Account, kind: Machine) -> int | None:
    """Return the size of the first set of NUMA nodes with room, smallest first."""
    where = [kind.topology.cpu[cpu].numa_node for cpu in account.cores.free_cpus]
    homes = [
        d.numa_node for d in account.devices.healthy if (d.type, d.minor) in account.devices.free
    ]
    cells = [
        (where.count(numa.id), account.memory.bytes_in[numa.id], homes.count(numa.id))
        for numa in kind.topology.numa_nodes
    ]
    for size in range(1, 5):
        for mask in combinations(cells, size):
            if all(sum(cell[i] for cell in mask) >= NEED[i] for i in range(3)):
                return size
    return None


def main(rounds: int) -> None:
    print("NUMA nodes  rounds  proven     ms: median    p99    max   ratio to the walk")
    for numa_nodes in (8, 34):
        kind = machine(numa_nodes)
        times, walks, proven = [], [], 0
        for seed in range(rounds):
            instance = Instance(
                nodes=(Node("n", kind),),
                gangs=(Gang("wanted", "default", (pod("wanted", *NEED),), 1, lone=True),),
                running=tuple(taken(kind, random.Random(seed), CORES, holder)),
            )
            started = time.perf_counter()
            answer = solve(instance, SolveOptions(engine=Engine.EXACT, workers=1))
            times.append(1e3 * (time.perf_counter() - started))
            proven += isinstance(answer, Placed) and all(tier.proven for tier in answer.tiers)
            started = time.perf_counter()
            walk(accounts_of(instance)[0], kind)
            walks.append(1e3 * (time.perf_counter() - started))
        times.sort()
        median = statistics.median(times)
        print(
            f"{numa_nodes:10}  {rounds:6}  {proven:6}  {median:13.1f}"
            f"  {times[int(0.99 * len(times))]:5.1f}  {times[-1]:5.1f}"
            f"  {median / statistics.median(walks):8.1f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
