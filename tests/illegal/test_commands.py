"""The command and illegal pods: in tables, documents and notes, and by its exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import Placer
from kubernetes_worlds import Json, device, held, node, pod, topology
from placer_cli.exits import ExitCode

GPU_150 = {"cpu": "1", "koordinator.sh/gpu": "150"}
SAID = "container 'main': resources: device-whole: koordinator.sh/gpu: 150 percent is more than"


def dump(folder: Path, *objects: Json) -> str:
    """Write a cluster of one node with GPUs, and return the file."""
    items = ",\n".join(json.dumps(one) for one in (node(), topology(), device(), *objects))
    file = folder / "dump.json"
    file.write_text(f'{{"apiVersion": "v1", "items": [\n{items}\n], "kind": "List"}}')
    return str(file)


def test_a_dump_with_an_illegal_pod_is_solved_for_all_others(
    tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Exit code 1; the table and the summary name it.
    """
    monkeypatch.chdir(tmp_path)
    dump(tmp_path, pod("bad", GPU_150), pod("fine"))

    printed = placer("solve", "dump.json", "--engine", "greedy", code=ExitCode.NOT_ALL)

    assert "1 of 2 pods placed, 1 illegal; " in printed.flat
    # A cell may break a line after a hyphen.
    told = f"illegal: dump.json:5: spec.containers: {SAID}"
    assert told.replace(" ", "") in printed.flat.replace(" ", "")
    assert f"illegal, not placed: Pod default/bad: spec.containers: {SAID}" in printed.err


def test_the_document_of_a_dump_says_the_word(tmp_path: Path, placer: Placer) -> None:
    """
    And verify takes it for what it is: nothing is broken, and all is as claimed.
    """
    file, answer = dump(tmp_path, pod("bad", GPU_150), pod("fine")), tmp_path / "answer.json"

    placer("solve", file, "--engine", "greedy", "--output", str(answer), code=ExitCode.NOT_ALL)
    tree: dict[str, Any] = json.loads(answer.read_text())
    verified = placer("verify", file, str(answer))

    assert tree["status"] == "partly-placed"
    assert [(one["name"], one["verdict"]) for one in tree["unplaced"]] == [("bad", "illegal")]
    assert "illegal, not placed: Pod default/bad" in verified.err


def test_nothing_but_illegal_pods_is_exit_code_1_too(tmp_path: Path, placer: Placer) -> None:
    """
    It is known that nothing that waits can have a place.
    """
    printed = placer("solve", dump(tmp_path, pod("bad", GPU_150)), code=ExitCode.NOT_ALL)

    assert "0 of 1 pod placed, 1 illegal: it is proven that nothing" in printed.flat


def test_what_runs_and_is_illegal_is_named_by_every_command(tmp_path: Path, placer: Placer) -> None:
    """
    As a misfit; the pods that wait are placed beside it.
    """
    bad = pod("bad", GPU_150, annotations=held(0), nodeName="n1")
    file, answer = dump(tmp_path, bad, pod("fine")), tmp_path / "answer.json"
    misfit = f"misfit: pod 'bad' is illegal: spec.containers: {SAID}"

    solved = placer("solve", file, "--engine", "greedy", "--output", str(answer))
    commands = [["show", file], ["show", file, "--node", "n1"], ["verify", file, str(answer)]]
    told = [placer(*command).flat for command in (*commands, ["validate", file])]
    tree = json.loads(placer("verify", file, str(answer), "--format", "json").out)

    assert "illegal pods that run: misfits, of which all counts that they hold" in solved.err
    for one in told:
        assert misfit in one
        assert "(rule legal)" in one
    assert [(one["pod"], one["rule"]) for one in tree["misfits"]] == [("bad", "legal")]


def test_to_validate_a_dump_with_illegal_pods_that_wait_is_exit_code_1(
    tmp_path: Path, placer: Placer
) -> None:
    """
    It can be read and solved, and not all of it is well.
    """
    file = dump(tmp_path, pod("bad", GPU_150), pod("fine"))

    for together in ((), ("--together",)):
        printed = placer("validate", *together, file, code=ExitCode.NOT_ALL)

        assert "1 waiting pod" in printed.flat
        assert "illegal, not placed: Pod default/bad" in printed.err


def test_what_is_placed_beside_an_illegal_pod_is_written_for_the_cluster(
    tmp_path: Path, placer: Placer
) -> None:
    """
    Nothing is written of the other.
    """
    file, folder = dump(tmp_path, pod("bad", GPU_150), pod("fine")), tmp_path / "out"

    placer(
        "solve",
        file,
        "--engine",
        "greedy",
        "--emit",
        "bindings",
        str(folder),
        code=ExitCode.NOT_ALL,
    )

    assert [file.name for file in folder.rglob("*.json")] == ["fine.json"]


def test_the_documents_of_all_nodes_are_written_beside_an_illegal_pod_that_runs(
    tmp_path: Path, placer: Placer
) -> None:
    """
    Its node's has it with what it holds.
    """
    bad = pod("bad", GPU_150, annotations=held(0), nodeName="n1")
    file, answer = dump(tmp_path, bad, pod("fine")), tmp_path / "answer.json"
    placer("solve", file, "--engine", "greedy", "--output", str(answer))
    folder = tmp_path / "documents"

    placer("apply", file, str(answer), "--documents", str(folder))

    (written,) = [json.loads(file.read_text()) for file in folder.iterdir()]
    assert sorted(one["name"] for one in written["pods"]) == ["bad", "fine"]
    placer("apply", str(folder / "n1.json"), "--dry-run")


