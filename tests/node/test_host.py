"""What is found on a machine: its cgroup mounts, its containers, who else writes."""

from pathlib import Path

import pytest

from kubernetes.kubelet_rows import row_of
from placer.node.host import read_host_facts
from placer.node.mounts import CgroupMountError, kernel_cgroup_filesystem

V2 = "30 25 0:26 / {where} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
V1 = "3{n} 25 0:2{n} / /sys/fs/cgroup/{name} {mode},nosuid - cgroup cgroup rw,{name}"
BUSY = "40 25 0:40 / /tmp rw - tmpfs tmpfs rw"


def mountinfo(folder: Path, *lines: str) -> Path:
    """Return a file of these mounts."""
    file = folder / "mountinfo"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def unified(folder: Path, controllers: str) -> str:
    """A line of a cgroup2 mount with these controllers."""
    (folder / "v2").mkdir(exist_ok=True)
    (folder / "v2" / "cgroup.controllers").write_text(controllers)
    return V2.format(where=folder / "v2")


def v1(name: str, mode: str = "rw") -> str:
    """A line of a cgroup v1 mount."""
    return V1.format(n=len(name), name=name, mode=mode)


def test_the_unified_hierarchy_is_used(tmp_path: Path) -> None:
    """
    Version 2 is where its controllers are.
    """
    found = kernel_cgroup_filesystem(
        mountinfo(tmp_path, BUSY, unified(tmp_path, "cpuset cpu memory pids"))
    )

    assert (found.version, found.mounts) == (2, {"": tmp_path / "v2"})


def test_a_unified_hierarchy_without_controllers_counts_for_nothing(tmp_path: Path) -> None:
    """
    As systemd mounts it beside version 1, for itself.
    """
    lines = [v1("cpuset"), v1("cpu,cpuacct"), v1("memory"), unified(tmp_path, "")]

    found = kernel_cgroup_filesystem(mountinfo(tmp_path, *lines))

    assert found.version == 1
    assert {name: str(path) for name, path in found.mounts.items()} == {
        "cpuset": "/sys/fs/cgroup/cpuset",
        "cpu": "/sys/fs/cgroup/cpu,cpuacct",
        "memory": "/sys/fs/cgroup/memory",
    }


def test_hugetlb_is_used_where_it_is_and_never_in_the_way(tmp_path: Path) -> None:
    """
    Beside the others on version 1; on the other version it does not count.
    """
    both = kernel_cgroup_filesystem(mountinfo(tmp_path, v1("cpuset"), v1("hugetlb")))
    assert set(both.mounts) == {"cpuset", "hugetlb"}
    alone = kernel_cgroup_filesystem(
        mountinfo(tmp_path, v1("cpuset"), unified(tmp_path, "hugetlb"))
    )
    assert (alone.version, set(alone.mounts)) == (1, {"cpuset"})
    rest = unified(tmp_path, "cpuset cpu memory pids")
    assert kernel_cgroup_filesystem(mountinfo(tmp_path, v1("hugetlb"), rest)).version == 2


def test_half_of_each_version_is_refused(tmp_path: Path) -> None:
    """
    Some controllers on one and some on the other: the message says which, and what to do.
    """
    lines = [v1("cpuset"), unified(tmp_path, "memory pids")]

    with pytest.raises(
        CgroupMountError, match=r"cpuset are on cgroup v1 and memory, pids on v2; .*boot"
    ):
        kernel_cgroup_filesystem(mountinfo(tmp_path, *lines))


def test_no_mount_and_a_read_only_mount_are_refused(tmp_path: Path) -> None:
    """
    Each with the command that helps.
    """
    with pytest.raises(CgroupMountError, match="no cgroup file system with the cpuset controller"):
        kernel_cgroup_filesystem(mountinfo(tmp_path, BUSY))
    with pytest.raises(CgroupMountError, match="mounted read-only; 'mount -o remount,rw"):
        kernel_cgroup_filesystem(mountinfo(tmp_path, v1("cpuset", "ro")))


def proc(folder: Path, **cgroups: str) -> Path:
    """Return a root whose processes are in these cgroups, by their number."""
    for name, text in cgroups.items():
        pid = folder / "proc" / name.removeprefix("p")
        pid.mkdir(parents=True)
        (pid / "cgroup").write_text(text)
    (folder / "proc" / "self").mkdir(parents=True, exist_ok=True)
    return folder


NONE = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'
STATIC = '{"policyName":"static","defaultCpuSet":"0-27","checksum":273146150}'


