"""Claims on some devices of a node and not the others, by selectors that these do not meet."""

from typing import Any

from claim_worlds import (
    GPU_DRIVER,
    allocated,
    claim,
    claiming,
    device_class,
    gpu_listed,
    nic_listed,
    nics,
    request,
    resource_slice,
)
from dump_worlds import after_binding, files_of, objects_of, solved
from kubernetes_dumps import notes, places, read
from kubernetes_worlds import Json, node, topology
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.kinds import EmitKind
from placer.search.options import Engine

LARGE = f"device.capacity['{GPU_DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0"
SMALL = f"device.capacity['{GPU_DRIVER}'].memory.compareTo(quantity('40Gi')) < 0"


def gpus(*sizes: int, on: str = "n1") -> list[Json]:
    """Return a node and its GPUs, with so many GiB each."""
    listed = [
        gpu_listed(i, capacity={"memory": {"value": f"{size}Gi"}}) for i, size in enumerate(sizes)
    ]
    return [node(on), resource_slice(on, listed)]


def minors(*objects: Json) -> dict[str, list[int]]:
    """Return pod -> its devices, by the greedy path."""
    instance, _ = read(*objects)
    return {name: [one.minor for one in place.devices] for name, place in places(instance).items()}


def exactly(*objects: Json) -> dict[str, list[int]]:
    """Return pod -> its devices, by the exact search."""
    _, placement = solved(objects, Engine.EXACT, whole=True)
    return {place.name: [one.minor for one in place.devices] for place in placement.pods}


def test_a_node_of_which_some_devices_meet_a_selector_offers_those() -> None:
    """
    The second and the fourth GPU are large; there are not three such.
    """
    here = [*gpus(10, 80, 10, 80), device_class()]

    assert minors(*here, claim("c", request("gpus", LARGE, count=2)), claiming()) == {"p": [1, 3]}
    assert minors(*here, claim("c", request("gpus", LARGE, count=3)), claiming()) == {}


def test_all_devices_that_meet_a_selector() -> None:
    """
    Both large ones, and neither of the others.
    """
    every = claim("c", request("gpus", LARGE, allocationMode="All"))

    assert minors(*gpus(10, 80, 10, 80), device_class(), every, claiming()) == {"p": [1, 3]}


def test_no_device_is_given_twice() -> None:
    """
    Large ones by one claim, any by another, those of a UUID by a third: four pods for four GPUs.
    """
    first = f"device.attributes['{GPU_DRIVER}'].uuid == 'GPU-1'"
    here = [*gpus(10, 80, 80, 10), device_class()]
    here += [claim("one", request("gpus", first)), claim("large", request("gpus", LARGE))]
    here += [claim("any"), claim("small", request("gpus", SMALL))]
    pods = [claiming(name, {"c": name}) for name in ("any", "large", "one", "small")]

    found = exactly(*here, *pods)

    assert found["one"] == [1]
    assert found["large"] == [2]
    assert sorted(one for each in found.values() for one in each) == [0, 1, 2, 3]


def test_one_claim_asks_for_both_kinds() -> None:
    """
    One request for large GPUs, one for any: the allocation names each request's own devices.
    """
    asked = claim("c", request("big", LARGE), request("any", count=2))
    objects = [*gpus(10, 80, 10), device_class(), asked, claiming()]
    instance, placement = solved(objects, whole=True)
    files = files_of(objects, instance, placement, EmitKind.CLAIMS)
    status: Any = files["claims/default/c.status.yaml"]["status"]
    results = [
        (one["request"], one["device"]) for one in status["allocation"]["devices"]["results"]
    ]

    assert results == [("big", "gpu-1"), ("any", "gpu-0"), ("any", "gpu-2")]

    patched = [
        {**one, "status": status} if one["kind"] == "ResourceClaim" else one for one in objects
    ]
    after, _ = instance_of_cluster_objects(objects_of(after_binding(patched, instance, placement)))
    assert [one.minor for one in after.running[0].placement.devices] == [0, 1, 2]
    assert misfits_of_instance(after) == ()


