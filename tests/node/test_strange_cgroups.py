"""Strange cgroups: what somebody else did to one stops neither the others nor the next run."""

import json
from pathlib import Path

from node.fake_cgroupfs import FakeV1
from node.node_documents import a_document, a_pod
from node.test_apply import cpus_in, kubelets
from placer.node.agent.agent import Agent
from placer.node.agent.inbox import AgentDocumentFolderReader
from placer.node.apply import apply
from placer.node.cgroups import CgroupReader
from placer.node.state import OBSERVE_ONLY, AppliedStateFolder
from placer_models.cpuset import format_cpu_list
from placer_models.instance.node_file import node_placement_document_to_dict
from placer_models.policy import QosClass

LSE = QosClass.LSE


def test_a_container_that_the_kernel_refuses_stops_no_other(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    It is tried three times; then it is left as it was, and named, and the others are done.
    """
    host = kubelets(cgroups, "kubepods/pod1/c1")
    write, tries = cgroups.files.write, []

    def refusing(path: str, text: str) -> None:
        if path.endswith("kubepods/pod1/c1/cpuset.cpus"):
            tries.append(text)
            raise OSError(16, "Device or resource busy", path)
        write(path, text)

    cgroups.files.write = refusing
    document = a_document(a_pod("a", uid="1"), a_pod("b", LSE, "4-5"))
    (why,) = apply(document, cgroups, host, state).plan.left_alone

    assert tries == ["0-3,6-7"] * 3
    assert "a/main is left alone: " in why
    assert "c1/cpuset.cpus: the kernel says Device or resource busy" in why
    assert cpus_in(cgroups, "b") == "4-5"
    assert state.applied() == document


def test_a_container_that_goes_between_plan_and_write_is_no_refusal(
    cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """
    The plan is made again, without it.
    """
    host = kubelets(cgroups, "kubepods/pod1/c1")
    write = cgroups.files.write

    def going(path: str, text: str) -> None:
        if path.endswith("kubepods/pod1/c1/cpuset.cpus") and cgroups.exists("kubepods/pod1/c1"):
            tree = cgroups.files
            for pid in tree.processes():
                tree.stop(pid)
            tree.remove_directory(cgroups.path("cpuset", "kubepods/pod1/c1"))
        write(path, text)

    cgroups.files.write = going
    document = a_document(a_pod("a", uid="1"), a_pod("b", LSE, "4-5"))
    plan = apply(document, cgroups, host, state).plan

    assert (plan.absent, plan.left_alone) == (("a/main",), ())
    assert cpus_in(cgroups, "b") == "4-5"


def test_a_delegated_cgroup_inside_does_not_end_all_writing(state: AppliedStateFolder) -> None:
    """
    What its owner did there while it was taken back is drift: version 1 refuses to take back a set
    that holds less than one inside.
    """
    cgroups = CgroupReader(FakeV1())
    inside = "kubepods/pod1/c1/inside"
    host = kubelets(cgroups, inside)
    for path in (inside, "kubepods/pod1/c1"):
        cgroups.files.owners[f"cpuset/{path}"] = (1000, 0o755)
        cgroups.files.write(f"cpuset/{path}/cpuset.cpus", "0-1")
    write = cgroups.files.write
    meddled = []

    def meddling(path: str, text: str) -> None:
        """Its owner takes a cgroup away once, when it should become smaller."""
        if path == f"cpuset/{inside}/cpuset.cpus" and not meddled:
            meddled.append(text)
            raise OSError(2, "No such file or directory", path)
        if len(meddled) == 1 and path == "cpuset/kubepods/pod1/c1/cpuset.cpus":
            meddled.append(text)
            raise OSError(16, "Device or resource busy", path)
        write(path, text)

    cgroups.files.write = meddling
    apply(a_document(a_pod("a", LSE, "4-5", uid="1")), cgroups, host, state)

    assert len(meddled) == 2
    assert not (state.folder / OBSERVE_ONLY).exists()
    assert format_cpu_list(cgroups.effective(inside, "cpuset.cpus")) == "4-5"


def test_the_agent_says_what_it_left_alone_until_it_is_clear(
    cgroups: CgroupReader, tmp_path: Path
) -> None:
    """
    Two cgroups could be the pod's; then one of them is gone. The others are done all the time.
    """
    one, other = "kubepods/pod1/c1", "kubepods/burstable/pod1/c1"
    host = kubelets(cgroups, one, other)
    documents = tmp_path / "documents"
    documents.mkdir(mode=0o700)
    document = a_document(a_pod("a", LSE, "0-1", uid="1"), a_pod("b", LSE, "4-5"))
    (documents / ".new").write_text(json.dumps(node_placement_document_to_dict(document)))
    (documents / ".new").replace(documents / "n0.json")
    agent = Agent(
        cgroups,
        lambda: host,
        AppliedStateFolder(tmp_path),
        AgentDocumentFolderReader(documents, "n0"),
    )
    agent.begin()
    agent.take()
    agent.look()

    (why,) = agent.status.trouble()
    assert "a/main is left alone: " in why
    assert f"/{one[:-3]}" in why
    assert f"/{other[:-3]}" in why
    assert agent.status.refusals() == (why,)
    assert cpus_in(cgroups, "b") == "4-5"
    assert cgroups.effective(one, "cpuset.cpus") == frozenset(range(8))
    assert agent.concerns(other, False)

    tree = cgroups.files
    tree.stop(tree.processes()[1])
    agent.look()
    assert agent.status.trouble() == []
    assert cgroups.effective(one, "cpuset.cpus") == {0, 1}
