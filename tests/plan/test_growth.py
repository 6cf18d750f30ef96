"""Growth: what to buy at each size of the demand, wherever the plans are solved."""

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from threading import Thread

import pytest

from commands import Placer
from dask_cluster import DASK, NO_DASK, Cluster, wait_until
from json_schemas import faults
from placer.plan.answer import PurchasePlan
from placer.plan.growth import (
    GrowthCurve,
    GrowthStep,
    parse_scales,
    scaled_question,
    solve_plan_at_scales,
)
from placer.plan.plan import buy
from placer.plan.question import NodeOffer, PlanQuestion
from placer.plan.to_json import plan_growth_to_dict
from placer.sweep.workers import InProcessSweepWorker, LocalProcessSweepWorkers, SweepBackend
from placer_cli.commands.schema import SchemaDocumentKind, json_schema_of_document_kind
from placer_models.cluster import Instance, Node
from plan_worlds import lone, machine, spec, tiny_question

SCALES = parse_scales("1:2.5:0.5")
WORK = 2


def question(*, there: int = 0, most: int | None = None) -> PlanQuestion:
    """
    Four pods of 3 CPUs; nodes of 4 CPUs are there, or offered for 1.50, and of 8 for 2.50.
    """
    small, large = machine("small", 4, 8, 0), machine("large", 8, 16, 0)
    return PlanQuestion(
        Instance(
            tuple(Node(f"old-{i}", small) for i in range(there)),
            gangs=tuple(lone(f"web-{i}", spec(3000, 1)) for i in range(4)),
        ),
        (
            NodeOffer(Node("small", small), Decimal("1.5"), most),
            NodeOffer(Node("large", large), Decimal("2.5"), most),
        ),
    )


def curve_of(asked: PlanQuestion, workers: SweepBackend | None = None) -> GrowthCurve:
    return solve_plan_at_scales({"": asked}, SCALES, work_limit=WORK, workers=workers)


def document_of(asked: PlanQuestion, curve: GrowthCurve) -> str:
    return json.dumps(plan_growth_to_dict(asked, curve))


def test_each_step_is_the_plan_of_so_many_pods() -> None:
    """
    4, 6, 8 and 10 pods; a large node holds two of them.
    """
    curve = curve_of(question())

    assert [step.pods for step in curve.steps] == [4, 6, 8, 10]
    assert [step.price for step in curve.steps] == [Decimal(5), Decimal("7.5"), 10, Decimal("12.5")]
    assert [step.bound for step in curve.steps] == [step.price for step in curve.steps]
    assert [step.mix for step in curve.steps] == [(("large", n),) for n in (2, 3, 4, 5)]
    assert [step.nodes for step in curve.steps] == [2, 3, 4, 5]


@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_what_its_question_alone_is(seed: int) -> None:
    asked = tiny_question(seed)

    for step in curve_of(asked).steps:
        answer = buy(scaled_question(asked, step.scale), 0, 1, work_limit=WORK)
        assert step.price == (answer.price if isinstance(answer, PurchasePlan) else None)


def test_what_is_there_does_up_to_where_it_bursts() -> None:
    """
    Six nodes hold six pods, and nothing is bought up to 1.5 times the demand.
    """
    curve = curve_of(question(there=6))

    assert curve.bursts() == (Fraction(3, 2), Fraction(2))
    assert [step.price for step in curve.steps[:2]] == [0, 0]
    first, second = curve.stretches()
    assert (first.first, first.last, first.binds) == (Fraction(1), Fraction(3, 2), ())
    assert (second.first, second.last, second.binds) == (
        Fraction(2),
        Fraction(5, 2),
        (("large", "CPUs"),),
    )


def test_where_offers_end_the_step_says_so() -> None:
    curve = curve_of(question(most=2))

    assert [step.price is not None for step in curve.steps] == [True, True, False, False]
    assert curve.steps[2].bound is None
    assert "at most 2 of small, at most 2 of large" in curve.steps[2].reason


def test_several_cases_share_the_scales() -> None:
    curve = solve_plan_at_scales(
        {"as it is": question(there=4), "one lost": question(there=3)}, SCALES[:2], work_limit=WORK
    )

    assert [(float(step.scale), step.case) for step in curve.steps] == [
        (1.0, "as it is"),
        (1.0, "one lost"),
        (1.5, "as it is"),
        (1.5, "one lost"),
    ]
    assert [step.price for step in curve.steps] == [0, Decimal("1.5"), Decimal("2.5"), 4]


