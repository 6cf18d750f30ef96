"""Partition tables and MIG instances, placed and proven, against the same without them.

* table: one pod of 4 GPUs on 8 GPUs behind an NVSwitch, singles and pairs of which run
  already; with the machine's partition table honored, and with no table.
* MIG: 30 pods with one instance each on 8 GPUs in MIG mode, with one instance running on
  every second GPU; and 30 pods that ask for CPUs alone.

The time is that of a whole call: greedy, exact, realised, judged.

Run: python benchmarks/partitions.py [ROUNDS]
"""

import random
import statistics
from collections.abc import Callable
from dataclasses import replace

from _arguments import numbers_asked
from _timing import solved_exactly
from _worlds import lone, running_pod

from placer_models.cluster import Instance, Node, RunningPod
from placer_models.device import GPU
from placer_models.machines.catalogue import load_machine
from placer_models.mig import SLICES, TABLES
from placer_models.placement import DeviceGrant
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import PartitionPolicy, QosClass

TABLE = "H100-80GB"
ASKED = 30
"""Instances asked for."""


def pod(name: str, devices: dict[str, int]) -> Pod:
    asked = tuple(DeviceRequest(kind, count) for kind, count in sorted(devices.items()))
    requests = Resources(1000, devices=asked)
    return Pod(name, "default", PodSpec((Container("main", requests),), qos=QosClass.LS))


def resident(node: Node, name: str, kind: str, minors: list[int]) -> RunningPod:
    grants = tuple(DeviceGrant(kind, minor) for minor in minors)
    held = pod(name, {kind: len(minors)})
    return running_pod(held, node.name, node.machine.topology.online, devices=grants)


def on_table(rng: random.Random, *, with_it: bool) -> Instance:
    """Return a pod of 4 GPUs beside some pods that keep to the table."""
    machine = load_machine("hgx-h100")
    node = Node("n", machine, partition_policy=PartitionPolicy.HONOR if with_it else None)
    half = rng.choice(([0, 1], [2, 3], [4, 5], [6, 7]))
    old = [resident(node, "pair", GPU, half)]
    if rng.random() < 0.5:
        old.append(resident(node, "single", GPU, [rng.choice([half[0] ^ 2, half[1] ^ 2])]))
    return Instance((node,), (lone(pod("wanted", {GPU: 4})),), running=tuple(old))


def on_instances(rng: random.Random, *, with_it: bool) -> Instance:
    """Return 30 pods on a machine of 8 GPUs, all of them in MIG mode."""
    machine = load_machine("hgx-h100")
    node = Node("n", machine, mig=tuple((minor, TABLE) for minor in range(8)))
    profiles = [profile for profile in TABLES[TABLE] if profile.slices <= 4]
    old = []
    for gpu in range(0, 8, 2):
        profile = rng.choice(profiles)
        minor = SLICES * gpu + rng.choice(profile.starts)
        old.append(resident(node, f"r{gpu}", profile.type, [minor]))
    drawn = [rng.choice(profiles).type for _ in range(ASKED)]
    pods = [pod(f"p{i:02}", {kind: 1} if with_it else {}) for i, kind in enumerate(drawn)]
    return Instance((node,), tuple(map(lone, pods)), running=tuple(old))


Make = Callable[..., Instance]


def measured(make: Make, rounds: int, *, with_it: bool) -> tuple[list[float], int]:
    """Return the ms of every round, ascending, and how many were proven in every tier."""

    def of_round(seed: int) -> Instance:
        return replace(make(random.Random(seed), with_it=with_it), name=f"round-{seed}")

    return solved_exactly(of_round, rounds, time_limit_s=30)


def main(rounds: int) -> None:
    print("              rounds  proven  ms: median      max   ratio to without")
    for name, make in (("table", on_table), ("MIG", on_instances)):
        without, _ = measured(make, rounds, with_it=False)
        times, proven = measured(make, rounds, with_it=True)
        ratio = statistics.median(times) / statistics.median(without)
        print(
            f"{name:12}  {rounds:6}  {proven:6}  {statistics.median(times):10.1f}"
            f"  {times[-1]:7.1f}  {ratio:17.1f}"
        )


if __name__ == "__main__":
    main(numbers_asked(__doc__, rounds=20).rounds)
