"""What keeps pods from having a place, in one line."""

import pytest

from placer_cli.draw.bounds import priority_bound_lines
from placer_models.cluster import Instance, Machine, Node
from placer_models.goals import BIND, placed_tier
from placer_models.placement import TierBottleneck, TierBoundSource, TierValue
from placer_models.topology import Cpu, NumaNode, Topology

TOPOLOGY = Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, 1),))
PLAIN, OTHER = Machine("plain", "", TOPOLOGY), Machine("other", "", TOPOLOGY)
NODES = (
    Node("a-0", PLAIN, (("disk", "ssd"), ("pool", "x"))),
    Node("a-1", PLAIN, (("pool", "x"),)),
    Node("b-0", PLAIN),
    Node("c-0", OTHER),
)


def said(
    *binds: TierBottleneck,
    nodes: tuple[Node, ...] = NODES,
    source: TierBoundSource = TierBoundSource.SUMS,
) -> list[str]:
    value = TierValue(placed_tier(0), 6, 8, False, source, binds)
    return list(priority_bound_lines([value], Instance(nodes, ())))


@pytest.mark.parametrize(
    ("binds", "text"),
    [
        ((TierBottleneck("memory"),), "memory of all 4 nodes"),
        ((TierBottleneck("cpu", ("a-0", "a-1")),), "CPUs of the 2 nodes with pool=x"),
        ((TierBottleneck("gpu", ("a-0",)),), "GPUs of the node with disk=ssd"),
        ((TierBottleneck("rdma", ("c-0",)),), "rdma of the node of machine other"),
        ((TierBottleneck("cpu", ("a-1", "b-0")),), "CPUs of 2 of 4 nodes (a-1, b-0)"),
        (
            (TierBottleneck("cpu"), TierBottleneck("memory")),
            "CPUs and memory of all 4 nodes",
        ),
        (
            (TierBottleneck("cpu"), TierBottleneck("memory", ("c-0",)), TierBottleneck("pods")),
            "CPUs and pod limits of all 4 nodes and the memory of the node of machine other",
        ),
    ],
)
def test_nodes_are_named_by_what_only_they_have(
    binds: tuple[TierBottleneck, ...], text: str
) -> None:
    """
    A label or a machine if no other node has it, else the names.
    """
    assert said(*binds) == [f"placed.priority-0: 8 points at most, by the {text}"]


@pytest.mark.parametrize(
    ("source", "how"),
    [
        (TierBoundSource.PATTERNS, "what single nodes can hold"),
        (TierBoundSource.RELAXED_MODEL, "counted on equal nodes"),
    ],
)
def test_bounds_that_look_at_single_nodes_say_so(source: TierBoundSource, how: str) -> None:
    """
    Twice the memory in one node is not what others need there.
    """
    (line,) = said(TierBottleneck("memory"), source=source)

    assert line.endswith(f"by the memory of all 4 nodes ({how})")


def test_few_nodes_are_said_as_people_say_it() -> None:
    """
    Nobody says all 1 nodes.
    """
    (one,) = said(TierBottleneck("cpu"), nodes=NODES[:1])
    (two,) = said(TierBottleneck("cpu"), nodes=NODES[:2])

    assert one.endswith("by the CPUs of the node")
    assert two.endswith("by the CPUs of both nodes")


def test_what_binds_nothing_is_not_said() -> None:
    """
    All placed needs no word, nor does a tier that is not about places or has no bound.
    """
    tiers = [
        TierValue(placed_tier(2), 8, 8, True, TierBoundSource.LIMIT),
        TierValue(placed_tier(1), 8, None, False),
        TierValue(BIND, 3, 2, False, TierBoundSource.MODEL),
    ]

    assert list(priority_bound_lines(tiers, Instance(NODES, ()))) == []


@pytest.mark.parametrize(
    "source", [source for source in TierBoundSource if source is not TierBoundSource.LIMIT]
)
def test_every_source_has_words(source: TierBoundSource) -> None:
    """
    Also where nothing is known of what binds.
    """
    value = TierValue(placed_tier(0), 6, 8, False, source)

    (line,) = priority_bound_lines([value], Instance(NODES, ()))

    assert line.startswith("placed.priority-0: 8 points at most, by ")
