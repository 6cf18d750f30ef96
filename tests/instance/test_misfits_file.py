"""Running pods in breach of a policy, in files: they are legal, and the judge tells of them."""

from pathlib import Path

import pytest

from placer.judge.misfits import misfits_of
from placer.load import load_instance
from placer_cli.app import main
from placer_cli.exits import Exit
from placer_models.files.errors import InputError

FILE = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{{id: 0, memory: 8Gi, cpus: '0-3'}}, {{id: 1, memory: 8Gi, cpus: '4-7'}}]
    devices:
      - {{type: rdma, count: 1, vfGroups: [{{count: 2, labels: {{speed: slow}}}}]}}
nodes: [{{name: n, machine: box, reservedCpus: 0, labels: {{zone: a}}}}]
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
}
"""Rule -> a running pod that breaks it."""


def written(folder: Path, pod: str) -> Path:
    path = folder / "a.yaml"
    path.write_text(FILE.format(pod=pod))
    return path


@pytest.mark.parametrize(("rule", "pod"), MISFITS.items(), ids=MISFITS)
def test_a_running_pod_in_breach_of_a_policy_is_legal(
    rule: str, pod: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The file is read, what waits is placed beside it, and the commands name the rule.
    """
    path = written(tmp_path, pod)

    assert {misfit.rule for misfit in misfits_of(load_instance([path]))} == {rule}
    assert main(["solve", str(path)]) == Exit.DONE
    assert main(["validate", str(path)]) == Exit.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert f"(rule {rule})" in shown


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
    "nothing left to run on": (
        "{name: r, node: n, qos: LSE, cpuset: 0-7, requests: {cpu: 8}}\n"
        "  - {name: s, node: n, qos: BE}",
        "a.yaml:12: running[1].node: running pods own every CPU of node n that this BE pod may "
        "run on; leave it one",
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
    Unknown ids, something given twice, more than there is: with file, line and field.
    """
    with pytest.raises(InputError) as refused:
        load_instance([written(tmp_path, pods)])

    assert str(refused.value).endswith(message)
