"""Devices of which a node says only how many it has, beside nodes that list theirs (D2, D12)."""

import pytest

from claim_worlds import device_class, resource_slice
from kubernetes_dumps import notes, places, read
from kubernetes_worlds import Json, device, gpu, held, node, pod, topology
from placer.kubernetes.emit.annotations import placement_annotations
from placer_models.cluster import Instance

NAME = "nvidia.com/gpu"
TOLD = f"nodes with {NAME} and no object that says which: counted alone"


def plain(name: str = "n2", gpus: int = 2, resource: str = NAME, **more: object) -> Json:
    """Return a node that says how many GPUs it has, and nothing else of them."""
    return node(name, amounts={resource: str(gpus)}, **more)


def asking(name: str, gpus: int = 1, resource: str = NAME, **more: object) -> Json:
    """Return a pod that asks for GPUs."""
    amounts = {"cpu": "100m", resource: str(gpus)}
    return pod(name, amounts, limits={resource: str(gpus)}, **more)


def on(instance: Instance, name: str) -> list[str]:
    """Return the names of the pods that come to a node, ascending."""
    return sorted(pod for pod, place in places(instance).items() if place.node == name)


@pytest.mark.parametrize("listed", [device("n1", [gpu(0)]), resource_slice("n1")])
def test_amounts_serve_pods_though_other_nodes_list_devices(listed: Json) -> None:
    """
    As many as the node has, and no more; the summary says that nobody knows which.
    """
    asked = [asking(f"p{i}", nodeSelector={"kubernetes.io/hostname": "n2"}) for i in range(3)]
    instance, summary = read(node(), plain(), listed, device_class(), *asked)

    assert len(on(instance, "n2")) == 2
    assert TOLD in notes(summary)


def test_running_pods_hold_as_many_as_they_ask_for() -> None:
    """
    Whatever their environments show them: the kubelet counts what they ask for, too.
    """
    sees = asking("sees", nodeName="n2")
    sees["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    here = {"kubernetes.io/hostname": "n2"}
    asked = [asking(f"p{i}", nodeSelector=here) for i in range(3)]
    instance, summary = read(
        node(), plain(gpus=5), device("n1"), asking("runs", 2, nodeName="n2"), sees, *asked
    )

    assert len(on(instance, "n2")) == 2
    assert "nobody names" not in notes(summary)
    assert "see devices" not in notes(summary)


def test_no_more_are_given_out_where_pods_hold_more_than_there_are() -> None:
    """
    Such as after a GPU was lost.
    """
    runs = [asking(f"r{i}", 2, nodeName="n2") for i in range(2)]
    asked = asking("p", nodeSelector={"kubernetes.io/hostname": "n2"})
    instance, _ = read(node(), plain(gpus=3), device("n1"), *runs, asked)

    assert not places(instance)


@pytest.mark.parametrize(
    ("resource", "amount"),
    [("koordinator.sh/gpu", 100), ("koordinator.sh/gpu", 50), ("amd.com/gpu", 1)],
)
def test_other_names_are_not_served_by_an_amount(resource: str, amount: int) -> None:
    """
    A node that has nvidia.com/gpu alone has none of what is asked for by another name.
    """
    full = [asking("r", 1, nodeName="n1", annotations=held(0))]
    instance, _ = read(
        node(), plain(), device("n1", [gpu(0)]), *full, asking("p", amount, resource)
    )

    assert not places(instance)


def test_each_name_finds_the_nodes_that_have_it() -> None:
    """
    Beside a node that lists its GPUs, which serves them all.
    """
    nodes = node(), plain("n2"), plain("n3", resource="amd.com/gpu")
    asked = [asking(f"nvidia{i}") for i in range(3)]
    asked += [asking(f"amd{i}", resource="amd.com/gpu") for i in range(3)]
    instance, _ = read(*nodes, device("n1", [gpu(0), gpu(1)]), *asked)

    found = {name: place.node for name, place in places(instance).items()}
    assert len(found) == 6
    assert {found[f"nvidia{i}"] for i in range(3)} <= {"n1", "n2"}
    assert {found[f"amd{i}"] for i in range(3)} <= {"n1", "n3"}


def test_a_node_of_several_names_gives_none_out() -> None:
    """
    As nobody could say which of them a pod holds.
    """
    both = node("n2", amounts={NAME: "2", "amd.com/gpu": "2"})
    full = asking("r", 1, nodeName="n1", annotations=held(0))
    instance, summary = read(node(), both, device("n1", [gpu(0)]), full, asking("p"))

    assert not places(instance)
    assert f"nodes with {NAME} and no object that says which: none is given out there" in notes(
        summary
    )


def test_made_up_minors_are_told_to_nobody() -> None:
    """
    Neither by annotations nor by environments.
    """
    listed = device("n2", [gpu(0, type="rdma", resources={})])
    asked = asking("p", nodeSelector={"kubernetes.io/hostname": "n2"})
    instance, _ = read(node(), plain(), device("n1"), listed, asked)
    place = places(instance)["p"]
    spec = instance.gangs[0].pods[0].spec
    there = next(one for one in instance.nodes if one.name == "n2")

    assert place.env == ()
    assert all(part.env == () for part in place.containers)
    assert placement_annotations(place, spec, there) == {}


def test_gpus_of_zones_have_no_names_either() -> None:
    """
    A NodeResourceTopology counts them by NUMA node, and says no more of them.
    """
    zones = topology()["zones"]
    for zone in zones:
        zone["resources"].append({"name": NAME, "capacity": 1, "allocatable": 1, "available": 1})
    instance, _ = read(node(), topology(zones=zones), asking("p"))

    assert places(instance)["p"].env == ()