@pytest.mark.parametrize("kind", ["local processes", DASK])
def test_the_curve_is_the_same_bytes_on_all_workers(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """
    With a work limit and one thread a solve.
    """
    workers: SweepBackend = LocalProcessSweepWorkers(2)
    if kind == "Dask":
        workers = request.getfixturevalue("cluster").workers()
    asked = replace(question(there=6), offers=(*question().offers,))
    here = document_of(asked, curve_of(asked, InProcessSweepWorker()))

    assert document_of(asked, curve_of(asked, workers)) == here


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A real Dask cluster on this machine."""
    pytest.importorskip("distributed", reason=NO_DASK)
    found = Cluster(tmp_path)
    yield found
    found.end()


@pytest.mark.check
def test_a_worker_killed_in_the_middle_changes_no_byte(cluster: Cluster) -> None:
    """
    One of Dask's two workers dies once a first plan is done.
    """
    asked = tiny_question(3)
    here = document_of(asked, curve_of(asked))
    told: list[str] = []

    def kill() -> None:
        wait_until(lambda: len(told) > 1)
        os.kill(cluster.processes[1].pid, signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    there = solve_plan_at_scales(
        {"": asked}, SCALES, work_limit=WORK, workers=cluster.workers(), tell=told.append
    )
    killer.join()

    assert document_of(asked, there) == here
    assert told == [f"{done} of 4 plans are done" for done in range(5)]


def test_a_halt_keeps_the_steps_that_are_done() -> None:
    told: list[str] = []

    curve = solve_plan_at_scales(
        {"": question()}, SCALES, work_limit=WORK, stop=lambda: len(told) > 2, tell=told.append
    )

    assert [step.price for step in curve.steps] == [5, Decimal("7.5")]
    assert curve.missing == ((Fraction(2), ""), (Fraction(5, 2), ""))
    assert not curve.lost


def test_scales_reach_the_last_one_exactly() -> None:
    """
    Decimals are exact: ten tenths are one.
    """
    assert parse_scales("1:3:0.1")[-1] == 3
    assert len(parse_scales("1:3:0.1")) == 21
    assert parse_scales("0.5:0.5:1") == (Fraction(1, 2),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1:3", "got '1:3'; expected FROM:TO:STEP, such as 1:3:0.1"),
        ("1:x:1", "got '1:x:1'; expected FROM:TO:STEP, such as 1:3:0.1"),
        ("1/0:3:1", "got '1/0:3:1'; expected FROM:TO:STEP, such as 1:3:0.1"),
        ("3:1:1", "got '3:1:1'; expected 0 < FROM <= TO and 0 < STEP"),
        ("1:3:0", "got '1:3:0'; expected 0 < FROM <= TO and 0 < STEP"),
        ("0:3:1", "got '0:3:1'; expected 0 < FROM <= TO and 0 < STEP"),
        ("1:3:0.001", "got '1:3:0.001', which are 2,001 steps; take 1,000"),
    ],
)
def test_scales_that_mean_nothing(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_scales(text)


PLANS = Path(__file__).parents[2] / "instances/plan"
RUNNING, CLUSTER = str(PLANS / "running.yaml"), str(PLANS / "cluster.yaml")


def test_scales_that_mean_nothing_are_told_with_their_option(placer: Placer) -> None:
    printed = placer("plan", "buy", CLUSTER, "--growth", "2:1:1", code=2)
    assert printed.err.startswith("placer: --growth: got '2:1:1'; expected 0 < FROM")


PLAN = """\
apiVersion: placer/v1
kind: Plan
currency: EUR
offers:
  - {name: little, machine: core-i7-1270p, price: 1.50}
demand:
  pods:
    - {name: web, replicas: 5, requests: {cpu: 8, memory: 1Gi}}
"""


@pytest.fixture
def plan(tmp_path: Path) -> str:
    """A file of one offer, of which a node holds two pods."""
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN)
    return str(file)


def test_the_command_says_the_curve_in_a_sentence_first(
    plan: str, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    command = ["plan", "buy", plan, "--growth", "1:2:0.5", "--work-limit", "2", "--workers", "1"]
    lines = [line.rstrip() for line in placer(*command).out.splitlines()]

    assert lines[:2] == [
        "From 1x to 2x the demand, the price goes from 4.50 EUR to 7.50 EUR.",
        "Each price is proven to be the least.",
    ]
    rows = [line.split() for line in lines]
    assert ["1.5x", "8", "4", "6.00", "EUR", "0.00", "%", "4", "little"] in rows
    assert "1x to 2x: CPUs on little" in lines


def test_the_document_keeps_its_schema(plan: str, placer: Placer) -> None:
    command = ["plan", "buy", plan, "--growth", "1:2:1", "--work-limit", "2", "--format", "json"]
    answer = json.loads(placer(*command).out)

    schema = json_schema_of_document_kind(SchemaDocumentKind.PLAN_GROWTH)
    assert faults(answer, schema, schema["$defs"]) == []
    assert [(step["scale"], step["price"]) for step in answer["steps"]] == [
        ("1", "4.5"),
        ("2", "7.5"),
    ]
    assert answer["boughtFrom"] == "1"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--growth", "1:2"],
        ["--growth", "1:2:1", "--executor", "tcp://127.0.0.1:1"],
        ["--growth", "1:2:1", "--executor", "dask:tcp://127.0.0.1:1", "--processes", "2"],
        ["--processes", "2"],
    ],
)
def test_wrong_usage_is_one_line(plan: str, arguments: list[str], placer: Placer) -> None:
    said = placer("plan", "buy", plan, *arguments, code=2)

    assert said.out == ""
    assert "expected" in said.err or "name one of them" in said.err or "give --growth" in said.err


def test_a_step_without_a_price_has_no_gap() -> None:
    assert GrowthStep(Fraction(1), "", 1, None, Decimal(3)).gap_percent is None
    assert GrowthStep(Fraction(1), "", 1, Decimal(3), Decimal(2)).gap_percent == 50.0


@pytest.mark.parametrize("command", ["survive", "fit"])
def test_losses_and_counts_are_the_same_on_two_processes(command: str, placer: Placer) -> None:
    """
    Results come in any order, and are told in the order in which one process tells them.
    """
    arguments = ["plan", command, RUNNING, "--format", "json"]
    if command == "fit":
        arguments += ["--pod", "cpu=2,memory=1Gi", "--what-if", "add=1:xeon-6430-2s"]

    code = 1 if command == "survive" else 0
    first = placer(*arguments, code=code).out
    second = placer(*arguments, "--processes", "2", code=code).out

    assert first == second


def test_a_mix_for_each_scenario_is_the_same_on_two_processes(placer: Placer) -> None:
    arguments = ["plan", "buy", CLUSTER, "--each", "--work-limit", "2", "--workers", "1"]

    first = placer(*arguments, "--format", "json").out
    second = placer(*arguments, "--format", "json", "--processes", "2").out

    assert first == second
    assert "next year" in first
