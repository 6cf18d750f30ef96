"""A container may end at any time: its cgroup vanishes between plan and write, or plan and undo."""

import errno
import os
from collections.abc import Callable

import pytest

from node.fake_cgroupfs import FakeV1, FakeV2
from node.node_documents import a_document, a_pod
from placer.node.agent.agent import Agent, DriftResponse
from placer.node.agent.inbox import AgentDocumentFolderReader
from placer.node.apply import apply, apply_to_this_host
from placer.node.cgroups import CPUS, CgroupReader
from placer.node.host import HostFactsForApply
from placer.node.state import AppliedStateFolder
from placer_models.cpuset import format_cpu_list, parse_cpu_list
from placer_models.policy import QosClass

POD = "kubepods/pod1"
DOCUMENT = a_document(a_pod("k", QosClass.LSE, "0-1", uid="1"), a_pod("c"))


class Node:
    """A node with the cgroups of a kubelet's pod; containers come and go."""

    def __init__(self, version: int) -> None:
        self.kernel = FakeV1() if version == 1 else FakeV2()
        self.cgroups = CgroupReader(self.kernel)
        self.containers: list[str] = []
        self.plain_write = self.kernel.write
        self.add("kubepods")
        self.add(POD)

    def add(self, cgroup: str) -> None:
        self.kernel.make_directory(self.cgroups.path("cpuset", cgroup))
        if self.kernel.version == 2 and cgroup.count("/") < 2:
            self.plain_write(f"{cgroup}/cgroup.subtree_control", "+cpuset")
        elif self.kernel.version == 1:
            self.plain_write(f"cpuset/{cgroup}/cpuset.cpus", "0-7")
            self.plain_write(f"cpuset/{cgroup}/cpuset.mems", "0-1")

    def start(self, name: str) -> None:
        self.add(f"{POD}/{name}")
        self.containers.append(f"{POD}/{name}")

    def end(self, name: str) -> None:
        self.kernel.remove_directory(self.cgroups.path("cpuset", f"{POD}/{name}"))
        self.containers.remove(f"{POD}/{name}")

    def host(self) -> HostFactsForApply:
        return HostFactsForApply("n0", parse_cpu_list("0-7"))

    def before_write(self, name: str, do: Callable[[], None]) -> None:
        """Do something whenever the CPUs of a container are about to be written."""
        write = self.kernel.write
        path = self.cgroups.path("cpuset", f"{POD}/{name}", CPUS)

        def watched(to: str, text: str) -> None:
            if to == path:
                do()
            write(to, text)

        self.kernel.write = watched

    def cpus(self, cgroup: str) -> str:
        return format_cpu_list(self.cgroups.effective(cgroup, CPUS))


@pytest.fixture(params=[1, 2])
def node(request: pytest.FixtureRequest) -> Node:
    """A node of 8 CPUs whose pod has two containers."""
    found = Node(request.param)
    found.start("one")
    found.start("two")
    return found


def test_what_is_left_is_done_at_once(node, tmp_path):
    """
    A plan is made for the containers that are left, and for those that came.
    """
    state = AppliedStateFolder(tmp_path)

    def replaced() -> None:
        if f"{POD}/two" in node.containers:
            node.end("two")
            node.start("three")

    node.before_write("two", replaced)

    apply_to_this_host(DOCUMENT, node.cgroups, node.host, state)

    assert [node.cpus(f"{POD}/{name}") for name in ("one", "three")] == ["0-1", "0-1"]
    assert node.cpus("placer/c@default/main@c") == "2-7"
    assert state.applied() == DOCUMENT
    assert state.unfinished() is state.committed() is None


def test_what_vanishes_stops_no_other(node, tmp_path):
    """
    What was done is taken back, and done again without it.
    """
    node.before_write("two", lambda: node.end("two"))

    applied = apply(DOCUMENT, node.cgroups, node.host(), AppliedStateFolder(tmp_path))

    assert applied.plan.left_alone == ()
    assert node.cpus(f"{POD}/one") == "0-1"
    assert node.cpus("placer/c@default/main@c") == "2-7"


def test_a_cgroup_that_vanished_before_the_plan_is_not_planned_for_again(node, tmp_path):
    """
    The list of processes is older than the end of the container.
    """
    old = node.host()
    node.end("two")
    hosts = iter([old, node.host()])

    apply_to_this_host(DOCUMENT, node.cgroups, lambda: next(hosts), AppliedStateFolder(tmp_path))

    assert node.cpus(f"{POD}/one") == "0-1"


def test_a_container_that_comes_and_goes_all_the_time_is_left_alone(node, tmp_path):
    """
    It is named, all others are done, and nothing forbids the next try.
    """
    state = AppliedStateFolder(tmp_path)

    def replaced() -> None:
        node.end("two")
        node.start("two")  # of the same name, but another: the kernel refuses writes to the old one
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), "two")

    node.before_write("two", replaced)

    applied = apply_to_this_host(DOCUMENT, node.cgroups, node.host, state)

    assert len(applied.plan.left_alone) == 1
    assert "No such device" in applied.plan.left_alone[0]
    assert node.cpus(f"{POD}/one") == "0-1"
    assert node.cpus(f"{POD}/two") == "0-7"
    state.check_may_write()
    assert state.unfinished() is None


def test_what_vanishes_during_an_undo_need_not_be_taken_back(node, tmp_path):
    """
    The write to one container is refused, and the other one ends while it gets its old CPUs again.
    """
    state = AppliedStateFolder(tmp_path)

    def refused() -> None:
        if f"{POD}/one" in node.containers:
            node.before_write("one", lambda: node.end("one"))
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), "two")

    node.before_write("two", refused)

    apply(DOCUMENT, node.cgroups, node.host(), state)

    state.check_may_write()
    assert state.unfinished() is None
    assert node.containers == [f"{POD}/two"]
    assert node.cpus(f"{POD}/two") == "0-1"


@pytest.mark.parametrize("on_drift", DriftResponse)
def test_an_agent_looks_again_at_once(node, tmp_path, on_drift):
    """
    Nothing is refused, and no look is missed, however it is told of drift.
    """
    (tmp_path / "documents").mkdir(mode=0o700)
    state = AppliedStateFolder(tmp_path / "state")
    (tmp_path / "state").mkdir()
    apply(DOCUMENT, node.cgroups, node.host(), state)
    old = node.host()
    node.end("two")
    hosts = iter([old])
    agent = Agent(
        node.cgroups,
        lambda: next(hosts, None) or node.host(),
        state,
        AgentDocumentFolderReader(tmp_path / "documents", "n0"),
        on_drift=on_drift,
    )

    agent.begin()

    assert agent.status.refused == ""
    assert agent.status.plan.cgroups == (f"{POD}/one", "placer/c@default/main@c")
