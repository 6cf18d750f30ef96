"""A document is applied to cgroups that answer as the kernel does: all of it, or nothing."""

from dataclasses import replace

import pytest

from node.fake_cgroupfs import FakeV1, FakeV2
from node.node_documents import GIB, a_document, a_node, a_pod
from placer.node.apply import apply
from placer.node.cgroups import CgroupReader
from placer.node.errors import HostCannotApplyError, InapplicableDocumentError, ObserveOnlyError
from placer.node.host import HostFactsForApply
from placer.node.plan import cgroup_plan_of
from placer.node.state import APPLIED, COMMITTED, JOURNAL, OBSERVE_ONLY, AppliedStateFolder
from placer_models.cpuset import format_cpu_list, parse_cpu_list
from placer_models.limits import ContainerLimits
from placer_models.policy import QosClass

LSE, LSR, LS, BE = QosClass.LSE, QosClass.LSR, QosClass.LS, QosClass.BE
HOST = HostFactsForApply("n0", parse_cpu_list("0-7"))


def cpus_in(cgroups: CgroupReader, pod: str, container: str = "main") -> str:
    """What the kernel gives to a container of ours."""
    return format_cpu_list(
        cgroups.effective(f"placer/{pod}@default/{container}@{pod}", "cpuset.cpus")
    )


def mems_in(cgroups: CgroupReader, pod: str) -> str:
    """The NUMA nodes of a container of ours."""
    return format_cpu_list(cgroups.effective(f"placer/{pod}@default/main@{pod}", "cpuset.mems"))


def says(cgroups: CgroupReader, controller: str, pod: str, file: str) -> str:
    """What another file of a container of ours says."""
    path = cgroups.path(controller, f"placer/{pod}@default/main@{pod}", file)
    return cgroups.files.read(path)


def test_each_class_gets_its_cpus(cgroups: CgroupReader, state: AppliedStateFolder) -> None:
    """
    LSE alone, LSR with BE, LS in what nobody owns, BE in all but what LSE pods own.
    """
    document = a_document(
        a_pod("a", LSE, "0-1"), a_pod("b", LSR, "2"), a_pod("c", LS), a_pod("d", BE)
    )

    apply(document, cgroups, HOST, state)

    assert [cpus_in(cgroups, pod) for pod in "abcd"] == ["0-1", "2", "3-7", "2-7"]


