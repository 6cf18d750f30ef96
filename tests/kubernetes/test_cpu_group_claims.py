"""CPUs by claims where a device of dra-driver-cpu is a NUMA node, or a socket."""

import pytest

from claim_worlds import claim, claiming, device_class, gpu_listed, request, resource_slice
from dump_worlds import after_binding, files_of, objects_of, solved, with_placed
from json_schemas import check_object
from kubernetes.cpu_claim_worlds import BASE, CPUS, NUMA, asking, group, groups, held, socket, wants
from kubernetes_dumps import notes, places, read
from kubernetes_worlds import Json, node, pod, topology
from placer.counting.account import accounts_of
from placer.judge.breaches import breaches
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.kinds import EmitKind
from placer.search.options import Engine
from placer_models.cluster import Instance
from placer_models.cpuset import parse_cpu_list
from placer_models.placement import Placement


def judged(objects: list[Json], engine: Engine = Engine.GREEDY) -> tuple[Instance, Placement]:
    """Return the cluster of these objects, and what is placed there, in which nothing is wrong."""
    instance, placement = solved(objects, engine)
    assert not breaches(instance, placement)
    return instance, placement


def told(objects: list[Json], instance: Instance, placement: Placement) -> dict[str, Json]:
    """Return claim -> the status that it gets."""
    return {
        path.split("/")[-1].split(".")[0]: one["status"]
        for path, one in files_of(objects, instance, placement, EmitKind.CLAIMS).items()
        if path.endswith(".status.yaml")
    }


def after(objects: list[Json], *, annotated: bool = True) -> tuple[Instance, Instance]:
    """Return the cluster once claims are told and pods bound: as read, and as it was placed."""
    instance, placement = judged(objects)
    statuses = told(objects, instance, placement)
    found = []
    for one in after_binding(objects, instance, placement):
        if one["kind"] == "ResourceClaim" and one["metadata"]["name"] in statuses:
            one["status"] = statuses[one["metadata"]["name"]]
            check_object(one)
        if one["kind"] == "Pod" and not annotated:
            del one["metadata"]["annotations"]
        found.append(one)
    again, _ = instance_of_cluster_objects(objects_of(found))
    return again, with_placed(instance, placement)


def given(status: Json) -> dict[str, tuple[str, str, str]]:
    """Return request -> device, how many CPUs of it, and which."""
    devices = status["allocation"]["devices"]
    configs = {
        one["requests"][0]: one["opaque"]["parameters"]["cpuConfig"]["cpuset"]
        for one in devices["config"]
    }
    return {
        one["request"]: (
            one["device"],
            one["consumedCapacity"]["dra.cpu/cpu"],
            configs[one["request"]],
        )
        for one in devices["results"]
    }


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.AUTO])
def test_cpus_of_a_numa_node_are_told_by_their_ids(engine: Engine) -> None:
    """
    As the driver's contract for an outside allocator says: one device a request.
    """
    objects = [*BASE, claim("c", asking(3)), wants(3), claim("d", asking(3)), wants(3, "q", "d")]
    instance, placement = judged([*objects, claim("e", asking(2)), wants(2, "r", "e")], engine)

    assert {place.name for place in placement.pods} in ({"p", "q"}, {"p", "r"}, {"q", "r"})
    instance, placement = judged(objects, engine)
    statuses = told(objects, instance, placement)
    found = {name: given(status)["cpus"] for name, status in statuses.items()}
    assert {device for device, *_ in found.values()} == {"cpudevnuma000", "cpudevnuma001"}
    for name, (device, count, cpuset) in found.items():
        first = 0 if device == "cpudevnuma000" else 4
        cpus = parse_cpu_list(cpuset)
        assert count == "3"
        assert len(cpus) == 3
        assert cpus <= set(range(first, first + 4))
        (place,) = (one for one in placement.pods if one.name == {"c": "p", "d": "q"}[name])
        assert place.cpuset == cpus
    allocation = statuses["c"]["allocation"]
    assert allocation["devices"]["config"] == [
        {
            "source": "FromClaim",
            "requests": ["cpus"],
            "opaque": {
                "driver": "dra.cpu",
                "parameters": {"apiVersion": "v1alpha1", "cpuConfig": {"cpuset": found["c"][2]}},
            },
        }
    ]
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    assert allocation["nodeSelector"] == {"nodeSelectorTerms": [{"matchFields": [field]}]}
    assert statuses["c"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "uid-p"}]


