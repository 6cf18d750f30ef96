"""Koordinator's rows about partitions: the sets that it expects, and ours, by our tiers.

Rows of TestAllocateByPartition (koordinator-sh/koordinator at a7a1b76bbf81,
pkg/scheduler/plugins/deviceshare/allocator_gpu_test.go), typed down anew: what runs, what
is asked for and the GPUs that come out. Their machine has 8 GPUs on two NUMA nodes, each
behind a switch of its own, as our H100 machine. Their NICs are left out.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pytest

from judge.hand import placed
from placer.judge.breaches import breaches
from placer.judge.measure import Worth, are_tier_values_better, measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.machines.catalogue import load_machine
from placer_models.placement import DeviceGrant, Placed, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import PartitionPolicy, QosClass
from shared_files import rows_named, shared
from tiny_pods import lone

LABEL = "node.koordinator.sh/gpu-partition-policy"
HONOR, PREFER = PartitionPolicy.HONOR, PartitionPolicy.PREFER


class Row(NamedTuple):
    """One row.

    Attributes:
        size: GPUs asked for.
        held: GPUs that are taken already.
        expected: GPUs that Koordinator gives.

    """

    name: str
    size: int
    policy: PartitionPolicy
    held: tuple[int, ...]
    expected: tuple[int, ...]


ROWS = (
    Row("two GPUs", 2, HONOR, (), (0, 1)),
    Row("four GPUs", 4, HONOR, (), (0, 1, 2, 3)),
    Row("two GPUs beside two", 2, HONOR, (2, 3), (0, 1)),
    Row("one GPU goes beside one", 1, HONOR, (4,), (5,)),
    Row("three GPUs are no partition, which is only preferred", 3, PREFER, (2, 3), (4, 5, 6)),
)


def pod(name: str, gpus: int) -> Pod:
    requests = Resources(devices=(DeviceRequest("gpu", gpus),))
    return Pod(name, "default", PodSpec((Container("main", requests),), qos=QosClass.BE))


def at(name: str, node: Node, gpus: tuple[int, ...]) -> PodPlacement:
    grants = tuple(DeviceGrant("gpu", minor) for minor in gpus)
    return PodPlacement(
        name, "default", None, node.name, node.machine.topology.online, devices=grants
    )


def from_peer(case: Mapping[str, Any]) -> Row:
    """Return a case of the peer's table as a row."""
    gpus = case["expect"]["allocations"]["gpu"]
    return Row(
        name=case["name"],
        size=int(case["pod"]["requests"]["nvidia.com/gpu"]),
        policy=PartitionPolicy(case["node_labels"][LABEL]),
        held=tuple(gpu["minor"] for gpu in case["assigned"].get("gpu", ())),
        expected=tuple(gpu["minor"] for gpu in gpus),
    )


def outcomes(rows: Iterable[Row], engine: Engine) -> Counter[str]:
    """Return how many rows come out equal, better or worse by our tiers."""
    found: Counter[str] = Counter()
    for row in rows:
        node = Node("n", load_machine("hgx-h100"), partition_policy=row.policy)
        running = tuple(
            RunningPod(pod(f"held-{gpu}", 1), at(f"held-{gpu}", node, (gpu,))) for gpu in row.held
        )
        instance = Instance((node,), (lone(pod("wanted", row.size)),), running=running)
        answer = solve(instance, SolveOptions(engine=engine, workers=1))
        assert isinstance(answer, Placed), row.name
        theirs = placed(at("wanted", node, row.expected))
        assert {breach.rule for breach in breaches(instance, theirs)} <= {"containers"}, row.name
        ours, peers = (
            measure(instance, answer.placement),
            measure(instance, theirs),
        )
        found[_compared(ours, peers)] += 1
    return found


def _compared(ours: Worth, peers: Worth) -> str:
    if ours == peers:
        return "equal"
    return "better" if are_tier_values_better(ours, peers) else "worse"


@pytest.mark.parametrize("engine", [Engine.EXACT, Engine.GREEDY])
def test_no_row_of_koordinator_comes_out_worse(engine: Engine) -> None:
    """
    All five are equal, by every tier.
    """
    assert outcomes(ROWS, engine) == Counter(equal=len(ROWS))


CASES = (
    "allocate 2 GPU and 2 VF",
    "allocate 4 GPU and 4 VF",
    "allocate 2 GPU and 2 VF with assigned devices",
    "allocate 1 GPU and 1 VF with assigned devices; BinPack",
    "allocate 2 GPU and 2 VF with assigned devices; H100; gpuPartitionPolicyPrefer",
)
"""What the peer calls these rows."""


def test_no_row_of_the_peers_own_table_is_answered_worse() -> None:
    """
    The same as the peer has written them, where its table lies beside the project.
    """
    path = shared("cases/koordinator_device_allocator.json")
    cases = [c for c in json.loads(path.read_text("utf-8"))["cases"] if LABEL in c["node_labels"]]
    rows = [from_peer(case) for case in rows_named(CASES, cases)]

    assert [row._replace(name="") for row in rows] == [row._replace(name="") for row in ROWS]
    assert not outcomes(rows, Engine.EXACT)["worse"]
