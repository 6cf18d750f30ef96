"""Pods that ask by ResourceClaims: what they get, who is refused, and with which words."""

from typing import Any

import pytest

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
    template,
)
from kubernetes_dumps import faults, notes, places, read
from kubernetes_worlds import Json, device, node, pod, topology
from placer_models.placement import PodPlacement


def devices_of(place: PodPlacement) -> list[tuple[str, int]]:
    """Return type and minor of what a pod holds."""
    return [(one.type, one.minor) for one in place.devices]


def rdma(name: str = "n1") -> Json:
    """Return the slice of two NICs."""
    return resource_slice(name, [nic_listed(i) for i in range(2)], driver="dra.net")


def test_a_claim_by_name_gets_its_gpus() -> None:
    """
    On the node that has them; the other node has none.
    """
    instance, summary = read(
        node("n0"),
        node("n1"),
        resource_slice("n1"),
        device_class(),
        claim("c", request(count=2)),
        claiming("p"),
    )
    place = places(instance)["p"]

    assert place.node == "n1"
    assert devices_of(place) in ([("gpu", 0), ("gpu", 1)], [("gpu", 2), ("gpu", 3)])
    gpu = instance.nodes[1].machine.devices[0]
    assert (gpu.id, gpu.model, gpu.memory_bytes) == ("GPU-0", "NVIDIA H100 80GB HBM3", 80 * 2**30)
    assert "read 1 DeviceClass, 2 Node, 1 Pod, 1 ResourceClaim, 1 ResourceSlice" in notes(summary)


def test_each_pod_of_a_template_gets_devices_of_its_own() -> None:
    """
    Whether its claim is made already or not; five pods, four GPUs.
    """
    objects = [node(), resource_slice(), device_class(), template()]
    pods = [claiming(f"p{i}", templates={"g": "t"}) for i in range(4)]
    made = [claim("made"), claiming("p4", templates={"g": "t"}, made={"g": "made"})]
    instance, summary = read(*objects, *pods, *made)
    found = places(instance)

    assert len(found) == 4
    assert len({one for place in found.values() for one in devices_of(place)}) == 4
    assert "nothing is written of them: Pod default/p0" in notes(summary)


def test_what_claims_were_given_is_given_to_nobody_else() -> None:
    """
    By the pod that runs with it; by a claim whose pod is not there yet.
    """
    instance, summary = read(
        node(),
        resource_slice(),
        device_class(),
        claim("a", status=allocated("gpu-1")),
        claiming("runs", {"c": "a"}, nodeName="n1"),
        claim("b", status=allocated("gpu-0")),
        claim("c", request(count=3)),
        claiming("p"),
        claim("d", request(count=2)),
        claiming("q", {"c": "d"}),
    )
    (running,) = instance.running

    assert devices_of(running.placement) == [("gpu", 1)]
    assert not running.movable
    assert {name: devices_of(one) for name, one in places(instance).items()} == {
        "q": [("gpu", 2), ("gpu", 3)]
    }
    assert "nobody else gets these: ResourceClaim default/b" in notes(summary)


def test_a_pod_whose_claim_has_its_devices_goes_where_they_are() -> None:
    """
    It takes no others.
    """
    instance, _ = read(
        node("n0"),
        node("n1"),
        resource_slice("n0"),
        resource_slice("n1"),
        device_class(),
        claim("c", status=allocated("gpu-3")),
        claiming("p"),
        claiming("q"),
    )
    found = places(instance)

    assert {name: (one.node, devices_of(one)) for name, one in found.items()} == {
        "p": ("n1", []),
        "q": ("n1", []),
    }


