"""Documents of answers: one word says why a pod has no place, and verify counts illegal ones."""

import json
from pathlib import Path

import pytest
import yaml

from json_schemas import faults
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_cli.draw.verdict import answer_summary
from placer_cli.output import OutputFormat, json_or_yaml_text
from placer_models.cluster import Instance, Node
from placer_models.files.documents import documents_in_text
from placer_models.instance.placement_claims import OutcomeInPlacementFile, answer_status_faults
from placer_models.instance.placement_file import (
    PlacementFile,
    placement_and_outcome_from_document,
    solve_answer_to_dict,
)
from placer_models.left_out import PodLeftOutBeforeSolve
from placer_models.machines.catalogue import load_machine
from placer_models.placement import Answer, GaveUp, Placement, PodPlacement, Unplaced
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.reasons import (
    Blocked,
    FewMembers,
    FirstStageWithoutPlace,
    GangGroupTooLarge,
    Illegal,
    IllegalGangInGroup,
    IllegalMembers,
    Reason,
    ReasonNotFoundInTime,
    RoomButNoPlaceFound,
)
from tiny_pods import lone

GREEDY = SolveOptions(Engine.GREEDY, workers=1)
NODE = Node("n", load_machine("dgx-a100"))
FINE = Pod("fine", "default", PodSpec((Container("main", Resources(1000)),)))
HUGE = Pod(
    "huge", "default", PodSpec((Container("main", Resources(devices=(DeviceRequest("gpu", 9),))),))
)
BAD = Pod("bad", "default", PodSpec(()))

WORDS: list[tuple[Reason, str]] = [
    (Blocked(FirstStageWithoutPlace.EMPTY, ()), "never"),
    (Blocked(FirstStageWithoutPlace.RUNNING, ()), "not-now"),
    (Blocked(FirstStageWithoutPlace.PLACED, ()), "outvoted"),
    (FewMembers(FirstStageWithoutPlace.EMPTY, "g", 3, 2, 1, is_bound=False), "never"),
    (GangGroupTooLarge(FirstStageWithoutPlace.RUNNING, "g"), "not-now"),
    (RoomButNoPlaceFound("n"), "not-found"),
    (ReasonNotFoundInTime(), "time"),
    (Illegal("qos", "wrong"), "illegal"),
    (IllegalMembers("g", ("p",), 2, 2), "illegal"),
    (IllegalGangInGroup("both", "g"), "illegal"),
]


@pytest.mark.parametrize(("why", "word"), WORDS, ids=lambda value: str(value)[:30])
def test_each_verdict_has_a_word(why: Reason, word: str) -> None:
    """
    Programs need not read sentences.
    """
    answer = GaveUp(1.0, (Unplaced("p", "default", None, ("told",), (why,)),))

    (entry,) = solve_answer_to_dict(answer, Instance((), ()), {})["unplaced"]

    assert entry == {
        "name": "p",
        "namespace": "default",
        "gang": None,
        "verdict": word,
        "reasons": ["told"],
        "guessed": False,
    }


def test_an_answer_without_values_says_no_word() -> None:
    """
    Where only sentences are known.
    """
    answer = GaveUp(1.0, (Unplaced("p", "default", None, ("told",)),))

    (entry,) = solve_answer_to_dict(answer, Instance((), ()), {})["unplaced"]

    assert entry["verdict"] is None


def answered(*pods: Pod) -> tuple[Answer, Instance]:
    """Return the answer to what pods ask, and the instance as a reader that skips gives it."""
    fine = tuple(lone(pod) for pod in pods if pod is not BAD)
    why = (Illegal("containers", "the pod has none"),)
    left = tuple(
        PodLeftOutBeforeSolve(pod.name, pod.namespace, None, why) for pod in pods if pod is BAD
    )
    instance = Instance((NODE,), fine, left_out=left)
    return solve(instance, GREEDY), instance


def claims_of(answer: Answer, instance: Instance) -> tuple[Placement, OutcomeInPlacementFile]:
    tree = solve_answer_to_dict(answer, instance, {})
    text = json_or_yaml_text(tree, OutputFormat.JSON)
    assert yaml.safe_load(json_or_yaml_text(tree, OutputFormat.YAML)) == json.loads(text)
    schema = PlacementFile.model_json_schema(by_alias=True)
    assert faults(json.loads(text), schema, schema.get("$defs", {})) == []
    return placement_and_outcome_from_document(documents_in_text(text, Path("a.json"))[0])


@pytest.mark.parametrize(
    ("pods", "status", "said"),
    [
        ((FINE, BAD), "partly-placed", "1 of 2 pods placed, 1 illegal; "),
        ((BAD,), "infeasible", "0 of 1 pod placed, 1 illegal: it is proven that nothing"),
        ((HUGE, BAD), "infeasible", "0 of 2 pods placed, 1 illegal: it is proven that nothing"),
        ((FINE,), "placed", "1 of 1 pod placed, "),
    ],
)
def test_the_status_counts_illegal_pods_among_those_without_a_place(
    pods: tuple[Pod, ...], status: str, said: str
) -> None:
    """
    In the document, in what verify expects of it, and in the sentence for people.
    """
    answer, instance = answered(*pods)
    placement, claims = claims_of(answer, instance)

    assert claims.status == status
    assert [*answer_status_faults(claims, instance, placement)] == []
    assert breaches(instance, placement) == ()
    assert answer_summary(answer, instance, GREEDY).startswith(said)


def test_a_false_status_is_told_with_illegal_pods_counted() -> None:
    """
    Who claims that all is placed forgets them.
    """
    answer, instance = answered(FINE, BAD)
    placement, _ = claims_of(answer, instance)

    told = [*answer_status_faults(OutcomeInPlacementFile("placed"), instance, placement)]

    assert told == ["the file claims 'placed', but 1 of 2 pods are placed; that is 'partly-placed'"]


def test_a_placement_of_an_illegal_pod_breaks_a_rule() -> None:
    """
    It is not among those that wait for a place, and the message says why.
    """
    _, instance = answered(FINE, BAD)
    place = PodPlacement("bad", "default", None, "n", frozenset())

    (breach, *_) = breaches(instance, Placement((place,)))

    assert breach.rule == "known"
    assert breach.message == (
        "pod 'bad' is left out, being illegal or short of members that are; "
        "only pods that wait are placed"
    )
