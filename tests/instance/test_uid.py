"""Uids of pods in files: kept from file to file, and of one pod each."""

from pathlib import Path

import pytest

from cli_samples import written
from placer.load import load_instance
from placer.node.document import placement_of_node
from placer_models.files.errors import InputError
from placer_models.instance.writer import instance_to_dict
from placer_models.placement import Placement

INSTANCE = """\
apiVersion: placer/v1
kind: Instance
machines: [{name: m, numaNodes: [{id: 0, memory: 4Gi, cpus: 0-3}], cores: [{cpus: 0-3}]}]
nodes: [{name: n0, machine: m}]
pods: [{name: a, uid: u-1, requests: {cpu: 1}}]
gangs: [{name: g, pods: [{name: b, uid: u-2, requests: {cpu: 1}}]}]
running: [{name: c, uid: u-3, node: n0, requests: {cpu: 1}}]
"""


def test_uids_are_kept(tmp_path: Path) -> None:
    """
    Of waiting pods, of members and of running pods; a document has them.
    """
    instance = load_instance([Path(written(tmp_path, INSTANCE))])
    assert [gang.pods[0].uid for gang in instance.gangs] == ["u-1", "u-2"]
    assert instance.running[0].pod.uid == "u-3"

    (one,) = placement_of_node(instance.nodes[0], instance, Placement()).pods
    assert (one.uid, one.ours) == ("u-3", False)
    told = instance_to_dict(instance, lambda _: False)
    assert told["pods"][0]["uid"] == "u-1"
    assert told["running"][0]["uid"] == "u-3"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("u-3", "u-1", r"a pod of uid 'u-1' is already given at .*; a pod has one of its own"),
        ("u-1", "u/1", r"pods\[0\].uid: 'u/1' is no id; expected letters, digits"),
        ("uid: u-1", "uid: u-1, replicas: 2", r"pods\[0\].uid: is that of one pod; write replicas"),
    ],
)
def test_slips_are_named(tmp_path: Path, before: str, after: str, message: str) -> None:
    """
    A uid is that of one pod, and becomes a part of a cgroup's name.
    """
    with pytest.raises(InputError, match=message):
        load_instance([Path(written(tmp_path, INSTANCE.replace(before, after)))])
