"""``placer queue``: what it prints, draws, writes, and ends with.

It does not write over what it reads.
"""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from commands import Placer
from placer_cli.queue import queue_app
from placer_models.files.errors import InputError

QUEUES = Path(__file__).parents[2] / "instances" / "queues"
SVG = "{http://www.w3.org/2000/svg}"
GANG_THAT_NEVER_FITS = """\
apiVersion: placer/v1
kind: QueueSimulation
capacity: {threads: 4, changes: [{at: 1s, threads: 2}]}
jobs:
  - {name: wide, width: 4, length: 5s, arrives: 2s}
"""


def queue(*arguments: str | Path) -> Result:
    """Run the command on a page of 100 columns without colours."""
    environment = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    return CliRunner().invoke(queue_app, [str(a) for a in arguments], env=environment)


def test_a_simulation_is_drawn() -> None:
    """
    The page has the Gantt picture, the curves, the jobs, both bounds and the reasons.
    """
    result = queue("simulate", QUEUES / "fig-3-04.yaml")

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "Figure 3-4: fine submission, two jobs"
    assert len([line for line in lines if re.match(r"C\d+ +A", line)]) == 10
    assert any(re.fullmatch(r"C6 .* 6", line.rstrip()) for line in lines)
    page = " ".join(result.stdout.split())
    assert "All ends at 660 s; no order of the threads could end before 636 s" in page
    assert "Job 1 600 against Job 2 600 (a tie: the older goes first)" in page
    assert "C2 takes Job 2 #1: in default: Job 2 600 against Job 1 660 (gap 60)" in page


def test_the_two_step_decision_is_explained() -> None:
    """
    Figure 3-9's first choice: group value, job value, runner-up and gap.
    """
    page = " ".join(queue("simulate", QUEUES / "fig-3-09.yaml", "--decisions", "1").stdout.split())

    assert (
        "0 s C1 takes DEFAULT1 #1: default 201.5 against Priority 20 (Medium) 202 (gap 0.5); "
        "in default: DEFAULT1 100 against DEFAULT2 101.5 (gap 1.5) and 10 more" in page
    )


def test_the_literal_rule_can_be_asked_for() -> None:
    """
    --charge takes the place of what the file says, and the page shows what that does.
    """
    file = QUEUES / "dispatch-against-running.yaml"
    pages = [queue("simulate", file, *more).stdout for more in ((), ("--charge", "running"))]
    leads = [re.search(r"waited\s+was\s+([\d.]+)", page) for page in pages]

    assert [lead and float(lead[1]) for lead in leads] == [1.0, pytest.approx(36.75, abs=10)]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_simulation_is_a_document_too(form: str) -> None:
    """
    For programs: every run with its reasons, times in microseconds.
    """
    result = queue("simulate", QUEUES / "fig-3-07.yaml", "--format", form)

    assert result.exit_code == 0
    if form == "yaml":
        assert "kind: QueueSimulated" in result.stdout
        return
    tree = json.loads(result.stdout)
    assert tree["makespan_us"] == 480_000_000
    assert tree["runs"][0]["why"][-1] == {
        "group": "default",
        "chosen": "DEFAULT1",
        "value": "100",
        "runnerUp": "DEFAULT2",
        "runnerUpValue": "203/2",
    }


def test_the_pictures_are_svg(tmp_path: Path) -> None:
    """
    One file: a bar for each thread of work, areas of threads in use, lines of service.
    """
    file = tmp_path / "figure.svg"
    result = queue("simulate", QUEUES / "fig-3-04.yaml", "--svg", file)
    page = ElementTree.parse(file).getroot()

    assert result.exit_code == 0
    bars = [bar for bar in page.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]
    assert len(bars) == 101
    assert {"Job 1 #55: 300 to 660 s"} <= {bar[0].text for bar in bars}
    assert len(list(page.iter(f"{SVG}polygon"))) == 2
    assert "Service over the job's weight, thread-seconds" in {
        t.text for t in page.iter(f"{SVG}text")
    }


def test_threads_that_never_ran_are_said(tmp_path: Path) -> None:
    """
    Exit code 1, and the name of the job that found no room.
    """
    file = tmp_path / "q.yaml"
    file.write_text(GANG_THAT_NEVER_FITS, "utf-8")
    result = queue("simulate", file)

    assert result.exit_code == 1
    assert "1 thread of wide never ran" in result.stdout
    assert "What ran ended at" in result.stdout
    assert "All ends" not in result.stdout
    assert queue("simulate", file, "--svg", tmp_path / "q.svg").exit_code == 1


def test_advice_is_drawn() -> None:
    """
    Counts in a table, and the share of threads between multiples of the target, now and then.
    """
    result = queue("advise", QUEUES / "history.yaml")

    assert result.exit_code == 0
    assert re.search(r"^BILL +10 +12,000 +0 % +100 +100 +100 = 10 x", result.stdout, re.MULTILINE)
    assert re.search(r"^EXTRACT .* 1 as now", result.stdout, re.MULTILINE)
    assert re.search(r"^90 to 120 s +█+ 100 %", result.stdout, re.MULTILINE)


def test_advice_is_a_document_too() -> None:
    """
    The same counts for programs.
    """
    tree = json.loads(queue("advise", QUEUES / "history.yaml", "--format", "json").stdout)

    assert [job["advice"] for job in tree["jobs"]] == [100, 950, 10, 1]


@pytest.mark.parametrize("command", ["simulate", "advise"])
def test_a_bad_file_is_refused(command: str, tmp_path: Path) -> None:
    """
    The one message of the reader; nothing is printed, nothing is written.
    """
    file, svg = tmp_path / "bad.yaml", tmp_path / "bad.svg"
    file.write_text("apiVersion: placer/v1\nkind: Nothing\n", "utf-8")
    result = queue(command, file, *(("--svg", svg) if command == "simulate" else ()))

    assert isinstance(result.exception, InputError)
    assert "kind: got 'Nothing'; expected 'Queue" in str(result.exception)
    assert result.stdout == ""
    assert not svg.exists()


@pytest.mark.parametrize("columns", [20, 40, 80, 250])
def test_every_width_has_room_for_the_pictures(columns: int) -> None:
    """
    Narrow or wide, a page is drawn and no line of a picture is longer than the terminal.
    """
    environment = {"COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "dumb"}
    for command, name in (("simulate", "fig-3-10"), ("simulate", "gangs"), ("advise", "history")):
        arguments = [command, str(QUEUES / f"{name}.yaml")]
        result = CliRunner().invoke(queue_app, arguments, env=environment)

        assert result.exit_code == 0
        assert max(map(len, result.stdout.splitlines())) <= columns


FIGURE = Path(__file__).parents[2] / "instances" / "queues" / "fig-3-04.yaml"


def test_a_picture_never_replaces_its_own_file(tmp_path: Path, placer: Placer) -> None:
    """
    One line, exit code 2, and the file is as it was.
    """
    file = tmp_path / "queue.yaml"
    file.write_text(FIGURE.read_text())
    printed = placer("queue", "simulate", str(file), "--svg", str(file), code=2)

    assert file.read_text() == FIGURE.read_text()
    assert len(printed.err.splitlines()) == 1
