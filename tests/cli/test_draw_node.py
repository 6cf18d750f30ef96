"""The picture of a node: who holds which thread, memory and device."""

import re
from dataclasses import replace

import pytest

from cli_samples import GIB, busy, lone, place, pod, text_of
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.node import draw_node
from placer_cli.draw.places import draw_newly_placed_pods
from placer_cli.draw.residents import drawn_pods_by_node
from placer_models.cluster import Instance, Node
from placer_models.placement import ContainerPlacement, DeviceGrant, Placement
from placer_models.policy import (
    AlignmentPolicy,
    AlignmentScope,
    CpuLocalityWish,
    NodeBindPolicy,
    NumaStrategy,
    PartitionPolicy,
    QosClass,
)


def drawn(instance: Instance, placement: Placement, name: str = "gpu-00", width: int = 80) -> str:
    node = next(node for node in instance.nodes if node.name == name)
    residents = drawn_pods_by_node(instance, placement).get(name, ())
    return text_of(draw_node(node, residents, WidthAndMarks(width)), width)


def words(text: str) -> str:
    """Return a text with one blank between words, whatever the columns' widths."""
    return re.sub(" +", " ", text)


def test_each_thread_has_the_letter_of_its_owner() -> None:
    """
    Owners read without colour: letters in the cells, the same letters in the legend.
    """
    text = drawn(*busy())

    assert "▪··· ···· DDDD ····  0-15" in text
    assert "AA·· ···· ···· ····  16-31" in text
    assert "BBBB BBBB ···· ····  176-191" in text
    assert "D api LSE 8-11,136-139 0:32Gi" in words(text)


def test_memory_is_a_bar_of_letters_on_its_numa_node() -> None:
    """
    The bar of NUMA node 0 has the service and the web pods, and says how much is taken.
    """
    text = drawn(*busy())

    assert "DEFGH" in text
    assert "48Gi" in text


def test_devices_name_their_holder_and_broken_ones_stand_out() -> None:
    """
    GPU 0 belongs to B, GPU 3 to nobody, and GPU 7 must not be given out.
    """
    text = drawn(*busy())

    assert "GPU  0:B 1:B" in text
    assert "GPU  2:A 3:·" in text
    assert "GPU  6:· 7:!" in text
    assert "! unhealthy" in text


def test_the_legend_rates_the_links_of_a_pod() -> None:
    """
    A pod with two GPUs shows its pair's bandwidth, a running pod that it runs.
    """
    text = drawn(*busy(), width=90)

    assert "B train-0 train LSR 48-55,176-183 3:64Gi 0-1 300 GB/s rdma 0" in words(text)
    assert "A old running LSR 16-17,144-145 1:100Gi 2" in words(text)
    assert "GPU 0 B     · NV12" in text


def test_pods_of_the_pools_are_summed_up() -> None:
    """
    Pods without CPUs of their own own no cell; a line says what they ask for.
    """
    text = drawn(*busy())

    assert "shared pool: 4 pods asking for 10 CPUs" in text
    assert "best-effort pool: 1 pod asking for 30 CPUs" in text
    assert "free: 210 of 254 CPUs · 105 whole cores" in text


def test_an_empty_node_is_all_free() -> None:
    """
    A node with nobody on it has no legend, and its headline says that it is cordoned.
    """
    text = drawn(*busy(), name="gpu-01")

    assert "cordoned: nothing new comes here" in text
    assert "free: 254 of 254 CPUs · 127 whole cores · 8 of 8 GPU" in text
    assert "QoS" not in text


def test_a_cpu_with_two_owners_is_marked() -> None:
    """
    A placement that breaks a rule can be looked at: the breach is seen.
    """
    instance, _ = busy()
    two = [pod(name, 1, 1, 0, 0, QosClass.LSR) for name in ("p", "q")]
    instance = replace(instance, gangs=tuple(lone(one) for one in two))
    both = Placement(tuple(place(one, "gpu-02", "5", {0: 1}) for one in two))

    text = drawn(instance, both, "gpu-02")

    assert "▪··· ·!·· ···· ····  0-15" in text
    assert "! claimed twice" in text