@pytest.mark.parametrize("annotated", [True, False])
def test_what_is_read_again_leaves_as_much(annotated: bool) -> None:
    """
    With annotations of the pods, and by the claims alone.
    """
    found, wanted = after(
        [
            *BASE,
            *(claim("c", asking(3)), wants(3)),
            *(claim("d", asking(2), asking(1, name="more")), wants(3, "q", "d")),
            pod("shares", {"cpu": "1", "memory": "1Gi"}),
        ],
        annotated=annotated,
    )

    assert len(found.running) == 3
    assert misfits_of_instance(found) == ()
    (left,), (want,) = accounts_of(found), accounts_of(wanted)
    assert left.cores == want.cores
    assert left.pools.shared == want.pools.shared
    if annotated:
        assert left.memory == want.memory
    owned = [
        {one.pod.name: one.placement.cpuset for one in each.running} for each in (found, wanted)
    ]
    assert owned[0] == owned[1]


def test_each_request_has_its_own_numa_node() -> None:
    """
    Two requests of three CPUs do not fit on one; two side by side do.
    """
    apart = [*BASE, claim("c", asking(3, name="a"), asking(3, name="b")), wants(6)]
    (status,) = told(apart, *judged(apart)).values()
    found = given(status)
    assert {device for device, *_ in found.values()} == {"cpudevnuma000", "cpudevnuma001"}
    for device, _, cpuset in found.values():
        assert parse_cpu_list(cpuset) <= set(range(4) if device[-1] == "0" else range(4, 8))

    same = [{"matchAttribute": NUMA}]
    together = claim("c", asking(2, name="a"), asking(2, name="b"), constraints=same)
    objects = [*BASE, together, wants(4)]
    (status,) = told(objects, *judged(objects)).values()
    assert len({device for device, *_ in given(status).values()}) == 1
    assert (
        places(
            read(*BASE, claim("c", asking(3), asking(3, name="b"), constraints=same), wants(6))[0]
        )
        == {}
    )


