"""At each wake-up the agent looks at what may have changed, and at nothing else."""

import threading
from pathlib import Path

import pytest

from placer.node.agent import run
from placer.node.agent.agent import AgentStatus
from placer.node.plan import CgroupPlan


class Watched:
    """Stands for an agent, and notes what it is asked to do."""

    document = None

    def __init__(self) -> None:
        self.status = AgentStatus()
        self.asked: list[str] = []
        self.alone = {"placer/leaf", "placer/other"}
        self.writes: list[str] = []
        self.written: list[str] = []

    def take(self) -> None:
        self.asked.append("take")

    def look(self, at: frozenset[str] = frozenset()) -> None:
        self.asked.append(f"look at {', '.join(sorted(at))}" if at else "look")
        self.written = [self.writes.pop()] if self.writes else []

    def repairs_alone(self, cgroups: frozenset[str]) -> bool:
        return cgroups <= self.alone

    def look_at_devices(self) -> None:
        self.asked.append("devices")

    def look_at_strangers(self) -> None:
        self.asked.append("strangers")

    def concerns(self, cgroup: str, setting: bool) -> bool:
        return cgroup.startswith("placer/")

    def effective_files(self) -> tuple[str, ...]:
        return ("placer/other/cpuset.cpus.effective",)

    def written_files(self) -> tuple[str, ...]:
        return tuple(self.written)


@pytest.fixture
def turns(tmp_path, monkeypatch):
    """The turns of an agent whose first one is over."""
    monkeypatch.setattr(run, "ONLINE", tmp_path / "online")
    (tmp_path / "online").write_text("0-7\n")
    (tmp_path / "cgroup/placer/other").mkdir(parents=True)
    (tmp_path / "cgroup/placer/other/cpuset.cpus.effective").write_text("4-5\n")
    agent = Watched()
    with run.ExitStack() as open_things:
        found = run._Turns(agent, {"": tmp_path / "cgroup"}, threading.Event(), open_things)
        found.settle()
        found.turn(frozenset(), tmp_path / "documents")
        first = agent.asked[:]
        found.turn(frozenset(), tmp_path / "documents")
        agent.asked.clear()
        yield found, agent.asked, tmp_path, first, agent


def test_the_first_turn_sees_what_came_before_the_watch(turns):
    *_, first, _ = turns

    assert first == ["take", "devices", "look", "strangers"]


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ([], []),
        (["documents/n0.json"], ["take", "devices", "strangers"]),
        (["cgroup/placer/a/cpuset.cpus"], ["look"]),
        (["cgroup/elsewhere/cpuset.cpus"], []),
        (["cgroup/placer/new"], ["look"]),
        (["cgroup/placer/leaf/cpuset.cpus"], ["look at placer/leaf"]),
        (
            ["cgroup/placer/leaf/cpu.max", "cgroup/placer/other/cpuset.mems"],
            ["look at placer/leaf, placer/other"],
        ),
        (["cgroup/placer/leaf/cpu.max", "cgroup/placer/a/cpu.max"], ["look"]),
        (["cgroup/placer/leaf/cgroup.procs"], ["look"]),
    ],
)
def test_a_turn_does_what_the_changes_ask_for(turns, changed, asked):
    found, done, folder, *_ = turns

    found.turn(frozenset(f"{folder}/{path}" for path in changed), folder / "documents")

    assert done == asked


def test_a_cpu_that_goes_is_seen_without_being_told(turns):
    found, done, folder, *_ = turns
    Path(folder, "online").write_text("0-6\n")

    found.turn(frozenset(), folder / "documents")

    assert done == ["look"]


def test_a_device_that_turned_ill_is_looked_at_without_a_change(turns):
    found, done, folder, *_ = turns
    found._sick.set()

    for _ in range(2):
        found.turn(frozenset(), folder / "documents")

    assert done == ["devices"]


def test_what_was_repaired_alone_is_looked_at_once_more(turns):
    """
    Only the next look sees what somebody wrote between reading and writing; the rest of the node
    is left alone.
    """
    found, done, folder, _, agent = turns
    agent.writes = ["placer/leaf/cpuset.cpus"]
    changed = frozenset({f"{folder}/cgroup/placer/leaf/cpuset.cpus"})

    for paths in (changed, changed, frozenset(), frozenset()):
        found.turn(paths, folder / "documents")

    assert done == ["look at placer/leaf"] * 2


def test_all_is_looked_at_when_more_than_was_repaired_has_changed(turns):
    """
    The effective set of another container tells; the kernel writes it without an event.
    """
    found, done, folder, *_ = turns
    (folder / "cgroup/placer/other/cpuset.cpus.effective").write_text("4\n")

    for paths in (["placer/leaf/cpuset.cpus"], [], []):
        found.turn(frozenset(f"{folder}/cgroup/{path}" for path in paths), folder / "documents")

    assert done == ["look at placer/leaf", "look"]


def test_the_next_sweep_looks_at_all_after_a_repair_of_few(turns, monkeypatch):
    found, done, folder, *_ = turns
    found.turn(frozenset({f"{folder}/cgroup/placer/leaf/cpuset.cpus"}), folder / "documents")
    done.clear()
    monkeypatch.setattr(run, "SWEEP_S", 0)

    found.turn(frozenset(), folder / "documents")

    assert done == ["take", "devices", "look", "strangers"]


def test_what_was_left_alone_is_tried_again_at_each_sweep(turns, monkeypatch):
    found, done, folder, *_ = turns
    monkeypatch.setattr(run, "SWEEP_S", 0)

    found.turn(frozenset(), folder / "documents")
    found._agent.status.plan = CgroupPlan(left_alone=("a/main is left alone: ...",))
    found.turn(frozenset(), folder / "documents")

    usual = ["take", "devices", "strangers"]
    assert done == [*usual, "take", "devices", "look", "strangers"]