def test_devices_that_are_held_are_given_to_nobody() -> None:
    """
    Nor broken ones.
    """
    held = claim("held", status=allocated("gpu-1"))
    asked = claim("c", request("gpus", LARGE))
    tainted = gpu_listed(0, taints=[{"key": "broken", "effect": "NoSchedule"}])
    slices = resource_slice("n1", [tainted, gpu_listed(1), gpu_listed(2, capacity={})])

    assert minors(*gpus(10, 80, 80), device_class(), held, asked, claiming()) == {"p": [2]}
    assert minors(*gpus(10, 80), device_class(), held, asked, claiming()) == {}
    has = f"device.attributes['{GPU_DRIVER}'].uuid != 'GPU-2'"
    few = claim("c", request("gpus", has))
    assert minors(node(), slices, device_class(), few, claiming()) == {"p": [1]}


def test_other_nodes_serve_the_claim_as_before() -> None:
    """
    One where all devices meet the selector, one where some do, one where none does.
    """
    here = [*gpus(80, on="n1"), *gpus(10, 80, on="n2"), *gpus(10, on="n3"), device_class()]
    claims = [claim(name, request("gpus", LARGE)) for name in "abc"]
    instance, summary = read(*here, *claims, *(claiming(name, {"c": name}) for name in "abc"))

    assert sorted(place.node for place in places(instance).values()) == ["n1", "n2"]
    assert "stands for devices that some pods claim and others not" in notes(summary)


def test_devices_side_by_side_are_of_those_that_meet_the_selector() -> None:
    """
    A large GPU and a NIC below one PCIe root; only the last GPU is large.
    """
    same = {"matchAttribute": "resource.kubernetes.io/pcieRoot"}
    rdma = resource_slice("n1", [nic_listed(i) for i in range(2)], driver="dra.net")
    asked = claim("c", request("gpus", LARGE), request("nic", of="nic"), constraints=[same])
    here = [*gpus(10, 10, 10, 80), topology(), rdma, device_class(), nics(), asked]
    instance, _ = read(*here, claiming())

    devices = [(one.type, one.minor) for one in places(instance)["p"].devices]
    assert devices == [("gpu", 3), ("rdma", 1)]


def test_a_device_of_another_type_is_chosen_too() -> None:
    """
    The second of three NICs by its name, and any NIC for another pod: never the same one.
    """
    rdma = resource_slice("n1", [nic_listed(i) for i in range(3)], driver="dra.net")
    second = "device.attributes['dra.net'].ifName == 'rdma1'"
    asked = [claim("c", request("nic", second, of="nic")), claim("d", request("nic", of="nic"))]
    pods = [claiming("p"), claiming("q", {"c": "d"}), claiming("r", {"c": "e"})]
    more = claim("e", request("nic", of="nic"))

    found = exactly(node(), rdma, nics(), *asked, more, *pods)

    assert found["p"] == [1]
    assert sorted(found["q"] + found["r"]) == [0, 2]


def test_alternatives_on_one_node_are_told_apart() -> None:
    """
    A large GPU before a small one; where the large one is held, the small one is taken.
    """
    listed = [
        {"name": name, "deviceClassName": "gpu", "selectors": [{"cel": {"expression": what}}]}
        for name, what in (("large", LARGE), ("small", SMALL))
    ]
    asked = claim("c", {"name": "gpus", "firstAvailable": listed})
    held = claim("held", status=allocated("gpu-1"))
    here = [*gpus(10, 80), device_class(), asked, claiming()]

    assert minors(*here) == {"p": [1]}
    assert minors(*here, held) == {"p": [0]}


def test_a_pod_whose_chosen_devices_are_closed_off_is_legal() -> None:
    """
    The node that has them reserves CPUs that it does not have, and the other one has none such.
    """
    reserved = {"node.koordinator.sh/reservation": '{"reservedCPUs": "0-99"}'}
    _, slices = gpus(10, 80)
    broken = [node("n1", annotations=reserved), topology("n1"), slices]
    asked = claim("c", request("gpus", LARGE))
    here = [*broken, *gpus(10, on="n2"), device_class(), asked, claiming()]
    instance, summary = read(*here, bears=True)

    assert summary.illegal == []
    assert [one.pods[0].name for one in instance.gangs] == ["p"]
    assert places(instance) == {}
