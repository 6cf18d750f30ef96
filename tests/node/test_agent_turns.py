"""At each wake-up the agent looks at what may have changed, and at nothing else."""

import threading
from pathlib import Path

import pytest

from placer.node.agent import run
from placer.node.agent.agent import Status
from placer.node.plan import Plan


class Watched:
    """Stands for an agent, and notes what it is asked to do."""

    document = None

    def __init__(self) -> None:
        self.status = Status()
        self.asked: list[str] = []

    def take(self) -> None:
        self.asked.append("take")

    def look(self) -> None:
        self.asked.append("look")

    def look_at_devices(self) -> None:
        self.asked.append("devices")

    def concerns(self, cgroup: str, setting: bool) -> bool:
        return cgroup.startswith("placer/")

    def effective_files(self) -> tuple[str, ...]:
        return ()

    def written_files(self) -> tuple[str, ...]:
        return ()


@pytest.fixture
def turns(tmp_path, monkeypatch):
    """The turns of an agent whose first one is over."""
    monkeypatch.setattr(run, "ONLINE", tmp_path / "online")
    (tmp_path / "online").write_text("0-7\n")
    (tmp_path / "cgroup").mkdir()
    agent = Watched()
    with run.ExitStack() as open_things:
        found = run._Turns(  # noqa: SLF001
            agent, {"": tmp_path / "cgroup"}, threading.Event(), open_things
        )
        found.settle()
        found.turn(frozenset(), tmp_path / "documents")
        first = agent.asked[:]
        found.turn(frozenset(), tmp_path / "documents")
        agent.asked.clear()
        yield found, agent.asked, tmp_path, first


def test_the_first_turn_sees_what_came_before_the_watch(turns):
    *_, first = turns

    assert first == ["take", "devices", "look"]


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ([], []),
        (["documents/n0.json"], ["take", "devices"]),
        (["cgroup/placer/a/cpuset.cpus"], ["look"]),
        (["cgroup/elsewhere/cpuset.cpus"], []),
        (["cgroup/placer/new"], ["look"]),
    ],
)
def test_a_turn_does_what_the_changes_ask_for(turns, changed, asked):
    found, done, folder, _ = turns

    found.turn(frozenset(f"{folder}/{path}" for path in changed), folder / "documents")

    assert done == asked


def test_a_cpu_that_goes_is_seen_without_being_told(turns):
    found, done, folder, _ = turns
    Path(folder, "online").write_text("0-6\n")

    found.turn(frozenset(), folder / "documents")

    assert done == ["look"]


def test_a_device_that_turned_ill_is_looked_at_without_a_change(turns):
    found, done, folder, _ = turns
    found._sick.set()  # noqa: SLF001

    for _ in range(2):
        found.turn(frozenset(), folder / "documents")

    assert done == ["devices"]


def test_what_was_left_alone_is_tried_again_at_each_sweep(turns, monkeypatch):
    found, done, folder, _ = turns
    monkeypatch.setattr(run, "SWEEP_S", 0)

    found.turn(frozenset(), folder / "documents")
    found._agent.status.plan = Plan(left_alone=("a/main is left alone: ...",))  # noqa: SLF001
    found.turn(frozenset(), folder / "documents")

    assert done == ["take", "devices", "take", "devices", "look"]
