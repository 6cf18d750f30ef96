"""Levels of the network in files: what they say, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from json_schemas import faults
from placer_models.cluster import Instance
from placer_models.files.part import json_schema
from placer_models.instance.schema import InstanceFile
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.policy import GatherLevel, RequiredOrPreferred

HEAD = "apiVersion: placer/v1\nkind: Instance\n"
NODES = (
    "nodes:\n"
    "  - {name: a, machine: dgx-a100, labels: {net/rack: r1, net/zone: z}}\n"
    "  - {name: b, machine: dgx-a100, labels: {net/rack: r1, net/zone: z}, domains: {rack: r2}}\n"
    "  - {name: c, machine: dgx-a100}\n"
)
LEVELS = "networkTopology: [{level: rack, label: net/rack}, {level: zone, label: net/zone}]\n"
REQUIRED, PREFERRED = RequiredOrPreferred.REQUIRED, RequiredOrPreferred.PREFERRED


def gang(words: str) -> str:
    return f"{HEAD}{LEVELS}{NODES}gangs: [{{name: g, pods: [{{name: p, replicas: 4}}], {words}}}]\n"


def test_labels_name_domains_and_a_node_may_say_otherwise(read: Callable[..., Instance]) -> None:
    """
    A node without the label belongs to no domain; at the level node each is its own.
    """
    a, b, c = read(gang("minimum: 1")).nodes

    assert a.domains == (("rack", "r1"), ("zone", "z"))
    assert (b.domain("rack"), b.domain("zone")) == ("r2", "z")
    assert (c.domain("rack"), c.domain("node")) == (None, "c")


@pytest.mark.parametrize(
    ("words", "gathered", "rules"),
    [
        ("gather: node", True, []),
        ("gather: rack", False, [GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER)]),
        (
            "gather: {required: [node, zone]}",
            True,
            [GangNetworkLevelRule("zone", GangNetworkLevelRuleKind.GATHER)],
        ),
        (
            "gather: {required: zone, preferred: [rack, node]}",
            False,
            [
                GangNetworkLevelRule("zone", GangNetworkLevelRuleKind.GATHER),
                GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER, PREFERRED),
                GangNetworkLevelRule("node", GangNetworkLevelRuleKind.GATHER, PREFERRED),
            ],
        ),
        (
            "spread: {required: {rack: 2}, preferred: {node: 1}}, multiples: {zone: 4}",
            False,
            [
                GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.SPREAD, REQUIRED, 2),
                GangNetworkLevelRule("node", GangNetworkLevelRuleKind.SPREAD, PREFERRED, 1),
                GangNetworkLevelRule("zone", GangNetworkLevelRuleKind.MULTIPLES, REQUIRED, 4),
            ],
        ),
    ],
)
def test_a_gang_asks_for_levels(
    words: str, gathered: bool, rules: list[GangNetworkLevelRule], read: Callable[..., Instance]
) -> None:
    """
    A level alone is a demand; node as a demand to gather is what it always was.
    """
    found = read(gang(words)).gangs[0]

    assert found.gather == (GatherLevel.NODE if gathered else None)
    assert list(found.levels) == rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (gang("gather: rak"), "gangs[0].gather: no node belongs to a 'rak'; did you mean 'rack'?"),
        (gang("spread: {required: {bloc: 1}}"), "spread.required.bloc: no node belongs to a"),
        (gang("gather: {required: rack, preferred: rack}"), "'rack' is asked for twice"),
        (gang("gather: {}"), "expected levels with their strength, such as 'preferred: rack'"),
        (gang("gather: "), "gather: has no value"),
        (gang("spread: {}"), "expected levels with their most, such as 'required: {rack: 2}'"),
        (gang("spread: {required: {rack: 0}}"), "got '0'; expected 1 or more"),
        (gang("multiples: {rack: none}"), "got 'none'; expected a whole number"),
        (gang("podCountMultiple: 4"), "write 'multiples: {LEVEL: ...}'"),
        (
            f"{HEAD}{NODES}gangs: [{{name: g, gather: zone, pods: [{{name: p}}]}}]",
            "no node belongs to a 'zone'",
        ),
        (
            f"{HEAD}nodes: [{{name: a, machine: dgx-2, domains: {{node: x}}}}]",
            "nodes[0].domains.node: every node is a domain of its own",
        ),
        (
            f"{HEAD}networkTopology: [{{level: node, label: x}}]\n{NODES}",
            "networkTopology[0].level: every node has the level 'node'; leave it out",
        ),
        (
            f"{HEAD}networkTopology: [{{level: r, label: x}}, {{level: r, label: y}}]\n{NODES}",
            "networkTopology[1].level: 'r' is already given at",
        ),
        (
            f"{HEAD}networkTopology: [{{level: rack, label: net/rak}}]\n{NODES}",
            "networkTopology[0].label: no node has the label 'net/rak'; did you mean 'net/rack'?",
        ),
        (
            f"{HEAD}networkTopology: [{{level: zone, label: net/zone}}, "
            f"{{level: rack, label: net/rack}}]\n{NODES}",
            "networkTopology[0]: zone 'z' has nodes in rack 'r1' and in rack 'r2' (b)",
        ),
    ],
)
def test_what_levels_cannot_mean_is_refused(
    text: str, message: str, refusal: Callable[..., str]
) -> None:
    """
    Unknown levels, a demand beside the same wish, levels in the wrong order.
    """
    assert message in refusal(text)


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ({"gather": "rack"}, True),
        ({"gather": {"preferred": ["rack", "zone"]}}, True),
        ({"gather": {}}, False),
        ({"gather": ["rack"]}, False),
        ({"spread": {"required": {"rack": 1}}, "multiples": {"rack": 2}}, True),
        ({"spread": {"rack": 1}}, False),
        ({"multiples": {"rack": 0}}, False),
    ],
)
def test_editors_know_the_words_too(value: dict[str, Any], right: bool) -> None:
    """
    The JSON Schema takes and refuses the same shapes.
    """
    schema = json_schema(InstanceFile)
    defs: Any = schema["$defs"]
    part = {"name": "g", "pods": [{"name": "p"}], **value}

    assert (faults(part, defs["GangPart"], defs) == []) is right


def test_a_level_may_wait_for_nodes_that_have_its_label(read: Callable[..., Instance]) -> None:
    """
    A label that no node has, and that is near none, is no slip of the pen.
    """
    instance = read(f"{HEAD}networkTopology: [{{level: block, label: fabric-domain}}]\n{NODES}")

    assert all(node.domain("block") is None for node in instance.nodes)
