"""Ctrl-C: a real signal to a real process."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cli_samples import SMALL, names_in, written
from placer_cli.exits import ExitCode

TELLING = """\
import sys
from contextlib import contextmanager
import placer_cli.progress

@contextmanager
def solving_spinner(console):
    yield lambda words: print(words, file=sys.stderr, flush=True)

placer_cli.progress.solving_spinner = solving_spinner
"""
"""What the search does next is said in lines, as it would be on a terminal."""

DEAF = """\
import sys, time, placer.search.solver

def forever(*_, **__):
    print("deaf", file=sys.stderr, flush=True)
    time.sleep(3600)

placer.search.solver.solve = forever
"""
"""A search that does not hear."""

SLOW_READER = """\
import sys, time, placer.load

def forever(*_, **__):
    print("reading", file=sys.stderr, flush=True)
    time.sleep(3600)

placer.load.load_instance = forever
"""

MAIN = "from placer_cli.app import main\nsys.exit(main())\n"

NODES = 12
CPUS = 96

CROWD = """\
apiVersion: placer/v1
kind: Instance
nodes:
  - {name: "n-[00-11]", machine: epyc-7402-nps1}
pods:
"""


def crowd(load: float) -> str:
    """Return pods of many sizes, as many as ask for that share of the CPUs."""
    text, asked, i = CROWD, 0.0, 0
    while asked < load * NODES * CPUS:
        cpus = 5 + i * 37 % 31
        text += (
            f"  - {{name: p{i}, qos: LSR, requests: {{cpu: {cpus}}}, limits: {{cpu: {cpus}}}}}\n"
        )
        asked += cpus
        i += 1
    return text


def interrupted(
    script: str, arguments: Sequence[str], when: Callable[[str], bool], times: int = 1
) -> tuple[int, str, str]:
    """Run the command, interrupt it when a line says so; return code, output, messages.

    After the first interrupt the others follow one by one, each when the note has come.
    """
    run = subprocess.Popen(
        [sys.executable, "-c", script + MAIN, "solve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stderr is not None
    said = ""
    for line in run.stderr:
        said += line
        if (when(line) or "interrupted" in line) and times:
            run.send_signal(signal.SIGINT)
            times -= 1
            if not times:
                break
    out, rest = run.communicate(timeout=120)
    return run.returncode, out, said + rest


@pytest.mark.parametrize(("load", "code"), [(0.6, ExitCode.DONE), (1.2, ExitCode.NOT_ALL)])
def test_ctrl_c_writes_the_best_answer_so_far(load: float, code: ExitCode, tmp_path: Path) -> None:
    """
    In the middle of a model that takes very long: the answer, its exit code, and a note.
    """
    target = tmp_path / "p.json"
    file = written(tmp_path, crowd(load))
    arguments = [file, "--engine", "exact", "--time-limit", "3000", "--workers", "1"]
    got, out, err = interrupted(
        TELLING, [*arguments, "--output", str(target)], lambda line: line.startswith("tier ")
    )

    assert got == code
    assert err.count("placer: interrupted") == 1
    assert "traceback" not in err.lower()
    tree = json.loads(target.read_text(encoding="utf-8"))
    assert len(tree["pods"]) > NODES
    assert tree["status"] == ("placed" if code is ExitCode.DONE else "partly-placed")
    assert "pods placed" in out


def test_ctrl_c_while_greedy_places_waits_for_its_answer(tmp_path: Path) -> None:
    """
    The greedy answer is never cut short, so there is one.
    """
    got, _, err = interrupted(
        TELLING,
        [written(tmp_path, SMALL), "--time-limit", "3000"],
        lambda line: line.startswith("placing greedily"),
    )

    assert got == ExitCode.DONE
    assert "solved in" in err


def test_the_second_ctrl_c_ends_without_an_answer(tmp_path: Path) -> None:
    """
    A search that does not hear is left alone; the output is as it was.
    """
    arguments = [written(tmp_path, SMALL), "--output", str(tmp_path / "p.json")]
    got, out, err = interrupted(DEAF, arguments, lambda line: line == "deaf\n", times=2)

    assert got == ExitCode.NO_ANSWER
    assert out == ""
    assert err.endswith("\nplacer: interrupted before there was an answer\n")
    assert names_in(tmp_path) == ["instance.yaml"]


def test_ctrl_c_before_the_search_ends_without_an_answer(tmp_path: Path) -> None:
    """
    While files are read there is nothing to write.
    """
    file = written(tmp_path, SMALL)
    got, out, err = interrupted(SLOW_READER, [file], lambda line: line == "reading\n")

    assert got == ExitCode.NO_ANSWER
    assert out == ""
    assert err == "reading\nplacer: interrupted before there was an answer\n"
