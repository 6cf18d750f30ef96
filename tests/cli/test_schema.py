"""``placer schema``: editors get a schema for each kind of documents."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import Placer
from json_schemas import faults
from node.node_documents import document_of_tree
from placer_cli.commands.schema import SchemaDocumentKind, json_schema_of_document_kind
from placer_models.files.errors import InputError
from placer_models.instance.build import READ_BY

INSTANCES = Path(__file__).parents[2] / "instances"
KINDS = {kind.value for kind in SchemaDocumentKind}
NO_SCHEMA = {"QueueSimulation", "QueueHistory"}
"""Files of queues are read field by field, and have no schema."""


def documents() -> list[dict[str, Any]]:
    """
    Every document of the examples that are not in the folder itself, and of the first;
    Kubernetes' own objects aside.
    """
    paths = [INSTANCES / "hello.yaml", *sorted(INSTANCES.glob("*/**/*.yaml"))]
    trees = [tree for path in paths for tree in yaml.safe_load_all(path.read_text()) if tree]
    return [tree for tree in trees if tree["apiVersion"].startswith("placer/")]


@cache
def schema(kind: str) -> dict[str, Any]:
    """The schema, as it is printed."""
    return json_schema_of_document_kind(SchemaDocumentKind(kind))


def refused(tree: object, kind: str) -> list[str]:
    """What an editor underlines."""
    return faults(tree, schema(kind), schema(kind)["$defs"])


def test_every_kind_that_is_read_has_a_schema() -> None:
    found = {tree["kind"] for tree in documents() if tree["kind"] != "Instance"}

    assert found - NO_SCHEMA <= KINDS
    assert set(READ_BY) - NO_SCHEMA <= KINDS


def test_every_example_keeps_the_schema_of_its_kind() -> None:
    trees = [tree for tree in documents() if tree["kind"] in KINDS]

    assert {tree["kind"] for tree in trees} >= {"Instance", "NodePlacement", "JobGraph", "Workers"}
    for tree in trees:
        assert refused(tree, tree["kind"]) == []


@pytest.mark.check
def test_what_commands_write_keeps_the_schema(tmp_path: Path, placer: Placer) -> None:
    """
    The placement of solve, the node's document of apply, the machine of discover.
    """
    hello = str(INSTANCES / "hello.yaml")
    placement, node = tmp_path / "placement.json", tmp_path / "node.json"
    solve = ["solve", hello, "--engine", "greedy", "--output", str(placement)]
    placer(*solve, "--workers", "1")
    name = json.loads(placement.read_text())["pods"][0]["node"]
    placer("apply", hello, str(placement), "--node", name, "--document", str(node))
    dump = str(INSTANCES / "dumps/gpu-host.xml")
    machine = json.loads(placer("discover", dump, "--format", "json").out)

    assert refused(json.loads(placement.read_text()), "Placement") == []
    assert refused(json.loads(node.read_text()), "NodePlacement") == []
    assert refused(machine, "Machine") == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("generation", 0),
        ("generation", "1"),
        ("nodes", []),
        ("node", {"name": "n"}),
        ("pods", [{"name": "a", "placement": {"cpu": "0"}}]),
        ("pods", [{"name": "a"}]),
        ("pods", None),
    ],
)
def test_what_the_schema_of_a_node_refuses_the_reader_refuses(field: str, value: object) -> None:
    tree = yaml.safe_load((INSTANCES / "nodes/small.yaml").read_text()) | {field: value}

    assert refused(tree, "NodePlacement") != []
    with pytest.raises(InputError):
        document_of_tree(tree)


def test_kinds_are_told_when_one_is_not_known(placer: Placer) -> None:
    printed = placer("schema", "NodePlacement")
    assert json.loads(printed.out)["title"] == "Placer NodePlacement, placer/v1"

    said = placer("schema", "Nodes", code=2).err
    assert said.count("\n") == 1
    assert "'Nodes'" in said
    assert "NodePlacement" in said
