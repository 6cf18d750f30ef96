"""The agent takes documents, sees drift, repairs it, and says what it cannot repair (C19)."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from node.fake_cgroupfs import FakeV1, FakeV2
from node.node_documents import a_document, a_node, a_pod
from placer.node.agent.agent import REPAIRS_A_MINUTE, Agent, DriftResponse
from placer.node.agent.inbox import MAX_DOCUMENT_BYTES, AgentDocumentFolderReader
from placer.node.agent.metrics import AgentMetrics
from placer.node.cgroups import CgroupReader
from placer.node.host import HostFactsForApply
from placer.node.operations import perform_cgroup_operation
from placer.node.plan import cgroup_plan_of
from placer.node.state import AppliedStateFolder
from placer_models.cpuset import format_cpu_list, parse_cpu_list
from placer_models.device import Device
from placer_models.instance.node_file import node_placement_document_to_dict
from placer_models.node_placement import NodePlacement
from placer_models.placement import DeviceGrant
from placer_models.policy import QosClass

LSE, LSR, LS, BE = QosClass.LSE, QosClass.LSR, QosClass.LS, QosClass.BE
CPUS = "cpuset.cpus"


class Node:
    """A node in memory, its agent, and what happens to it."""

    def __init__(self, version: int, folder: Path) -> None:
        self.kernel = FakeV1() if version == 1 else FakeV2()
        self.cgroups = CgroupReader(self.kernel)
        self.folder = folder
        self.documents = folder / "documents"
        self.documents.mkdir(mode=0o700)
        self.host = HostFactsForApply("n0", parse_cpu_list("0-7"))
        self.now_s = 0.0

    def agent(self, **options: object) -> Agent:
        found = Agent(
            self.cgroups,
            lambda: self.host,
            AppliedStateFolder(self.folder / "state"),
            AgentDocumentFolderReader(self.documents, "n0"),
            clock=lambda: self.now_s,
            **options,
        )
        (self.folder / "state").mkdir(exist_ok=True)
        found.begin()
        found.take()
        return found

    def send(self, document: NodePlacement, name: str = "n0.json") -> None:
        temporary = self.documents / f".{name}"
        temporary.write_text(json.dumps(node_placement_document_to_dict(document)))
        temporary.chmod(0o600)
        temporary.replace(self.documents / name)

    def path(self, pod: str, file: str = "", controller: str = "cpuset") -> str:
        return self.cgroups.path(controller, f"placer/{pod}@default/main@{pod}", file)

    def overwrite(self, pod: str, cpus: str) -> None:
        self.kernel.write(self.path(pod, CPUS), cpus)

    def start(self, pod: str) -> int:
        """Start a process in the container, in all hierarchies as a runtime does."""
        pid = self.kernel.start(self.path(pod))
        if self.kernel.version == 1:
            self.kernel.write(f"{self.path(pod, controller='cpu')}/cgroup.procs", str(pid))
        return pid

    def cpus(self, pod: str) -> str:
        return format_cpu_list(self.cgroups.effective(f"placer/{pod}@default/main@{pod}", CPUS))


@pytest.fixture(params=[1, 2])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Node:
    """A node of 8 CPUs without a document."""
    return Node(request.param, tmp_path)


THREE = a_document(a_pod("a", LSE, "0-1"), a_pod("b", LSR, "2"), a_pod("c", LS))


def test_a_document_that_arrives_is_applied(node):
    agent = node.agent()

    node.send(THREE)
    agent.take()

    assert [node.cpus(pod) for pod in "abc"] == ["0-1", "2", "3-7"]
    assert agent.status.trouble() == []
    assert agent.document == THREE


def test_what_a_kernel_lacks_is_said_once(node, caplog):
    exists = node.kernel.exists
    node.kernel.exists = lambda path: "hugetlb" not in path and exists(path)
    if node.kernel.version == 2:
        node.kernel.write("cgroup.subtree_control", "-hugetlb")
    agent = node.agent()
    node.send(a_document(a_pod("a"), node=a_node(pages={1 << 21: 8})))
    agent.take()

    agent.look()
    agent.look()

    told = [one.why for one in caplog.records if hasattr(one, "why")]
    assert len(told) == 1
    assert told[0].startswith("hugepages are not limited: ")
    assert agent.status.trouble() == []


def test_a_lower_generation_is_refused_and_absence_changes_nothing(node):
    agent = node.agent()
    node.send(replace(THREE, generation=7))
    agent.take()
    (node.documents / "n0.json").unlink()
    agent.take()

    node.send(a_document(a_pod("a", LSE, "4-5"), generation=6))
    agent.take()

    assert node.cpus("a") == "0-1"
    assert agent.document.generation == 7
    (fault,) = agent.status.refused_files
    assert "node 'n0' is out of date: its generation is 6, and 7 was applied" in fault


def test_other_content_of_the_same_generation_is_refused_also_after_a_restart(node):
    """
    Said once, however often the folder is looked at; the same content again is fine.
    """
    agent = node.agent()
    node.send(THREE)
    agent.take()
    node.send(THREE, "again.json")
    agent.take()
    assert agent.status.refused_files == ()
    (node.documents / "n0.json").unlink()

    node.send(a_document(a_pod("a", LSE, "4-5")), "again.json")
    agent.take()
    agent.take()
    restarted = node.agent()

    assert node.cpus("a") == "0-1"
    assert (agent.counts.applied, agent.counts.refused) == (1, 1)
    for one in (agent, restarted):
        (fault,) = one.status.refused_files
        assert "for node 'n0' says something else than what was applied as generation 1" in fault
        assert one.document == THREE


def test_without_a_document_a_node_does_not_obey(node):
    """
    Nobody has told it anything yet.
    """
    agent = node.agent()

    assert agent.trouble() == ["there is no document yet"]
    assert _obeys(agent) == 0

    node.send(THREE)
    agent.take()

    assert agent.trouble() == []
    assert _obeys(agent) == 1


@pytest.mark.parametrize("what", ["impossible", "unreadable", "same generation"])
def test_while_a_newer_document_is_refused_a_node_does_not_obey(node, what):
    """
    It does what an older one says. A file that cannot be read may be a newer one. Until it is
    gone, or a better one is there.
    """
    node.send(replace(THREE, generation=2))
    agent = node.agent()
    (node.documents / "n0.json").unlink()
    if what == "unreadable":
        (node.documents / "new.json").write_text("{")
        (node.documents / "new.json").chmod(0o600)
    else:
        wrong = a_document(a_pod("a", LSE, "0-7"), a_pod("c"))
        node.send(replace(wrong, generation=2 if what == "same generation" else 3), "new.json")

    agent.take()

    (why,) = agent.trouble()
    assert (why,) == agent.status.refused_files
    assert _obeys(agent) == 0
    assert agent.document.generation == 2

    node.send(replace(THREE, generation=4), "new.json")
    agent.take()

    assert agent.trouble() == []
    assert _obeys(agent) == 1


def test_what_is_older_or_for_another_node_is_refused_and_keeps_no_node_from_obeying(node):
    node.send(replace(THREE, generation=5))
    agent = node.agent()
    node.send(replace(THREE, generation=9, node=a_node(name="n1")), "n1.json")
    agent.take()

    assert len(agent.status.refused_files) == 1
    assert agent.trouble() == []

    (node.documents / "n0.json").unlink()
    node.send(replace(THREE, generation=4), "older.json")
    agent.take()

    assert len(agent.status.refused_files) == 2
    assert agent.trouble() == []


def test_a_folder_that_cannot_be_read_any_more_may_hold_a_newer_document(node):
    node.send(THREE)
    agent = node.agent()
    node.documents.chmod(0o755)

    agent.take()

    (why,) = agent.trouble()
    assert why.startswith("others may use ")


def test_a_refused_document_does_not_end_a_dispute(node):
    node.send(replace(THREE, generation=2))
    agent = node.agent()
    for _ in range(REPAIRS_A_MINUTE + 1):
        node.overwrite("c", "0-7")
        agent.look()

    node.send(a_document(a_pod("a", LSE, "0-7"), a_pod("c"), generation=3))
    agent.take()
    node.overwrite("c", "0-7")
    agent.look()

    assert len(agent.status.refused_files) == 1
    assert node.cpus("c") == "0-7"


def _obeys(agent: Agent) -> float | None:
    """Return the metric of that name."""
    return AgentMetrics(agent).registry.get_sample_value("placer_agent_node_obeys")


def test_an_overwritten_cpuset_is_repaired(node):
    node.send(THREE)
    agent = node.agent()
    node.overwrite("c", "0-7")

    agent.look()

    assert node.cpus("c") == "3-7"
    assert (agent.counts.drifts, agent.counts.repairs) == (1, 1)
    assert agent.status.trouble() == []


def test_drift_is_only_reported_where_that_is_the_policy(node):
    node.send(THREE)
    agent = node.agent(on_drift=DriftResponse.REPORT)
    node.overwrite("c", "0-7")

    agent.look()

    assert node.cpus("c") == "0-7"
    (trouble,) = agent.status.trouble()
    assert trouble.endswith("cpuset.cpus: '0-7', to be '3-7'")


def test_a_cgroup_that_went_is_made_again(node):
    node.send(THREE)
    agent = node.agent()
    for controller in ("cpuset", "cpu") if node.kernel.version == 1 else ("cpuset",):
        node.kernel.remove_directory(node.path("b", controller=controller))

    agent.look()

    assert node.cpus("b") == "2"


def test_whoever_owns_a_cpu_that_goes_makes_do_until_it_comes_back(node):
    """
    One of its two CPUs, then both; never is a process without a CPU, nor on another pod's.
    """
    node.send(THREE)
    agent = node.agent()
    pid = node.start("a")

    seen = []
    for cpu, online in ((1, False), (0, False), (0, True), (1, True)):
        node.kernel.set_online(cpu, online)
        agent.look()
        seen.append((node.cpus("a"), node.kernel.affinity(pid), node.cpus("c")))

    assert seen == [
        ("0", "0", "3-7"),
        ("3-7", "3-7", "3-7"),
        ("0", "0", "3-7"),
        ("0-1", "0-1", "3-7"),
    ]
    assert agent.status.trouble() == []


def test_what_is_offline_is_said(node):
    node.send(THREE)
    agent = node.agent()

    node.kernel.set_online(1, False)
    agent.look()

    (trouble,) = agent.status.trouble()
    assert "owns CPUs 1, which are not online" in trouble


def test_a_pool_follows_cpus_that_go_and_come(node):
    node.send(THREE)
    agent = node.agent()

    seen = []
    for online in (False, True):
        node.kernel.set_online(5, online)
        agent.look()
        seen.append(node.cpus("c"))

    assert seen == ["3-4,6-7", "3-7"]


def test_who_writes_again_and_again_is_left_alone_until_the_next_document(node):
    node.send(THREE)
    agent = node.agent()

    for _ in range(REPAIRS_A_MINUTE + 3):
        node.now_s += 1
        node.overwrite("c", "0-7")
        agent.look()

    assert node.cpus("c") == "0-7"
    assert agent.counts.repairs == REPAIRS_A_MINUTE + 1
    (trouble,) = agent.status.trouble()
    assert "somebody writes it again whenever Placer does" in trouble

    node.send(replace(THREE, generation=2))
    agent.take()

    assert node.cpus("c") == "3-7"


def test_a_few_repairs_over_a_long_time_are_no_dispute(node):
    node.send(THREE)
    agent = node.agent()

    for _ in range(3 * REPAIRS_A_MINUTE):
        node.now_s += 15
        node.overwrite("c", "0-7")
        agent.look()

    assert node.cpus("c") == "3-7"


@pytest.mark.parametrize("done", range(6))
def test_a_restart_takes_back_what_was_begun_and_knows_the_document(node, done):
    """
    The agent dies after some operations of a new document; the next one begins with the old.
    """
    node.send(THREE)
    node.agent()
    moved = a_document(a_pod("a", LSE, "6-7"), a_pod("b", LSR, "0"), a_pod("c", LS), generation=2)
    plan = cgroup_plan_of(moved, node.cgroups, node.host, previous=THREE)
    AppliedStateFolder(node.folder / "state").begin(moved, plan)
    for operation in plan.operations[:done]:
        perform_cgroup_operation(operation, node.cgroups)

    again = node.agent()

    assert [node.cpus(pod) for pod in "abc"] == ["0-1", "2", "3-7"]
    assert again.document == THREE
    assert again.status.trouble() == []


def test_a_restart_repairs_what_happened_meanwhile(node):
    node.send(THREE)
    node.agent()
    node.overwrite("c", "0-7")

    node.agent()

    assert node.cpus("c") == "3-7"


def test_a_tampered_journal_leaves_the_node_as_it_is(node):
    node.send(THREE)
    node.agent()
    (node.folder / "state" / "journal.json").write_text("{")
    node.overwrite("c", "0-7")

    agent = node.agent()
    agent.look()

    assert node.cpus("c") == "0-7"
    assert "cut short or was changed" in agent.status.trouble()[0]


def test_an_unhealthy_device_of_a_pod_is_said(node):
    machine = a_node().machine
    sick = Device("gpu", 0, "GPU-1")
    world = replace(a_node(), machine=replace(machine, devices=(sick,)))
    one = a_pod("a", LSE, "0-1")
    grants = (DeviceGrant("gpu", 0, "GPU-1"),)
    one = replace(one, placement=replace(one.placement, devices=grants))
    ill: dict[str, str] = {}
    agent = node.agent(unhealthy_devices=lambda: ill)
    agent.document = a_document(one, node=world)
    agent.look_at_devices()
    before = agent.status.unhealthy

    ill["GPU-1"] = "it fell off the bus"
    agent.look_at_devices()

    assert before == ()
    assert agent.status.trouble() == ["gpu GPU-1 of pod 'a': it fell off the bus"]


def test_a_gpu_whose_health_nobody_may_ask_for_is_said(node, caplog):
    """
    While a pod holds an NVIDIA GPU; it is no longer said once somebody may look.
    """
    fault = "NVML does not start: Insufficient Permissions"
    faults = [fault, fault, fault, ""]
    agent = node.agent(device_fault=lambda: faults.pop(0))
    agent.look_at_devices()
    assert agent.status.trouble() == []
    machine = replace(a_node().machine, devices=(Device("gpu", 0, "GPU-1"),))
    pod = a_pod("a", LSE, "0-1")
    grants = (DeviceGrant("gpu", 0, "GPU-1"),)
    pod = replace(pod, placement=replace(pod.placement, devices=grants))
    agent.document = a_document(pod, node=replace(a_node(), machine=machine))

    for _ in range(3):
        agent.look_at_devices()
    assert agent.status.trouble() == [f"the health of GPUs is not known: {fault}"]
    assert [one.message for one in caplog.records].count("the health of GPUs is not known") == 1

    agent.look_at_devices()
    assert agent.status.trouble() == []


def test_only_cgroups_of_the_document_concern_it(node):
    """
    Ours and those above; of the kubelet's pods the containers, and those that come beside them.
    """
    node.kernel.make_directory(node.cgroups.path("cpuset", "kubepods"))
    for cgroup in ("kubepods/pod1", "kubepods/pod1/id-1"):
        node.kernel.make_directory(node.cgroups.path("cpuset", cgroup))
    if node.kernel.version == 2:
        node.kernel.write("kubepods/cgroup.subtree_control", "+cpuset")
        node.kernel.write("kubepods/pod1/cgroup.subtree_control", "+cpuset")
    else:
        for cgroup in ("kubepods", "kubepods/pod1", "kubepods/pod1/id-1"):
            node.kernel.write(f"cpuset/{cgroup}/cpuset.cpus", "0-7")
            node.kernel.write(f"cpuset/{cgroup}/cpuset.mems", "0-1")
    node.kernel.start(node.cgroups.path("cpuset", "kubepods/pod1/id-1"))
    node.send(a_document(a_pod("a", LSE, "0-1"), a_pod("k", LS, uid="1")))
    agent = node.agent()
    agent.look()

    settings = ["placer/a@default/main@a", "kubepods/pod1/id-1", "kubepods", "elsewhere/x", ""]
    assert [agent.concerns(cgroup, True) for cgroup in settings] == [True, True, True, False, False]
    others = ["placer/a@default", "kubepods/pod1/id-2", "kubepods/pod2", "elsewhere/x", ""]
    assert [agent.concerns(cgroup, False) for cgroup in others] == [
        True,
        True,
        False,
        False,
        False,
    ]


class TestInbox:
    """Which files are documents, and which are refused."""

    @pytest.fixture
    def inbox(self, tmp_path: Path) -> AgentDocumentFolderReader:
        """An empty folder of ours."""
        folder = tmp_path / "documents"
        folder.mkdir(mode=0o700)
        return AgentDocumentFolderReader(folder, "n0")

    def put(self, inbox: AgentDocumentFolderReader, name: str, document: NodePlacement) -> Path:
        path = inbox.folder / name
        path.with_name(f".{name}").write_text(json.dumps(node_placement_document_to_dict(document)))
        return path.with_name(f".{name}").replace(path)

    def test_the_highest_generation_is_the_newest(self, inbox):
        self.put(inbox, "a.json", replace(THREE, generation=3))
        self.put(inbox, "b.json", replace(THREE, generation=9))
        self.put(inbox, "c.json", replace(THREE, generation=5))

        assert inbox.newest()[0].generation == 9

    def test_two_that_differ_in_all_but_the_generation_are_refused(self, inbox):
        """
        Which one is meant is not known; a third one of a higher generation says it.
        """
        self.put(inbox, "a.json", replace(THREE, generation=3))
        self.put(inbox, "b.json", a_document(a_pod("a"), generation=3))

        document, (fault,) = inbox.newest()

        assert document is None
        assert "a.json and b.json are both of generation 3, and differ" in fault
        self.put(inbox, "c.json", replace(THREE, generation=4))
        assert inbox.newest() == (replace(THREE, generation=4), ())

    def test_a_document_of_another_node_is_refused(self, inbox):
        self.put(inbox, "a.json", replace(THREE, node=a_node(name="n1")))

        document, (fault,) = inbox.newest()

        assert document is None
        assert fault.endswith("a.json: the document is for node 'n1', and this is 'n0'")

    def test_a_file_that_is_still_written_is_refused_and_then_taken(self, inbox):
        path = self.put(inbox, "a.json", THREE)
        with path.open("a"):
            document, (fault,) = inbox.newest()

        assert document is None
        assert "still being written" in fault
        assert inbox.newest() == (THREE, ())

    def test_a_file_that_was_changed_in_place_is_refused(self, inbox):
        path = self.put(inbox, "a.json", THREE)
        inbox.newest()

        path.write_text(path.read_text().replace('"generation":1', '"generation":2') + " ")
        document, (fault,) = inbox.newest()

        assert document is None
        assert "changed in place" in fault

    def test_half_a_document_is_refused_with_its_place(self, inbox):
        path = self.put(inbox, "a.json", THREE)
        path.with_name(".b").write_text(path.read_text()[:100])
        path.with_name(".b").replace(path)

        document, (fault,) = inbox.newest()

        assert document is None
        assert fault.startswith(f"{path}:1:")

    def test_others_may_not_write_the_folder_or_a_file(self, inbox):
        path = self.put(inbox, "a.json", THREE)
        path.chmod(0o666)

        assert "others may write it" in inbox.newest()[1][0]

        inbox.folder.chmod(0o755)
        with pytest.raises(Exception, match="chmod 0700"):
            inbox.check()

    def test_a_file_that_is_too_large_is_not_even_read(self, inbox, monkeypatch):
        """
        Said once, with the limit; an agent has little memory.
        """
        path = self.put(inbox, "a.json", THREE)
        with path.open("ab") as file:
            file.truncate(MAX_DOCUMENT_BYTES + 1)
        monkeypatch.setattr(os, "fdopen", None)

        document, (fault,) = inbox.newest()

        assert document is None
        assert fault == (
            f"{path}: it has 4,194,305 bytes, and a document of one node at most 4,194,304; remove "
            "it, or write the document alone"
        )
        assert inbox.newest() == (None, (fault,))

    @pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
    def test_what_is_no_regular_file_is_refused(self, inbox, kind):
        path = inbox.folder / "a.json"
        if kind == "link":
            path.symlink_to("/etc/passwd")
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()

        document, faults = inbox.newest()

        assert document is None
        assert len(faults) == 1

    def test_names_that_begin_with_a_dot_or_end_otherwise_are_no_documents(self, inbox):
        for name in (".a.json", "a.json.tmp", "readme"):
            (inbox.folder / name).write_text("{")

        assert inbox.newest() == (None, ())
