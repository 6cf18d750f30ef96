"""One pod with GPUs and NICs below the same PCIe switches, on machines of 8 and 34 NUMA nodes.

The pod wants 3 GPUs and 2 NICs side by side, 40 CPUs of its own and memory that one NUMA node
cannot hold, on as few NUMA nodes as can be. Parts of every NUMA node, GPUs and NICs are taken
at random before. The time is that of a whole call: greedy, exact, realised, judged; on a busy
machine its CPU time says more.

Baseline in the same run: the same pod without the wish for devices side by side.

Then the peer's trouble: GPUs are chosen first and for ever, and only then NICs of their
switches. Counted are pods for which a choice exists, and how many of them are refused: by
that emulation, by our greedy path, by the whole search.

Run: python benchmarks/joint.py [ROUNDS]
"""

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from time import perf_counter, process_time

import one_pod as without_nics
from _arguments import numbers_asked
from _timing import timed
from _worlds import GIB, lone, running_pod
from _worn import on_worn
from one_pod import CORES

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import Device
from placer_models.placement import DeviceGrant, Placed
from placer_models.pod import Container, DeviceRequest, JointDevicesRequest, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, JointDevicesScope, QosClass, RequiredOrPreferred

GPUS = 8
NICS = 8
SWITCHES = 4
JOINT = JointDevicesRequest(
    ("gpu", "rdma"), JointDevicesScope.SAME_PCIE, RequiredOrPreferred.REQUIRED
)


def machine(numa_nodes: int) -> Machine:
    """Return a machine of so many NUMA nodes; 4 switches, each with 2 GPUs and 2 NICs."""
    devices = tuple(
        Device(
            kind,
            i,
            numa_node=i * SWITCHES // total * numa_nodes // SWITCHES,
            pcie_switch=str(i * SWITCHES // total),
        )
        for kind, total in (("gpu", GPUS), ("rdma", NICS))
        for i in range(total)
    )
    return without_nics.machine(numa_nodes, devices)


def pod(
    name: str, cpus: int, memory_bytes: int, gpus: int, nics: int, joint: JointDevicesRequest | None
) -> Pod:
    counts = (("gpu", gpus), ("rdma", nics))
    requests = Resources(
        1000 * cpus,
        memory_bytes,
        devices=tuple(DeviceRequest(kind, n) for kind, n in counts if n),
    )
    spec = PodSpec(
        (Container("main", requests),),
        qos=QosClass.LSR if cpus else QosClass.LS,
        alignment=AlignmentPolicy.BEST_EFFORT,
        joint=joint,
    )
    return Pod(name, "default", spec)


def holder(name: str, cpus: int, memory: int, held: Mapping[str, int]) -> Pod:
    """Return a pod that holds so much of a NUMA node."""
    return pod(name, cpus, memory, held.get("gpu", 0), held.get("rdma", 0), None)


def one_pod(numa_nodes: int, rounds: int) -> None:
    """Print the times of one call, with the wish and without."""
    node = Node("n", machine(numa_nodes))
    wall: dict[bool, list[float]] = {True: [], False: []}
    cpu: list[float] = []
    placed = proven = 0
    for seed in range(rounds):
        for wish in (True, False):
            wanted = pod("wanted", 40, 100 * GIB, 3, 2, JOINT if wish else None)
            instance = on_worn(node, wanted, CORES, holder, seed)
            options = SolveOptions(engine=Engine.EXACT, workers=1)
            took_s, (cpu_s, answer) = timed(
                perf_counter, timed, process_time, solve, instance, options
            )
            wall[wish].append(1e3 * took_s)
            if wish:
                cpu.append(1e3 * cpu_s)
                placed += isinstance(answer, Placed)
                proven += isinstance(answer, Placed) and all(t.proven for t in answer.tiers)
    with_it = statistics.median(wall[True])
    print(
        f"{numa_nodes:10}  {rounds:6}  {placed:6}  {proven:6}  {with_it:13.1f}"
        f"  {max(wall[True]):5.1f}  {statistics.median(cpu):16.1f}  {max(cpu):5.1f}"
        f"  {with_it / statistics.median(wall[False]):17.2f}"
    )


def one_after_the_other(
    gpus: Sequence[int], nics: Sequence[int], want: int, wanted_nics: int
) -> bool:
    """Choose GPUs that share most, then NICs of their switches; never think again."""
    per_switch = [[g for g in gpus if g // 2 == s] for s in range(4)]
    for scope in ([[s] for s in range(4)], [[0, 1], [2, 3]], [[0, 1, 2, 3]]):
        rooms = [(where, [g for s in where for g in per_switch[s]]) for where in scope]
        fitting = [room for _, room in rooms if len(room) >= want]
        if fitting:
            switches = {g // 2 for g in fitting[0][:want]}
            return len(switches) <= wanted_nics <= len([n for n in nics if n in switches]) and all(
                s in nics for s in switches
            )
    return False


def exists(gpus: Sequence[int], nics: Sequence[int], want: int, wanted_nics: int) -> bool:
    """Return whether some choice has GPUs and NICs of the same switches."""
    return any(
        sum(g // 2 in chosen for g in gpus) >= want
        and all(any(g // 2 == s for g in gpus) and s in nics for s in chosen)
        for size in range(1, min(want, wanted_nics) + 1)
        for chosen in combinations(range(4), size)
        if size == wanted_nics
    )


def refusals(rounds: int) -> None:
    """Print how many pods are refused for which a choice exists, on 4 switches of 2 GPUs, 1 NIC."""
    whole = machine(2)
    kind = replace(
        whole,
        devices=tuple(
            replace(d, minor=d.minor // 2) if d.type == "rdma" else d
            for d in whole.devices
            if d.type == "gpu" or d.minor % 2 == 0
        ),
    )
    rng = random.Random(0)
    counted = {"one after the other": 0, "greedy": 0, "search": 0}
    feasible = 0
    while feasible < rounds:
        gpus = [i for i in range(8) if rng.random() >= 0.4]
        nics = [i for i in range(4) if rng.random() >= 0.3]
        wanted_nics = rng.randint(1, 4)
        want = rng.randint(wanted_nics, 2 * wanted_nics)
        if not exists(gpus, nics, want, wanted_nics):
            continue
        feasible += 1
        grants = [DeviceGrant("gpu", i) for i in range(8) if i not in gpus]
        grants += [DeviceGrant("rdma", i) for i in range(4) if i not in nics]
        holder = pod("held", 0, 0, 8 - len(gpus), 4 - len(nics), None)
        wanted = pod("wanted", 0, 0, want, wanted_nics, JOINT)
        held = running_pod(holder, "n", kind.topology.online, devices=tuple(grants))
        instance = Instance((Node("n", kind),), (lone(wanted),), running=(held,))
        counted["one after the other"] += not one_after_the_other(gpus, nics, want, wanted_nics)
        for name, engine in (("greedy", Engine.GREEDY), ("search", Engine.EXACT)):
            answer = solve(instance, SolveOptions(engine=engine, workers=1))
            counted[name] += not isinstance(answer, Placed)
    for name, count in counted.items():
        share = 100 * count / feasible
        print(f"refused by {name:20} {count:5} of {feasible} feasible ({share:.1f} %)")


def main(rounds: int) -> None:
    print(
        "NUMA nodes  rounds  placed  proven     ms: median    max   ms of CPU: median    max"
        "   ratio to without"
    )
    for numa_nodes in (8, 34):
        one_pod(numa_nodes, rounds)
    print()
    refusals(10 * rounds)


if __name__ == "__main__":
    main(numbers_asked(__doc__, rounds=30).rounds)