def test_selectors_keep_a_pod_to_nodes_whose_devices_meet_them() -> None:
    """
    Equality of attributes, comparison of capacity and of versions, joined by and.
    """
    old = [
        gpu_listed(
            i,
            capacity={"memory": {"value": "40Gi"}},
            attributes={
                "productName": {"string": "NVIDIA A100"},
                "driverVersion": {"version": "550.1.0"},
            },
        )
        for i in range(2)
    ]
    new = [gpu_listed(i, attributes={"driverVersion": {"version": "580.105.8"}}) for i in range(2)]
    driver = f"device.attributes['{GPU_DRIVER}'].driverVersion"
    said = {
        "big": f"device.capacity['{GPU_DRIVER}'].memory.compareTo(quantity('41Gi')) >= 0",
        "small": f'device.capacity["{GPU_DRIVER}"].memory.isLessThan(quantity("41Gi"))',
        "named": f"device.attributes['{GPU_DRIVER}'].productName == 'NVIDIA A100'",
        "fresh": f"{driver}.isGreaterThan(semver('560.0.0'))",
    }
    objects = [node("old"), node("new"), resource_slice("old", old), resource_slice("new", new)]
    objects.append(device_class())
    for name, expression in said.items():
        objects += [claim(name, request("gpus", expression)), claiming(name, {"c": name})]
    instance, _ = read(*objects)

    assert {name: one.node for name, one in places(instance).items()} == {
        "big": "new",
        "small": "old",
        "named": "old",
        "fresh": "new",
    }


def test_devices_of_one_pcie_root() -> None:
    """
    Two GPUs below one root; a GPU and a NIC below one; what spans two roots waits.
    """
    base = [node(), topology(), resource_slice(), rdma(), device_class(), nics()]
    same = {"matchAttribute": "resource.kubernetes.io/pcieRoot"}
    taken = [claim("x", status=allocated("gpu-0")), claiming("runs", {"c": "x"}, nodeName="n1")]
    pair = claim("c", request(count=2), constraints=[same])
    instance, _ = read(*base, *taken, pair, claiming())
    assert devices_of(places(instance)["p"]) == [("gpu", 2), ("gpu", 3)]

    held = claim("y", status=allocated("rdma1", driver="dra.net"))
    mixed = claim("c", request(), request("nic", of="nic"), constraints=[same])
    instance, _ = read(*base, held, mixed, claiming())
    assert devices_of(places(instance)["p"]) in [
        [("gpu", 0), ("rdma", 0)],
        [("gpu", 1), ("rdma", 0)],
    ]

    three = claim("c", request(count=3), constraints=[same])
    instance, _ = read(*base, three, claiming())
    assert not places(instance)


def test_all_devices_and_the_first_available() -> None:
    """
    All of a node's; of several kinds the first that there is.
    """
    every = claim("c", request(allocationMode="All"))
    instance, _ = read(node(), resource_slice(), device_class(), every, claiming())
    assert len(places(instance)["p"].devices) == 4

    choices = [
        {"name": "none", "deviceClassName": "nic"},
        {"name": "two", "deviceClassName": "gpu", "count": 2},
    ]
    first = claim("c", {"name": "any", "firstAvailable": choices})
    instance, summary = read(node(), resource_slice(), device_class(), nics(), first, claiming())
    assert len(places(instance)["p"].devices) == 2
    assert "(any/two): Pod default/p" in notes(summary)


def either(*choices: tuple[str, Json], name: str = "c") -> Json:
    """Return a claim on the first of some alternatives that there is."""
    listed = [{"name": choice, "deviceClassName": "gpu", **more} for choice, more in choices]
    return claim(name, {"name": "gpus", "firstAvailable": listed})


def test_an_alternative_of_more_devices_than_any_node_has_is_passed_over() -> None:
    """
    Also where the node has as many, and some of them are held.
    """
    asked = either(("many", {"count": 8}), ("few", {"count": 2}))
    eight = [gpu_listed(i) for i in range(8)]
    held = [claim("held", status=allocated("gpu-7"))]
    for more in ([resource_slice()], [resource_slice("n1", eight), *held]):
        instance, summary = read(node(), device_class(), *more, asked, claiming())

        assert len(places(instance)["p"].devices) == 2
        assert "(gpus/few): Pod default/p" in notes(summary)


