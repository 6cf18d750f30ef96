"""``placer slots compile``: what people and programs get to see."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from typer.testing import CliRunner, Result

from commands import Placer
from placer_cli.slots import slots_app
from placer_models.files.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "instances" / "slots"


def run(*arguments: str | Path) -> Result:
    """Run the command in a terminal of 100 columns."""
    environment = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    return CliRunner().invoke(slots_app, ["compile", *map(str, arguments)], env=environment)


def test_a_job_is_drawn_from_operators_to_groups() -> None:
    """
    The way from operators to slots in one line, then each step of it.
    """
    result = run(EXAMPLES / "batch-join.yaml")

    assert result.exit_code == 0
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[0] == (
        "batch-join (batch, flip-53): 7 operators -> 5 chains -> 4 regions -> 4 groups"
    )
    assert "8 slots needed: 22 when all runs at once, 8 when regions take turns" in lines
    assert "│   │   └── to sort (hash, pipelined)" in lines
    assert "    └── write  2 subtasks, no managed memory" in lines
    assert any(re.fullmatch(r"default\[2\] +8 +2 +2 +384Mi +128Mi/3Gi +2.81Mi", x) for x in lines)


def test_a_cycle_of_regions_is_told_with_the_way_out() -> None:
    """
    Which regions, which links, and what to change.
    """
    text = " ".join(run(EXAMPLES / "cycle.yaml").stdout.split())

    assert (
        "Regions 0 and 1 wait for one another (source -> sort and sort -> join block); none can "
        "be first, so their slots are one gang. Make one of the links pipelined" in text
    )


def test_a_region_that_waits_for_itself_is_told(tmp_path: Path) -> None:
    """
    One region alone is worded for one region.
    """
    job = tmp_path / "job.yaml"
    job.write_text(
        "apiVersion: placer/v1\nkind: JobGraph\noperators: [{name: a}, {name: b}]\nedges:\n"
        "  - {from: a, to: b, partition: hash}\n  - {from: a, to: b, exchange: blocking}\n",
        encoding="utf-8",
    )

    assert "Region 0 waits for itself: a -> b blocks" in run(job).stdout


def test_programs_get_json_or_yaml() -> None:
    """
    One document, the same in both forms, with every fraction to the last place.
    """
    as_json = json.loads(run(EXAMPLES / "use-cases.yaml", "--format", "json").stdout)
    as_yaml = yaml.safe_load(run(EXAMPLES / "use-cases.yaml", "--format", "yaml").stdout)

    assert as_json == as_yaml
    assert as_json["kind"] == "CompiledJobGraph"
    assert as_json["slots"] == {"needed": 6, "atOnce": 6, "inTurn": 6}
    assert as_json["operators"][1]["fractions"] == {
        "operator": {"ofUseCase": 0.3333333333333333, "ofSlot": 0.16666666666666666},
        "stateBackend": {"ofUseCase": 1.0, "ofSlot": 0.5},
    }
    assert [group["slot"]["extended"] for group in as_json["groups"]] == [{}, {"gpu": 1.0}]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_job_is_a_picture_too(path: Path, tmp_path: Path) -> None:
    """
    An SVG file that any browser reads: every operator, and an arrow for every link.
    """
    picture = tmp_path / "job.svg"
    job = json.loads(run(path, "--format", "json", "--svg", picture).stdout)

    root = ElementTree.fromstring(picture.read_text("utf-8"))

    space = "{http://www.w3.org/2000/svg}"
    texts = [element.text for element in root.iter(f"{space}text")]
    assert {operator["name"] for operator in job["operators"]} <= set(texts)
    arrows = [x for x in root.iter(f"{space}path") if "marker-end" in x.attrib]
    assert len(arrows) == len(job["links"])


def test_names_are_text_in_pictures_and_tables(tmp_path: Path) -> None:
    """
    Angle brackets and square ones are names like others, and a long one is cut.
    """
    name = "<b>&[red]" + "x" * 40
    job = tmp_path / "job.json"
    document = {"apiVersion": "placer/v1", "kind": "JobGraph", "operators": [{"name": name}]}
    job.write_text(json.dumps(document), encoding="utf-8")
    picture = tmp_path / "job.svg"

    result = run(job, "--svg", picture)

    assert "<b>&[red]xxx" in result.stdout
    root = ElementTree.fromstring(picture.read_text("utf-8"))
    assert any((x.text or "").startswith("<b>&[red]xxx") for x in root.iter())


def test_a_large_job_is_drawn_in_part(tmp_path: Path) -> None:
    """
    Beyond sixty chains the tree says how many more there are.
    """
    job = tmp_path / "job.json"
    operators = [{"name": f"op{i}", "managed": {"offHeap": 1}} for i in range(100)]
    job.write_text(
        json.dumps(
            {
                "apiVersion": "placer/v1",
                "kind": "JobGraph",
                "mode": "batch",
                "operators": operators,
            }
        ),
        encoding="utf-8",
    )

    text = run(job).stdout

    assert "and 40 chains more; --format json has all" in text
    assert "and 40 groups more" in text
    assert "op99" not in text


def test_much_of_one_thing_is_told_in_part(tmp_path: Path) -> None:
    """
    Long chains, many links and many cycles are counted where they are not listed.
    """
    chain = [{"name": f"c{i}"} for i in range(30)]
    edges = [{"from": f"c{i}", "to": f"c{i + 1}"} for i in range(29)]
    pairs = [{"name": f"{x}{i}", "chaining": "never"} for i in range(20) for x in "ab"]
    for i in range(20):
        edges += [{"from": "c0", "to": f"a{i}", "partition": "hash"}] if i else []
        edges += [
            {"from": f"a{i}", "to": f"b{i}", "partition": "hash"},
            {"from": f"a{i}", "to": f"b{i}", "exchange": "blocking"},
        ]
    job = tmp_path / "job.json"
    document = {"apiVersion": "placer/v1", "kind": "JobGraph", "operators": [*chain, *pairs]}
    job.write_text(json.dumps({**document, "edges": edges}), encoding="utf-8")

    text = " ".join(run(job).stdout.split())

    assert "c0 + 28 more + c29 1 subtask" in text
    assert "and 18 operators more" in text
    assert "and 7 links more" in text
    assert "a1 -> b1, a2 -> b2, a3 -> b3, a4 -> b4 and 15 more blocks" in text


def test_bad_input_leaves_no_picture(tmp_path: Path) -> None:
    """
    A file that is refused is one error, and nothing is written.
    """
    job = tmp_path / "job.yaml"
    job.write_text("apiVersion: placer/v1\nkind: JobGraph\noperators: []\n", encoding="utf-8")
    picture = tmp_path / "job.svg"

    result = run(job, "--svg", picture)

    assert isinstance(result.exception, InputError)
    assert not picture.exists()
    assert result.stdout == ""


def test_a_picture_never_replaces_its_own_file(tmp_path: Path, placer: Placer) -> None:
    """
    One line, exit code 2, and the job is as it was.
    """
    job = tmp_path / "job.yaml"
    job.write_text((EXAMPLES / "batch-join.yaml").read_text())

    printed = placer("slots", "compile", str(job), "--svg", str(job), code=2)

    assert job.read_text() == (EXAMPLES / "batch-join.yaml").read_text()
    assert f"--svg {job} would write over the input {job}; name" in printed.err
