"""Stories of people who asked why their pods wait: each has its answer (G7)."""

from pathlib import Path

import pytest

from answers import expect
from instance_texts import instance_of_text
from placer import Placed, SolveOptions, load_instance, solve
from placer.explain.explain import explain
from placer.explain.explanation import Explanation
from refusal_worlds import LONG_S

FOLDER = Path(__file__).parents[2] / "instances" / "why"

ANSWERS: dict[str, dict[str, tuple[str, ...]]] = {
    "cordon-in-the-way": {
        "mend-node": ("uncordon=upgraded",),
        "ask-less": ("ask-less=default/train:gpu=3",),
        "fewer-members": ("scale=default/train:3",),
        "end": ("remove=default/notebook",),
    },
    "host-ports": {
        "ask-less": ("ask-less=default/exporter-9:memory=1Gi",),
        "end": ("remove=default/cache",),
        "add-nodes": ("add=1:n1",),
    },
    "one-toleration": {"give-up": ("give-up=default/notebook:taint=nvidia.com/gpu",)},
    "outvoted": {"end": ("remove=default/release",), "add-nodes": ("add=1:gpu-0",)},
    "split-sockets": {
        "ask-less": ("ask-less=default/runner-of-four:gpu=2",),
        "move": ("move=default/runner-c",),
        "end": ("remove=default/runner-c",),
        "add-nodes": ("add=1:gpu-0",),
    },
    "stranded-pair": {
        "ask-less": ("ask-less=default/pair:gpu=1",),
        "move": ("move=default/single-0", "move=default/single-1"),
        "end": ("remove=default/single-0", "remove=default/single-1"),
        "add-nodes": ("add=1:x1",),
    },
    "two-moves": {
        "ask-less": ("ask-less=default/train:gpu=6",),
        "fewer-members": ("scale=default/train:8",),
        "move": ("move=default/small-a", "move=default/small-b"),
        "end": ("remove=default/large-a", "remove=default/large-b"),
        "add-nodes": ("add=2:n01",),
    },
}
"""Changes by kind; each is proven to be the smallest of its kind."""


def explained(name: str) -> Explanation:
    instance = load_instance([FOLDER / f"{name}.yaml"])
    answer = solve(instance, SolveOptions(workers=1, seed=1, work_limit=20))
    (one,) = explain(instance, answer, seconds=LONG_S)
    return one


def test_each_story_has_its_answer() -> None:
    assert sorted(ANSWERS) == sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.check
@pytest.mark.parametrize("name", ANSWERS)
def test_the_changes_of_a_story_are_those_that_a_person_would_name(name: str) -> None:
    one = explained(name)

    found = {change.kind: tuple(sorted(map(str, change.changes))) for change in one.changes}
    assert {kind: found.get(kind) for kind in ANSWERS[name]} == ANSWERS[name]
    assert found.keys() - ANSWERS[name].keys() <= {"add-nodes"}
    assert all(change.smallest for change in one.changes)


def test_of_nine_nodes_nine_have_a_reason() -> None:
    """
    Eight have no free port; the ninth is named, and what is missing there, and who has it.
    """
    one = explained("host-ports")

    assert [(step.rule, step.nodes) for step in one.funnel] == [
        ("", 9),
        ("host-ports", 1),
        ("memory", 0),
    ]
    assert one.nearest[0].node == "n9"
    assert [holder.pod[1] for holder in one.nearest[0].lacks[0].held_by] == ["cache"]


def test_who_is_outvoted_hears_by_whom() -> None:
    one = explained("outvoted")

    assert one.winner is not None
    assert one.winner.pods == (("default", "release"),)
    assert one.winner.tier == "placed.priority-10"


def test_placed_together_all_of_the_stranded_have_a_place() -> None:
    """
    The same pods as one batch: the pair gets the node with two GPUs.
    """
    text = (FOLDER / "stranded-pair.yaml").read_text(encoding="utf-8")
    waiting = text.replace("running:\n", "").replace("node: x1, ", "")
    for minor in range(2):
        waiting = waiting.replace(f", devices: {{gpu: [{minor}]}}", "")
    instance = instance_of_text(waiting)

    answer = expect(Placed, solve(instance, SolveOptions(workers=1, seed=1, work_limit=20)))

    assert next(p.node for p in answer.placement.pods if p.name == "pair") == "x1"
