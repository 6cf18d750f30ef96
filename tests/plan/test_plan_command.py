"""``placer plan buy``: what people and programs get to see."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from commands import Placer
from json_schemas import faults
from placer_cli.commands.schema import SchemaDocumentKind, json_schema_of_document_kind

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


BUY = ("--workers", "1", "--seconds", "20")


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 columns, whatever the terminal has."""
    monkeypatch.setenv("COLUMNS", "100")


def test_the_sentence_comes_first(
    tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    How many nodes for how much, and how good that is; then the mix and what binds.
    """
    monkeypatch.setenv("COLUMNS", "80")
    out = placer("plan", "buy", small(tmp_path), *BUY).out

    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0] == "Buy 3 nodes for 4.50 EUR: no plan costs less, which is proven."
    assert lines[1] == "6 pods get a place, all judged."
    assert any(line.split() == ["little", "3", "1.50", "EUR", "4.50", "EUR"] for line in lines)
    assert any(line.startswith("little: CPUs, 85 % in use") for line in lines)


def test_the_answer_keeps_its_schema(tmp_path: Path, placer: Placer) -> None:
    """
    Prices are decimals written as text, and every pod has its place.
    """
    out = placer("plan", "buy", small(tmp_path), "--format", "json", *BUY).out

    answer = json.loads(out)
    schema = json_schema_of_document_kind(SchemaDocumentKind.PLAN_ANSWER)
    assert faults(answer, schema, schema["$defs"]) == []
    assert (Decimal(answer["price"]), Decimal(answer["bound"])) == (Decimal("4.5"), Decimal("4.5"))
    assert answer["mix"] == [{"offer": "little", "count": 3, "price": "4.5"}]
    (placement,) = answer["placements"]
    assert len(placement["pods"]) == 6
    assert {pod["node"] for pod in placement["pods"]} <= {"little-0", "little-1", "little-2"}


def test_a_pod_that_no_node_holds_is_named_with_the_reason(tmp_path: Path, placer: Placer) -> None:
    out = placer("plan", "buy", small(tmp_path, cpus=40), *BUY, code=1).out

    assert out.startswith("No plan places all pods, which is proven: no offer can hold this pod.")
    assert "odd: " in out
    assert "40 CPUs" in out


def test_offers_that_end_are_named_with_the_pods_that_are_left(
    tmp_path: Path, placer: Placer
) -> None:
    out = placer("plan", "buy", small(tmp_path, most=2), *BUY, code=1).out

    lines = out.splitlines()
    assert lines[0].startswith("No plan places all 6 pods, which is proven: too few nodes")
    assert any("would have no place" in line for line in lines)
    end = lines.index("At most 2 of little can be bought.")
    assert "would do: offers.little.max=3, at 4.50 EUR in all (proven smallest)" in lines[end:]


@pytest.mark.check
def test_the_example_is_planned_for_both_scenarios(placer: Placer) -> None:
    """
    One mix does for today and for next year, and its gap is that of the two figures.
    """
    out = placer("plan", "buy", str(EXAMPLE), "--format", "json", *BUY).out

    answer = json.loads(out)
    price, bound = Decimal(answer["price"]), Decimal(answer["bound"])
    assert bound <= price
    assert answer["gapPercent"] == pytest.approx(float(100 * (price - bound) / bound), abs=1e-3)
    assert [one["pods"] for one in answer["scenarios"]] == [61, 152]
    assert [len(one["pods"]) for one in answer["placements"]] == [61, 152]


DEMO = str(Path(__file__).parents[2] / "instances/demo.yaml")
DUMP = str(Path(__file__).parents[2] / "instances/dumps/cluster.yaml")


def test_a_fit_tells_its_number_first_then_what_stops_the_next_one(placer: Placer) -> None:
    out = placer("plan", "fit", DEMO, "--pod", "cpu=4,memory=16Gi,gpu=1").out

    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0] == (
        "22 more pods of cpu=4,memory=16Gi,gpu=1 fit, and no more than that, which is proven."
    )
    assert any(
        line.startswith("dgx-a100") and line.endswith("16  device-count asks 1 gpu")
        for line in lines
    )


def test_a_fit_keeps_its_schema_and_counts_after_each_change(placer: Placer) -> None:
    """
    Each change by itself; a change of a pod that is counted changes the shape.
    """
    changes = ("--what-if", "add=1:gpu-1", "--what-if", "cordon=gpu-3")
    out = placer("plan", "fit", DUMP, "--pod", "ml/notebook-0", *changes, "--format", "json").out

    answer = json.loads(out)
    schema = json_schema_of_document_kind(SchemaDocumentKind.FIT_ANSWER)
    assert faults(answer, schema, schema["$defs"]) == []
    assert [step["changes"] for step in answer["steps"]] == [[], ["add=1:gpu-1"], ["cordon=gpu-3"]]
    assert [step["count"] for step in answer["steps"]] == [15, 23, 11]
    assert all(step["proven"] for step in answer["steps"])
    assert [len(step["placement"]["pods"]) for step in answer["steps"]] == [15, 23, 11]


def test_a_file_with_a_pod_is_a_shape_in_the_language_of_the_cluster(
    tmp_path: Path, placer: Placer
) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: small, namespace: shop}\n"
        "spec: {containers: [{name: c, resources: {requests: {cpu: 4, memory: 8Gi}}}]}\n"
    )
    out = placer("plan", "fit", DUMP, "--pod", str(pod)).out
    assert out.startswith("6 more pods like shop/small fit, and no more than that")

    error = placer("plan", "fit", DEMO, "--pod", str(pod), code=2).err
    assert "in another language than the instance; expected an Instance with one pod" in error


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--pod", "nobody"), "--pod: got 'nobody'; no pod or gang has this name"),
        (("--pod", "zzz"), "is written so; there are 'orders-db', 'api-0', 'api-1' and 18"),
        (("--pod", "cpu=4,cpu=5"), "--pod: got 'cpu' twice; give it once"),
        (("--pod", "cpu="), "--pod: got 'cpu='; expected RESOURCE=AMOUNT"),
        (("--pod", "gpux=1"), "no machine has a device type 'gpux'; did you mean 'gpu'?"),
        (("--pod", "chat"), "its pods ask for different things"),
        (("--pod", "cpu=1", "--exclude-nodes", "pool=x"), "--exclude-nodes: got 'pool=x'; no node"),
        (("--pod", "cpu=1", "--exclude-nodes", "a b"), "--exclude-nodes: got 'a b'; expected"),
        (("--pod", "cpu=1", "--what-if", "cordon=x"), "--what-if: cordon=x: there is no node 'x'"),
        (("--pod", "missing.yaml"), "missing.yaml: "),
        (("--pod", "memory=0"), "asks for nothing"),
    ],
)
def test_a_bad_question_about_a_fit_is_one_line(
    arguments: tuple[str, ...], told: str, placer: Placer
) -> None:
    out, error = placer("plan", "fit", DEMO, *arguments, code=2)

    assert out == ""
    assert told in error
    assert len(error.splitlines()) == 1


RUNNING = str(Path(__file__).parents[2] / "instances/plan/running.yaml")
ZONES = ("--domain", "topology.kubernetes.io/zone")


def test_losses_are_told_worst_first_and_keep_their_schema(placer: Placer) -> None:
    out = placer(
        "plan", "survive", RUNNING, *ZONES, "--offers", str(EXAMPLE), "--format", "json", code=1
    ).out

    answer = json.loads(out)
    schema = json_schema_of_document_kind(SchemaDocumentKind.SURVIVAL_ANSWER)
    assert faults(answer, schema, schema["$defs"]) == []
    assert [one["name"] for one in answer["losses"]] == ["zone-b", "zone-a", "zone-c"]
    assert [len(one["unplaced"]) for one in answer["losses"]] == [5, 2, 0]
    assert [one["mend"] and one["mend"]["price"] for one in answer["losses"]] == [
        "5.9",
        "5.9",
        None,
    ]
    assert all(one["proven"] for one in answer["losses"])


def test_a_cluster_that_survives_ends_well(placer: Placer) -> None:
    """
    Pods of DaemonSets are not missed, and losses that are alike are counted.
    """
    out = placer("plan", "survive", DUMP).out

    assert out.startswith("Every pod finds a place whichever node is lost.")
    assert "kube-proxy" not in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--nodes", "2", "--domain", "x"), "--nodes and --domain are two questions; ask one"),
        (("--nodes", "8"), "--nodes: 8 nodes cannot be lost of 8: some have to be left"),
        (("--domain", "rack"), "--domain: no node has the label or the level 'rack'; there are"),
        (("--offers", RUNNING), "Plan"),
        (("--nodes", "0"), "--nodes"),
    ],
)
def test_a_bad_question_about_losses_is_one_line(
    arguments: tuple[str, ...], told: str, placer: Placer
) -> None:
    out, error = placer("plan", "survive", RUNNING, *arguments, code=2)

    assert out == ""
    assert told in error
    assert len(error.splitlines()) == 1