@pytest.mark.parametrize(
    ("state", "rival"),
    [
        (None, None),
        (NONE, None),
        (STATIC, "the kubelet's static CPU policy gives CPUs out on this node"),
        (
            NONE.replace("0}", "1}"),
            "its var/lib/kubelet/cpu_manager_state: checksum: the file is corrupt: its checks",
        ),
        (STATIC.replace("static", "none"), "the kubelet may give CPUs out on this node: its var"),
        ("{cut sho", "cpu_manager_state: is not JSON: "),
        ("[" * 100_000, "cpu_manager_state: brackets are nested too deep; drain"),
        ("\xff", "cpu_manager_state is not UTF-8"),
    ],
)
def test_the_kubelets_policy_is_read(tmp_path: Path, state: str | None, rival: str | None) -> None:
    """
    A checkpoint that cannot be read, or is corrupt, counts as static: nothing is written (C16).
    """
    root = proc(tmp_path, p1="0::/\n")
    if state is not None:
        folder = root / "var/lib/kubelet"
        folder.mkdir(parents=True)
        (folder / "cpu_manager_state").write_text(state, encoding="latin-1")

    host = read_host_facts(root)

    assert host.static_policy is (rival is not None)
    told = host.rival("kubepods/pod1/c1")
    assert told == rival if rival is None else rival in (told or "")


MEMORY = '{"policyName":"None","machineState":{},"checksum":4236770233}'
GIVES = (
    '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":'
    '{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},'
    '"cells":[]}},"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]'
    '}},"checksum":4215593881}'
)


@pytest.mark.parametrize(
    ("state", "rival"),
    [
        (MEMORY, None),
        (GIVES, "the kubelet's static memory policy gives memory out on this node"),
        (MEMORY.replace("None", "none"), "its var/lib/kubelet/memory_manager_state: checksum: "),
    ],
)
def test_the_kubelets_memory_policy_is_read(tmp_path: Path, state: str, rival: str | None) -> None:
    """
    It writes the memory nodes of containers as its CPU manager writes their CPUs.
    """
    root = proc(tmp_path, p1="0::/\n")
    folder = root / "var/lib/kubelet"
    folder.mkdir(parents=True)
    (folder / "memory_manager_state").write_text(state, encoding="utf-8")

    host = read_host_facts(root)

    assert host.static_memory is (rival is not None)
    told = host.rival("kubepods/pod1/c1")
    assert told == rival if rival is None else rival in (told or "")


def test_a_kubelet_may_have_another_root_directory(tmp_path: Path) -> None:
    """
    Its three files are there, as messages say; what is in the usual one is then nobody's.
    """
    root = proc(tmp_path, p1="0::/\n")
    for folder, text in (("var/lib/kubelet", "{cut"), ("data/kubelet", STATIC)):
        (root / folder / "device-plugins").mkdir(parents=True)
        (root / folder / "cpu_manager_state").write_text(text)
    (root / "data/kubelet" / HELD.removeprefix("var/lib/kubelet/")).write_text("{cut sho")

    for kubelet_root in ("/data/kubelet", "/data/kubelet/"):
        host = read_host_facts(root, kubelet_root=kubelet_root)
        assert host.static_policy
        assert host.kubelet_fault == ""
        assert host.held_file == "data/kubelet/device-plugins/kubelet_internal_checkpoint"
        assert host.held_fault.startswith(f"{host.held_file}: is not JSON: ")
    assert read_host_facts(root).kubelet_fault.startswith("var/lib/kubelet/cpu_manager_state: ")
    assert read_host_facts(root).held_fault == ""


def test_units_of_systemd_are_told_from_what_is_inside_them(tmp_path: Path) -> None:
    """
    systemd writes the cgroup of a unit; below one that is delegated it writes nothing.
    """
    root = proc(tmp_path, p1="0::/\n")
    assert read_host_facts(root).rival("a.slice/b.scope") is None
    (root / "run/systemd/system").mkdir(parents=True)
    host = read_host_facts(root)

    assert host.systemd
    assert host.rival("a.slice/b.scope") is not None
    assert host.rival("a.slice/b.scope/container") is None


HELD = "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"


@pytest.mark.parametrize(
    ("state", "held", "fault"),
    [
        (None, [], ""),
        (
            row_of("devices", "2"),
            ["55784671-0e4e-49e2-b4d6-c0377ca14c81", "6c5f3038-adfc-485d-9943-3fd5e825300d"],
            "",
        ),
        (row_of("devices", "2").replace("1", "2", 1), [], f"{HELD}: "),
        ("{cut sho", [], f"{HELD}: is not JSON: "),
    ],
)
def test_the_devices_of_the_kubelets_pods_are_read(
    tmp_path: Path, state: str | None, held: list[str], fault: str
) -> None:
    """
    A checkpoint that is corrupt says nothing but that (D12).
    """
    root = proc(tmp_path, p1="0::/\n")
    if state is not None:
        (root / HELD).parent.mkdir(parents=True)
        (root / HELD).write_text(state)

    host = read_host_facts(root)

    assert sorted({one.pod_uid for one in host.held}) == held
    assert host.held_fault.startswith(fault)
    assert bool(host.held_fault) is bool(fault)
    assert host.rival("kubepods/pod1/c1") is None
