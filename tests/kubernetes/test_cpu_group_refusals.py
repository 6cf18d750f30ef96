"""CPUs of a NUMA node by claims: what there is no word for, and what nobody gives."""

import copy
from typing import Any

import pytest

from claim_worlds import allocated, claim, request
from kubernetes.cpu_claim_worlds import BASE, CPUS, NUMA, SPEC, asking, group, groups, held, wants
from kubernetes_dumps import faults, notes, places, read
from kubernetes_worlds import Json, node, pod, topology
from placer_models.kubernetes.cpu_config import opaque_cpu_config


def pinned(numa: int) -> str:
    """Return a selector of one NUMA node."""
    return f"device.attributes['resource.kubernetes.io'].numaNode == {numa}"


def opaque(cpus: str) -> Json:
    """Return what a class or a claim says to the driver."""
    parameters = {"apiVersion": "v1alpha1", "cpuConfig": {"cpuset": cpus}}
    return {"driver": "dra.cpu", "parameters": parameters}


REFUSED: dict[str, tuple[list[Json], str]] = {
    "a NUMA node by its number": (
        [groups(), claim("c", asking(2, pinned(1))), wants(2)],
        "some devices of a type on a node and not the others (request cpus",
    ),
    "several devices": (
        [groups(), claim("c", asking(2, count=2)), wants(4)],
        "2 devices of several CPUs, of which a request can have one (request cpus",
    ),
    "all devices": (
        [groups(), claim("c", asking(2, allocationMode="All")), wants(4)],
        "2 devices of several CPUs, of which a request can have one (request cpus",
    ),
    "part of a CPU": (
        [
            groups(),
            claim("c", request("cpus", of="cpu", capacity={"requests": {"dra.cpu/cpu": "1500m"}})),
            wants(2),
        ],
        "1.5 CPUs (request cpus",
    ),
    "all of devices that differ": (
        [
            groups(group(0, 2, "2-3"), group(1, 4, "4-7")),
            claim("c", request("cpus", of="cpu")),
            wants(4),
        ],
        "all CPUs of a device, where devices have 2 or 4 (request cpus",
    ),
    "another capacity": (
        [
            groups(),
            claim("c", request("cpus", of="cpu", capacity={"requests": {"other": "1"}})),
            wants(4),
        ],
        "a part of the capacity of devices (request cpus",
    ),
    "not on one NUMA node": (
        [
            groups(),
            claim(
                "c",
                asking(2, name="a"),
                asking(2, name="b"),
                constraints=[{"distinctAttribute": NUMA}],
            ),
            wants(4),
        ],
        "constraint distinctAttribute of ResourceClaim default/c",
    ),
    "named by the claim": (
        [groups(), claim("c", asking(2), config=[{"opaque": opaque("0-1")}]), wants(2)],
        "configuration of dra.cpu for request cpus of ResourceClaim default/c",
    ),
    "two containers": (
        [
            groups(),
            claim("c", asking(2)),
            {
                **wants(2),
                "spec": {
                    **wants(2)["spec"],
                    "containers": [
                        *wants(2)["spec"]["containers"],
                        {"name": "other", "resources": {"claims": [{"name": "c"}]}},
                    ],
                },
            },
        ],
        "CPUs of ResourceClaim default/c in 2 containers",
    ),
    "not mirrored": (
        [groups(), claim("c", asking(3)), wants(2)],
        "3 CPUs by claims where its containers ask for 2",
    ),
    "had already": (
        [groups(), claim("c", status=held("0-1")), wants(2)],
        "CPUs that ResourceClaim default/c has already",
    ),
    "fewer than are known": (
        [groups(group(0, 3), group(1)), claim("c", asking(2)), wants(2)],
        "devices of CPUs that are not those known by id which pods may have",
    ),
    "tainted": (
        [
            groups(*(group(i, taints=[{"key": "k", "effect": "NoSchedule"}]) for i in range(2))),
            claim("c", asking(2)),
            wants(2),
        ],
        "devices with the taint k=:NoSchedule",
    ),
    "of the node's allocatable": (
        [
            groups(
                *(group(i, nodeAllocatableResources={"cpu": {"mapping": {}}}) for i in range(2))
            ),
            claim("c", asking(2)),
            wants(2),
        ],
        "devices of which each stands for allocatable resources of its node",
    ),
    "by a policy for capacity": (
        [
            groups(
                *(
                    group(
                        i,
                        capacity={"dra.cpu/cpu": {"value": "4", "requestPolicy": {"default": "2"}}},
                    )
                    for i in range(2)
                )
            ),
            claim("c", asking(2)),
            wants(2),
        ],
        "devices of which each has a policy for requests of its capacity",
    ),
    "a policy of the pod": (
        [
            groups(),
            claim("c", asking(2)),
            wants(
                2,
                annotations={SPEC: {"numaTopologyPolicy": "Restricted"}},
            ),
        ],
        "CPUs of one NUMA node by claims beside the NUMA policy Restricted",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_there_is_no_word_for_is_refused_by_name(case: str) -> None:
    """
    The pod is not placed; one without claims is.
    """
    objects, message = REFUSED[case]
    instance, summary = read(node(), topology(), CPUS, *objects, pod("other", {"cpu": "2"}))

    assert set(places(instance)) == {"other"}
    assert message in notes(summary)


def changed(status: Json, *path: str | int, value: object) -> Json:
    """Return a status with one field set."""
    found = copy.deepcopy(status)
    here: Any = found["allocation"]["devices"]
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return found


PARAMETERS = ("config", 0, "opaque", "parameters")


def doubled(status: Json) -> Json:
    """Return a status of which the request has a second device."""
    results = status["allocation"]["devices"]["results"]
    more = [*results, {**results[0], "device": "cpudevnuma001"}]
    return changed(status, "results", value=more)


CONFIG = "config[0].opaque.parameters.cpuConfig.cpuset"
TAKEN = "results[0].consumedCapacity"
MEND = "; correct it, or delete the allocation"

TWICE = [opaque_cpu_config("cpus", frozenset((0, 1))), opaque_cpu_config("cpus", frozenset((2, 3)))]

FAULTY: dict[str, tuple[list[Json], str, str]] = {
    "CPUs of another NUMA node": (
        [claim("c", status=held("3-4"))],
        CONFIG,
        f"CPU 4: cpudevnuma000 of Node n1 has 0-3{MEND}",
    ),
    "more than is taken": (
        [claim("c", status=held("0-2", count=2))],
        f"{TAKEN}.dra.cpu/cpu",
        f"got 2; config[0] names 3 CPUs, 0-2: expected as many{MEND}",
    ),
    "nothing taken": (
        [claim("c", status=held("0-1", consumedCapacity={}))],
        TAKEN,
        f"dra.cpu/cpu is missing: how many CPUs of cpudevnuma000 it has{MEND}",
    ),
    "part of a CPU": (
        [claim("c", status=held("0-1", consumedCapacity={"dra.cpu/cpu": "1500m"}))],
        f"{TAKEN}.dra.cpu/cpu",
        f"got 1.5; expected a whole number of CPUs, one or more{MEND}",
    ),
    "two devices": (
        [claim("c", status=doubled(held("0-1")))],
        "results[1].device",
        "request cpus has cpudevnuma000 already; CPUs that are named are of one device a request: "
        "ask for more by another request",
    ),
    "two configurations": (
        [claim("c", status=changed(held("0-1"), "config", value=TWICE))],
        "config[1]",
        f"speaks of request cpus, as config[0] does{MEND}",
    ),
    "of the class": (
        [claim("c", status=changed(held("0-1"), "config", 0, "source", value="FromClass"))],
        "config[0].source",
        f"got 'FromClass'; the driver takes CPUs of FromClaim alone{MEND}",
    ),
    "no list of CPUs": (
        [claim("c", status=changed(held("0-1"), "config", 0, "opaque", value=opaque("0-x")))],
        CONFIG,
        f"CPU list '0-x': '0-x' is neither a CPU id nor a range such as 0-3{MEND}",
    ),
    "no CPU": (
        [claim("c", status=changed(held("0-1"), "config", 0, "opaque", value=opaque("")))],
        CONFIG,
        f"names no CPU; expected as many as the request has{MEND}",
    ),
    "nothing said": (
        [claim("c", status=changed(held("0-1"), *PARAMETERS, value={"apiVersion": "v1alpha1"}))],
        CONFIG,
        f"is missing; the driver takes no configuration without it{MEND}",
    ),
    "another claim's": (
        [claim("b", status=held("0-1")), claim("c", status=held("1-2"))],
        CONFIG,
        "CPU 1 of Node n1 belongs to ResourceClaim default/b already; a CPU has one owner: delete "
        "one of the allocations",
    ),
    "more than the device has": (
        [claim("b", status=held("", count=3)), claim("c", status=held("0-1"))],
        f"{TAKEN}.dra.cpu/cpu",
        "with it claims have 5 CPUs of cpudevnuma000, which has 4; delete an allocation",
    ),
}


@pytest.mark.parametrize("case", FAULTY)
def test_claims_with_cpus_as_nobody_gives_them_are_faults(case: str) -> None:
    """
    Object, field and mend; another fault of the dump is told, too.
    """
    objects, field, message = FAULTY[case]
    found = faults(*BASE, *objects, claim("other", status=allocated("gone", driver="dra.cpu")))

    at = f"status.allocation.devices.{field}: ResourceClaim default/c: {message}"
    assert [fault.partition(": ")[2] for fault in found][:-1] == [at]
    assert "ResourceClaim default/other: 'gone' of pool n1" in found[-1]


def test_devices_that_the_driver_filled_itself_are_no_fault() -> None:
    """
    Without configuration a request may have several devices.
    """
    status = doubled(held("", count=2))
    instance, summary = read(*BASE, claim("c", status=status))
    assert "claims with CPUs that nobody names" in notes(summary)
    assert len(instance.nodes[0].reserved_cpus) == 4
