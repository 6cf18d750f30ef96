"""The peer's own tests of GPUs with NICs: ours are placed as well or better."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from even_topologies import even_topology
from placer.judge.breaches import breaches
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import Device, VirtualFunction
from placer_models.device_share import DeviceShare
from placer_models.placement import DeviceGrant, Placed, PodPlacement
from placer_models.pod import Container, DeviceRequest, JointDevicesRequest, Pod, PodSpec, Resources
from placer_models.policy import JointDevicesScope, RequiredOrPreferred
from tiny_pods import lone

Row = dict[str, Any]

ONE_PERCENT = DeviceShare(percent=1)
TOPOLOGY = even_topology(8, 0, 0, packages=2)


@cache
def table() -> dict[str, Any]:
    """Return the rows and the machines that they are on."""
    path = Path(__file__).parent / "data" / "koordinator_joint.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def name_of(row: Row) -> str:
    """Return what the test of the row is called."""
    return f"{row['name']} ({row['ask'].get('joint', 'apart')})"


def device(kind: str, text: str) -> Device:
    """Read one device, such as ``1:0/a general*30``."""
    place, *groups = text.split()
    minor, where = place.split(":")
    numa_node, switch = where.split("/")
    labels = [label for group in groups for label in _labels(group)]
    return Device(
        kind,
        int(minor),
        numa_node=int(numa_node),
        package=int(numa_node),
        pcie_switch=switch,
        virtual_functions=tuple(
            VirtualFunction(i, "", (("type", label),)) for i, label in enumerate(labels)
        ),
    )


def _labels(group: str) -> list[str]:
    label, count = group.split("*")
    return [label] * int(count)


def machine(row: Row) -> Machine:
    parts = table()["machines"][row["machine"]]
    devices = [device("gpu", text) for text in parts["gpus"]]
    devices += [device("rdma", text) for text in parts["nics"]]
    return Machine(row["machine"], "", TOPOLOGY, tuple(devices))


def asking(ask: Row) -> PodSpec:
    """Return what the row's pod asks for."""
    devices = []
    if gpus := ask.get("gpus", 0):
        percent = ask.get("gpu_percent")
        share = percent and DeviceShare(percent=percent, memory_percent=percent)
        devices.append(DeviceRequest("gpu", gpus, share or None))
    nics = ask.get("nics", 0)
    if nics:
        devices.append(DeviceRequest("rdma", nics, None if ask.get("whole_nics") else ONE_PERCENT))
    joint = ask.get("joint") if nics and gpus else None
    wanted = ask.get("functions")
    return PodSpec(
        (Container("main", Resources(devices=tuple(devices))),),
        joint=JointDevicesRequest(
            ("gpu", "rdma"), JointDevicesScope.SAME_PCIE, RequiredOrPreferred(joint)
        )
        if joint
        else None,
        functions=(("rdma", (("type", tuple(wanted)),)),) if wanted else (),
    )


def holder(held: Row, kind: Machine) -> RunningPod:
    """Return a pod that holds what is taken."""
    grants = [DeviceGrant("gpu", minor) for minor in held.get("gpus", ())]
    grants += [DeviceGrant("rdma", minor) for minor in held.get("nics", ())]
    grants += [
        DeviceGrant("rdma", minor, share=ONE_PERCENT, vfs=(function,))
        for minor, function in held.get("functions", ())
    ]
    counts = Counter((grant.type, grant.share) for grant in grants)
    requests = Resources(devices=tuple(DeviceRequest(t, n, s) for (t, s), n in counts.items()))
    spec = PodSpec((Container("main", requests),))
    place = PodPlacement("held", "default", None, "n", kind.topology.online, devices=tuple(grants))
    return RunningPod(Pod("held", "default", spec), place)


def quality(kind: Machine, gpus: list[int], nics: list[int]) -> tuple[int, int, int]:
    """Return what is to be little: switches that lack a type, NUMA nodes, switches of GPUs."""
    of = {(d.type, d.minor): d for d in kind.devices}
    with_gpu = {of["gpu", minor].pcie_switch for minor in gpus}
    with_nic = {of["rdma", minor].pcie_switch for minor in nics}
    homes = {of["gpu", minor].numa_node for minor in gpus}
    return len(with_gpu ^ with_nic) if gpus and nics else 0, len(homes), len(with_gpu)


@cache
def verdict(index: int) -> str:
    """Return how our answer to a row compares with the peer's; worse is no answer too."""
    row = table()["rows"][index]
    kind = machine(row)
    instance = Instance(
        nodes=(Node("n", kind),),
        gangs=(lone(Pod("a", "default", asking(row["ask"]))),),
        running=(holder(row["held"], kind),) if row["held"] else (),
    )
    answer = solve(instance, SolveOptions(workers=1, time_limit_s=60))
    if not isinstance(answer, Placed) or breaches(instance, answer.placement):
        return "worse"
    place = answer.placement.pods[0]
    ours = quality(kind, list(place.minors("gpu")), list(place.minors("rdma")))
    if row["peer"] is None:
        return "worse" if ours[0] else "better"
    theirs = quality(kind, row["peer"]["gpus"], row["peer"]["nics"])
    return "equal" if ours == theirs else "better" if ours < theirs else "worse"


ROWS = [pytest.param(i, id=name_of(row)) for i, row in enumerate(table()["rows"])]


@pytest.mark.parametrize("index", ROWS)
def test_no_row_is_worse_than_the_peer(index: int) -> None:
    """
    The pod is placed, and no farther apart than the peer's; where the peer refuses it, too.
    """
    assert verdict(index) != "worse"


def test_most_rows_are_equal() -> None:
    """
    Where the peer finds a choice it is a good one; it refuses one pod needlessly.
    """
    verdicts = Counter(verdict(i) for i in range(len(ROWS)))

    assert verdicts["equal"] + verdicts["better"] == len(ROWS)
    assert verdicts["better"] > 0
