"""Limits of swap and hugepages, and memory that moves: written in an order that kernels take."""

from pathlib import Path

import pytest

from node.fake_cgroupfs import FakeV1, FakeV2
from node.node_documents import GIB, a_document, a_node, a_pod
from placer.node.apply import apply
from placer.node.cgroups import CgroupReader
from placer.node.errors import HostCannotApplyError
from placer.node.host import HostFactsForApply, read_host_facts
from placer.node.no_cgroups import ReadOnlyRootCgroup
from placer.node.operations import CgroupOperationKind
from placer.node.plan import CgroupPlan, cgroup_plan_of
from placer.node.render.cgroup import page_size_name
from placer.node.render.commands import container_run_flags
from placer.node.render.oci import container_config_with_placement
from placer.node.render.systemd import systemd_properties_of
from placer.node.state import AppliedStateFolder
from placer.node.targets import desired_container_cgroups
from placer_models.cpuset import parse_cpu_list
from placer_models.limits import NO_LIMITS, ContainerLimits
from placer_models.node_placement import NodePlacement
from placer_models.policy import QosClass

LSE, LS = QosClass.LSE, QosClass.LS
MIB = 1 << 20
HOST = HostFactsForApply("n0", parse_cpu_list("0-7"), page_sizes=frozenset({2 * MIB, GIB}))
NODE = a_node(pages={2 * MIB: 512})


def swapping(memory: int | None, swap: int | None, generation: int = 1) -> NodePlacement:
    """A document of one pod with these limits, in GiB."""
    limits = ContainerLimits(
        memory_bytes=None if memory is None else memory * GIB,
        swap_bytes=None if swap is None else swap * GIB,
    )
    return a_document(a_pod("a", limits=limits), generation=generation)


def says(cgroups: CgroupReader, controller: str, file: str, pod: str = "a") -> str:
    """What a file of a container of ours says."""
    return cgroups.files.read(
        cgroups.path(controller, f"placer/{pod}@default/main@{pod}", file)
    ).strip()


def limits_of(cgroups: CgroupReader) -> tuple[int | None, int | None]:
    """The limits of memory and of swap, in GiB; None: none."""

    def read(file: str) -> int | None:
        text = says(cgroups, "memory", file)
        return None if text == "max" or int(text) > 1 << 62 else int(text) // GIB

    if cgroups.version == 2:
        return read("memory.max"), read("memory.swap.max")
    memory, both = read("memory.limit_in_bytes"), read("memory.memsw.limit_in_bytes")
    return memory, None if memory is None or both is None else both - memory


def files_of(plan: CgroupPlan) -> list[str]:
    """The files that a plan writes, in order."""
    return [one.file for one in plan.operations if one.kind is CgroupOperationKind.WRITE]


STEPS = [(1, 1), (4, 1), (1, 4), (1, 0), (2, None), (1, 2), (None, None), (3, 0), (2, 5), (5, 1)]


def test_swap_is_limited_beside_memory(cgroups: CgroupReader, state: AppliedStateFolder) -> None:
    """
    Up and down, in every order: version 1 refuses a sum that is less than the memory.
    """
    for generation, (memory, swap) in enumerate(STEPS, start=1):
        apply(swapping(memory, swap, generation), cgroups, HOST, state)

        assert limits_of(cgroups) == (memory, swap)
        again = apply(swapping(memory, swap, generation), cgroups, HOST, state)
        assert again.plan.operations == ()


@pytest.mark.parametrize(("first", "then"), [((1, 1), (4, 2)), ((4, 2), (1, 1)), ((4, 2), (1, 9))])
def test_limits_of_memory_and_swap_are_taken_back_in_reverse(
    cgroups: CgroupReader, state: AppliedStateFolder, first: tuple[int, int], then: tuple[int, int]
) -> None:
    """
    Whatever is refused behind them: no state in between that the kernel would not take.
    """
    apply(swapping(*first), cgroups, HOST, state)
    write = cgroups.files.write

    def failing(path: str, text: str) -> None:
        write(path, "x" if path.endswith("pids.max") else text)

    cgroups.files.write = failing
    document = a_document(
        a_pod("a", limits=ContainerLimits(None, then[0] * GIB, 9, then[1] * GIB)), generation=2
    )
    with pytest.raises(HostCannotApplyError, match="what was done before it is taken back"):
        apply(document, cgroups, HOST, state)

    assert limits_of(cgroups) == first


