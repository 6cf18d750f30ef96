"""Containers are found where their runtimes put them, and nowhere else."""

import pytest

from node.node_documents import a_pod
from placer.node.cgroups import CgroupReader
from placer.node.container_lookup import ContainerCgroupFinder, LocatedContainer
from placer.node.container_roots import CONTAINER_ROOTS

UID, ID = "1f2e-3d4c", "5" * 64
POD, ALONE = a_pod("a", uid=UID), a_pod("a", container_ids={"main": ID})
BOTH = a_pod("a", uid=UID, container_ids={"main": ID})

KUBELETS = [
    f"kubepods/burstable/pod{UID}/{ID}",
    f"kubepods/besteffort/pod{UID}/crio-{ID}",
    f"kubepods/pod{UID}/{ID}",
    "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f2e_3d4c.slice/"
    f"cri-containerd-{ID}.scope",
    "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
    f"kubelet-kubepods-besteffort-pod1f2e_3d4c.slice/crio-{ID}.scope",
    f"kubelet/kubepods/pod{UID}/{ID}",
    f"kubepods.slice/kubepods-pod1f2e_3d4c.slice/docker-{ID}.scope",
]
OTHERS = [
    f"docker/{ID}",
    f"system.slice/docker-{ID}.scope",
    f"machine.slice/libpod-{ID}.scope",
    f"machine.slice/machine-libpod_pod_1.slice/libpod-{ID}.scope",
    f"libpod_parent/libpod-{ID}",
]
ELSEWHERE = [
    f"user.slice/user-1000.slice/user@1000.service/kubepods/pod{UID}/{ID}",
    f"user.slice/pod{UID}/{ID}",
    f"kubepods/burstable/podother/c/pod{UID}/{ID}",
    f"kubepods/podother/c/kubepods/pod{UID}/{ID}",
    f"kubepods/burstable/burstable/x/pod{UID}/{ID}",
    f"kubepods/burstable/mine/pod{UID}/{ID}",
    f"kubepods.slice/kubepods-mine.scope/kubepods-pod1f2e_3d4c.slice/{ID}",
    f"kubepods.slice/other-pod1f2e_3d4c.slice/{ID}",
    f"system.slice/mine.service/docker-{ID}.scope",
    f"system.slice/mine.service/kubepods/pod{UID}/{ID}",
    f"placer/other@default/main@other/pod{UID}/{ID}",
    f"pod{UID}/{ID}",
    ID,
]


def make(cgroups: CgroupReader, *paths: str, run: bool = True) -> None:
    """Make cgroups, with a process in each."""
    tree = cgroups.files
    for path in paths:
        above = ""
        for part in path.split("/"):
            above = f"{above}/{part}" if above else part
            if not cgroups.exists(above):
                tree.make_directory(cgroups.path("cpuset", above))
                for name in ("cpus", "mems") if cgroups.version == 1 else ():
                    tree.write(cgroups.path("cpuset", above, f"cpuset.{name}"), "0")
        if run:
            tree.start(cgroups.path("cpuset", path))


def find(
    cgroups: CgroupReader, pod: object = POD, roots: tuple[str, ...] = CONTAINER_ROOTS
) -> LocatedContainer:
    return ContainerCgroupFinder(cgroups, roots).find(pod, "main")


@pytest.mark.parametrize("path", KUBELETS)
@pytest.mark.parametrize("inside", ["", "/container", "/a/b", f"/kubepods/pod{UID}/{ID}"])
def test_a_kubelets_container_is_found_by_uid_and_by_id(
    cgroups: CgroupReader, path: str, inside: str
) -> None:
    """
    Wherever a kubelet puts it with either driver, and whatever it made inside.
    """
    make(cgroups, path + inside, "system.slice/ssh.service", "kubepods/podother/c")

    assert [find(cgroups, one) for one in (POD, BOTH, ALONE)] == [
        LocatedContainer((path,), True)
    ] * 3
    assert find(cgroups, a_pod("a", uid="1f2e")) == LocatedContainer()
    assert find(cgroups, a_pod("a", uid=UID, container_ids={"main": "6"})) == LocatedContainer()


@pytest.mark.parametrize("path", OTHERS)
def test_a_container_of_another_runtime_is_found_by_its_id(
    cgroups: CgroupReader, path: str
) -> None:
    """
    Where docker and podman put theirs, with either driver.
    """
    make(cgroups, f"{path}/container")

    assert find(cgroups, ALONE) == LocatedContainer((path,), True)
    assert find(cgroups, BOTH) == LocatedContainer()


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("system.slice/db.service", "db.service"),
        ("system.slice/system-db.slice/db-1.service", "db-1.service"),
        ("system.slice/slurmstepd.scope/job_7", "job_7"),
        ("slurm/uid_1000/job_7", "job_7"),
    ],
)
def test_services_and_jobs_are_found_by_their_names(
    cgroups: CgroupReader, path: str, told: str
) -> None:
    """
    Those of systemd, and of Slurm on both versions.
    """
    make(cgroups, f"{path}/step_0")

    assert find(cgroups, a_pod("a", container_ids={"main": told})) == LocatedContainer(
        (path,), True
    )


