"""Budgets of moves in files: read, written, answered, claimed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from answers import expect
from instance_texts import reread
from placer.judge.breaches import breaches
from placer.judge.misfits import mended_rules_by_moved_pod
from placer.load import load_instance, load_placement_with_outcome
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, RunningGang
from placer_models.files.errors import InputError
from placer_models.instance.placement_claims import misstated_moves
from placer_models.instance.placement_file import solve_answer_to_dict
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import Placed, Placement

INSTANCES = Path(__file__).parents[2] / "instances"
MOVES = INSTANCES / "rules" / "moves.yaml"
GANG = INSTANCES / "moving-gang.yaml"


def test_a_budget_and_who_may_move_are_read_and_written_back() -> None:
    """
    The budget is 2, and one of the running pods stays.
    """
    instance = load_instance([MOVES])

    assert instance.move_budget == 2
    assert [r.pod.name for r in instance.running if not r.movable] == ["serve"]
    assert reread(instance) == instance


def test_gangs_that_run_are_read_and_written_back() -> None:
    """
    Its members are the running pods that name it.
    """
    instance = load_instance([GANG])

    assert instance.running_gangs == (
        RunningGang(
            "ring",
            "default",
            levels=(GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER),),
        ),
    )
    assert [r.pod.name for r in instance.running if r.placement.gang] == ["ring-0", "ring-1"]
    assert reread(instance) == instance


def test_members_that_move_are_claimed_as_members(tmp_path: Path) -> None:
    """
    The answer names their gang, and is no false claim; torn apart they break its wish.
    """
    instance = load_instance([GANG])
    answer = expect(Placed, solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1)))
    tree = solve_answer_to_dict(answer, instance, {})
    assert claims_of(instance, tree, tmp_path) == []
    pods = {place.name: place for place in answer.placement.pods}
    assert (pods["ring-0"].gang, pods["train"].gang) == ("ring", None)
    assert breaches(instance, answer.placement) == ()

    torn = Placement(tuple(place for place in answer.placement.pods if place.name != "ring-1"))

    assert [breach.rule for breach in breaches(instance, torn)] == ["gather"]


def test_a_budget_is_given_once(read: Callable[..., Instance]) -> None:
    """
    Two documents with a budget each are refused, the second with its line.
    """
    text = "apiVersion: placer/v1\nkind: Instance\nmoveBudget: 1\n"
    with pytest.raises(InputError, match="moveBudget: is given by another document already"):
        read(f"{text}nodes: [{{name: n, machine: dgx-2}}]\n---\n{text}")


@pytest.fixture(scope="module")
def answered() -> tuple[Instance, dict[str, object]]:
    """Return the example and the document of its answer."""
    instance = load_instance([MOVES])
    answer = expect(Placed, solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1)))
    return instance, solve_answer_to_dict(answer, instance, {})


def claims_of(instance: Instance, tree: dict[str, object], folder: Path) -> list[tuple[str, str]]:
    path = folder / "p.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    placement, claims = load_placement_with_outcome(path)
    return list(
        misstated_moves(claims, instance, placement, mended_rules_by_moved_pod(instance, placement))
    )


def test_moves_are_named_with_where_from_and_where_to(
    answered: tuple[Instance, dict[str, object]], tmp_path: Path
) -> None:
    """
    And their new places stand among the pods, after those that waited.
    """
    instance, tree = answered
    moves = json.loads(json.dumps(tree["moves"]))
    pods = json.loads(json.dumps(tree["pods"]))

    node_of = {runner.pod.name: runner.placement.node for runner in instance.running}
    goes_to = {pod["name"]: pod["node"] for pod in pods}
    assert len(moves) == 2
    for move in moves:
        assert set(move) == {"name", "namespace", "from", "to", "mends"}
        assert move["mends"] == []
        assert (move["from"], move["to"]) == (node_of[move["name"]], goes_to[move["name"]])
    assert [pod["name"] for pod in pods] == ["train", *(move["name"] for move in moves)]
    assert claims_of(instance, tree, tmp_path) == []


def test_false_claims_about_moves_are_found(
    answered: tuple[Instance, dict[str, object]], tmp_path: Path
) -> None:
    """
    A move that is none, one to elsewhere, and one that is left out.
    """
    instance, tree = answered
    moves = json.loads(json.dumps(tree["moves"]))
    wrong = tree | {"moves": [{**moves[0], "to": "n9"}, {**moves[1], "name": "web"}]}

    found = dict(claims_of(instance, wrong, tmp_path))

    assert "to 'n9', but the pod goes" in found[moves[0]["name"]]
    assert found["web"] == "the file claims a move, but gives no running pod of this name a place"
    assert "which 'moves' leaves out" in found[moves[1]["name"]]


def test_a_file_that_claims_nothing_need_not_name_moves(
    answered: tuple[Instance, dict[str, object]], tmp_path: Path
) -> None:
    """
    Pods alone are a placement.
    """
    instance, tree = answered
    bare = {key: tree[key] for key in ("apiVersion", "kind", "pods")}
    assert claims_of(instance, bare, tmp_path) == []
