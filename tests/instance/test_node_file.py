"""The document of a node: what is written is read again, and slips are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from node.node_documents import document_of_tree
from placer.load import load_any, load_instance
from placer.node.document import placement_of_node
from placer.node.pools import with_cpus_of_each_container
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.files.errors import InputError
from placer_models.instance.node_file import (
    node_placement_document_to_dict,
)
from placer_models.placement import PartlyPlaced, Placed

INSTANCES = Path(__file__).parents[2] / "instances"


@pytest.mark.parametrize(
    "name",
    ["demo.yaml", "rules/burst.yaml", "rules/hugepages.yaml", "rules/mig.yaml"],
)
def test_what_is_written_is_read_again(name: str) -> None:
    """
    Each node of an instance has a document that is complete in itself.
    """
    instance = load_instance([INSTANCES / name])
    answer = solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1))
    assert isinstance(answer, Placed | PartlyPlaced)

    for node in instance.nodes:
        document = placement_of_node(node, instance, answer.placement, 7)
        tree = json.loads(json.dumps(node_placement_document_to_dict(document)))
        again = document_of_tree(tree)

        assert again.generation == 7
        assert again.pods == document.pods == with_cpus_of_each_container(document).pods
        assert again.node.machine.topology == node.machine.topology
        assert node_placement_document_to_dict(again) == tree


def tree(**changes: Any) -> dict[str, Any]:
    """A document by hand."""
    pod = {
        "name": "a",
        "qos": "LSR",
        "requests": {"cpu": 2},
        "uid": "1-2",
        "containerIds": {"main": "c1"},
        "placement": {"cpuset": "0-1"},
    }
    machine = {
        "name": "small",
        "title": "A small machine",
        "architecture": "x86_64",
        "numaNodes": [{"id": 0, "memory": "1Gi", "cpus": "0-3"}],
        "cores": [{"cpus": "0-3"}],
    }
    written: dict[str, Any] = {
        "apiVersion": "placer/v1",
        "kind": "NodePlacement",
        "generation": 3,
        "machine": machine,
        "node": {"name": "n0", "machine": "small"},
        "pods": [pod | changes.pop("pod", {})],
    }
    return written | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "Instance"}, "kind: got 'Instance'; expected NodePlacement"),
        ({"generation": 0}, "generation: got '0'; expected 1 or more"),
        ({"pod": {"uid": "a/b"}}, r"pods\[0\].uid: 'a/b' is no id"),
        ({"pod": {"containerIds": {"mian": "c"}}}, "no container 'mian'; did you mean 'main'"),
        ({"pod": {"placement": {"cpuset": "1-0"}}}, "placement.cpuset: .* runs backwards"),
        ({"node": {"name": "n[0-1]", "machine": "small"}}, "node.name: got 2 names; expected one"),
        ({"node": {"name": "n0", "machine": "big"}}, "the machine of this document is 'small'"),
        ({"pod": {"placement": {"cpusets": "0"}}}, "placement.cpusets: .*did you mean 'cpuset'"),
    ],
)
def test_slips_are_named(changes: dict[str, Any], message: str) -> None:
    """
    File, line and field, as of instance files.
    """
    assert document_of_tree(tree()).pods[0].uid == "1-2"

    with pytest.raises(InputError, match=f"a.json:[0-9]+: {message}|a.json:[0-9]+: .*{message}"):
        document_of_tree(tree(**changes))


def test_other_commands_say_who_reads_it(tmp_path: Path) -> None:
    """
    A document of a node is no instance.
    """
    file = tmp_path / "node.json"
    file.write_text(json.dumps(tree()))

    with pytest.raises(InputError, match="got 'NodePlacement', which 'placer apply' reads"):
        load_any(file)
