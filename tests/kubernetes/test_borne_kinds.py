"""Objects of each further kind that cannot be read: they end nothing, and loosen nothing."""

import copy
from random import Random
from typing import Any

import pytest

from claim_worlds import allocated, claim, claiming, device_class, request, resource_slice, template
from e2e.storage_objects import (
    DRIVER,
    HOSTNAME,
    csi_driver,
    csi_node,
    csi_volume,
    one_of,
    storage_class,
    volume,
    volume_claim,
    with_claim,
)
from kubernetes_dumps import notes, places, read
from kubernetes_worlds import REQUIRED, Json, namespace, node, pod
from placer.judge.breaches import breaches
from placer.kubernetes.dump import DumpError
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import PartlyPlaced, Placed

GANG = "pod-group.scheduling.sigs.k8s.io"
Steps = tuple[str | int, ...]


def broken(found: Json, *steps: str | int, value: object = "?!") -> Json:
    """Return an object with another value somewhere."""
    found = copy.deepcopy(found)
    here: Any = found
    for step in steps[:-1]:
        here = here[step]
    here[steps[-1]] = value
    return found


def group(name: str = "g", minimum: object = 2) -> Json:
    """Return a PodGroup."""
    metadata = {"name": name, "namespace": "default"}
    version = "scheduling.x-k8s.io/v1alpha1"
    spec = {"minMember": minimum}
    return {"apiVersion": version, "kind": "PodGroup", "metadata": metadata, "spec": spec}


def said(instance: Instance) -> str:
    """Return why pods are left out."""
    return "; ".join(f"{one.name}: {why}" for one in instance.left_out for why in one.why)


KEEPS: dict[str, tuple[list[Json], int, Steps]] = {
    "ResourceClaim": (
        [resource_slice(), device_class(), claim("c", request()), claiming("p", {"c": "c"})],
        2,
        ("spec", "devices"),
    ),
    "ResourceClaimTemplate": (
        [
            resource_slice(),
            device_class(),
            template("c", request()),
            claiming("p", templates={"c": "c"}),
        ],
        2,
        ("spec", "spec"),
    ),
    "DeviceClass": (
        [resource_slice(), device_class(), claim("c", request()), claiming("p", {"c": "c"})],
        1,
        ("spec",),
    ),
    "PodGroup": ([group(), pod("p", labels={GANG: "g"})], 0, ("spec", "minMember")),
    "PersistentVolume": (
        [volume("v", "c"), volume_claim("c", "v"), pod("p", **with_claim("c"))],
        0,
        ("spec", "capacity"),
    ),
    "PersistentVolumeClaim": (
        [volume("v", "c"), volume_claim("c", "v"), pod("p", **with_claim("c"))],
        1,
        ("spec", "accessModes"),
    ),
    "StorageClass": (
        [storage_class(), volume("v"), volume_claim("c"), pod("p", **with_claim("c"))],
        0,
        ("allowedTopologies",),
    ),
}
"""Kind -> objects of it and of who needs it, which of them is broken, and where."""


@pytest.mark.parametrize("kind", KEEPS)
def test_what_cannot_be_read_keeps_waiting_who_needs_it(kind: str) -> None:
    """
    They are named with that reason, others are placed.
    """
    objects, at, steps = KEEPS[kind]
    bad = [broken(one, *steps) if i == at else one for i, one in enumerate(objects)]
    instance, summary = read(node("n1"), *bad, pod("other"), bears=True)

    assert set(places(instance)) == {"other"}
    assert said(instance).startswith("p: ")
    assert "cannot be read" in said(instance)
    assert f"{kind} " in said(instance)
    assert f"cannot be read: dump.json:{at + 2}: " in notes(summary)


def test_a_slice_that_cannot_be_read_closes_its_node() -> None:
    """
    As nobody knows which of its devices are held, nor whether they are listed elsewhere, too.
    """
    bad = broken(resource_slice(node="n1"), "spec", "devices")
    good = resource_slice(node="n2")
    asks = claim("c", request()), claiming("p", {"c": "c"})
    instance, _ = read(node("n1"), node("n2"), bad, good, device_class(), *asks, bears=True)
    assert {one.name for one in instance.nodes if one.closed} == {"n1"}
    assert places(instance)["p"].node == "n2"