def test_a_container_gets_the_hugepages_that_it_asks_for(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    In use and reserved; who asks for none of a size that the node has gets none.
    """
    document = a_document(a_pod("a", pages={2 * MIB: 8, GIB: 1}), a_pod("b"), node=NODE)
    end = "max" if cgroups.version == 2 else "limit_in_bytes"

    plan = apply(document, cgroups, HOST, state).plan

    assert plan.lacking == ()
    for part in ("", "rsvd."):
        assert says(cgroups, "hugetlb", f"hugetlb.2MB.{part}{end}") == str(16 * MIB)
        assert says(cgroups, "hugetlb", f"hugetlb.1GB.{part}{end}") == str(GIB)
        assert says(cgroups, "hugetlb", f"hugetlb.2MB.{part}{end}", "b") == "0"
    assert not any("1GB" in file for file in files_of(plan_on(cgroups, "b", state)))


def test_nothing_is_left_of_a_pod_that_is_gone(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    In no hierarchy of version 1.
    """
    everything = a_pod("a", limits=ContainerLimits(500, GIB, 9), pages={GIB: 1})
    apply(a_document(everything, node=NODE), cgroups, HOST, state)
    controllers = ("cpuset", "cpu", "memory", "pids", "hugetlb")
    assert all(cgroups.exists("placer/a@default/main@a", one) for one in controllers)

    apply(a_document(generation=2, node=NODE), cgroups, HOST, state)

    assert [one for one in controllers if cgroups.exists("placer/a@default", one)] == []


def plan_on(cgroups: CgroupReader, pod: str, state: AppliedStateFolder) -> CgroupPlan:
    """The plan of a document of one pod without wishes, from what is there."""
    return cgroup_plan_of(
        a_document(a_pod(pod), generation=2, node=NODE),
        cgroups,
        HOST,
        previous=state.applied(),
    )


def test_memory_moves_with_its_numa_node(cgroups: CgroupReader, state: AppliedStateFolder) -> None:
    """
    Version 1 is told so before the first set; version 2 needs no word.
    """
    plan = apply(a_document(a_pod("a", LSE, "0", memory={0: GIB})), cgroups, HOST, state).plan

    if cgroups.version == 2:
        assert "cpuset.memory_migrate" not in files_of(plan)
        return
    assert says(cgroups, "cpuset", "cpuset.memory_migrate") == "1"
    moved = files_of(plan).index("cpuset.memory_migrate")
    ours = [one.file for one in plan.operations if one.cgroup.endswith("main@a")]
    assert ours.index("cpuset.memory_migrate") < ours.index("cpuset.mems")
    assert moved >= 0


def test_a_word_about_memory_is_taken_back(state: AppliedStateFolder) -> None:
    """
    In a cgroup that was there before, with all else.
    """
    cgroups = CgroupReader(FakeV1())
    apply(a_document(a_pod("a")), cgroups, HOST, state)
    path = cgroups.path("cpuset", "placer/a@default/main@a", "cpuset.memory_migrate")
    cgroups.files.write(path, "0")
    write = cgroups.files.write
    cgroups.files.write = lambda p, text: write(p, "x" if p.endswith("cpu.shares") else text)

    with pytest.raises(HostCannotApplyError, match="taken back"):
        apply(a_document(a_pod("a", milli=900), generation=2), cgroups, HOST, state)

    assert cgroups.files.read(path) == "0"


def without(fake: FakeV1, *names: str) -> CgroupReader:
    """The same machine, but that its kernel lacks these files or hierarchies."""
    exists = fake.exists
    fake.exists = lambda path: not any(name in path for name in names) and exists(path)
    return CgroupReader(fake)


SWAP_AND_PAGES = a_document(
    a_pod("a", limits=ContainerLimits(None, GIB, None, GIB), pages={2 * MIB: 8}), node=NODE
)


def test_what_a_kernel_of_version_1_lacks_is_named(state: AppliedStateFolder) -> None:
    """
    And not written: the rest is done.
    """
    cgroups = without(FakeV1(), "hugetlb", "memsw", "memory_migrate")

    plan = apply(SWAP_AND_PAGES, cgroups, HOST, state).plan

    assert plan.lacking == (
        "memory stays where it was used before: this kernel has no cpuset.memory_migrate",
        "swap is not limited: this kernel does not count it; boot with swapaccount=1",
        "hugepages are not limited: the controller hugetlb is not mounted; mount it",
    )
    assert says(cgroups, "memory", "memory.limit_in_bytes") == str(GIB)
    assert not any("hugetlb" in file or "memsw" in file for file in files_of(plan))


def test_what_a_kernel_of_version_2_lacks_is_named(state: AppliedStateFolder) -> None:
    """
    A controller that the cgroup above does not hand down, a size of pages, swap.
    """
    fake = FakeV2()
    host = HostFactsForApply("n0", HOST.present, page_sizes=frozenset({GIB}), counts_swap=False)
    swap = "swap is not limited: this kernel does not count it; boot with swapaccount=1"

    plan = cgroup_plan_of(SWAP_AND_PAGES, CgroupReader(fake), host)
    assert plan.lacking == (swap, "hugepages of 2MB are not limited: this kernel has none")
    fake.write("cgroup.subtree_control", "-hugetlb")
    plan = apply(SWAP_AND_PAGES, CgroupReader(fake), host, state).plan

    assert plan.lacking == (
        swap,
        "hugepages are not limited: / does not hand hugetlb down; write '+hugetlb' to its "
        "cgroup.subtree_control",
    )
    assert says(CgroupReader(fake), "memory", "memory.max") == str(GIB)


def test_nothing_is_lacking_that_nobody_wants(state: AppliedStateFolder) -> None:
    """
    No hugepages on the node and no limit of swap: not a word.
    """
    cgroups = without(FakeV1(), "hugetlb", "memsw")

    assert apply(a_document(a_pod("a")), cgroups, HOST, state).plan.lacking == ()


def test_a_plan_for_another_machine_has_all_of_it() -> None:
    """
    What that kernel lacks is not known here.
    """
    plan = cgroup_plan_of(
        SWAP_AND_PAGES, CgroupReader(ReadOnlyRootCgroup(NODE)), HostFactsForApply("n0")
    )

    assert plan.lacking == ()
    assert {"memory.swap.max", "hugetlb.2MB.max", "hugetlb.2MB.rsvd.max"} <= {*files_of(plan)}


def test_what_the_machine_can_limit_is_read(tmp_path: Path) -> None:
    """
    Sizes of hugepages, and whether swap is counted.
    """
    (tmp_path / "proc").mkdir()
    assert read_host_facts(tmp_path).page_sizes == frozenset()
    assert not read_host_facts(tmp_path).counts_swap
    for size in ("2048kB", "1048576kB", "64kB"):
        (tmp_path / "sys/kernel/mm/hugepages" / f"hugepages-{size}").mkdir(parents=True)
    (tmp_path / "proc/swaps").write_text("Filename\n")
    (tmp_path / "proc/cmdline").write_text("quiet\n")
    host = read_host_facts(tmp_path)
    assert (host.page_sizes, host.counts_swap) == ({64 << 10, 2 * MIB, GIB}, True)
    assert [page_size_name(size) for size in (64 << 10, 2 * MIB, GIB)] == ["64KB", "2MB", "1GB"]
    (tmp_path / "proc/cmdline").write_text("quiet swapaccount=0\n")
    assert not read_host_facts(tmp_path).counts_swap


def test_runtimes_are_told_in_their_words() -> None:
    """
    OCI and docker count swap together with memory, systemd beside it.
    """
    (target,) = desired_container_cgroups(SWAP_AND_PAGES)
    config = {
        "linux": {
            "resources": {
                "hugepageLimits": [
                    {"pageSize": "2MB", "limit": 5},
                    {"pageSize": "1GB", "limit": 6},
                ]
            }
        }
    }

    resources = container_config_with_placement(config, target, (), None)["linux"]["resources"]

    assert resources["memory"] == {"limit": GIB, "swap": 2 * GIB}
    assert resources["hugepageLimits"] == [
        {"pageSize": "1GB", "limit": 6},
        {"pageSize": "2MB", "limit": 16 * MIB},
    ]
    assert f"--memory-swap={2 * GIB}b" in container_run_flags(target, NODE)
    by_name = {one.name: one.value for one in systemd_properties_of(target)}
    assert (by_name["MemoryMax"], by_name["MemorySwapMax"]) == (GIB, GIB)


def test_a_limit_of_swap_needs_one_of_memory() -> None:
    """
    The sum of both is what version 1 limits.
    """
    assert NO_LIMITS.swap_bytes is None
    with pytest.raises(ValueError, match="a limit of swap needs one of memory"):
        ContainerLimits(swap_bytes=GIB)