def test_alternatives_of_as_many_devices_are_chosen_node_by_node() -> None:
    """
    New GPUs on one node, old ones on the other: each takes one of two pods.
    """
    name = f"device.attributes['{GPU_DRIVER}'].productName"
    new, old = (
        {"selectors": [{"cel": {"expression": f"{name} == '{model}'"}}]} for model in ("new", "old")
    )
    slices = [
        resource_slice(on, [gpu_listed(0, attributes={"productName": {"string": model}})])
        for on, model in (("n1", "new"), ("n2", "old"))
    ]
    asked = either(("new", new), ("old", old))
    spec = asked["spec"]["devices"]["requests"]
    claims = [claim(name, *spec) for name in ("c1", "c2")]
    pods = [claiming("p1", {"c": "c1"}), claiming("p2", {"c": "c2"})]
    instance, summary = read(node(), node("n2"), device_class(), *slices, *claims, *pods)

    assert {place.node for place in places(instance).values()} == {"n1", "n2"}
    assert "(gpus/new, gpus/old): Pod default/p1" in notes(summary)


def test_an_alternative_of_another_number_is_taken_elsewhere() -> None:
    """
    Of three pods the first goes to the best alternative, 4 GPUs; the others get 1 GPU, or wait.
    """
    asked = [
        either(("many", {"count": 4}), ("few", {"count": 1}), name=name) for name in ("c1", "c2")
    ]
    here = [node(), node("n2"), resource_slice("n1"), resource_slice("n2", [gpu_listed(0)])]
    pods = [claiming("p1", {"c": "c1"}), claiming("p2", {"c": "c2"})]
    lone, _ = read(*here, device_class(), asked[0], pods[0])
    both, summary = read(*here, device_class(), *asked, *pods)

    assert places(lone)["p1"].node == "n1"
    assert {place.node: len(place.devices) for place in places(both).values()} == {"n1": 4, "n2": 1}
    assert "taken with the first that the node has (gpus/many, gpus/few)" in notes(summary)


REFUSED: dict[str, tuple[list[Any], str]] = {
    "other CEL": (
        [claim("c", request("gpus", "device.driver.matches('gpu.*')"))],
        "no word yet for the selector device.driver.matches('gpu.*')",
    ),
    "one of several devices that are listed twice": (
        [
            device(),
            claim("c", request("gpus", f"device.attributes['{GPU_DRIVER}'].uuid == 'GPU-1'")),
        ],
        "no word yet for some devices of a type on a node and not the others (request gpus",
    ),
    "admin": ([claim("c", request(adminAccess=True))], "no word yet for access for admins"),
    "tolerations": (
        [claim("c", request(tolerations=[{"operator": "Exists"}]))],
        "no word yet for tolerations of device taints",
    ),
    "capacity": (
        [claim("c", request(capacity={"requests": {"memory": "1Gi"}}))],
        "no word yet for a part of the capacity of devices",
    ),
    "distinct": (
        [claim("c", constraints=[{"distinctAttribute": "gpu.nvidia.com/uuid"}])],
        "no word yet for constraint distinctAttribute",
    ),
    "another attribute": (
        [claim("c", request(count=2), constraints=[{"matchAttribute": f"{GPU_DRIVER}/uuid"}])],
        f"no word yet for claims on nodes where not all devices have one {GPU_DRIVER}/uuid",
    ),
    "no claim": ([], "not placed: Pod default/p: ResourceClaim default/c: not in the dump"),
    "no class": ([claim("c", request(of="other"))], "DeviceClass other: not in the dump"),
    "too many": ([claim("c", request(count=33))], "more than 32 devices in ResourceClaim"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_there_is_no_word_for_is_refused_by_name(case: str) -> None:
    """
    The pod is not placed, and told with what it asks for.
    """
    objects, message = REFUSED[case]
    instance, summary = read(node(), resource_slice(), device_class(), *objects, claiming())

    assert "p" not in places(instance)
    assert message in notes(summary)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"consumesCounters": [{"counterSet": "s", "counters": {}}]}, "consumes shared counters"),
        ({"allowMultipleAllocations": True}, "is given to several claims at once"),
        ({"bindingConditions": ["Ready"]}, "has binding conditions"),
    ],
)
def test_devices_beyond_our_words_are_given_to_nobody(more: Json, why: str) -> None:
    """
    The pods that claim them are told so.
    """
    listed = [gpu_listed(i, **more) for i in range(2)]
    instance, summary = read(
        node(), resource_slice("n1", listed), device_class(), claim(), claiming()
    )

    assert not instance.nodes[0].machine.devices
    assert f"devices of which each {why}, given to nobody" in notes(summary)
    assert f"not placed: Pod default/p: there is no word yet for devices of which each {why}" in (
        notes(summary)
    )