def test_a_claim_of_which_nobody_knows_what_it_has_closes_its_pods_node() -> None:
    """
    If what it was given can be read, these devices stay taken, and nothing is closed.
    """
    given = claim("c", request(), status=allocated("gpu-0"))
    runs = claiming("r", {"c": "c"}, nodeName="n1")
    other = pod("other")
    world = node("n1"), node("n2"), resource_slice(), device_class(), runs, other
    unknown = broken(given, "status", "allocation", "devices")
    instance, _ = read(*world, unknown, bears=True)
    assert places(instance)["other"].node == "n2"
    known = broken(given, "spec", "devices")
    instance, _ = read(*world, known, bears=True)
    assert not any(one.closed for one in instance.nodes)
    (holder,) = (one for one in instance.running if one.pod.name == "r")
    assert [one.minor for one in holder.placement.devices] == [0]


def test_what_counts_attached_volumes_and_cannot_be_read_ends_attaching_there() -> None:
    """
    A CSINode, a VolumeAttachment, or a volume of a pod that runs there.
    """
    asks = csi_volume("v", "c"), volume_claim("c", "v"), pod("p", **with_claim("c"))
    two = node("n1"), node("n2")
    csi = csi_node("n1", 2), csi_node("n2", 2)
    attachment: Json = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": "a"},
        "spec": {"attacher": 5, "nodeName": "n1", "source": {"persistentVolumeName": "w"}},
    }
    runs = pod("r", nodeName="n1", **with_claim("d"))
    held = broken(csi_volume("w", "d"), "spec", "capacity"), volume_claim("d", "w"), runs
    for more in (
        (broken(csi[0], "spec", "drivers"), csi[1]),
        (*csi, attachment),
        (*csi, *held),
    ):
        instance, _ = read(*two, *asks, *more, bears=True)
        assert places(instance)["p"].node == "n2"
    instance, _ = read(
        *two, *asks, *csi, broken(attachment, "spec", "nodeName", value=5), bears=True
    )
    assert not places(instance)


def test_a_driver_that_cannot_be_read_provisions_only_where_room_is_told() -> None:
    """
    As it may be one that tells how much it can provision.
    """
    of_class = storage_class("dynamic", provisioner=DRIVER)
    asks = of_class, volume_claim("c", of_class="dynamic"), pod("p", **with_claim("c"))
    instance, _ = read(node("n1"), *asks, csi_driver(), bears=True)
    bad = broken(csi_driver(), "spec", "storageCapacity")
    instance, _ = read(node("n1"), *asks, bad, bears=True)
    assert not places(instance)


def test_a_volume_that_cannot_be_read_may_be_kept_for_a_claim() -> None:
    """
    Then the claim gets no other one.
    """
    asks = storage_class(), volume_claim("c"), pod("p", **with_claim("c"))
    free = volume("w", where=one_of(HOSTNAME, "n1"))
    kept = broken(volume("v", "c"), "spec", "capacity")
    instance, _ = read(node("n1"), *asks, free, bears=True)
    assert places(instance)
    instance, _ = read(node("n1"), *asks, free, kept, bears=True)
    assert "may have a PersistentVolume kept for it" in said(instance)


def test_a_gang_waits_if_too_few_members_can_be_read() -> None:
    """
    The member that cannot be read is listed with its gang; enough others are placed.
    """
    members = [pod(name, labels={GANG: "g"}) for name in ("a", "b")]
    bad = pod("bad", {"cpu": "-1"}, labels={GANG: "g"})
    instance, _ = read(node("n1"), group("g", 3), *members, bad, bears=True)
    assert not places(instance)
    assert {one.name: one.gang for one in instance.left_out} == dict.fromkeys(
        ("a", "b", "bad"), "g"
    )
    assert "Pod default/bad cannot be read" in said(instance)
    instance, _ = read(node("n1"), group("g", 2), *members, bad, bears=True)
    assert set(places(instance)) == {"a", "b"}


def test_labels_that_cannot_be_read_keep_waiting_who_looks_at_them() -> None:
    """
    Anti-affinity and spread wait, others do not.
    """
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
    wish = {"podAntiAffinity": {REQUIRED: [term]}}
    runs = broken(pod("r", nodeName="n1"), "metadata", "labels", value={"app": 5})
    nodes = node("n1", labels={"zone": "z"}), node("n2", labels={"zone": "z"})
    instance, _ = read(*nodes, runs, pod("p", affinity=wish), pod("other"), bears=True)
    assert {name: one.node for name, one in places(instance).items()} == {"other": "n2"}
    assert "it looks at labels of other pods" in said(instance)