FILE = """\
apiVersion: placer/v1
kind: Instance
nodes: [{name: n, machine: dgx-a100}]
pods:
  - {name: fine, requests: {cpu: 1}}
  - {name: bad, replicas: 5, qos: LSR, requests: {cpu: 1.5}}
running:
  - {name: old, qos: LSR, requests: {cpu: 2.5}, cpuset: "0-1", node: n}
"""
LINE = "instance.yaml:6: pods[1].requests.cpu: got 1.5 CPUs; LSR pods ask for a whole number"


@pytest.fixture(name="file")
def fixture_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a file with illegal pods that wait, and one that runs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("instance.yaml").write_text(FILE)
    return "instance.yaml"


@pytest.mark.parametrize("command", ["solve", "verify", "show", "validate", "apply"])
def test_a_file_with_illegal_pods_is_refused_by_every_command(
    command: str, file: str, placer: Placer
) -> None:
    """
    With one message that names the first of them, exit code 2.
    """
    Path("answer.json").write_text('{"apiVersion": "placer/v1", "kind": "Placement", "pods": []}')
    others = ["answer.json"] if command in ("verify", "apply") else []

    printed = placer(command, file, *others, code=ExitCode.BAD_INPUT)

    more = "(and 1 more); --skip-illegal goes on with the rest"
    assert printed.err == f"placer: {LINE} of CPUs (rule cpu-count) {more}\n"


@pytest.mark.parametrize("command", ["solve", "show", "validate"])
def test_the_option_is_named_only_where_it_helps(command: str, file: str, placer: Placer) -> None:
    """
    Not where something cannot be read either, with the option or without it.
    """
    Path(file).write_text(FILE + "  - {name: older, requests: {cpu: some}, node: n}\n")

    without = placer(command, file, code=ExitCode.BAD_INPUT).err
    with_it = placer(command, file, "--skip-illegal", code=ExitCode.BAD_INPUT).err

    assert "(and 2 more)\n" in without
    assert "running[1].requests.cpu" in with_it
    assert "--skip-illegal" not in without + with_it


def test_with_skip_illegal_a_file_is_solved_for_all_others(file: str, placer: Placer) -> None:
    """
    Exit code 1; the table names those that are left out, and a note does, once for all alike.
    """
    printed = placer("solve", file, "--skip-illegal", "--engine", "greedy", code=ExitCode.NOT_ALL)

    assert "1 of 6 pods placed, 5 illegal; " in printed.flat
    assert "bad-[0-4]" in printed.flat
    assert f"illegal, not placed: bad-[0-4] (5): {LINE}" in printed.err
    assert (
        "illegal, running: old: instance.yaml:8: running[0].requests.cpu: got 2.5 CPUs"
        in printed.err
    )


def test_with_skip_illegal_the_answer_is_verified_shown_and_applied(
    file: str, placer: Placer
) -> None:
    """
    By the same instance, read in the same way.
    """
    solve = ["solve", file, "--skip-illegal", "--engine", "greedy", "--output", "answer.json"]
    placer(*solve, code=ExitCode.NOT_ALL)
    misfit = "misfit: pod 'old' is illegal: instance.yaml:8: running[0].requests.cpu: got 2.5 CPUs"

    finding = placer("verify", file, "answer.json", "--skip-illegal").flat
    show = ["show", file, "--placement", "answer.json", "--skip-illegal"]
    cluster, picture = placer(*show).flat, placer(*show, "--node", "n")
    placer("apply", file, "answer.json", "--skip-illegal", "--documents", "nodes")

    assert "1 of 6 pods placed, 5 illegal." in finding
    assert "1 of 6 pods placed, 5 illegal" in cluster
    assert misfit in finding
    assert misfit in picture.flat
    assert f"illegal, not placed: bad-[0-4] (5): {LINE}" in picture.err
    document = json.loads(Path("nodes/n.json").read_text())
    assert [one["name"] for one in document["pods"]] == ["old", "fine"]


def test_skip_illegal_changes_nothing_for_files_without_any(placer: Placer) -> None:
    """
    Nor for dumps, of which illegal pods are left out anyway.
    """
    for file in ("instances/hello.yaml", "instances/dumps/cluster.yaml"):
        assert placer("show", file).flat == placer("show", file, "--skip-illegal").flat


def test_validate_names_every_illegal_pod_of_a_file(file: str, placer: Placer) -> None:
    """
    With the option, and has exit code 1 if some wait, as for dumps.
    """
    for together in ((), ("--together",)):
        printed = placer("validate", file, "--skip-illegal", *together, code=ExitCode.NOT_ALL)

        assert "1 waiting pod" in printed.flat
        assert (
            "misfit: pod 'old' is illegal: instance.yaml:8: running[0].requests.cpu: got"
            in printed.flat
        )
        assert f"illegal, not placed: bad-[0-4] (5): {LINE}" in printed.err


def test_who_is_left_out_with_illegal_members_is_named(file: str, placer: Placer) -> None:
    """
    Also by commands that do not draw a table of who has no place.
    """
    gang = """\
gangs:
  - name: g
    pods:
      - {name: a, replicas: 3, requests: {cpu: 1}}
      - {name: b, qos: LSR, requests: {cpu: 0.5}}
"""
    Path(file).write_text(FILE + gang)

    printed = placer("show", file, "--skip-illegal")

    assert "10 waiting, 6 illegal" in printed.flat
    assert (
        "illegal, not placed: b: instance.yaml:13: gangs[0].pods[1].requests.cpu: got"
        in printed.err
    )
    assert "not placed without illegal members: a-[0-2]" in printed.err
