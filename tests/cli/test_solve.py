"""``placer solve``: what it prints, what it writes, how it ends."""

import json
import re
from itertools import chain, repeat
from pathlib import Path

import pytest
import yaml

from cli_samples import SMALL, TOO_LARGE, names_in, written
from commands import Placer
from placer.search.options import SolveOptions
from placer_cli.app import main
from placer_cli.exits import ExitCode
from placer_models.placement import GaveUp, Infeasible, Unplaced

FAST = ("--workers", "1", "--work-limit", "5")


def test_a_solvable_instance_ends_with_zero(tmp_path: Path, placer: Placer) -> None:
    """
    The verdict comes first, then a row for each pod, then the tiers.
    """
    out = placer("solve", written(tmp_path, SMALL), *FAST).out

    assert out.startswith("3 of 3 pods placed, optimal.\n")
    assert "\ntrain\n  train-0  gpu-" in re.sub(" +\n", "\n", out)
    assert "50 GB/s" in out
    assert "placed.priority-0" in out


def test_tiers_of_nothing_are_counted(tmp_path: Path, placer: Placer) -> None:
    """
    Those that are 0 and proven stand in one line, and --tiers shows them.
    """
    file = written(tmp_path, SMALL)
    tiers = json.loads(placer("solve", file, *FAST, "--format", "json").out)["tiers"]
    zeros = [tier["name"] for tier in tiers if tier["value"] == 0 and tier["proven"]]
    assert len(zeros) > 1

    few = placer("solve", file, *FAST).out
    all_of_them = placer("solve", file, *FAST, "--tiers").out

    assert f"and {len(zeros)} tiers are 0, and proven (--tiers shows all)\n" in few
    for name in zeros:
        assert f"\n{name} " not in few
        assert f"\n{name} " in all_of_them
    assert "--tiers" not in all_of_them


def test_no_distance_is_told_from_a_bound_that_nobody_looked_for(
    tmp_path: Path, placer: Placer
) -> None:
    """
    The greedy path looks for none: that more pods wait than have places is no bound.
    """
    out = placer(
        "solve", written(tmp_path, TOO_LARGE), "--engine", "greedy", code=ExitCode.NOT_ALL
    ).out

    assert out.startswith("3 of 4 pods placed, not proven optimal.\n")
    assert "%" not in out


def test_a_pod_without_a_place_ends_with_one_and_a_reason(tmp_path: Path, placer: Placer) -> None:
    """
    What fits is placed; what does not is listed with why.
    """
    out = placer("solve", written(tmp_path, TOO_LARGE), *FAST, code=ExitCode.NOT_ALL).out

    assert out.startswith("3 of 4 pods placed, optimal")
    assert "Without a place" in out
    assert "huge" in out.split("Without a place")[1]


def test_the_document_has_the_promised_shape(tmp_path: Path, placer: Placer) -> None:
    """
    Programs find status, tiers, pods, moves, unplaced and timing (G3).
    """
    command = ["solve", written(tmp_path, TOO_LARGE), *FAST, "--format", "json"]
    tree = json.loads(placer(*command, code=ExitCode.NOT_ALL).out)

    assert (tree["apiVersion"], tree["kind"]) == ("placer/v1", "Placement")
    assert tree["status"] == "partly-placed"
    fields = {"name", "unit", "sense", "value", "bound", "proven", "boundFrom", "binds"}
    assert fields == set(tree["tiers"][0])
    assert {pod["name"] for pod in tree["pods"]} == {"train-0", "train-1", "web"}
    train = next(pod for pod in tree["pods"] if pod["name"] == "train-0")
    assert {
        *("name", "namespace", "gang", "node", "cpuset", "containers"),
        *("memory", "hugepages", "devices", "env"),
    } == set(train)
    assert {"type", "minor", "id", "resources", "vfs"} == set(train["devices"][0])
    assert tree["moves"] == []
    assert [pod["name"] for pod in tree["unplaced"]] == ["huge"]
    assert set(tree["timing"]) == {"read_s", "solve_s"}