def test_memory_comes_from_where_it_is_placed(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    A pod with CPUs of its own has its memory where the placement says, a pool pod anywhere (C19).
    """
    document = a_document(a_pod("a", LSE, "0-1", memory={1: GIB}), a_pod("c", memory={0: GIB}))

    apply(document, cgroups, HOST, state)

    assert [mems_in(cgroups, pod) for pod in "ac"] == ["1", "0-1"]


def test_limits_and_weights_are_written(cgroups: CgroupReader, state: AppliedStateFolder) -> None:
    """
    A CPU limit is a quota but for pods with CPUs of their own; requests are weights.
    """
    limits = ContainerLimits(1500, GIB, 100)
    document = a_document(
        a_pod("a", LS, milli=1000, limits=limits),
        a_pod("b", LSR, "0", limits=ContainerLimits(1000)),
    )

    apply(document, cgroups, HOST, state)

    if cgroups.version == 2:
        assert says(cgroups, "cpu", "a", "cpu.max") == "150000 100000"
        assert says(cgroups, "cpu", "a", "cpu.weight") == "100"
        assert says(cgroups, "memory", "a", "memory.max") == str(GIB)
        assert says(cgroups, "cpu", "b", "cpu.max") == "max 100000"
    else:
        assert says(cgroups, "cpu", "a", "cpu.cfs_quota_us") == "150000"
        assert says(cgroups, "cpu", "a", "cpu.shares") == "1024"
        assert says(cgroups, "memory", "a", "memory.limit_in_bytes") == str(GIB)
        assert says(cgroups, "cpu", "b", "cpu.cfs_quota_us") == "-1"
    assert says(cgroups, "pids", "a", "pids.max") == "100"


def test_limits_that_are_gone_are_taken_away(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    A cgroup of ours says what the document says, also where it says nothing any more.
    """
    apply(a_document(a_pod("a", limits=ContainerLimits(1500, GIB, 100))), cgroups, HOST, state)
    with_limits = a_document(
        a_pod("a"), a_pod("b", limits=ContainerLimits(500, GIB, 9)), generation=2
    )

    apply(with_limits, cgroups, HOST, state)

    if cgroups.version == 2:
        assert says(cgroups, "cpu", "a", "cpu.max") == "max 100000"
        assert says(cgroups, "memory", "a", "memory.max") == "max"
    else:
        assert says(cgroups, "cpu", "a", "cpu.cfs_quota_us") == "-1"
        assert int(says(cgroups, "memory", "a", "memory.limit_in_bytes")) > 2**62
    assert says(cgroups, "pids", "a", "pids.max") == "max"
    assert apply(with_limits, cgroups, HOST, state).plan.operations == ()


def test_a_root_that_is_a_unit_of_systemd_is_refused(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    systemd writes it again; a cgroup below a delegated unit is Placer's to write.
    """
    host = HostFactsForApply("n0", HOST.present, systemd=True)

    with pytest.raises(
        HostCannotApplyError, match=r"/placer.slice: placer.slice is a unit .* --root"
    ):
        apply(a_document(a_pod("a")), cgroups, host, state, root="placer.slice")

    assert not cgroups.exists("placer.slice")


@pytest.mark.parametrize("root", ["", "/placer", "a//b", "../up", "a/./b", "placer/"])
def test_a_root_is_a_path_of_plain_names(
    cgroups: CgroupReader, state: AppliedStateFolder, root: str
) -> None:
    """
    Anything else is refused before it reaches the kernel.
    """
    with pytest.raises(
        InapplicableDocumentError, match="is no path of a cgroup; expected such as placer"
    ):
        apply(a_document(a_pod("a")), cgroups, HOST, state, root=root)


def test_what_is_applied_is_not_applied_again(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    The second time there is nothing to do, and nothing is written.
    """
    document = a_document(
        a_pod("a", LSE, "0-1", memory={0: GIB}), a_pod("c", limits=ContainerLimits(500, GIB, 9))
    )
    apply(document, cgroups, HOST, state)
    before = {file.name: file.stat().st_mtime_ns for file in state.folder.iterdir()}

    assert apply(document, cgroups, HOST, state).plan.operations == ()
    assert {file.name: file.stat().st_mtime_ns for file in state.folder.iterdir()} == before


def test_pools_follow_when_pods_come_and_go(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    The shared pool shrinks for a new owner and grows again when it is gone (C7).
    """
    apply(a_document(a_pod("c")), cgroups, HOST, state)
    assert cpus_in(cgroups, "c") == "0-7"

    apply(a_document(a_pod("c"), a_pod("a", LSR, "4-7"), generation=2), cgroups, HOST, state)
    assert cpus_in(cgroups, "c") == "0-3"

    apply(a_document(a_pod("c"), generation=3), cgroups, HOST, state)
    assert cpus_in(cgroups, "c") == "0-7"
    assert not cgroups.exists("placer/a@default")


def test_a_pod_that_is_gone_and_still_runs_shares_what_is_shared(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    Its CPUs are given away, so it must leave them: its cgroup stays until its processes end.
    """
    apply(a_document(a_pod("a", LSE, "0-3"), a_pod("c")), cgroups, HOST, state)
    cgroups.files.start(cgroups.path("cpuset", "placer/a@default/main@a"))

    apply(a_document(a_pod("b", LSE, "0-3"), a_pod("c"), generation=2), cgroups, HOST, state)

    assert [cpus_in(cgroups, pod) for pod in "abc"] == ["4-7", "0-3", "4-7"]


def test_pods_change_places_over_the_shared_pool(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    In a circle of owners one is parked on the shared pool meanwhile.
    """
    apply(a_document(a_pod("a", LSE, "0"), a_pod("b", LSE, "1")), cgroups, HOST, state)
    swapped = a_document(a_pod("a", LSE, "1"), a_pod("b", LSE, "0"), generation=2)

    parked = [o.new for o in apply(swapped, cgroups, HOST, state).plan.operations]

    assert parked == ["2-7", "0", "1"]
    assert [cpus_in(cgroups, pod) for pod in "ab"] == ["1", "0"]


def test_without_a_shared_cpu_a_circle_is_refused(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    It is refused before the first write.
    """
    apply(a_document(a_pod("a", LSE, "0-3"), a_pod("b", LSE, "4-7")), cgroups, HOST, state)
    swapped = a_document(a_pod("a", LSE, "4-7"), a_pod("b", LSE, "0-3"), generation=2)

    with pytest.raises(HostCannotApplyError, match="wait for each other's CPUs"):
        apply(swapped, cgroups, HOST, state)

    assert [cpus_in(cgroups, pod) for pod in "ab"] == ["0-3", "4-7"]
    assert not (state.folder / JOURNAL).exists()


def test_containers_of_a_pod_have_their_parts(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    The CPUs of a pod are parted among its containers.
    """
    document = a_document(a_pod("a", LSE, "0-2", parts=(("x", "0"), ("y", "1-2"))))

    apply(document, cgroups, HOST, state)

    assert [cpus_in(cgroups, "a", part) for part in "xy"] == ["0", "1-2"]


def kubelets(cgroups: CgroupReader, *paths: str) -> HostFactsForApply:
    """A host on which the kubelet made cgroups, each with a process."""
    for path in paths:
        parts = path.split("/")
        for i, _ in enumerate(parts):
            above = "/".join(parts[: i + 1])
            if not cgroups.exists(above):
                cgroups.files.make_directory(cgroups.path("cpuset", above))
                for name, text in (("cpus", "0-7"), ("mems", "0-1")) * (cgroups.version == 1):
                    cgroups.files.write(cgroups.path("cpuset", above, f"cpuset.{name}"), text)
            if cgroups.version == 2 and i < len(parts) - 1:
                control = cgroups.path("cpuset", above, "cgroup.subtree_control")
                cgroups.files.write(control, "+cpuset +cpu")
        cgroups.files.start(cgroups.path("cpuset", path))
    return HOST


def test_containers_of_the_kubelet_are_found_by_the_uid_of_the_pod(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    Only their cpusets are written, and nothing above them.
    """
    path = "kubepods/pod11-22/c1"
    host = kubelets(cgroups, path)

    plan = apply(a_document(a_pod("a", LSR, "4-5", uid="11-22")), cgroups, host, state).plan

    assert format_cpu_list(cgroups.effective(path, "cpuset.cpus")) == "4-5"
    assert {operation.cgroup for operation in plan.operations} == {path}
    assert not cgroups.exists("placer")


def test_containers_of_one_pod_are_told_apart_by_their_ids(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    Without ids nobody knows whose CPUs are whose: all of them are on the CPUs of the pod.
    """
    host = kubelets(cgroups, "kubepods/pod1/c1", "kubepods/pod1/c2")
    parts = (("x", "0"), ("y", "1-2"))
    ids = {"x": "c1", "y": "c2"}

    unknown = a_document(a_pod("a", LSE, "0-2", parts=parts, uid="1"))
    (why,) = apply(unknown, cgroups, host, state).plan.left_alone
    assert "nothing tells which cgroup is whose; give the pod containerIds" in why
    both = [cgroups.effective(f"kubepods/pod1/{c}", "cpuset.cpus") for c in ("c1", "c2")]
    assert both == [{0, 1, 2}] * 2
    known = a_pod("a", LSE, "0-2", parts=parts, uid="1", container_ids=ids)
    assert not apply(a_document(known, generation=2), cgroups, host, state).plan.left_alone

    sets = [cgroups.effective(f"kubepods/pod1/{c}", "cpuset.cpus") for c in ("c1", "c2")]
    assert sets == [{0}, {1, 2}]


def test_a_container_that_does_not_run_is_told(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    The kubelet's cgroups are not ours to make; the pool shrinks for it all the same.
    """
    plan = apply(a_document(a_pod("a", LSE, "0-3", uid="1"), a_pod("c")), cgroups, HOST, state).plan

    assert plan.absent == ("a/main",)
    assert cpus_in(cgroups, "c") == "4-7"


@pytest.mark.parametrize("unit", ["cri-containerd-c1.scope", "c1"])
def test_a_cgroup_of_systemd_is_only_observed(
    cgroups: CgroupReader, state: AppliedStateFolder, unit: str
) -> None:
    """
    systemd writes the cgroup of a unit again at each reload: there are no two writers.
    """
    path = f"kubepods.slice/kubepods-pod1_2.slice/{unit}"
    host = replace(kubelets(cgroups, path), systemd=True)

    plan = apply(a_document(a_pod("a", LSE, "0-3", uid="1-2")), cgroups, host, state).plan

    if unit == "c1":
        assert cgroups.effective(path, "cpuset.cpus") == {0, 1, 2, 3}
        assert plan.observed == ()
    else:
        assert len(cgroups.effective(path, "cpuset.cpus")) == 8
        assert "is a unit of systemd" in plan.observed[0]
        assert "Placer only observes it" in plan.observed[0]


@pytest.mark.parametrize(
    ("fault", "words"),
    [("", "the kubelet's static CPU policy"), ("cpu_manager_state is corrupt", "is corrupt")],
)
def test_beside_the_kubelets_static_policy_all_is_only_observed(
    cgroups: CgroupReader, state: AppliedStateFolder, fault: str, words: str
) -> None:
    """
    Who else gives CPUs out is not fought with, nor who may do so for all we can read (C16).
    """
    host = HostFactsForApply("n0", parse_cpu_list("0-7"), static_policy=True, kubelet_fault=fault)

    plan = apply(a_document(a_pod("a", LSE, "0-3")), cgroups, host, state).plan

    assert plan.operations == ()
    assert words in plan.observed[0]
    assert not cgroups.exists("placer")


def test_a_missing_controller_above_is_named(state: AppliedStateFolder) -> None:
    """
    The cgroup above our root is not ours: it is named, with what to write there.
    """
    files = FakeV2()
    files.write("cgroup.subtree_control", "-cpuset")

    with pytest.raises(
        HostCannotApplyError, match=r"/ is not ours .* write '\+cpuset' to its cgroup"
    ):
        apply(a_document(a_pod("a")), CgroupReader(files), HOST, state)

    assert not files.exists("placer")


def test_cpus_that_are_offline_are_refused(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    An owner needs them; a pool goes on without them.
    """
    cgroups.files.set_online(3, False)

    with pytest.raises(HostCannotApplyError, match="CPUs 3, which are not online"):
        apply(a_document(a_pod("a", LSE, "2-3")), cgroups, HOST, state)
    assert not cgroups.exists("placer")
    apply(a_document(a_pod("a", LSE, "0-1"), a_pod("c")), cgroups, HOST, state)

    assert cpus_in(cgroups, "c") == "2,4-7"


def test_a_document_for_another_machine_is_refused(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    CPUs that this machine never had say that another one is meant.
    """
    with pytest.raises(InapplicableDocumentError, match=r"CPUs 8-15, .* for another machine"):
        apply(a_document(a_pod("a"), node=a_node(16)), cgroups, HOST, state)


def test_overlapping_owners_are_refused(cgroups: CgroupReader, state: AppliedStateFolder) -> None:
    """
    A CPU has one owner; the judge's words say who.
    """
    document = a_document(a_pod("a", LSE, "0-1"), a_pod("b", LSR, "1-2"))

    with pytest.raises(
        InapplicableDocumentError, match=r"pod 'b' owns CPUs 1 .* which pod 'a' owns"
    ):
        apply(document, cgroups, HOST, state)

    assert not cgroups.exists("placer")


def test_a_pool_without_cpus_is_refused(cgroups: CgroupReader, state: AppliedStateFolder) -> None:
    """
    A pod of a pool needs a CPU.
    """
    document = a_document(a_pod("a", LSE, "0-7"), a_pod("c"))

    with pytest.raises(
        InapplicableDocumentError, match="the 1 LS pod of node 'n0' may use is owned"
    ):
        apply(document, cgroups, HOST, state)


def test_an_older_document_is_refused(cgroups: CgroupReader, state: AppliedStateFolder) -> None:
    """
    A lower generation is out of date.
    """
    apply(a_document(generation=5), cgroups, HOST, state)

    with pytest.raises(
        InapplicableDocumentError, match=r"is out of date: its generation is 4, and 5 was applied"
    ):
        apply(a_document(a_pod("a"), generation=4), cgroups, HOST, state)


def test_other_content_of_the_same_generation_is_refused(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    Also by the next process; the same content again is fine.
    """
    first = a_document(a_pod("a"), generation=5)
    apply(first, cgroups, HOST, state)

    for again in (state, AppliedStateFolder(state.folder)):
        with pytest.raises(
            InapplicableDocumentError, match=r"says something else .* generation 5; .* 6"
        ):
            apply(a_document(a_pod("a"), a_pod("b"), generation=5), cgroups, HOST, again)
        assert apply(first, cgroups, HOST, again).plan.operations == ()

    assert not cgroups.exists("placer/b@default")


def test_what_was_refused_does_not_take_the_generation(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    Only what was applied counts: a mended document may have the number of the one it mends.
    """
    apply(a_document(a_pod("a")), cgroups, HOST, state)
    with pytest.raises(InapplicableDocumentError):
        apply(a_document(a_pod("a", LSE, "0-7"), a_pod("b"), generation=2), cgroups, HOST, state)

    apply(a_document(a_pod("a", LSE, "0-6"), a_pod("b"), generation=2), cgroups, HOST, state)

    assert cpus_in(cgroups, "a") == "0-6"


def test_a_missing_right_is_named(cgroups: CgroupReader, state: AppliedStateFolder) -> None:
    """
    Who may not write is told where, and nothing has changed.
    """
    cgroups.files.set_user(1000)

    with pytest.raises(HostCannotApplyError, match=r"no right to write .*placer"):
        apply(a_document(a_pod("a")), cgroups, HOST, state)

    assert not (state.folder / JOURNAL).exists()


def test_a_read_only_mount_is_named(cgroups: CgroupReader, state: AppliedStateFolder) -> None:
    """
    So is a file system that was mounted read-only.
    """
    cgroups.files.set_read_only(True)

    with pytest.raises(HostCannotApplyError, match="Read-only file system"):
        apply(a_document(a_pod("a")), cgroups, HOST, state)


def test_a_limit_below_what_is_used_is_refused(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    The kernel would end processes to keep it.
    """
    apply(a_document(a_pod("a", limits=ContainerLimits(None, 2 * GIB))), cgroups, HOST, state)
    file = "memory.current" if cgroups.version == 2 else "memory.usage_in_bytes"
    path = cgroups.path("memory", "placer/a@default/main@a", file)
    read, exists = cgroups.files.read, cgroups.files.exists
    cgroups.files.read = lambda p: str(GIB + 1) if p == path else read(p)
    cgroups.files.exists = lambda p: p == path or exists(p)

    with pytest.raises(HostCannotApplyError, match="more than its limit"):
        apply(
            a_document(a_pod("a", limits=ContainerLimits(None, GIB)), generation=2),
            cgroups,
            HOST,
            state,
        )


@pytest.mark.parametrize("name", [JOURNAL, COMMITTED])
@pytest.mark.parametrize("damage", ["cut", "changed", "rewritten", "empty"])
def test_a_damaged_journal_stops_everything(
    cgroups: CgroupReader, state: AppliedStateFolder, name: str, damage: str
) -> None:
    """
    What was being done is not known, so nothing is written until somebody has looked.
    """
    apply(a_document(a_pod("a")), cgroups, HOST, state)
    good = (state.folder / APPLIED).read_bytes()
    bad = {
        "cut": good[: len(good) // 2],
        "changed": good.replace(b'"LS"', b'"BE"'),
        "rewritten": b"{}\n",
        "empty": b"",
    }[damage]
    (state.folder / name).write_bytes(bad)

    with pytest.raises(ObserveOnlyError, match=r"cut short or was changed .* nothing is written"):
        apply(a_document(a_pod("b", LSE, "0"), generation=2), cgroups, HOST, state)

    assert not cgroups.exists("placer/b@default")


def test_a_full_disk_refuses_before_the_first_write(
    cgroups: CgroupReader, state: AppliedStateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Without a journal nothing is changed.
    """

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("placer.node.state.os.fsync", full)

    with pytest.raises(
        HostCannotApplyError, match=r"journal cannot be written .* nothing was changed"
    ):
        apply(a_document(a_pod("a")), cgroups, HOST, state)

    assert not cgroups.exists("placer")
    assert not (state.folder / JOURNAL).exists()


def test_who_could_not_take_it_back_only_observes(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    An undo that fails is written down, and stops the next run as well.
    """
    apply(a_document(a_pod("a", LSE, "0-1"), a_pod("c")), cgroups, HOST, state)
    write, seen = cgroups.files.write, []

    def failing(path: str, text: str) -> None:
        seen.append(path)
        if len(seen) > 1:
            raise OSError(5, "Input/output error", path)
        write(path, text)

    cgroups.files.write = failing
    document = a_document(a_pod("a", LSE, "0-2"), a_pod("c"), generation=2)
    with pytest.raises(ObserveOnlyError, match="taking it back failed"):
        apply(document, cgroups, HOST, state)
    cgroups.files.write = write

    with pytest.raises(ObserveOnlyError, match="Placer only observes this node"):
        apply(document, cgroups, HOST, state)
    (state.folder / OBSERVE_ONLY).unlink()
    assert apply(document, cgroups, HOST, state).recovered == (
        "took back generation 2, which had broken off"
    )
    assert cpus_in(cgroups, "a") == "0-2"


def test_a_plan_says_from_what_to_what_and_why(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    A plan is data, made without a write.
    """
    apply(a_document(a_pod("c")), cgroups, HOST, state)
    document = a_document(a_pod("c"), a_pod("a", LSE, "0"), generation=2)

    plan = cgroup_plan_of(document, cgroups, HOST)

    first = plan.operations[2] if cgroups.version == 2 else None
    told = [(o.old, o.new, o.why) for o in plan.operations if o.cgroup.endswith("main@c")]
    assert told == [("0-7", "1-7", "the shared pool")]
    assert first is None or first.cgroup.startswith("placer/a@default")
    assert not cgroups.exists("placer/a@default")


def test_cgroups_inside_a_container_move_with_it(state: AppliedStateFolder) -> None:
    """
    On version 1 what is inside would hold the container back.
    """
    cgroups = CgroupReader(FakeV1())
    host = kubelets(cgroups, "kubepods/pod1/c1/inside/deeper")
    at = "kubepods/pod1/c1"
    for cgroup in (f"{at}/inside/deeper", f"{at}/inside", at):
        cgroups.files.write(f"cpuset/{cgroup}/cpuset.cpus", "0-1")
    apply(a_document(a_pod("a", LSE, "4-5", uid="1")), cgroups, host, state)

    for cgroup in (at, f"{at}/inside", f"{at}/inside/deeper"):
        assert format_cpu_list(cgroups.effective(cgroup, "cpuset.cpus")) == "4-5"


def test_a_container_below_a_cgroup_that_lacks_its_cpus_stops_no_other(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    What is above is not ours: it is named, with what it has, and the others are done.
    """
    host = kubelets(cgroups, "kubepods/pod1/c1")
    for above in ("kubepods/pod1/c1", "kubepods/pod1", "kubepods"):
        cgroups.files.write(cgroups.path("cpuset", above, "cpuset.cpus"), "0-3")

    document = a_document(a_pod("a", LSR, "4-5", uid="1"), a_pod("b", LSR, "6"))
    (why,) = apply(document, cgroups, host, state).plan.left_alone

    assert "a/main is left alone: a/main is to have the CPUs 4-5, and /kubepods/pod1 above" in why
    assert cpus_in(cgroups, "b") == "6"
    assert cgroups.effective("kubepods/pod1/c1", "cpuset.cpus") == {0, 1, 2, 3}


def test_without_a_commit_all_is_taken_back(
    cgroups: CgroupReader, state: AppliedStateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A disk that takes the journal and not the commit: a restart would take it back, too.
    """
    apply(a_document(a_pod("c")), cgroups, HOST, state)

    def full() -> None:
        raise OSError(28, "No space left on device", "committed.json")

    monkeypatch.setattr(state, "commit", full)
    document = a_document(a_pod("c"), a_pod("a", LSE, "0-1"), generation=2)
    with pytest.raises(HostCannotApplyError, match=r"No space left .* is taken back"):
        apply(document, cgroups, HOST, state)

    assert cpus_in(cgroups, "c") == "0-7"
    assert not cgroups.exists("placer/a@default")
    assert [file.name for file in state.folder.iterdir()] == [APPLIED]


def test_after_the_commit_a_full_disk_takes_nothing_back(
    cgroups: CgroupReader, state: AppliedStateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The node does what the document says; the next run writes that down.
    """
    document = a_document(a_pod("a", LSE, "0-1"))

    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(state, "finished", full)
        with pytest.raises(HostCannotApplyError, match="does what the document says, but"):
            apply(document, cgroups, HOST, state)

    assert cpus_in(cgroups, "a") == "0-1"
    done = apply(document, cgroups, HOST, state)
    assert done.recovered == "finished generation 1, which had broken off"
    assert done.plan.operations == ()


def test_the_effect_is_proven_not_believed(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    A kernel that takes a set and gives another one: the write succeeded, and is taken back.
    """
    apply(a_document(a_pod("c")), cgroups, HOST, state)
    write = cgroups.files.write

    def crooked(path: str, text: str) -> None:
        write(path, "0" if path.endswith("main@a/cpuset.cpus") else text)

    cgroups.files.write = crooked
    document = a_document(a_pod("c"), a_pod("a", LSE, "0-1"), generation=2)
    with pytest.raises(
        HostCannotApplyError, match=r"wrote '0-1', and it says '0'; .* is taken back"
    ):
        apply(document, cgroups, HOST, state)

    assert cpus_in(cgroups, "c") == "0-7"
    assert not cgroups.exists("placer/a@default")