def test_more_owners_than_letters_have_two_each() -> None:
    """
    With 60 owners every mark has two letters, and cells are two columns wide.
    """
    instance, _ = busy()
    many = [pod(f"p-{i}", 1, 1, 0, 0, QosClass.LSR) for i in range(60)]
    instance = replace(instance, gangs=tuple(lone(one) for one in many))
    placed = Placement(
        tuple(place(one, "gpu-02", str(i + 1), {0: 1}) for i, one in enumerate(many))
    )

    text = drawn(instance, placed, "gpu-02", 100)

    assert "▪ AAABAC ADAEAFAG" in text
    assert "BH p-59" in words(text)


def test_the_headline_says_what_the_node_asks() -> None:
    """
    Its policies stand beside its name.
    """
    instance, placement = busy()
    node = replace(
        instance.nodes[0],
        cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY,
        numa_strategy=NumaStrategy.MOST_ALLOCATED,
        locality=tuple(CpuLocalityWish),
        scope=AlignmentScope.CONTAINER,
        partition_policy=PartitionPolicy.HONOR,
        offered=True,
    )
    text = words(drawn(replace(instance, nodes=(node, *instance.nodes[1:])), placement, node.name))

    assert "CPU bind policy FullPCPUsOnly" in text
    assert "NUMA strategy MostAllocated" in text
    assert "CPU locality Package, LLC" in text
    assert "NUMA policy Restricted for each container" in text
    assert "GPU partition policy Honor" in text
    assert "offered" in text


@pytest.mark.parametrize(
    ("scope", "gpus", "told"),
    [
        (None, False, False),
        (None, True, True),
        (AlignmentScope.CONTAINER, False, True),
        (AlignmentScope.CONTAINER, True, True),
    ],
)
def test_what_each_container_has_is_said_where_it_is_its_own(
    scope: AlignmentScope | None, gpus: bool, told: bool
) -> None:
    """
    A line for each below its pod where each is aligned or several have devices; else none.
    """
    plain = pod("db", 4, 4, 2, qos=QosClass.LSR)
    spec = replace(plain.spec, alignment=AlignmentPolicy.RESTRICTED, scope=scope)
    who = replace(plain, spec=spec)
    held = replace(
        place(who, "gpu-00", "8-11", {0: 2, 1: 2}, (0, 2)),
        containers=(
            ContainerPlacement(
                "left", frozenset({8, 9}), ((0, 2 * GIB),), (), (DeviceGrant("gpu", 0),) * gpus
            ),
            ContainerPlacement(
                "right", frozenset({10, 11}), ((1, 2 * GIB),), (), (DeviceGrant("gpu", 2),) * gpus
            ),
        ),
    )
    instance = replace(busy()[0], gangs=(lone(who),), running=())
    placement = Placement((held,))
    residents = drawn_pods_by_node(instance, placement)

    for text in (
        words(drawn(instance, placement, width=100)),
        words(text_of(draw_newly_placed_pods(instance, residents, WidthAndMarks(100)), 100)),
    ):
        assert ("left 8-9 0:2Gi" + " 0" * gpus in text) is told
        assert ("right 10-11 1:2Gi" + " 2" * gpus in text) is told


def test_what_a_pod_got_is_said_on_narrow_pages_too() -> None:
    """
    The QoS gives way; NICs and MIG instances stay.
    """
    who = pod("db", 8, 4, qos=QosClass.LSR)
    held = replace(
        place(who, "gpu-00", "8-11,136-139", {0: 2, 1: 2}),
        devices=(DeviceGrant("mig-3g.20gb", 24), DeviceGrant("rdma", 1)),
    )
    instance = replace(busy()[0], gangs=(lone(who),), running=())

    text = drawn(instance, Placement((held,)), width=46)

    assert "QoS" not in text
    assert "mig-3g.20gb" in text
    assert "rdma 1" in text


def test_hugepages_are_no_free_memory() -> None:
    """
    Of 1Ti 24Gi are not free once they are set aside.
    """
    instance, _ = busy()
    node = replace(instance.nodes[2], hugepages=((0, 2**30, 24),))
    plain = replace(node, hugepages=())

    def free(node: Node) -> str:
        alone = replace(instance, nodes=(node,), gangs=(), running=())
        return drawn(alone, Placement(()), node.name)

    assert " 1Ti" in free(plain)
    assert " 1000Gi" in free(node)
