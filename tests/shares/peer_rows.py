"""Rows of the peer's table of device allocations in our form, and what Placer makes of them.

A row has the healthy devices of one node (``devices``: type, minor, bytes of memory, PCIe
switch, NUMA node), what pods hold of them (``held``: type, minor, resources), what a pod
asks for (``ask``, ``together``: types side by side, ``required``: on one PCIe switch each,
``strategy``: of how many NICs, where that is not a number), and what the peer gives it
(``given``: type, minor, resources; None: nothing).
"""

from collections.abc import Mapping
from typing import Any

from even_topologies import even_topology
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import GPU, Device
from placer_models.device_request import DeviceRequestError, devices_asked
from placer_models.device_share import DeviceShare, with_memory_in_both_units
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.placement import DeviceGrant, Placed, PodPlacement
from placer_models.pod import Container, DeviceRequest, JointDevicesRequest, Pod, PodSpec, Resources
from placer_models.policy import JointDevicesScope, RequiredOrPreferred
from placer_models.quantity import parse_bytes
from tiny_pods import lone

Row = Mapping[str, Any]
CORE, MEMORY, RATIO, NIC = (
    f"koordinator.sh/{name}" for name in ("gpu-core", "gpu-memory", "gpu-memory-ratio", "rdma")
)


def left_out(case: Row) -> str | None:
    """Return why a case of the peer's table is none of ours; None: it is."""
    if "node.koordinator.sh/gpu-partition-policy" in case["node_labels"]:
        return "partitions"
    if case["secondary_device_well_planned"]:
        return "joint allocation: NICs that are planned beforehand"
    nics = (case["expect"].get("allocations") or {}).get("rdma", ())
    if any(len((nic.get("extension") or {}).get("vfs", ())) > 1 for nic in nics):
        return "joint allocation: several virtual functions"
    return None


def called(case: Row) -> str:
    """Return what a case of the peer's table is called here."""
    return f"{case['source_test']}: {case['name']}"


def from_peer(case: Row, fixture: Row) -> Row:
    """Return a case of the peer's table, and the devices of its node, as a row."""
    joint = case["pod"].get("device_joint_allocate") or {}
    given = None
    if not case["expect"]["error"]:
        given = _listed(case["expect"]["allocations"])
    return {
        "name": called(case),
        "devices": [
            [
                d["type"],
                d["minor"],
                parse_bytes(d["resources"].get(MEMORY, "0")),
                (d.get("topology") or {}).get("pcieID"),
                (d.get("topology") or {}).get("nodeID"),
            ]
            for d in fixture["devices"]
            if d.get("health", True)
        ],
        "held": _listed(case["assigned"]),
        "ask": case["pod"]["requests"],
        "together": joint.get("deviceTypes", []),
        "strategy": _strategy(case["pod"]),
        "required": joint.get("requiredScope") == "SamePCIe",
        "given": given,
    }


def _strategy(pod: Row) -> str | None:
    """Return of how many NICs a pod has what it asks of one; the peer ties them to GPUs."""
    asked, hints = pod["requests"], pod.get("device_allocate_hint") or {}
    if NIC not in asked or int(asked[NIC]) > 100:
        return None
    strategy: str | None = (hints.get("rdma") or {}).get("allocateStrategy")
    beside = pod.get("device_joint_allocate") and len(asked) > 1
    return strategy or (DeviceCountStrategy.APPLY_FOR_EACH_GROUP.value if beside else None)


def compared(row: Row) -> str:
    """Return how our answer stands beside the peer's: equal, better or worse."""
    ours = _answer(row)
    theirs = row["given"]
    if theirs is None or ours is None:
        return "equal" if theirs is ours else "better" if ours else "worse"
    if sorted([t, _filled(t, m, r, row)] for t, m, r in theirs) != sorted(
        [g.type, _resources(g, row)] for g in ours
    ):
        return "worse"
    mine = _switches(row, [(g.type, g.minor) for g in ours])
    other = _switches(row, [(kind, minor) for kind, minor, _ in theirs])
    return "equal" if mine == other else "better" if mine < other else "worse"