def test_yaml_is_the_same_document(tmp_path: Path, placer: Placer) -> None:
    """
    The two formats differ in looks only.
    """
    file = written(tmp_path, SMALL)
    as_json = json.loads(placer("solve", file, *FAST, "--format", "json").out)
    as_yaml = yaml.safe_load(placer("solve", file, *FAST, "--format", "yaml").out)

    assert {**as_json, "timing": {}} == {**as_yaml, "timing": {}}


def test_output_takes_the_document_and_the_table_stays(tmp_path: Path, placer: Placer) -> None:
    """
    One run gives the table to read and the file to keep.
    """
    target = tmp_path / "placement.json"

    printed = placer("solve", written(tmp_path, SMALL), *FAST, "--output", str(target))

    assert json.loads(target.read_text())["status"] == "placed"
    assert "3 of 3 pods placed" in printed.out
    assert names_in(tmp_path) == ["instance.yaml", "placement.json"]


def test_output_in_a_chosen_format_leaves_standard_output_alone(
    tmp_path: Path, placer: Placer
) -> None:
    """
    With --format json the document goes to the file, and nothing else is printed there.
    """
    target = tmp_path / "placement.txt"

    printed = placer(
        "solve", written(tmp_path, SMALL), *FAST, "--format", "json", "--output", str(target)
    )

    assert json.loads(target.read_text())["kind"] == "Placement"
    assert printed.out == ""


def test_a_yaml_name_gets_yaml(tmp_path: Path) -> None:
    """
    The file's name says its format where --format does not.
    """
    target = tmp_path / "placement.yaml"

    main(["solve", written(tmp_path, SMALL), *FAST, "--output", str(target)])

    assert target.read_text().startswith("apiVersion: placer/v1\nkind: Placement\n")


def test_a_refused_instance_leaves_the_old_output(tmp_path: Path, placer: Placer) -> None:
    """
    Bad input writes nothing: the last good answer is still there.
    """
    target = tmp_path / "placement.json"
    target.write_text("the last good answer")

    command = ["solve", written(tmp_path, SMALL + "colour: red\n"), *FAST, "--output", str(target)]
    printed = placer(*command, code=ExitCode.BAD_INPUT)

    assert target.read_text() == "the last good answer"
    assert names_in(tmp_path) == ["instance.yaml", "placement.json"]
    assert printed.out == ""


