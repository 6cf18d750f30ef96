"""What a call looks at does not grow with what runs elsewhere."""

from dataclasses import replace

import pytest

from judge.cases_max_pods import small
from judge.hand import node
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer_models.placement import PodPlacement
from placer_models.pod import Pod, lone_gang

GREEDY = SolveOptions(engine=Engine.GREEDY, workers=1)


def keys_asked_for(running: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often a call asks for the key of a pod or a place, where so many run."""
    scheduler = Scheduler([replace(node(), name=f"n{i}", max_pods=5) for i in range(running)])
    for i in range(running):
        scheduler.place(Batch((lone_gang(small(f"r{i}")),)), 60.0, options=GREEDY)
    asked = []
    for word in (Pod, PodPlacement):
        key = word.key

        def counted(self: object, key: property = key) -> object:
            asked.append(self)
            return key.fget(self)

        monkeypatch.setattr(word, "key", property(counted))
    scheduler.place(Batch((lone_gang(small("new")),)), 60.0, options=GREEDY)
    monkeypatch.undo()
    return len(asked)


def test_a_call_without_a_budget_of_moves_goes_through_no_running_pods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Who may move is asked only where somebody may; thousands run.
    """
    assert keys_asked_for(100, monkeypatch) < keys_asked_for(20, monkeypatch) + 40
