"""Defaults of a scheduler in files: read, written, refused with their place (C22)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from instance_texts import reread
from node.node_documents import document_of_tree
from placer.load import load_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.bound import numa_nodes_bound_to
from placer_models.cluster import Instance
from placer_models.defaults import NO_DEFAULTS, Defaults
from placer_models.files.errors import InputError
from placer_models.instance.node_file import (
    node_placement_document_to_dict,
)
from placer_models.node_placement import NodePlacement
from placer_models.policy import AlignmentPolicy, BindPolicy, ExclusivePolicy, NumaStrategy

FILE = Path(__file__).parents[2] / "instances" / "rules" / "defaults.yaml"
HEAD = "apiVersion: placer/v1\nkind: Instance\n"
NODES = "nodes: [{name: n, machine: dgx-a100}]\n"
ALL = Defaults(
    BindPolicy.SPREAD_BY_PCPUS,
    ExclusivePolicy.NUMA_NODE_LEVEL,
    AlignmentPolicy.RESTRICTED,
    NumaStrategy.MOST_ALLOCATED,
)


@pytest.mark.parametrize(
    ("written", "defaults"),
    [
        ("{cpuBindPolicy: FullPCPUs}", Defaults(bind=BindPolicy.FULL_PCPUS)),
        ("{cpuExclusivePolicy: PCPULevel}", Defaults(exclusive=ExclusivePolicy.PCPU_LEVEL)),
        ("{numaPolicy: best-effort}", Defaults(alignment=AlignmentPolicy.BEST_EFFORT)),
        (
            "{numaAllocateStrategy: DistributeEvenly}",
            Defaults(numa_strategy=NumaStrategy.DISTRIBUTE_EVENLY),
        ),
        (
            "{cpuBindPolicy: SpreadByPCPUs, cpuExclusivePolicy: NUMANodeLevel, "
            "numaPolicy: Restricted, numaAllocateStrategy: MostAllocated}",
            ALL,
        ),
        ("{}", NO_DEFAULTS),
        ("{cpuBindPolicy: Default, cpuExclusivePolicy: Default, numaPolicy: none}", NO_DEFAULTS),
        ("{cpuExclusivePolicy: None}", NO_DEFAULTS),
    ],
)
def test_defaults_are_read(written: str, defaults: Defaults, read: Callable[..., Instance]) -> None:
    """
    Each by itself or all together; every node gets them.
    """
    instance = read(f"{HEAD}defaults: {written}\n{NODES}")

    assert instance.common_defaults == defaults
    assert instance.nodes[0].defaults == defaults


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "{cpuBindPolicy: fullpcpus}",
            "defaults.cpuBindPolicy: got 'fullpcpus'; expected 'Default', 'FullPCPUs' or "
            "'SpreadByPCPUs'; did you mean 'FullPCPUs'?",
        ),
        (
            "{cpuBindPolicy: ConstrainedBurst}",
            "defaults.cpuBindPolicy: got 'ConstrainedBurst'; expected 'Default', 'FullPCPUs' or "
            "'SpreadByPCPUs'",
        ),
        (
            "{cpuBindPolicy: {required: FullPCPUs}}",
            "defaults.cpuBindPolicy: got a mapping; expected 'Default', 'FullPCPUs' or "
            "'SpreadByPCPUs'",
        ),
        (
            "{cpuExclusivePolicy: Core}",
            "defaults.cpuExclusivePolicy: got 'Core'; expected 'Default', 'None', 'PCPULevel' or "
            "'NUMANodeLevel'",
        ),
        (
            "{numaPolicy: strict}",
            "defaults.numaPolicy: got 'strict'; expected 'None', 'BestEffort', 'Restricted' or "
            "'SingleNUMANode'",
        ),
        (
            "{numaAllocateStrategy: even}",
            "defaults.numaAllocateStrategy: got 'even'; expected 'MostAllocated', "
            "'LeastAllocated' or 'DistributeEvenly'",
        ),
        ("{cpuBind: FullPCPUs}", "defaults.cpuBind: is not a field here; did you mean 'cpuBindPol"),
        ("{numaPolicy: }", "defaults.numaPolicy: has no value; give it one, or delete the line"),
        ("[FullPCPUs]", "defaults: got a list of 1; expected a mapping"),
    ],
)
def test_a_bad_default_is_named_with_its_place(
    written: str, message: str, refusal: Callable[..., str]
) -> None:
    """
    File, line, field, what is there, and what may be there.
    """
    assert refusal(f"{HEAD}defaults: {written}\n{NODES}").startswith(f"a.yaml:3: {message}")


def test_koordinators_argument_is_told_what_to_write_here(refusal: Callable[..., str]) -> None:
    """
    It stands in the configuration of Koordinator's plugin.
    """
    found = refusal(f"{HEAD}defaultCPUBindPolicy: FullPCPUs\n{NODES}")

    assert "is not a field here; write 'defaults: {cpuBindPolicy: ...}'" in found


def test_one_document_gives_them(tmp_path: Path) -> None:
    """
    They hold for the nodes of all documents; a second document that gives them is a fault.
    """
    files = [tmp_path / name for name in ("a.yaml", "b.yaml", "c.yaml")]
    files[0].write_text(f"{HEAD}{NODES}", encoding="utf-8")
    for file in files[1:]:
        file.write_text(f"{HEAD}defaults: {{numaPolicy: Restricted}}\n", encoding="utf-8")

    instance = load_instance(files[:2])
    assert instance.nodes[0].defaults.alignment is AlignmentPolicy.RESTRICTED
    with pytest.raises(InputError, match=r"c\.yaml:3: defaults: is given by another document"):
        load_instance(files)


def test_defaults_without_nodes_say_where_they_belong(refusal: Callable[..., str]) -> None:
    """
    A file of defaults alone is read beside the objects of a cluster.
    """
    found = refusal(f"{HEAD}defaults: {{numaPolicy: Restricted}}\n")

    assert "nodes: is missing; give one node or more, or the objects of a cluster" in found


def test_the_example_is_written_and_read_back() -> None:
    """
    All of it, running pods included.
    """
    instance = load_instance([FILE])

    assert reread(instance) == instance


def test_running_pods_are_read_under_the_defaults(
    read: Callable[..., Instance], refusal: Callable[..., str]
) -> None:
    """
    Under a default that binds, the cpuset of a running LS pod names its NUMA nodes.
    """
    world = (
        "machines:\n"
        "  - name: m\n"
        "    numaNodes: [{id: 0, memory: 4Gi, cpus: 0-7}, {id: 1, memory: 4Gi, cpus: 8-15}]\n"
        "    cores: [{cpus: 0-15, threadsPerCore: 2, numbering: adjacent}]\n"
        "nodes: [{name: n, machine: m}]\n"
        "running: [{name: r, node: n, qos: LS, requests: {cpu: 1}, cpuset: 0-7}]\n"
    )
    instance = read(f"{HEAD}defaults: {{numaPolicy: SingleNUMANode}}\n{world}")
    (runner,), (node,) = instance.running, instance.nodes

    assert numa_nodes_bound_to(runner.placement, runner.pod.spec, node) == {0}
    assert "LS pods run in a pool and own no CPUs" in refusal(f"{HEAD}{world}")


def test_the_document_of_a_node_keeps_them() -> None:
    """
    It is complete in itself: what holds for its pods does not depend on who reads it.
    """
    instance = load_instance([FILE])
    node = instance.nodes[0]
    tree = node_placement_document_to_dict(NodePlacement(node))
    again = document_of_tree(tree)

    assert again.node.defaults == node.defaults != NO_DEFAULTS
    plain = node_placement_document_to_dict(NodePlacement(replace(node, defaults=NO_DEFAULTS)))
    assert "defaults" not in plain


def test_the_example_needs_its_defaults() -> None:
    """
    Without them the same pods are somewhere else.
    """
    options = SolveOptions(engine=Engine.EXACT, workers=1, seed=1)
    instance = load_instance([FILE])
    places = [solve(i, options) for i in (instance, replace(instance, defaults=Defaults()))]

    assert places[0] != places[1]