def test_a_device_with_a_taint_is_given_to_nobody() -> None:
    """
    The others are; a taint without an effect keeps nobody off.
    """
    taints = [{"key": "broken", "value": "yes", "effect": "NoExecute"}]
    listed = [gpu_listed(0, taints=taints), gpu_listed(1, taints=[{"key": "x", "effect": "None"}])]
    instance, summary = read(
        node(), resource_slice("n1", listed), device_class(), claim(), claiming()
    )

    assert devices_of(places(instance)["p"]) == [("gpu", 1)]
    assert "devices with the taint broken=yes:NoExecute, given to nobody" in notes(summary)


def test_requests_of_containers_get_no_devices_of_claims() -> None:
    """
    No kubelet hands them out: such a pod goes where a plugin does.
    """
    objects = [node("n1"), resource_slice("n1"), device_class()]
    wants = pod("p", {"nvidia.com/gpu": "1"})
    instance, _ = read(*objects, wants)
    assert not places(instance)

    instance, _ = read(*objects, node("n0"), device("n0"), wants, claim(), claiming("q"))
    assert {name: one.node for name, one in places(instance).items()} == {"p": "n0", "q": "n1"}


def test_where_a_plugin_gives_the_resource_of_a_class_it_comes_from_there() -> None:
    """
    The pod goes to a node with the plugin, and that is said.
    """
    of_class = device_class("gpu", extendedResourceName="nvidia.com/gpu")
    objects = [node("n1"), resource_slice("n1"), of_class]
    wants = {"nvidia.com/gpu": "1"}
    other = device_class("other", extendedResourceName="example.com/npu")
    plugin = node("n0", amounts={"example.com/npu": "1"})
    for beside, amount in (
        ([plugin, other], {"example.com/npu": "1"}),
        ([node("n0"), device("n0")], wants),
    ):
        instance, summary = read(*objects, *beside, pod("p", amount))
        assert not summary.refused
        assert "which only nodes with its plugin give: Pod default/p" in notes(summary)
        assert [one.node for one in places(instance).values()] == ["n0"]


def test_a_bound_pod_holds_what_its_extended_resource_was_given() -> None:
    """
    By the claim that a scheduler made for it; the others are given out.
    """
    holder = pod("p", {"nvidia.com/gpu": "1"}, nodeName="n1")
    one = {"containerName": "main", "resourceName": "nvidia.com/gpu", "requestName": "gpus"}
    holder["status"]["extendedResourceClaimStatus"] = {
        "resourceClaimName": "p-gpus",
        "requestMappings": [one],
    }
    objects = [node("n1"), resource_slice("n1"), device_class(), holder]
    made = claim("p-gpus", status=allocated("gpu-2"))

    instance, _ = read(*objects, made, claim("c", request(count=3)), claiming("q"))

    (running,) = instance.running
    assert [(grant.type, grant.minor) for grant in running.placement.devices] == [("gpu", 2)]
    assert devices_of(places(instance)["q"]) == [("gpu", 0), ("gpu", 1), ("gpu", 3)]


def test_a_device_object_and_slices_are_one_list() -> None:
    """
    The same GPU by its UUID: what runs by an annotation is not given out by a claim.
    """
    listed = [gpu_listed(i) for i in (3, 2, 1, 0)]
    held = {"scheduling.koordinator.sh/device-allocated": {"gpu": [{"minor": 3, "resources": {}}]}}
    instance, _ = read(
        node(),
        topology(),
        device(),
        resource_slice("n1", listed),
        device_class(),
        pod("runs", {"nvidia.com/gpu": "1"}, annotations=held, nodeName="n1"),
        claim("c", request(count=3)),
        claiming("p"),
    )

    assert len(instance.nodes[0].machine.devices) == 4
    assert devices_of(places(instance)["p"]) == [("gpu", 0), ("gpu", 1), ("gpu", 2)]


