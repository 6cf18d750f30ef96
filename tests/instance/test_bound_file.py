"""Files say to which NUMA nodes running LS and BE pods are bound, and placements do."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from answers import expect
from instance_texts import reread
from placer.judge.breaches import breaches
from placer.load import load_placement
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.bound import numa_nodes_bound_to
from placer_models.cluster import Instance
from placer_models.files.errors import InputError
from placer_models.instance.placement_file import solve_answer_to_dict
from placer_models.placement import Placed

BOX = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 32Gi, cpus: 0-7}, {id: 1, memory: 32Gi, cpus: 8-15}]
    devices: [{type: gpu, count: 2, numaNodes: [0, 1]}]
nodes: [{name: n, machine: box, numaPolicy: Restricted}]
"""
LOW, HIGH = frozenset(range(8)), frozenset(range(8, 16))
Read = Callable[..., Instance]


@pytest.mark.parametrize(
    ("said", "homes", "cpus"),
    [
        ("requests: {cpu: 2}, cpuset: 0-7", {0}, LOW),
        ("requests: {cpu: 2}, cpuset: 9", {1}, HIGH),
        ("requests: {cpu: 2}, cpuset: '3,9'", {0, 1}, LOW | HIGH),
        ("qos: BE, requests: {cpu: 2}, cpuset: 9", {1}, HIGH),
        ("requests: {cpu: 2, memory: 1Gi}, memory: {1: 1Gi}", {1}, HIGH),
        ("requests: {cpu: 2, gpu: 1}, devices: {gpu: [1]}", {1}, HIGH),
        ("requests: {cpu: 2}", set(), LOW | HIGH),
        ("requests: {cpu: 2, memory: 1Gi}, memory: {1: 1Gi}, cpuset: ''", set(), LOW | HIGH),
    ],
)
def test_a_running_pod_is_bound_where_its_file_says(
    said: str, homes: set[int], cpus: frozenset[int], read: Read
) -> None:
    """
    To the NUMA nodes of its cpuset, else of its memory and devices; else it floats.
    """
    instance = read(f"{BOX}running: [{{name: r, node: n, {said}}}]")
    (runner,) = instance.running

    assert numa_nodes_bound_to(runner.placement, runner.pod.spec, instance.nodes[0]) == homes
    assert runner.placement.cpuset == cpus
    assert reread(instance, lambda _: False) == instance


def test_a_pool_that_owners_have_wholly_is_remembered(read: Read) -> None:
    """
    The pod's NUMA node is said, though its pool has no CPU left there.
    """
    instance = read(
        f"{BOX}running:\n"
        "  - {name: r, node: n, qos: LS, requests: {cpu: 0}, cpuset: 0}\n"
        "  - {name: o, node: n, qos: LSR, requests: {cpu: 8}, cpuset: 0-7}\n"
    )
    (place,) = (r.placement for r in instance.running if r.pod.name == "r")

    assert (place.cpuset, place.cpu_milli) == (frozenset(), ((0, 0),))


@pytest.mark.parametrize("where", ['{"2": 1Gi}', '{"0": 1Gi, "2": 1Gi}'])
def test_a_numa_node_without_cpus_is_named_by_memory(where: str, read: Read) -> None:
    """
    Its pod is bound there by its memory; no cpuset can say so, so none is written.
    """
    bare = BOX.replace("cpus: 8-15}", "cpus: 8-15}, {id: 2, memory: 32Gi}")
    size = 1 + where.count(",")
    instance = read(
        f"{bare}running: [{{name: r, node: n, requests: {{cpu: 1, memory: {size}Gi}}, "
        f"memory: {where}}}]"
    )
    (runner,) = instance.running
    (again,) = reread(instance, lambda _: False).running

    assert 2 in numa_nodes_bound_to(runner.placement, runner.pod.spec, instance.nodes[0])
    assert again == runner


def test_a_pod_that_nothing_binds_has_no_cpuset(read: Read) -> None:
    """
    Where the node has no policy a cpuset is refused, as it ever was.
    """
    plain = BOX.replace(", numaPolicy: Restricted", "")
    with pytest.raises(InputError, match=r"running\[0\].cpuset: got '0-7'; LS pods run in a pool"):
        read(f"{plain}running: [{{name: r, node: n, requests: {{cpu: 2}}, cpuset: 0-7}}]")


def test_cpus_of_no_numa_node_name_none(read: Read) -> None:
    """
    A cpuset names NUMA nodes; the message says whose pool is meant.
    """
    with pytest.raises(InputError, match="in whose shared pool this pod runs, by its NUMA policy"):
        read(f"{BOX}running: [{{name: r, node: n, requests: {{cpu: 2}}, cpuset: 77}}]")


def test_an_answer_is_verified_from_its_file(read: Read, tmp_path: Path) -> None:
    """
    It says what a pod counts where; another sum, or another NUMA node, is a breach.
    """
    instance = read(f"{BOX}pods: [{{name: a, requests: {{cpu: 12}}}}]")
    answer = expect(Placed, solve(instance, SolveOptions(workers=1, seed=1)))
    tree = solve_answer_to_dict(answer, instance, {})
    path = tmp_path / "p.json"
    path.write_text(json.dumps(tree))
    counted = dict(answer.placement.pods[0].cpu_milli or ())

    assert load_placement(path) == answer.placement
    assert breaches(instance, answer.placement) == ()
    assert json.loads(path.read_text())["pods"][0]["cpuMilli"] == {
        str(numa): milli for numa, milli in counted.items()
    }
    for wrong in ({"0": 12_000, "1": 1}, {"0": 12_000}, {"0": 12_000, "5": 0}, {}):
        tree["pods"][0]["cpuMilli"] = wrong
        path.write_text(json.dumps(tree))
        assert {b.rule for b in breaches(instance, load_placement(path))} >= {"bound-pool"}
    tree["pods"][0]["cpuMilli"] = {"a": 12_000}
    path.write_text(json.dumps(tree))
    with pytest.raises(InputError, match="the key is the id of a NUMA node"):
        load_placement(path)
