"""``placer plan buy``: what people and programs get to see."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from json_schemas import faults
from placer_cli.app import main
from placer_cli.commands.schema import SchemaKind, schema_of

EXAMPLE = Path(__file__).parents[2] / "instances/plan/cluster.yaml"

SMALL = """\
apiVersion: placer/v1
kind: Plan
currency: EUR
machines_are: here
offers:
  - {name: little, machine: core-i7-1270p, price: 1.50MAX}
demand:
  pods:
    - {name: web, replicas: 5, requests: {cpu: 8, memory: 1Gi}}
    - {name: odd, requests: {cpu: CPUS}}
"""


def small(folder: Path, *, cpus: int = 1, most: int | None = None) -> str:
    """Write a plan of one offer, on which two pods of the service go."""
    text = SMALL.replace("machines_are: here\n", "").replace("CPUS", str(cpus))
    file = folder / "plan.yaml"
    file.write_text(text.replace("MAX", "" if most is None else f", max: {most}"))
    return str(file)


def buy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str]:
    """Run the command at 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    code = main(["plan", "buy", *arguments, "--workers", "1", "--seconds", "20"])
    return code, capsys.readouterr().out


def test_the_sentence_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    How many nodes for how much, and how good that is; then the mix and what binds.
    """
    code, out = buy(capsys, monkeypatch, small(tmp_path))

    lines = [line.rstrip() for line in out.splitlines()]
    assert code == 0
    assert lines[0] == "Buy 3 nodes for 4.50 EUR: no plan costs less, which is proven"
    assert lines[1] == "6 pods get a place, all judged."
    assert any(line.split() == ["little", "3", "1.50", "EUR", "4.50", "EUR"] for line in lines)
    assert any(line.startswith("little: CPUs, 85 % in use") for line in lines)


def test_the_answer_keeps_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Prices are decimals written as text, and every pod has its place.
    """
    code, out = buy(capsys, monkeypatch, small(tmp_path), "--format", "json")

    answer = json.loads(out)
    schema = schema_of(SchemaKind.PLAN_ANSWER)
    assert code == 0
    assert faults(answer, schema, schema["$defs"]) == []
    assert (Decimal(answer["price"]), Decimal(answer["bound"])) == (Decimal("4.5"), Decimal("4.5"))
    assert answer["mix"] == [{"offer": "little", "count": 3, "price": "4.5"}]
    (placement,) = answer["placements"]
    assert len(placement["pods"]) == 6
    assert {pod["node"] for pod in placement["pods"]} <= {"little-0", "little-1", "little-2"}


def test_a_pod_that_no_node_holds_is_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out = buy(capsys, monkeypatch, small(tmp_path, cpus=40))

    assert code == 1
    assert out.startswith("No plan places all pods: no node that is there or offered holds")
    assert "odd: " in out
    assert "40 CPUs" in out


def test_offers_that_end_are_named_with_the_pods_that_are_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out = buy(capsys, monkeypatch, small(tmp_path, most=2))

    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith("No plan places all 6 pods, which is proven: too few nodes")
    assert any("like it would have no place" in line for line in lines)
    assert lines[-1] == "little ends at 2: raise max, or offer other nodes."


@pytest.mark.check
def test_the_example_is_planned_for_both_scenarios(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    One mix does for today and for next year, and its gap is that of the two figures.
    """
    code, out = buy(capsys, monkeypatch, str(EXAMPLE), "--format", "json")

    answer = json.loads(out)
    price, bound = Decimal(answer["price"]), Decimal(answer["bound"])
    assert code == 0
    assert bound <= price
    assert answer["gapPercent"] == pytest.approx(float(100 * (price - bound) / bound), abs=1e-3)
    assert [one["pods"] for one in answer["scenarios"]] == [61, 152]
    assert [len(one["pods"]) for one in answer["placements"]] == [61, 152]
