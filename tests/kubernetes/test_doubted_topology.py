"""A NodeResourceTopology that owns CPUs which it lacks: told of, set aside, no CPUs by id (C15)."""

from pathlib import Path

import pytest
import yaml

from claim_worlds import claim
from kubernetes.cpu_claim_worlds import CPUS, asking, groups, wants
from kubernetes.proposed_topology import EXAMPLE, OWNER, the_node, the_topology
from kubernetes_dumps import faults, notes, places, read
from kubernetes_worlds import Json, lsr, node, owned, pod, topology
from placer.kubernetes.dump import read_dump

SET_ASIDE = "that cpu-topology lacks: set aside, and no CPUs are given out by id there: node1"


def guaranteed(uid: str = "", **more: object) -> Json:
    """Return the pod to which the kubelet has given CPUs."""
    amounts = {"cpu": "1", "memory": "1Gi"}
    found = pod("static-guaranteed-pod", amounts, limits=amounts, nodeName="node1", **more)
    found["metadata"]["uid"] = uid
    return found


def test_a_topology_that_contradicts_itself_gives_no_cpus_by_id(tmp_path: Path) -> None:
    """
    The example owns and shares CPUs that it does not have: it is told, and others have them.
    """
    file = tmp_path / "cluster.yaml"
    more = [the_node(), lsr("owner", 1), pod("plain", {"cpu": "1", "memory": "1Gi"})]
    file.write_text(f"{EXAMPLE}---\n{yaml.safe_dump_all(more)}", encoding="utf-8")
    instance, summary = read_dump([file])
    said = f"nodes with CPUs in cpu-shared-pools and pod-cpu-allocs {SET_ASIDE}"
    assert said in notes(summary)
    assert not instance.running
    assert places(instance).keys() == {"plain"}


OWNS = {"namespace": "default", "name": "far", "uid": "uid-far"}
POLICY = {"policy": "static", "reservedCPUs": "0,9"}

LACKING: dict[str, tuple[Json, str, set[int]]] = {
    # what is beyond cpu-topology: (annotations, how they are told, CPUs that are kept all the same)
    "an owner's": (
        {"pod_cpu_allocs": [{**OWNS, "cpuset": "2"}], "cpu_shared_pools": None},
        "pod-cpu-allocs",
        set(),
    ),
    "one of an owner's": (
        {"pod_cpu_allocs": [{**OWNS, "cpuset": "1-2"}], "cpu_shared_pools": None},
        "pod-cpu-allocs",
        {1},
    ),
    "one of a pool's": ({"pod_cpu_allocs": []}, "cpu-shared-pools", set()),
    "a reserved one": (
        {"pod_cpu_allocs": None, "cpu_shared_pools": None, "cpu_manager_policy": POLICY},
        "reservedCPUs of cpu-manager-policy",
        {0},
    ),
}


@pytest.mark.parametrize(("annotations", "told", "kept"), LACKING.values(), ids=LACKING)
def test_each_annotation_that_names_other_cpus_is_set_aside(
    annotations: Json, told: str, kept: set[int]
) -> None:
    """
    By name; CPUs that the node does have stay with who has them.
    """
    instance, summary = read(
        the_node(), the_topology(**annotations), lsr("owner", 1), pod("plain", {"cpu": "500m"})
    )
    assert f"nodes with CPUs in {told} {SET_ASIDE}" in notes(summary)
    assert instance.nodes[0].reserved_cpus == kept
    assert places(instance).keys() == {"plain"}


SOUND: dict[str, Json] = {
    "all of them are there": {
        "pod_cpu_allocs": [{**OWNS, "cpuset": "1"}],
        "cpu_shared_pools": [{"socket": 0, "node": 0, "cpuset": "0"}],
    },
    "nobody has any": {"pod_cpu_allocs": [{**OWNS}], "cpu_shared_pools": []},
}


@pytest.mark.parametrize("annotations", SOUND.values(), ids=SOUND)
def test_a_topology_that_agrees_with_itself_gives_cpus_by_id(annotations: Json) -> None:
    """
    Nothing is told.
    """
    instance, summary = read(the_node(), the_topology(**annotations), lsr("owner", 1))
    assert "set aside" not in notes(summary)
    assert places(instance)["owner"].cpuset == {0}


def test_owners_without_a_list_of_cpus_contradict_nothing() -> None:
    """
    There is no cpu-topology beside them.
    """
    _, summary = read(the_node("110"), the_topology(cpu_topology=None))
    assert "set aside" not in notes(summary)
    assert "names no CPUs: they are not known by id: node1" in notes(summary)


@pytest.mark.parametrize("owner", [guaranteed(OWNER), guaranteed()], ids=["uid", "name"])
def test_an_owner_that_was_set_aside_runs_in_the_pool(owner: Json) -> None:
    """
    What it asks for counts there, and no pod gets CPUs of its own.
    """
    instance, summary = read(the_node(), the_topology(), owner, lsr("other", 1))
    (runs,) = instance.running
    assert not runs.pod.spec.qos.owns_cpus
    assert runs.pod.spec.requests.cpu_milli == 1000
    said = "pods whose own CPUs nobody names: no more are given out there: Pod default/static-"
    assert said in notes(summary)
    assert not places(instance)


def test_cpus_that_a_pod_names_are_doubted_like_those_of_its_node() -> None:
    """
    Where the node contradicts itself a pod may be right; elsewhere its fault is told.
    """
    owner = lsr("owner", 1, annotations=owned("5"), nodeName="node1")
    instance, summary = read(the_node(), the_topology(), owner)
    assert not instance.running[0].pod.spec.qos.owns_cpus
    assert "pods whose own CPUs nobody names: no more are given out there" in notes(summary)

    (fault,) = faults(the_node(), the_topology(pod_cpu_allocs=[], cpu_shared_pools=[]), owner)
    assert "CPU 5: Node node1 has 0-1" in fault
    known = lsr("owner", 1, annotations=owned("1"), nodeName="node1")
    instance, _ = read(the_node(), the_topology(), known)
    assert instance.running[0].placement.cpuset == {1}


def test_what_a_node_keeps_for_the_system_is_no_word_of_its_topology() -> None:
    """
    Somebody wrote it by hand, and hears of it.
    """
    kept = node("node1", annotations={"node.koordinator.sh/reservation": '{"reservedCPUs":"9"}'})
    (fault,) = faults(kept, the_topology())
    assert "Node node1: CPUs 9 are reserved, which the node does not have; it has 0-1" in fault


@pytest.mark.parametrize("doubted", [False, True])
def test_claims_get_no_cpus_by_id_there(*, doubted: bool) -> None:
    """
    Not of a driver that leaves the choice of CPUs to others, whose ids nobody knows now.
    """
    alloc = [{**OWNS, "cpuset": "9" if doubted else ""}]
    where = topology(annotations={"node.koordinator.sh/pod-cpu-allocs": alloc})
    claimed = [claim("c", asking(2)), wants(2)]
    instance, _ = read(node(), where, CPUS, groups(), *claimed)
    assert places(instance).keys() == (set() if doubted else {"p"})
