"""A look at some of a node's containers repairs what a look at all of them would (C19)."""

import random
from pathlib import Path

import pytest

from node.node_documents import a_document, a_pod
from node.test_agent import Node
from placer_models.limits import ContainerLimits
from placer_models.policy import QosClass

LSE, LSR, LS, BE = QosClass.LSE, QosClass.LSR, QosClass.LS, QosClass.BE
PODS = {
    "a": a_pod("a", LSE, "0-1", limits=ContainerLimits(None, None, 40)),
    "b": a_pod("b", LSR, "2"),
    "c": a_pod("c", LS, limits=ContainerLimits(None, None, 20)),
    "d": a_pod("d", BE),
}
QUOTA = {1: ("cpu", "cpu.cfs_quota_us", "50000"), 2: ("cpu", "cpu.max", "50000 100000")}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_it_repairs_what_was_written_and_nothing_is_left(
    version: int, seed: int, tmp_path: Path
) -> None:
    """
    Random files of random containers are overwritten; a look at these finds them, a look at all
    that follows finds nothing, and the plan knows all containers, as before.
    """
    node, draw = Node(version, tmp_path), random.Random(seed)
    agent = node.agent()
    node.send(a_document(*PODS.values()))
    agent.take()
    agent.look()
    known = agent.status.plan.cgroups

    for turn in range(6):
        node.now_s += 600  # no dispute
        written = set()
        for pod in draw.sample("abcd", draw.randint(1, 3)):
            controller, name, text = QUOTA[version]
            if draw.random() < 0.7:
                controller, name, text = "cpuset", "cpuset.cpus", draw.choice("0245")
            node.kernel.write(node.path(pod, name, controller), text)
            written.add(f"placer/{pod}@default/main@{pod}")
        assert agent.repairs_alone(written)
        agent.look(frozenset(written))

        assert (agent.status.trouble(), agent.status.plan.cgroups) == ([], known)
        assert [node.cpus(pod) for pod in "abc"] == ["0-1", "2", "3-7"]
        repairs = agent.counts.repairs
        agent.look()
        assert (turn, agent.counts.repairs) == (turn, repairs)
        assert agent.status.plan.operations == ()


def test_it_reads_those_cgroups_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    So that a repair on a node of hundreds of pods takes no longer than on a small one.
    """
    node = Node(2, tmp_path)
    agent = node.agent()
    node.send(a_document(*PODS.values()))
    agent.take()
    agent.look()
    node.overwrite("c", "0-7")
    read = []
    first = node.kernel.read
    monkeypatch.setattr(node.kernel, "read", lambda path: read.append(path) or first(path))

    agent.look(frozenset({"placer/c@default/main@c"}))

    assert node.cpus("c") == "3-7"
    assert read
    assert not [path for path in read if path.startswith(("placer/a@", "placer/b@", "placer/d@"))]


def test_a_node_that_is_only_observed_is_looked_at_whole(tmp_path: Path) -> None:
    """
    Nor is a cgroup looked at alone that the last look did not know.
    """
    node = Node(2, tmp_path)
    agent = node.agent()
    node.send(a_document(*PODS.values()))
    agent.take()
    agent.look()
    assert agent.repairs_alone({"placer/c@default/main@c"})
    assert not agent.repairs_alone({"placer/c@default/main@c", "placer/c@default"})

    agent.status.refused = "something"

    assert not agent.repairs_alone({"placer/c@default/main@c"})