def test_only_whole_pools_of_the_newest_generation_count() -> None:
    """
    A slice of the old generation, and a pool of which a slice is missing, are passed over.
    """
    old = resource_slice(devices=[gpu_listed(0), gpu_listed(1)], name="old")
    new = resource_slice(devices=[gpu_listed(0)], name="new", generation=2)
    part = resource_slice(driver="dra.net", devices=[nic_listed(0)], slices=2)
    instance, summary = read(node(), old, new, part)

    assert [(one.type, one.minor) for one in instance.nodes[0].machine.devices] == [("gpu", 0)]
    assert "of an older generation, passed over: ResourceSlice old" in notes(summary)
    assert "miss some of them, passed over: ResourceSlice n1-dra.net" in notes(summary)


@pytest.mark.parametrize("way", ["nodeSelector", "perDevice", "allNodes"])
def test_devices_belong_to_the_one_node_that_can_use_them(way: str) -> None:
    """
    By a selector, device by device; what two nodes can use is given to nobody.
    """
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}
    selector = {"nodeSelectorTerms": [term]}
    if way == "perDevice":
        found = resource_slice(
            "",
            [gpu_listed(0, nodeName="n1"), gpu_listed(1, nodeSelector=selector)],
            perDeviceNodeSelection=True,
            pool="x",
        )
    else:
        said: Any = selector if way == "nodeSelector" else True
        found = resource_slice("", [gpu_listed(0)], pool="x", **{way: said})
    instance, summary = read(node("n0"), node("n1", labels={"a": "1"}), found)
    counts = [len(one.machine.devices) for one in instance.nodes]

    assert counts == {"nodeSelector": [0, 1], "perDevice": [0, 2], "allNodes": [0, 0]}[way]
    assert ("several nodes can use, given to nobody" in notes(summary)) is (way == "allNodes")


def test_faulty_objects_are_named_with_field_and_mend() -> None:
    """
    Each of them; one does not hide the others.
    """
    twice = resource_slice("n1", [gpu_listed(0), gpu_listed(0)], name="twice")
    negative = resource_slice("n1", name="negative", driver="x")
    negative["spec"]["devices"][1]["capacity"]["memory"]["value"] = "-1Gi"
    cut = resource_slice("n1", name="cut", driver="y")
    del cut["spec"]["driver"]
    unknown = claiming("p")
    unknown["spec"]["containers"][0]["resources"]["claims"] = [{"name": "other"}]
    found = faults(node(), twice, negative, cut, unknown)

    assert [message.split(": ", 2)[1:] for message in found] == [
        [
            "spec.devices[1].name",
            "ResourceSlice twice: 'gpu-0' is there twice; each device of a pool has a name of its "
            "own",
        ],
        [
            "spec.devices[1].capacity.memory.value",
            "ResourceSlice negative: '-1Gi' is negative; an amount is 0 or more",
        ],
        ["spec.driver", "ResourceSlice cut: is missing"],
        [
            "spec.containers[0].resources.claims[0].name",
            "Pod default/p: got 'other'; spec.resourceClaims has c",
        ],
    ]


def test_a_device_stands_in_one_slice_of_its_pool() -> None:
    """
    The second is named.
    """
    parts = [resource_slice(devices=[gpu_listed(0)], name=name, slices=2) for name in ("a", "b")]

    assert (
        "ResourceSlice b: 'gpu-0' of pool n1 stands in ResourceSlice a already"
        in (faults(node(), *parts)[0])
    )


def test_a_claim_that_was_given_what_is_not_there() -> None:
    """
    What no slice lists; what is of another node than its pod; what another claim has.
    """
    base = [node("n1"), node("n2"), resource_slice("n1"), device_class()]
    assert (
        "'gpu-9' of pool n1 of gpu.nvidia.com is in no ResourceSlice of the dump"
        in (faults(*base, claim("c", status=allocated("gpu-9")))[0])
    )
    given = claim("c", status=allocated("gpu-1"))
    assert (
        "'gpu-1' is of Node n1, and Pod default/p, which has the claim, is bound to Node n2"
        in (faults(*base, given, claiming("p", nodeName="n2"))[0])
    )
    other = claim("d", status=allocated("gpu-1"))
    assert (
        "gpu 1 belongs to the running pod 'Pod default/p' already"
        in (
            faults(
                *base,
                given,
                other,
                claiming("p", nodeName="n1"),
                claiming("q", {"c": "d"}, nodeName="n1"),
            )[0]
        )
    )