def whole_world() -> list[Json]:
    """Return a cluster with objects of all kinds."""
    zone = {"zone": "z1"}
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
    apart = {"podAntiAffinity": {REQUIRED: [term]}}
    return [
        namespace("default"),
        node("n1", labels=zone),
        node("n2", labels=zone),
        node("n3", labels={"zone": "z2"}),
        resource_slice(node="n1"),
        resource_slice(node="n2"),
        device_class(),
        claim("held", request(), status=allocated("gpu-0")),
        claiming("r", {"c": "held"}, nodeName="n1"),
        claim("c", request()),
        claiming("p1", {"c": "c"}),
        pod("apart", nodeName="n2", affinity=apart),
        pod("p2", labels={"app": "a"}),
        pod("p3", affinity=apart),
        group("g", 2),
        *(pod(f"g{i}", labels={GANG: "g"}) for i in range(3)),
        csi_volume("v", "d"),
        volume_claim("d", "v"),
        pod("p4", **with_claim("d")),
        csi_volume("w", "e"),
        volume_claim("e", "w"),
        pod("r2", nodeName="n3", **with_claim("e")),
        csi_node("n1", 0),
        csi_node("n2", 1),
        csi_node("n3", 2),
        storage_class(),
        volume("free", where=one_of(HOSTNAME, "n3")),
        volume_claim("f"),
        pod("p5", **with_claim("f")),
    ]


def _paths(tree: Any, path: Steps = ()) -> list[Steps]:
    found: list[Steps] = [path] if path else []
    steps: Any = tree if isinstance(tree, dict) else range(len(tree)) if type(tree) is list else ()
    for step in steps:
        found += _paths(tree[step], (*path, step))
    return found


_IDENTITY: tuple[Steps, ...] = (
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "namespace"),
)


def _holds_in_whole(seed: int, count: int) -> None:
    """Break one field of one object so many times; what is placed has to be legal in the whole."""
    draw = Random(seed)
    objects = whole_world()
    whole, _ = read(*objects)
    told = 0
    for _ in range(count):
        at = draw.randrange(len(objects))
        steps = draw.choice([one for one in _paths(objects[at]) if one not in _IDENTITY])
        value = draw.choice((None, 5, "?!", [], {}, [5], {"a": 5}, True, "-1Gi"))
        bad = [
            broken(one, *steps, value=value) if i == at else one for i, one in enumerate(objects)
        ]
        try:
            instance, summary = read(*bad, bears=True)
        except DumpError as error:
            pytest.fail(f"{objects[at]['kind']} {steps} = {value!r}: {error}")
        if not summary.faults:
            continue  # another cluster, with nothing wrong in it
        told += 1
        answer = solve(instance, SolveOptions(Engine.GREEDY, 10, None, workers=1, seed=0))
        if not isinstance(answer, Placed | PartlyPlaced):
            continue
        assert not breaches(instance, answer.placement)
        for place in answer.placement.pods:
            why = f"{objects[at]['kind']} {steps} = {value!r}: {place.name} on {place.node}"
            assert place.node in _allowed(whole)[place.name], why
    assert told > count // 4


_KNOWN: dict[int, dict[str, set[str]]] = {}


def _allowed(whole: Instance) -> dict[str, set[str]]:
    """Return pod -> nodes where it may be in the whole cluster, whoever else comes."""
    if id(whole) not in _KNOWN:
        _KNOWN[id(whole)] = {
            "p1": {"n1", "n2"},
            "p2": {"n3"},
            "p3": {"n1", "n2", "n3"},
            "p4": {"n2", "n3"},
            "p5": {"n3"},
            **{f"g{i}": {"n1", "n2", "n3"} for i in range(3)},
        }
    return _KNOWN[id(whole)]


@pytest.mark.parametrize("batch", range(5))
def test_one_broken_field_anywhere_loosens_nothing(batch: int) -> None:
    """
    Of any kind: each is told, nothing ends the reading, and no pod comes where it may not be.
    """
    _holds_in_whole(1 + batch, 250 if batch else 60)
