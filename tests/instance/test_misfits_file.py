"""Running pods in breach of a policy, in files: they are legal, and the judge tells of them."""

from pathlib import Path

import pytest

from commands import Placer
from instance_texts import reread
from placer.judge.misfits import misfits_of_instance
from placer.load import is_catalogue_machine, load_instance
from placer_models.files.errors import InputError
from placer_models.instance.writer import instance_to_yaml

FILE = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{{id: 0, memory: 8Gi, cpus: '0-3'}}, {{id: 1, memory: 8Gi, cpus: '4-7'}}]
    devices:
      - {{type: rdma, count: 1, vfGroups: [{{count: 2, labels: {{speed: slow}}}}]}}
nodes: [{{name: n, machine: box, reservedCpus: 0, labels: {{zone: a}}, extended: {{tokens: 1}}}}]
running:
  - {pod}
pods: [{{name: w, qos: BE}}]
"""

MISFITS = {
    "cpu-allocatable": "{name: r, node: n, qos: LSR, cpuset: 0-1, requests: {cpu: 2}}",
    "shared-pool": "{name: r, node: n, qos: LS, requests: {cpu: 8}}",
    "be-pool": "{name: r, node: n, qos: BE, requests: {cpu: 8}}",
    "device-functions": "{name: r, node: n, requests: {koordinator.sh/rdma: 1}, "
    "devices: {rdma: [0]}, vfSelector: {rdma: {speed: [fast]}}, vfs: {rdma: {'0': 1}}}",
    "node-selector": "{name: r, node: n, nodeSelector: {zone: b}, requests: {cpu: 1}}",
    "alignment": "{name: r, node: n, qos: LSR, numaPolicy: SingleNUMANode, cpuset: '3-4', "
    "requests: {cpu: 2}}",
    "memory": "{name: r, node: n, requests: {memory: 20Gi}}",
    "memory, as said": "{name: r, node: n, requests: {memory: 9Gi}, memory: {0: 9Gi}}",
    "memory of several": "{name: r, node: n, qos: LSR, cpuset: '4', "
    "requests: {cpu: 1, memory: 9Gi}}\n"
    "  - {name: s, node: n, requests: {memory: 9Gi}}",
    "hugepages": "{name: r, node: n, requests: {hugepages-1Gi: 1Gi}}",
    "hugepages, as said": "{name: r, node: n, requests: {hugepages-1Gi: 2Gi}, "
    "hugepages: {1: {1Gi: 2}}}",
    "extended": "{name: r, node: n, requests: {tokens: 2}}",
}
"""Rule, and what is special -> running pods that break it."""


def written(folder: Path, pod: str) -> Path:
    path = folder / "a.yaml"
    path.write_text(FILE.format(pod=pod))
    return path


@pytest.mark.parametrize(("rule", "pod"), MISFITS.items(), ids=MISFITS)
def test_a_running_pod_in_breach_of_a_policy_is_legal(
    rule: str, pod: str, tmp_path: Path, placer: Placer
) -> None:
    """
    The file is read and written, what waits is placed beside it, and the commands name the rule.
    """
    path, rule = written(tmp_path, pod), rule.partition(",")[0].partition(" of ")[0]
    instance = load_instance([path])

    assert {misfit.rule for misfit in misfits_of_instance(instance)} == {rule}
    assert reread(instance) == instance
    path.write_text(instance_to_yaml(instance, is_catalogue_machine))
    placer("solve", str(path))
    shown = placer("validate", str(path)).flat
    assert f"(rule {rule})" in shown


def test_who_runs_in_a_pool_without_a_cpu_is_a_misfit(tmp_path: Path) -> None:
    """
    As the owner of all CPUs is, for the reserved one.
    """
    owner = "{name: r, node: n, qos: LSE, cpuset: 0-7, requests: {cpu: 8}}"
    instance = load_instance([written(tmp_path, owner + "\n  - {name: s, node: n, qos: BE}")])

    found = {(misfit.pod[1], misfit.rule) for misfit in misfits_of_instance(instance)}
    assert found == {("r", "cpu-allocatable"), ("s", "be-pool")}


CONTRADICTIONS = {
    "a CPU that is not there": (
        "{name: r, node: n, qos: LSR, cpuset: 7-8, requests: {cpu: 2}}",
        "a.yaml:11: running[0].cpuset: CPU 8 is not on node n; take others",
    ),
    "a CPU twice": (
        "{name: r, node: n, qos: LSR, cpuset: 1-2, requests: {cpu: 2}}\n"
        "  - {name: s, node: n, qos: LSR, cpuset: 2-3, requests: {cpu: 2}}",
        "a.yaml:12: running[1].cpuset: CPU 2 is held by the running pod 'r' already; "
        "a CPU has one owner",
    ),
    "a virtual function that is not there": (
        "{name: r, node: n, requests: {koordinator.sh/rdma: 1}, devices: {rdma: [0]}, "
        "vfSelector: {rdma: {speed: [slow]}}, vfs: {rdma: {'0': 2}}}",
        "a.yaml:11: running[0].vfs.rdma.0: there is no virtual function 2; the device has 0-1",
    ),
}
"""What contradicts what is there -> running pods, and the message."""


@pytest.mark.parametrize(("pods", "message"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_contradiction_refuses_the_file(pods: str, message: str, tmp_path: Path) -> None:
    """
    Unknown ids, or something given twice: with file, line and field.
    """
    with pytest.raises(InputError) as refused:
        load_instance([written(tmp_path, pods)])

    assert str(refused.value).endswith(message)
