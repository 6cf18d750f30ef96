"""What a node has to give, told a second time from docs/rules (C1, C5, C19, D1, D6, D10)."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from judge.hand import MACHINE
from placer_models.cluster import Node
from placer_models.cpuset import cpus_without, is_same_cpu_set
from placer_models.device import Device
from placer_models.mig import TABLES, mig_slices_covered
from placer_models.policy import PartitionPolicy
from placer_models.topology import Topology
from second_tellings.drawing import mixed_worlds

MIG_PAGE = {
    "1g.{1}gb": (1, 1, (0, 1, 2, 3, 4, 5, 6)),
    "1g.{1}gb.me": (1, 1, (0, 1, 2, 3, 4, 5, 6)),
    "1g.{2}gb": (1, 2, (0, 2, 4, 6)),
    "2g.{2}gb": (2, 2, (0, 2, 4)),
    "3g.{4}gb": (3, 4, (0, 4)),
    "4g.{4}gb": (4, 4, (0,)),
    "7g.{8}gb": (7, 8, (0,)),
}
"""docs/rules/mig.md: profile by GB -> (compute slices, memory slices, starts)."""

SLICE_GB = {"A100-40GB": 5, "A100-80GB": 10, "H100-80GB": 10}


def profiles(table: str) -> dict[str, tuple[int, int, tuple[int, ...]]]:
    """Return the rows of the page for a GPU, by the device type of their instances."""
    sizes = [size * SLICE_GB[table] for size in range(9)]
    return {"mig-" + name.format(*sizes): row for name, row in MIG_PAGE.items()}


def slices(table: str, device_type: str, start: int) -> set[int]:
    """Return the memory slices of an instance; none if it may not begin there."""
    _, size, starts = profiles(table).get(device_type, (0, 0, ()))
    return set(range(start, start + size)) if start in starts else set()


def nodes() -> Iterator[Node]:
    """Yield the nodes of tiny worlds, and some of them with CPUs that are in no pool."""
    rng = Random("nodes")
    for world in mixed_worlds():
        for node in world.nodes:
            yield node
            online = sorted(node.machine.topology.online)
            some = frozenset(rng.sample(online, rng.randint(0, len(online))))
            yield replace(node, unpooled_cpus=some)


def test_cpus_out_of_pools_are_reserved_or_pinned() -> None:
    """
    A CPU for the system alone is in no pool, and a pinned one while its owner runs.
    """
    rng = Random("owned")
    for node in nodes():
        owned = frozenset(c for c in node.machine.topology.online if rng.random() < 0.5)
        out = {c for c in node.unpooled_cpus if c in node.reserved_cpus or c in owned}
        pool = {c for c in node.machine.topology.online if c not in out}

        assert node.out_of_pools(owned) == out
        assert cpus_without(node.machine.topology.online, out) == pool
        assert is_same_cpu_set(frozenset(pool), frozenset(out)) is (pool == out)


def test_memory_is_what_hugepages_leave() -> None:
    """
    A node's pages stand in place of its machine's, size by size; ones of no NUMA node are none.
    """
    rng = Random("pages")
    for node in nodes():
        kinds = product(range(5), (1, 2, 3))
        own = tuple((numa, size, rng.randrange(3)) for numa, size in kinds if rng.random() < 0.3)
        node = replace(node, hugepages=(*node.hugepages, *own))
        for numa in node.machine.topology.numa_nodes:
            said = {kind.page_bytes: kind.count for kind in numa.hugepages}
            said.update({size: count for home, size, count in node.hugepages if home == numa.id})
            there = {size: n for (home, size), n in node.pages_in().items() if home == numa.id}
            left = numa.memory_bytes - sum(size * count for size, count in said.items())

            assert there == said
            assert node.memory_bytes_in()[numa.id] == left
        known = {numa.id for numa in node.machine.topology.numa_nodes}
        assert {numa for numa, _ in node.pages_in()} <= known
        assert set(node.memory_bytes_in()) == known


def test_a_domain_is_a_label_else_a_level() -> None:
    """
    The label counts where a node has both; the level `node` is the node itself.
    """
    node = Node("n", MACHINE, labels=(("zone", "a"), ("rack", "r")), domains=(("rack", "x"),))

    assert [node.topology_domain(key) for key in ("zone", "rack", "node", "row")] == [
        "a",
        "r",
        "n",
        None,
    ]
    assert [node.domain(key) for key in ("zone", "rack", "node", "row")] == [None, "x", "n", None]
    assert replace(node, labels=(("node", "z"),)).topology_domain("node") == "z"


@pytest.mark.parametrize("own", [None, (), ((1,),)])
@pytest.mark.parametrize("policy", [None, *PartitionPolicy])
def test_a_table_is_the_nodes_own_where_pods_look_at_one(
    own: tuple[tuple[int, ...], ...] | None, policy: PartitionPolicy | None
) -> None:
    """
    An empty table is a table; without a policy pods look at none (D10).
    """
    machine = replace(MACHINE, partitions=((0, 1),))
    node = Node("n", machine, partitions=own, partition_policy=policy)

    said = ((0, 1),) if own is None else own
    assert node.table == (None if policy is None else said)
    assert node.honors_table is (policy is PartitionPolicy.HONOR)


def test_devices_are_healthy_by_machine_and_node() -> None:
    """
    An instance is as healthy as its GPU, and a GPU in MIG mode is not given out itself (D6).
    """
    seen = set()
    for node, switch in product(nodes(), range(2)):
        rng = Random(switch)
        broken = frozenset((d.type, d.minor) for d in node.machine.devices if rng.random() < 0.3)
        node = replace(node, unhealthy=broken if switch else node.unhealthy)
        in_mig_mode = {minor for minor, _ in node.mig}
        gpu = {d.minor: d for d in node.machine.devices if d.type == "gpu"}
        for device in node.devices:
            is_instance = device.type.startswith("mig-")
            whole = gpu[device.minor // 8] if is_instance else device
            works = whole.healthy and (whole.type, whole.minor) not in node.unhealthy
            cut = device.type == "gpu" and device.minor in in_mig_mode
            seen.add((is_instance, cut, works))

            assert node.is_healthy(device) is (works and not cut)
    assert len(seen) == 6


def test_instances_are_all_that_gpus_in_mig_mode_could_be_cut_into() -> None:
    """
    One device for each profile and each of its starts, where its GPU is; by type and minor.
    """
    cut = 0
    for node in nodes():
        expected: list[Device] = list(node.machine.devices)
        for minor, table in node.mig:
            for gpu in node.machine.devices:
                if (gpu.type, gpu.minor) != ("gpu", minor):
                    continue
                for kind, (_, _, starts) in profiles(table).items():
                    for start in starts:
                        name = f"{gpu.id or f'gpu-{minor}'}/{kind.removeprefix('mig-')}@{start}"
                        put = replace(gpu, type=kind, minor=8 * minor + start, id=name, bus_id="")
                        expected.append(
                            replace(put, memory_bytes=0, virtual_functions=(), capacity=())
                        )
                        cut += 1
        assert node.devices == tuple(sorted(expected, key=lambda d: (d.type, d.minor)))
    assert cut


@pytest.mark.parametrize("table", SLICE_GB)
def test_profiles_are_those_of_the_page(table: str) -> None:
    """
    Slices, starts, and the media engine of .me; five profiles of a GPU count as usable.
    """
    page = profiles(table)

    assert set(SLICE_GB) == set(TABLES)
    assert {p.type: (p.compute, p.slices, p.starts) for p in TABLES[table]} == page
    assert [p.name for p in TABLES[table] if p.media] == [f"1g.{SLICE_GB[table]}gb.me"]
    usual = [p for p in TABLES[table] if p.usual]
    assert sum(2 * p.compute * len(p.starts) for p in usual) == 60
    modes = ((3, table),)
    for kind, start in product([*page, "mig-9g.90gb", "gpu"], range(8)):
        parts = mig_slices_covered(modes, kind, 24 + start)
        whole = slices(table, kind, start)
        assert set(parts) - {8} == whole
        assert (8 in parts) == bool(whole and kind.endswith(".me"))
        assert mig_slices_covered(modes, kind, 16 + start) == ()


def test_facts_of_a_topology_are_those_of_its_cpus() -> None:
    """
    Cores by their online threads, and the one package of a NUMA node, if it is one.
    """
    for world in mixed_worlds():
        for topology in (node.machine.topology for node in world.nodes):
            on = [cpu for cpu in topology.cpus if cpu.online]
            cells = {cpu.numa_node for cpu in topology.cpus}
            cells |= {numa.id for numa in topology.numa_nodes}

            assert topology.online == {cpu.id for cpu in on}
            assert {core: set(ids) for core, ids in topology.cores.items()} == {
                core: {cpu.id for cpu in on if cpu.core == core} for core in {c.core for c in on}
            }
            assert dict(topology.package_in) == {cell: package(topology, cell) for cell in cells}
            assert topology.packages == len({cpu.package for cpu in topology.cpus})
            assert topology.memory_bytes == sum(n.memory_bytes for n in topology.numa_nodes)


def package(topology: Topology, cell: int | None) -> int | None:
    """Return the package that all CPUs of a NUMA node are in, or None."""
    packages = {cpu.package for cpu in topology.cpus if cpu.numa_node == cell}
    return packages.pop() if len(packages) == 1 else None
