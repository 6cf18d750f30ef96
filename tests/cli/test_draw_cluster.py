"""The picture of a cluster: a line a node."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from cli_samples import POOL, busy, place, pod, text_of
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.cluster import draw_cluster
from placer_cli.draw.node import draw_node
from placer_cli.draw.residents import UnknownPodOrNodeToDrawError, drawn_pods_by_node
from placer_models.affinity import SYSTEM_NAMESPACE, AffinityTerm, InNodeAffinityLevel
from placer_models.cluster import Instance, RunningPod
from placer_models.placement import Placement
from placer_models.pod import Gang
from placer_models.policy import RequiredOrPreferred
from placer_models.topology_spread import SpreadConstraint


def drawn(instance: Instance, placement: Placement, width: int = 80) -> str:
    return text_of(
        draw_cluster(instance, drawn_pods_by_node(instance, placement), WidthAndMarks(width)), width
    )


def test_a_line_says_what_a_node_holds() -> None:
    """
    CPUs and memory taken, GPUs by owner, other devices, pods.
    """
    text = drawn(*busy(), width=120)

    assert "busy · 5 nodes of dgx-a100 · 1 running pod · 9 of 10 pods placed" in text
    line = next(line for line in text.splitlines() if line.startswith("gpu-00"))
    assert "54/254" in line
    assert "292Gi/1Ti" in line
    assert "BBA·BB·!" in line
    assert "rdma 2/12" in line
    assert "A old   B train" in text


def test_neighbours_that_look_the_same_share_a_line() -> None:
    """
    Idle nodes fold into one line with a host list; a cordoned one stays apart.
    """
    lines = drawn(*busy()).splitlines()

    assert any(line.startswith("gpu-[03-04]") for line in lines)
    assert any(line.startswith("gpu-01") and line.endswith("cordoned") for line in lines)


def test_what_waits_is_listed_with_what_it_asks_for() -> None:
    """
    Without a placement all pods wait: a gang's members in one row.
    """
    instance, _ = busy()

    text = drawn(instance, Placement(), 100)

    assert "10 waiting" in text
    assert "train-[0-2] (3)  train, at least 3        10  LSR  16 CPUs, 64Gi, 2 gpu, 1 rdma" in text
    assert "web-[0-3] (4)" in text


def test_what_waits_is_listed_with_whom_it_wants_to_be() -> None:
    """
    With or apart from others, where, and how evenly; required, or if possible.
    """
    rules = (
        AffinityTerm((("app", "db"),), topology="zone"),
        AffinityTerm((("app", "web"),), apart=True, strength=RequiredOrPreferred.PREFERRED),
        AffinityTerm((("app", "feed"),), level=InNodeAffinityLevel.NUMA),
    )
    spread = (SpreadConstraint("zone"), SpreadConstraint("node", 2, RequiredOrPreferred.PREFERRED))
    web = pod("web", 1)
    web = replace(web, spec=replace(web.spec, affinity=rules, spread=spread))
    text = drawn(
        replace(busy()[0], gangs=(Gang("web", "default", (web,), 1, lone=True),)), Placement(), 250
    )

    for said in (
        "with app=db in one zone",
        "if possible apart from app=web on one node",
        "with app=feed on one NUMA node",
        "a skew of 1 at most over zone",
        "if possible a skew of 2 at most over node",
    ):
        assert said in text


def test_a_thousand_idle_nodes_are_one_line() -> None:
    """
    A large cluster stays readable.
    """
    instance, _ = busy()
    nodes = tuple(replace(instance.nodes[2], name=f"n-{i:04}") for i in range(1000))

    text = drawn(replace(instance, nodes=nodes, running=()), Placement())

    assert "n-[0000-0999]" in text
    assert len(text.splitlines()) < 25


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_narrow_page_is_kept_to(width: int) -> None:
    """
    Bars go first, then words are cut; no line runs over.
    """
    assert max(cell_len(line) for line in drawn(*busy(), width).splitlines()) <= width


def test_nodes_that_are_offered_and_plain_amounts_are_told() -> None:
    """
    Who asks for a licence takes one of the node's; an offered node costs something to open.
    """
    instance, placement = busy()
    first, second, *others = instance.nodes
    gang = instance.gangs[1]  # api, on gpu-00
    (container,) = gang.pods[0].spec.containers
    asks = replace(container, requests=replace(container.requests, extended=(("licence", 2),)))
    api = replace(gang.pods[0], spec=replace(gang.pods[0].spec, containers=(asks,)))
    shown = replace(
        instance,
        nodes=(
            replace(first, extended=(("licence", 5),)),
            replace(second, offered=True, extended=(("licence", 1000),)),
            *others,
        ),
        gangs=(instance.gangs[0], replace(gang, pods=(api,)), *instance.gangs[2:]),
    )

    lines = drawn(shown, placement, 130).splitlines()
    inside = text_of(
        draw_node(
            shown.nodes[0], drawn_pods_by_node(shown, placement)["gpu-00"], WidthAndMarks(100)
        ),
        100,
    )

    assert any("gpu-00" in line and "rdma 2/12, licence 2/5" in line for line in lines)
    assert any("licence 0/1,000" in line and "offered cordoned" in line for line in lines)
    assert "3 of 5 licence" in inside
    assert "8 CPUs, 32Gi, 2 licence" in drawn(shown, Placement(), 130)


def test_nodes_say_how_many_pods_they_take() -> None:
    """
    Idle nodes that differ in nothing else are two lines. What stands for a node's system is no
    pod of the cluster; the limit of a dump has been raised for it.
    """
    instance = busy()[0]
    idle = instance.nodes[2]
    api, system = pod("api"), pod("system", namespace=SYSTEM_NAMESPACE)
    shown = replace(
        instance,
        nodes=(
            replace(idle, name="a", max_pods=4),
            replace(idle, name="b", max_pods=6),
            replace(idle, name="c"),
        ),
        gangs=(),
        running=tuple(RunningPod(one, place(one, "b", POOL, {})) for one in (api, system)),
    )

    lines = drawn(shown, Placement(), 130).splitlines()
    inside = text_of(
        draw_node(shown.nodes[1], drawn_pods_by_node(shown, Placement())["b"], WidthAndMarks(100)),
        100,
    )

    assert [line.split()[0] for line in lines if line[:2] in ("a ", "b ", "c ")] == ["a", "b", "c"]
    assert any(line.startswith("a ") and "0/4" in line for line in lines)
    assert any(line.startswith("b ") and "1/5" in line for line in lines)
    assert "4 of 5 pods" in inside


def test_a_placement_of_another_instance_is_refused() -> None:
    """
    A pod that does not wait here cannot be drawn.
    """
    instance, placement = busy()

    with pytest.raises(
        UnknownPodOrNodeToDrawError, match="pod 'train-0' of namespace 'default' does not wait"
    ):
        drawn_pods_by_node(replace(instance, gangs=()), placement)
    with pytest.raises(
        UnknownPodOrNodeToDrawError, match="is placed on 'gpu-00', which is no node"
    ):
        drawn_pods_by_node(replace(instance, nodes=instance.nodes[1:]), placement)