@pytest.mark.parametrize(
    ("target", "words"),
    [("", "Is a directory"), ("nowhere/placement.json", "nowhere/placement.json: no such folder")],
)
def test_an_output_that_cannot_be_written_is_known_at_once(
    target: str, words: str, tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The solver does not even start when its answer could not be kept.
    """
    monkeypatch.setattr("placer.search.solver.solve", lambda *_: pytest.fail("it started"))

    command = ["solve", written(tmp_path, SMALL), *FAST, "--output", str(tmp_path / target)]
    assert words in placer(*command, code=ExitCode.BAD_INPUT).err


@pytest.mark.parametrize(
    ("target", "words"),
    [("", "the name of the file is empty"), ("-", "'-' is no file; name one")],
)
def test_an_output_without_a_name_is_refused(
    target: str, words: str, tmp_path: Path, placer: Placer
) -> None:
    """
    Neither an empty name nor a dash makes a strange file.
    """
    printed = placer("solve", written(tmp_path, SMALL), "--output", target, code=ExitCode.BAD_INPUT)
    assert words in printed.err


@pytest.mark.parametrize("target", ["pods.yaml", "folder/../pods.yaml", "link.yaml"])
def test_an_input_is_never_written_over(target: str, tmp_path: Path, placer: Placer) -> None:
    """
    Who mistypes --output keeps the instance, also behind a link or another spelling.
    """
    head = "apiVersion: placer/v1\nkind: Instance\n"
    nodes = written(tmp_path, head + "nodes: [{name: a, machine: dgx-2}]\n", "nodes.yaml")
    pods = written(tmp_path, head + "pods: [{name: p, requests: {gpu: 16}}]\n", "pods.yaml")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.yaml").symlink_to(pods)
    before = Path(pods).read_bytes()

    command = ["solve", nodes, pods, *FAST, "--output", str(tmp_path / target)]
    captured = placer(*command, code=ExitCode.BAD_INPUT)

    assert f"would write over the input {pods}; name another file" in captured.err
    assert (captured.err.count("\n"), captured.out) == (1, "")
    assert Path(pods).read_bytes() == before
    assert names_in(tmp_path) == ["folder", "link.yaml", "nodes.yaml", "pods.yaml"]


@pytest.mark.parametrize(
    ("command", "option"), [(["solve", *FAST], "--output"), (["show"], "--svg")]
)
@pytest.mark.parametrize("more", [(), ("pods.yaml",)])
def test_a_machine_that_the_instance_names_is_never_written_over(
    command: list[str], option: str, more: tuple[str, ...], tmp_path: Path, placer: Placer
) -> None:
    """
    The file of a machine is an input too, though no argument names it.
    """
    head = "apiVersion: placer/v1\nkind: Instance\n"
    topo = "\tGPU0\tGPU1\nGPU0\tX\tNV1\nGPU1\tNV1\tX\n"
    machine = written(tmp_path, topo, "box.txt")
    nodes = written(tmp_path, head + "nodes: [{name: a, machine: ./box.txt}]\n", "nodes.yaml")
    written(tmp_path, head + "pods: [{name: p, requests: {gpu: 1}}]\n", "pods.yaml")
    inputs = [nodes, *(str(tmp_path / name) for name in more)]

    arguments = [*command, *inputs, option, str(tmp_path / "." / "box.txt")]
    captured = placer(*arguments, code=ExitCode.BAD_INPUT)

    assert f"{option} {machine} would write over the input {machine}; name" in captured.err
    assert (captured.err.count("\n"), captured.out) == (1, "")
    assert Path(machine).read_text() == topo


LEFT = (Unplaced("huge", "default", None, ("never fits: 9 gpu of 8",)),)


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (
            GaveUp(1.0, LEFT),
            ExitCode.NO_ANSWER,
            "placed; none was ruled out in 1.0 s; try a longer",
        ),
        (Infeasible(LEFT), ExitCode.NOT_ALL, "0 of 3 pods placed: it is proven that nothing"),
    ],
)
def test_no_placement_is_an_answer_too(
    answer: GaveUp | Infeasible,
    code: ExitCode,
    words: str,
    tmp_path: Path,
    placer: Placer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Time that ran out and a proof that nothing fits end differently; both say why (G3).
    """
    monkeypatch.setattr("placer.search.solver.solve", lambda *_: answer)

    out = placer("solve", written(tmp_path, SMALL), code=code).out

    assert words in out
    assert "never fits: 9 gpu of 8" in out


def test_nothing_placed_greedily_is_proven_by_reasons_that_leave_no_doubt(
    tmp_path: Path, placer: Placer
) -> None:
    """
    Who fits no node at all is not sent to a search.
    """
    text = SMALL.split("gangs:")[0] + "pods: [{name: huge, requests: {gpu: 9}}]\n"

    printed = placer("solve", written(tmp_path, text), "--engine", "greedy", code=ExitCode.NOT_ALL)

    assert printed.out.startswith(
        "0 of 1 pod placed: it is proven that nothing that waits can have a place.\n"
    )


def test_nothing_placed_greedily_is_no_matter_of_time(tmp_path: Path, placer: Placer) -> None:
    """
    Otherwise the greedy path proves nothing: who gets nothing of it is sent to a search.
    """
    each_wants_the_other = """\
pods:
  - {name: a, labels: {app: a}, affinity: {required: {matchLabels: {app: b}}}}
  - {name: b, labels: {app: b}, affinity: {required: {matchLabels: {app: a}}}}
"""
    text = SMALL.split("gangs:")[0] + each_wants_the_other

    printed = placer(
        "solve", written(tmp_path, text), "--engine", "greedy", code=ExitCode.NO_ANSWER
    )

    assert printed.out.startswith(
        "0 of 2 pods placed: the greedy path proves nothing; try --engine auto.\n"
    )


@pytest.mark.parametrize(
    ("limit", "words"),
    [("--time-limit", "try a longer --time-limit."), ("--work-limit", "a larger --work-limit.")],
)
def test_who_ran_out_is_told_which_limit_to_raise(
    limit: str, words: str, tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The advice names the limit that ended the search.
    """
    monkeypatch.setattr("placer.search.solver.solve", lambda *_: GaveUp(1.0, ()))

    printed = placer("solve", written(tmp_path, SMALL), limit, "1", code=ExitCode.NO_ANSWER)

    assert words in printed.out


def test_the_options_reach_the_solver(
    tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Engine, limits, workers and seed arrive as they were given.
    """
    seen = []

    def fake(instance: object, options: object, progress: object) -> GaveUp:
        seen.append(options)
        return GaveUp(0.0, ())

    monkeypatch.setattr("placer.search.solver.solve", fake)
    monkeypatch.setattr("placer_cli.commands.solve.monotonic", lambda: 0.0)
    options = "--engine greedy --time-limit 7 --work-limit 3 --workers 2 --seed 5"

    placer("solve", written(tmp_path, SMALL), *options.split(), code=ExitCode.NO_ANSWER)

    (got,) = seen
    assert (got.engine, got.time_limit_s, got.work_limit) == ("greedy", 7.0, 3)
    assert (got.workers, got.seed) == (2, 5)


@pytest.mark.parametrize(("limit", "left_s"), [("20", 18.0), ("1.5", 0.001)])
def test_loading_the_search_is_part_of_the_time(
    limit: str, left_s: float, tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The limit counts from the end of reading: here 5 s after the begin, and 2 s before the search.
    """
    seen: list[SolveOptions] = []

    def fake(instance: object, options: SolveOptions, progress: object) -> GaveUp:
        seen.append(options)
        return GaveUp(0.0, ())

    times_s = chain((0.0, 5.0, 7.0), repeat(9.0))
    monkeypatch.setattr("placer.search.solver.solve", fake)
    monkeypatch.setattr("placer_cli.commands.solve.monotonic", lambda: next(times_s))

    placer("solve", written(tmp_path, SMALL), "--time-limit", limit, code=ExitCode.NO_ANSWER)

    assert [options.time_limit_s for options in seen] == [left_s]


def test_nodes_and_pods_may_stand_in_two_files(tmp_path: Path, placer: Placer) -> None:
    """
    The files of one command line make one instance.
    """
    head = "apiVersion: placer/v1\nkind: Instance\n"
    nodes = written(tmp_path, head + "nodes: [{name: a, machine: dgx-2}]\n", "nodes.yaml")
    pods = written(tmp_path, head + "pods: [{name: p, requests: {gpu: 16}}]\n", "pods.yaml")

    assert "0-15" in placer("solve", nodes, pods, *FAST).out


def test_many_replicas_share_a_row(tmp_path: Path, placer: Placer) -> None:
    """
    200 equal pods do not fill the screen.
    """
    text = (
        "apiVersion: placer/v1\nkind: Instance\nnodes: [{name: a, machine: dgx-a100}]\n"
        "pods: [{name: web, replicas: 200, requests: {cpu: 1, memory: 1Gi}}]\n"
    )

    out = placer("solve", written(tmp_path, text), "--engine", "greedy").out

    assert "web-[0-199]" in out
    assert len(out.splitlines()) < 25
