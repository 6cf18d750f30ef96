"""One pod, placed exactly, on one large machine: 8 and 34 NUMA nodes.

The pod wants 3 GPUs, 40 CPUs of its own and memory that one NUMA node cannot hold, on as
few NUMA nodes as can be. Cells (NUMA nodes) are taken at random before: half of the
machine's cores, and some memory and GPUs. Baseline: walk through the sets of NUMA nodes,
smallest first, and take the first that has room by counts, as a careful greedy would;
joint hint merging would walk through the product of such sets, one per resource.

Run: python benchmarks/one_pod.py [ROUNDS]
"""

import random
import statistics
import sys
import time
from itertools import combinations

from placer.search.budget import Budget
from placer.search.exact import limits_of, search_exactly
from placer.search.options import SolveOptions
from placer.state.batch import accounts_of, build_problem
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import Device
from placer_models.goals import tiers_for
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass
from placer_models.topology import Cpu, NumaNode, Topology

GIB = 2**30
CORES = 32  # of each NUMA node, two threads each
MEMORY_BYTES = 64 * GIB


def machine(numa_nodes: int) -> Machine:
    cpus = sorted(
        (
            Cpu(id=thread * numa_nodes * CORES + core, core=core, package=0, numa_node=core // CORES)
            for core in range(numa_nodes * CORES)
            for thread in (0, 1)
        ),
        key=lambda cpu: cpu.id,
    )
    gpus = tuple(Device("gpu", i, numa_node=i * numa_nodes // 8) for i in range(8))
    nodes = tuple(NumaNode(i, MEMORY_BYTES) for i in range(numa_nodes))
    return Machine(f"numa-{numa_nodes}", "", Topology("x86_64", tuple(cpus), nodes), gpus)


def pod(name: str, cpus: int, memory_bytes: int, gpus: int) -> Pod:
    devices = (DeviceRequest("gpu", gpus),) if gpus else ()
    requests = Resources(1000 * cpus, memory_bytes, devices=devices)
    return Pod(
        name,
        "default",
        PodSpec(
            (Container("main", requests),),
            qos=QosClass.LSR,
            alignment=AlignmentPolicy.BEST_EFFORT,
        ),
    )


def taken(kind: Machine, rng: random.Random) -> list[RunningPod]:
    """Take a random part of every cell."""
    running = []
    for numa in kind.topology.numa_nodes:
        cores = [t for t in kind.topology.cores.values() if next(iter(t)) // 1 >= 0]
        mine = [t for t in cores if kind.topology.cpu[min(t)].numa_node == numa.id]
        cpus = [c for t in rng.sample(mine, rng.randint(0, CORES)) for c in rng.sample(sorted(t), rng.randint(1, 2))]
        gpus = [g.minor for g in kind.devices if g.numa_node == numa.id and rng.random() < 0.3]
        memory = rng.randint(0, 40) * GIB
        if not cpus:
            continue
        name = f"running-{numa.id}"
        running.append(
            RunningPod(
                pod(name, len(cpus), memory, len(gpus)),
                PodPlacement(
                    name=name,
                    namespace="default",
                    gang=None,
                    node="n",
                    cpuset=frozenset(cpus),
                    containers=(ContainerPlacement("main", frozenset(cpus)),),
                    memory_bytes=((numa.id, memory),) if memory else (),
                    devices=tuple(DeviceGrant("gpu", minor) for minor in gpus),
                ),
            )
        )
    return running


def exact_ms(instance: Instance) -> tuple[float, bool]:
    """Return the time from words to choices, and whether every tier was proven."""
    started = time.perf_counter()
    problem = build_problem(instance, accounts_of(instance))
    tiers = tiers_for(problem.priorities)
    nothing = [0] * (len(tiers) - 1)
    usable = -1  # any placement is better than none: tier 1 decides
    found = search_exactly(
        problem,
        {},
        [*nothing, usable],
        Budget(SolveOptions(workers=1, time_limit_s=20)),
        str,
        limits_of(problem),
    )
    return 1e3 * (time.perf_counter() - started), found.values == found.bounds


def baseline_ms(instance: Instance) -> float:
    """Return the time that walking through the sets of NUMA nodes takes."""
    started = time.perf_counter()
    (account,) = accounts_of(instance)
    topology = instance.nodes[0].machine.topology
    where = [topology.cpu[c].numa_node for c in account.free_cpus]
    cells = [
        (
            where.count(numa.id),
            account.memory_bytes[numa.id],
            sum(1 for d in account.devices if d.numa_node == numa.id and (d.type, d.minor) in account.free_devices),
        )
        for numa in topology.numa_nodes
    ]
    need = (40, 100 * GIB, 3)
    for size in range(1, 5):
        for mask in combinations(cells, size):
            if all(sum(cell[i] for cell in mask) >= need[i] for i in range(3)):
                return 1e3 * (time.perf_counter() - started)
    return 1e3 * (time.perf_counter() - started)


def main(rounds: int) -> None:
    print("numa  rounds  proven   exact ms: median    p99    max   ratio to the mask walk")
    for numa_nodes in (8, 34):
        kind = machine(numa_nodes)
        node = Node("n", kind)
        wanted = pod("wanted", 40, 100 * GIB, 3)
        times, walks, proven = [], [], 0
        for seed in range(rounds):
            running = tuple(taken(kind, random.Random(seed)))
            gang = Gang("wanted", "default", (wanted,), 1, lone=True)
            instance = Instance((node,), (gang,), running=running)
            ms, done = exact_ms(instance)
            times.append(ms)
            proven += done
            walks.append(baseline_ms(instance))
        times.sort()
        median = statistics.median(times)
        print(
            f"{numa_nodes:4}  {rounds:6}  {proven:6}   {median:16.1f}  {times[int(0.99 * len(times))]:5.1f}"
            f"  {times[-1]:5.1f}   {median / statistics.median(walks):6.1f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