@pytest.mark.parametrize("attribute", [NUMA, "dra.net/numaNode"])
def test_cpus_are_on_the_numa_node_of_a_gpu(attribute: str) -> None:
    """
    Where the claim says so; else its GPUs may be anywhere.
    """
    same = {"requests": ["cpus", "one"], "matchAttribute": attribute}
    gpus = [gpu_listed(i) for i in range(4)]
    for i, gpu in enumerate(gpus):
        gpu["attributes"]["dra.net/numaNode"] = {"int": i // 2}
    objects = [*BASE, device_class(), resource_slice("n1", gpus)]
    objects += [claim("h", status=held("0")), wants(1, "runs", "h", nodeName="n1")]
    asked = [asking(4), request("one"), request("two", count=2)]
    objects += [claim("c", *asked, constraints=[same]), wants(4)]
    instance, placement = judged(objects)
    (place,) = placement.pods

    assert place.cpuset == {4, 5, 6, 7}
    assert len(place.devices) == 3
    results = told(objects, instance, placement)["c"]["allocation"]["devices"]["results"]
    by_request = {one["request"]: one["device"] for one in results}
    assert by_request["cpus"] == "cpudevnuma001"
    assert by_request["one"] in ("gpu-2", "gpu-3")
    assert len({one["device"] for one in results}) == 4


def test_a_socket_is_a_numa_node_or_the_machine() -> None:
    """
    Where it is neither there is no word for it.
    """
    two = [(i, i // 2, i // 4, i // 4) for i in range(8)]
    objects = [node(), topology(cpus=two), CPUS, groups(socket(0), socket(1))]
    objects += [claim("c", asking(3)), wants(3)]
    (status,) = told(objects, *judged(objects)).values()
    (device, _, cpuset) = given(status)["cpus"]
    assert parse_cpu_list(cpuset) <= set(range(4) if device == "cpudevsocket000" else range(4, 8))

    one = [node(), topology(), CPUS, groups(socket(0, 8)), claim("c", asking(6)), wants(6)]
    (status,) = told(one, *judged(one)).values()
    assert given(status)["cpus"][:2] == ("cpudevsocket000", "6")

    four = [(i, i, i // 4, i // 2) for i in range(8)]
    layout = topology(cpus=four, numa_nodes=4)
    instance, summary = read(node(), layout, CPUS, groups(socket(0), socket(1)), *objects[-2:])
    assert places(instance) == {}
    assert "devices of a socket that is not one NUMA node, for which there is no word" in notes(
        summary
    )


def test_cpus_that_the_driver_keeps_back_are_reserved() -> None:
    """
    Those that it does not say, and those of NUMA nodes that it does not list.
    """
    listed = groups(group(0, 2, "2-3"), group(1, 4, "4-7"))
    instance, _ = read(node(), topology(), CPUS, listed, claim("c", asking(3)), wants(3))
    assert instance.nodes[0].reserved_cpus == {0, 1}
    assert places(instance)["p"].cpuset <= {4, 5, 6, 7}

    instance, _ = read(node(), topology(), CPUS, groups(group(1)), claim("c", asking(2)), wants(2))
    assert instance.nodes[0].reserved_cpus == {0, 1, 2, 3}
    assert places(instance)["p"].cpuset <= {4, 5, 6, 7}


def test_a_request_without_capacity_is_for_all_of_a_device() -> None:
    """
    As Kubernetes means it, where all devices have as many.
    """
    whole = claim("c", request("cpus", of="cpu"))
    instance, _ = read(*BASE, whole, wants(4))
    assert places(instance)["p"].cpuset in (set(range(4)), set(range(4, 8)))

    everything = claim("c", request("cpus", of="cpu", allocationMode="All"))
    instance, _ = read(node(), topology(), CPUS, groups(group(1)), everything, wants(4))
    assert places(instance)["p"].cpuset == {4, 5, 6, 7}


def test_a_policy_of_the_pod_or_its_node_holds() -> None:
    """
    SingleNUMANode of either goes with CPUs of one NUMA node; other policies do not.
    """
    asked = [*BASE, claim("c", asking(3))]
    spec = {
        "scheduling.koordinator.sh/numa-topology-spec": {"numaTopologyPolicy": "SingleNUMANode"}
    }
    instance, _ = read(*asked, wants(3, annotations=spec))
    assert len(places(instance)["p"].cpuset) == 3

    kubelet = topology(policies=["SingleNUMANodeContainerLevel"])
    instance, _ = read(node(), kubelet, CPUS, groups(), claim("c", asking(3)), wants(3))
    assert len(places(instance)["p"].cpuset) == 3


def test_running_pods_hold_what_their_claims_name() -> None:
    """
    And a claim whose pod is not there.
    """
    instance, _ = read(
        *BASE,
        *(claim("c", status=held("0-1")), wants(2, "runs", nodeName="n1")),
        claim("lost", status=held("4", "cpudevnuma001")),
        *(claim("d", asking(3)), wants(3, "p", "d")),
        *(claim("e", asking(2)), wants(2, "q", "e")),
    )

    assert instance.running[0].placement.cpuset == {0, 1}
    assert instance.nodes[0].reserved_cpus == {4}
    assert {name: set(one.cpuset) for name, one in places(instance).items()} == {
        "p": {5, 6, 7},
        "q": {2, 3},
    }


@pytest.mark.parametrize("bound", [True, False])
def test_cpus_that_nobody_names_count_and_no_more_are_given_out(bound: bool) -> None:
    """
    Their driver chose them: of a pod that runs, of a claim whose pod is not there.
    """
    objects = [
        *BASE,
        claim("c", status=held("", count=3)),
        claim("d", asking(2)),
        wants(2, "p", "d"),
    ]
    objects += [wants(3, "runs", nodeName="n1")] if bound else []
    instance, summary = read(*objects, pod("fits", {"cpu": "5"}), pod("late", {"cpu": "1"}))

    assert set(places(instance)) == {"fits"} or set(places(instance)) == {"late"}
    assert "no more are given out there" in notes(summary)


def test_cpus_of_a_bound_pod_count_though_it_does_not_ask_for_them() -> None:
    """
    Its containers say nothing of CPUs; the driver chose three.
    """
    runs = claiming("runs", {"c": "c"}, requests={"memory": "1Gi"}, nodeName="n1")
    objects = [*BASE, claim("c", status=held("", count=3)), runs]
    instance, _ = read(*objects, pod("fits", {"cpu": "5"}))
    assert set(places(instance)) == {"fits"}
    instance, _ = read(*objects, pod("late", {"cpu": "6"}))
    assert places(instance) == {}