def _listed(by_type: Mapping[str, Any]) -> list[list[Any]]:
    return [[kind, held["minor"], held["resources"]] for kind in by_type for held in by_type[kind]]


def _switches(row: Row, devices: list[tuple[str, int]]) -> int:
    """Count the PCIe switches that devices are on; fewer is nearer."""
    switch = {(kind, minor): at for kind, minor, _, at, _ in row["devices"]}
    return len({switch[device] for device in devices})


def _answer(row: Row) -> tuple[DeviceGrant, ...] | None:
    """Return the devices that Placer gives to the pod of a row."""
    machine = Machine(
        "node",
        "",
        even_topology(2, 0, 0, packages=2),
        devices=tuple(
            sorted(
                (
                    Device(kind, minor, memory_bytes=size, pcie_switch=switch, numa_node=numa)
                    for kind, minor, size, switch, numa in row["devices"]
                ),
                key=lambda device: (device.type, device.minor),
            )
        ),
    )
    try:
        demands = devices_asked(row["ask"])
    except DeviceRequestError:
        return None
    requests = Resources(
        devices=tuple(
            DeviceRequest(d.type, d.count, d.share if d.share.shared else None) for d in demands
        )
    )
    strength = RequiredOrPreferred.REQUIRED if row["required"] else RequiredOrPreferred.PREFERRED
    joint = None
    if row["together"]:
        joint = JointDevicesRequest(tuple(row["together"]), JointDevicesScope.SAME_PCIE, strength)
    strategy = row.get("strategy")
    spec = PodSpec(
        (Container("main", requests),),
        joint=joint,
        strategies=(("rdma", DeviceCountStrategy(strategy)),) if strategy else (),
    )
    node = Node("n", machine)
    instance = Instance(
        (node,),
        (lone(Pod("asking", "default", spec)),),
        running=tuple(_running(i, *held) for i, held in enumerate(row["held"])),
    )
    answer = solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1))
    return answer.placement.pods[0].devices if isinstance(answer, Placed) else None


def _running(index: int, kind: str, minor: int, resources: Mapping[str, str]) -> RunningPod:
    share = _share(kind, resources)
    part = share if share.shared else None
    spec = PodSpec((Container("main", Resources(devices=(DeviceRequest(kind, 1, part),))),))
    pod = Pod(f"held-{index}", "default", spec)
    grant = DeviceGrant(kind, minor, share=part)
    cpus = frozenset({0, 1})
    return RunningPod(pod, PodPlacement(pod.name, "default", None, "n", cpus, devices=(grant,)))


def _share(kind: str, resources: Mapping[str, str]) -> DeviceShare:
    if kind != GPU:
        return DeviceShare(int(next(iter(resources.values()))))
    ratio = resources.get(RATIO)
    memory = resources.get(MEMORY)
    return DeviceShare(
        int(resources[CORE]) if CORE in resources else None,
        parse_bytes(memory) if memory is not None and ratio is None else None,
        int(ratio) if ratio is not None else None,
    )


def _memory(row: Row, kind: str, minor: int) -> int:
    return next(size for t, m, size, _, _ in row["devices"] if (t, m) == (kind, minor))


def _resources(grant: DeviceGrant, row: Row) -> list[int]:
    """Return percent, and of a GPU its memory in bytes and percent, that a grant is of."""
    whole = DeviceShare(100, memory_percent=100 if grant.type == GPU else None)
    share = with_memory_in_both_units(grant.share or whole, _memory(row, grant.type, grant.minor))
    return [share.percent or 0, share.memory_bytes or 0, share.memory_percent or 0]


def _filled(kind: str, minor: int, resources: Mapping[str, str], row: Row) -> list[int]:
    share = with_memory_in_both_units(_share(kind, resources), _memory(row, kind, minor))
    return [share.percent or 0, share.memory_bytes or 0, share.memory_percent or 0]