@pytest.mark.parametrize("path", ELSEWHERE)
def test_a_cgroup_of_the_right_name_elsewhere_is_nobodys(cgroups: CgroupReader, path: str) -> None:
    """
    Alone it is not taken, and beside the right one it changes nothing.
    """
    make(cgroups, path)
    assert [find(cgroups, one) for one in (POD, BOTH, ALONE)] == [LocatedContainer()] * 3

    make(cgroups, KUBELETS[0])
    assert [find(cgroups, one) for one in (POD, BOTH, ALONE)] == [
        LocatedContainer((KUBELETS[0],), True)
    ] * 3


@pytest.mark.parametrize(
    ("file", "user", "mode", "says"),
    [
        ("", 1000, 0o755, "belongs to uid 1000, who may put anything there"),
        ("cgroup.procs", 1000, 0o644, "/cgroup.procs belongs to uid 1000"),
        ("", 0, 0o775, "has mode 775, so that others may put anything there"),
        ("cgroup.procs", 0, 0o666, "/cgroup.procs has mode 666"),
    ],
)
@pytest.mark.parametrize("step", ["kubepods/burstable/podother", f"kubepods/burstable/pod{UID}"])
def test_a_step_that_others_may_change_is_not_believed(
    cgroups: CgroupReader, step: str, file: str, user: int, mode: int, says: str
) -> None:
    """
    The pod behind it is named with the step and its owner; other pods are found as ever.
    """
    make(cgroups, KUBELETS[0], "kubepods/burstable/podother/c")
    cgroups.files.owners[cgroups.path("cpuset", step, file)] = (user, mode)
    pods = {"podother": a_pod("o", uid="other"), f"pod{UID}": POD}
    strange = pods.pop(step.rpartition("/")[2])
    (other,) = pods.values()

    found = find(cgroups, strange)
    assert (found.cgroups, says in found.why_not) == ((), True)
    assert f"/{step}" in found.why_not
    assert find(cgroups, other).runs


def test_a_container_may_own_its_cgroup(cgroups: CgroupReader) -> None:
    """
    What a runtime hands to a container with users of its own is that container's all the same.
    """
    make(cgroups, KUBELETS[0])
    for file in ("", "cgroup.procs"):
        cgroups.files.owners[cgroups.path("cpuset", KUBELETS[0], file)] = (1000, 0o755)

    assert (
        find(cgroups)
        == find(cgroups, BOTH)
        == find(cgroups, ALONE)
        == LocatedContainer((KUBELETS[0],), True)
    )


def test_a_root_that_others_may_change_is_not_looked_into(cgroups: CgroupReader) -> None:
    """
    Nor a class of the kubelet's: and it is told.
    """
    make(cgroups, *KUBELETS[:2])
    for step in ("kubepods/burstable", "docker"):
        make(cgroups, step, run=False)
        cgroups.files.owners[cgroups.path("cpuset", step)] = (1000, 0o755)

    containers = ContainerCgroupFinder(cgroups, CONTAINER_ROOTS)
    assert containers.find(POD, "main").cgroups == (KUBELETS[1],)
    assert list(containers.barred) == ["docker", "kubepods/burstable"]


def test_two_cgroups_that_could_be_it_are_both_left(cgroups: CgroupReader) -> None:
    """
    Unless only one of them has a process: the other one is left over.
    """
    make(cgroups, KUBELETS[2])
    make(cgroups, KUBELETS[3], run=False)
    assert find(cgroups) == find(cgroups, ALONE) == LocatedContainer((KUBELETS[2],), True)

    cgroups.files.start(cgroups.path("cpuset", KUBELETS[3]))
    found = find(cgroups)
    assert (found.cgroups, found.runs) == ((), False)
    assert f"/kubepods/pod{UID}" in found.why_not
    assert "/kubepods-burstable-pod1f2e_3d4c.slice" in found.why_not
    assert "could each be it; remove what is not" in found.why_not
    assert find(cgroups, BOTH).cgroups == find(cgroups, ALONE).cgroups == ()


def test_conmon_is_no_container(cgroups: CgroupReader) -> None:
    """
    CRI-O and podman put it beside the container, under the same id.
    """
    make(cgroups, KUBELETS[4], KUBELETS[4].replace("crio-", "crio-conmon-"))
    make(cgroups, OTHERS[2], OTHERS[2].replace("libpod-", "libpod-conmon-"))

    assert find(cgroups, BOTH) == LocatedContainer((KUBELETS[4],), True)
    assert len(find(cgroups).cgroups) == 2, "but it is of the pod"


def test_roots_are_configured(cgroups: CgroupReader) -> None:
    """
    For a kubelet with another cgroupRoot; what is not named is not looked into.
    """
    there = f"mine/kubepods/burstable/pod{UID}/{ID}"
    make(cgroups, there, KUBELETS[2])

    assert find(cgroups, POD, ("mine/kubepods", "not-there")) == LocatedContainer((there,), True)
    assert find(cgroups, BOTH).cgroups == (KUBELETS[2],)
