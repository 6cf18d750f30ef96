"""CPUs by claims: devices of dra-driver-cpu, one by one or all of a machine."""

import pytest

from claim_worlds import allocated, claim, request, resource_slice
from dump_worlds import after_binding, files_of, objects_of, solved
from kubernetes.cpu_claim_worlds import CPUS, wants
from kubernetes_dumps import notes, places, read
from kubernetes_worlds import Json, node, pod, topology
from placer.counting.account import accounts_of
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.kinds import EmitKind


def single(number: int) -> Json:
    """Return one CPU of `kubernetes_worlds.topology`."""
    where = {"cpuID": number, "coreID": number // 2, "socketID": 0, "numaNodeID": number // 4}
    return {
        "name": f"cpudev{number:03}",
        "attributes": {f"dra.cpu/{name}": {"int": value} for name, value in where.items()},
    }


def singles(first: int = 0) -> Json:
    """Return the slice of a node's CPUs, the first few of which the driver keeps back."""
    return resource_slice("n1", [single(i) for i in range(first, 8)], driver="dra.cpu")


def machine(count: int = 8) -> Json:
    """Return the slice of a driver that leaves to others which CPUs a claim has."""
    listed = {
        "name": "cpudevmachine",
        "allowMultipleAllocations": True,
        "attributes": {"dra.cpu/numCPUs": {"int": count}},
        "capacity": {"dra.cpu/cpu": {"value": str(count)}},
    }
    return resource_slice("n1", [listed], driver="dra.cpu")


def numbered(count: int, name: str = "c") -> Json:
    """Return a claim on a number of CPUs of a machine."""
    return claim(name, request("cpus", of="cpu", capacity={"requests": {"dra.cpu/cpu": count}}))


def told(objects: list[Json]) -> tuple[Json, list[Json]]:
    """Return the status that the claim gets, and the objects once it has it and the pod runs."""
    instance, placement = solved(objects)
    files = files_of(objects, instance, placement, EmitKind.CLAIMS)
    status: Json = files["claims/default/c.status.yaml"]["status"]
    after = after_binding(objects, instance, placement)
    patched = [
        {**one, "status": status} if one["kind"] == "ResourceClaim" else one for one in after
    ]
    return status, patched


def test_single_cpus_tell_where_they_are() -> None:
    """
    Without a NodeResourceTopology; those that the driver keeps back belong to nobody.
    """
    objects = [node(amounts={"cpu": "6"}, capacity={"cpu": "8", "memory": "16Gi"}), CPUS]
    objects += [singles(2), claim("c", request("cpus", of="cpu", count=4)), wants(4)]
    instance, _ = read(*objects)
    layout = instance.nodes[0].machine.topology

    assert layout.online == set(range(2, 8))
    assert [cpu.numa_node for cpu in layout.cpus] == [0, 0, 1, 1, 1, 1]
    place = places(instance)["p"]
    assert len(place.cpuset) == 4

    known, _ = read(*objects, topology())
    assert places(known)["p"].cpuset <= set(range(2, 8))


def test_single_cpus_are_told_by_the_names_of_their_devices() -> None:
    """
    And read again: the pod has them, and nobody else gets them.
    """
    objects = [node(), CPUS, singles(), claim("c", request("cpus", of="cpu", count=4)), wants(4)]
    status, after = told(objects)

    devices = status["allocation"]["devices"]
    names = [one["device"] for one in devices["results"]]
    assert names in (
        [f"cpudev{i:03}" for i in range(4)],
        [f"cpudev{i:03}" for i in range(4, 8)],
    )
    assert "config" not in devices
    instance, _ = instance_of_cluster_objects(objects_of(after))
    (running,) = instance.running
    assert sorted(running.placement.cpuset) == [int(name[-3:]) for name in names]
    assert misfits_of_instance(instance) == ()
    assert len(accounts_of(instance)[0].pools.shared.free) == 4


def test_cpus_of_a_machine_are_told_by_their_ids() -> None:
    """
    As the driver's contract for an outside allocator says.
    """
    status, after = told([node(), topology(), CPUS, machine(), numbered(4), wants(4)])

    assert status["allocation"]["devices"]["results"] == [
        {
            "request": "cpus",
            "driver": "dra.cpu",
            "pool": "n1",
            "device": "cpudevmachine",
            "consumedCapacity": {"dra.cpu/cpu": "4"},
        }
    ]
    (config,) = status["allocation"]["devices"]["config"]
    cpuset = config["opaque"]["parameters"]["cpuConfig"]["cpuset"]
    assert cpuset in ("0-3", "4-7")
    assert config == {
        "source": "FromClaim",
        "requests": ["cpus"],
        "opaque": {
            "driver": "dra.cpu",
            "parameters": {"apiVersion": "v1alpha1", "cpuConfig": {"cpuset": cpuset}},
        },
    }
    for one in after:
        one["metadata"].pop("annotations", None) if one["kind"] == "Pod" else None
    instance, _ = instance_of_cluster_objects(objects_of(after))
    (running,) = instance.running
    assert running.placement.cpuset == set(range(4) if cpuset == "0-3" else range(4, 8))


def test_claims_hold_their_cpus() -> None:
    """
    Of a pod that runs; of a claim whose pod is not there.
    """
    held = allocated("cpudev000", "cpudev001", driver="dra.cpu")
    lost = allocated("cpudev002", "cpudev003", driver="dra.cpu")
    instance, _ = read(
        *(node(), CPUS, singles()),
        *(claim("c", status=held), wants(2, "runs", nodeName="n1")),
        claim("d", status=lost),
        *(claim("e", request("cpus", of="cpu", count=4)), wants(4, "p", "e")),
        *(claim("f", request("cpus", of="cpu", count=2)), wants(2, "q", "f")),
    )

    assert instance.running[0].placement.cpuset == {0, 1}
    assert {name: one.cpuset for name, one in places(instance).items()} == {"p": {4, 5, 6, 7}} or {
        name: len(one.cpuset) for name, one in places(instance).items()
    } == {"q": 2}


def test_a_cpu_with_a_taint_is_given_to_nobody() -> None:
    """
    Nobody else gets it either.
    """
    taints = [{"key": "k", "effect": "NoSchedule"}]
    listed = [{**single(i), **({"taints": taints} if i < 4 else {})} for i in range(8)]
    objects = [node(), topology(), CPUS, resource_slice("n1", listed, driver="dra.cpu")]
    instance, _ = read(*objects, claim("c", request("cpus", of="cpu", count=4)), wants(4))
    assert places(instance)["p"].cpuset == {4, 5, 6, 7}
    instance, _ = read(*objects, claim("c", request("cpus", of="cpu", count=5)), wants(5))
    assert places(instance) == {}

    machine_ = machine()
    machine_["spec"]["devices"][0]["taints"] = taints
    instance, _ = read(node(), topology(), CPUS, machine_, numbered(4), wants(4))
    assert places(instance) == {}


REFUSED: dict[str, tuple[list[Json], str]] = {
    "not mirrored": (
        [singles(), claim("c", request("cpus", of="cpu", count=4)), wants(2)],
        "no word yet for 4 CPUs by claims where its containers ask for 2",
    ),
    "ids not known": (
        [machine(7), numbered(2), wants(2)],
        "no word yet for devices of CPUs that are not those known by id",
    ),
    "had already": (
        [singles(), claim("c", status=allocated("cpudev000", driver="dra.cpu")), wants(1)],
        "no word yet for CPUs that ResourceClaim default/c has already",
    ),
    "of one NUMA node": (
        [
            singles(),
            claim(
                "c",
                request("cpus", of="cpu", count=2),
                constraints=[{"matchAttribute": "dra.cpu/numaNodeID"}],
            ),
            wants(2),
        ],
        "no word yet for claims on nodes where not all devices have one dra.cpu/numaNodeID",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_cpus_beyond_our_words_are_refused_by_name(case: str) -> None:
    """
    The pod is not placed; one without claims is.
    """
    objects, message = REFUSED[case]
    instance, summary = read(node(), topology(), CPUS, *objects, pod("other"))

    assert set(places(instance)) == {"other"}
    assert message in notes(summary)
