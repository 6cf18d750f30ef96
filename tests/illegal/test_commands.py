"""The command and illegal pods: in tables, documents and notes, and by its exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubernetes_worlds import Json, device, held, node, pod, topology
from placer_cli.app import main
from placer_cli.exits import Exit

GPU_150 = {"cpu": "1", "koordinator.sh/gpu": "150"}
SAID = "container 'main': resources: device-whole: koordinator.sh/gpu: 150 percent is more than"


def dump(folder: Path, *objects: Json) -> str:
    """Write a cluster of one node with GPUs, and return the file."""
    items = ",\n".join(json.dumps(one) for one in (node(), topology(), device(), *objects))
    file = folder / "dump.json"
    file.write_text(f'{{"apiVersion": "v1", "items": [\n{items}\n], "kind": "List"}}')
    return str(file)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return the exit code of a command, what it prints, and what it says beside that."""
    code = main([*arguments])
    told = capsys.readouterr()
    return code, " ".join(told.out.split()), told.err


def test_a_dump_with_an_illegal_pod_is_solved_for_all_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Exit code 1; the table and the summary name it.
    """
    monkeypatch.chdir(tmp_path)
    dump(tmp_path, pod("bad", GPU_150), pod("fine"))

    code, out, err = run(capsys, "solve", "dump.json", "--engine", "greedy")

    assert code == Exit.NOT_ALL
    assert "1 of 2 pods placed, 1 illegal; " in out
    # A cell may break a line after a hyphen.
    told = f"illegal: dump.json:5: spec.containers: {SAID}"
    assert told.replace(" ", "") in out.replace(" ", "")
    assert f"illegal, not placed: Pod default/bad: spec.containers: {SAID}" in err


def test_the_document_of_a_dump_says_the_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    And verify takes it for what it is: nothing is broken, and all is as claimed.
    """
    file, answer = dump(tmp_path, pod("bad", GPU_150), pod("fine")), tmp_path / "answer.json"
    arguments = ("--engine", "greedy", "--output", str(answer))

    code, _, _ = run(capsys, "solve", file, *arguments)
    tree: dict[str, Any] = json.loads(answer.read_text())
    verified, _, err = run(capsys, "verify", file, str(answer))

    assert (code, tree["status"]) == (Exit.NOT_ALL, "partly-placed")
    assert [(one["name"], one["verdict"]) for one in tree["unplaced"]] == [("bad", "illegal")]
    assert verified == Exit.DONE
    assert "illegal, not placed: Pod default/bad" in err


def test_nothing_but_illegal_pods_is_exit_code_1_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    It is known that nothing that waits can have a place.
    """
    code, out, _ = run(capsys, "solve", dump(tmp_path, pod("bad", GPU_150)))

    assert code == Exit.NOT_ALL
    assert "0 of 1 pod placed, 1 illegal: it is proven that nothing" in out


def test_what_runs_and_is_illegal_is_named_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    As a misfit; the pods that wait are placed beside it.
    """
    bad = pod("bad", GPU_150, annotations=held(0), nodeName="n1")
    file, answer = dump(tmp_path, bad, pod("fine")), tmp_path / "answer.json"
    misfit = f"misfit: pod 'bad' is illegal: spec.containers: {SAID}"

    solved, _, err = run(capsys, "solve", file, "--engine", "greedy", "--output", str(answer))
    shown, picture, _ = run(capsys, "show", file)
    inside, inside_picture, _ = run(capsys, "show", file, "--node", "n1")
    verified, finding, _ = run(capsys, "verify", file, str(answer))
    validated, holds, _ = run(capsys, "validate", file)
    run_json, text, _ = run(capsys, "verify", file, str(answer), "--format", "json")

    assert (solved, shown, inside, verified, validated, run_json) == (Exit.DONE,) * 6
    assert "illegal pods that run: misfits, of which all counts that they hold" in err
    for told in (picture, inside_picture, finding, holds):
        assert misfit in told
        assert "(rule legal)" in told
    assert [(one["pod"], one["rule"]) for one in json.loads(text)["misfits"]] == [("bad", "legal")]


def test_to_validate_a_dump_with_illegal_pods_that_wait_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    It can be read and solved, and not all of it is well.
    """
    file = dump(tmp_path, pod("bad", GPU_150), pod("fine"))

    for together in ((), ("--together",)):
        code, out, err = run(capsys, "validate", *together, file)

        assert code == Exit.NOT_ALL
        assert "1 waiting pod" in out
        assert "illegal, not placed: Pod default/bad" in err


def test_what_is_placed_beside_an_illegal_pod_is_written_for_the_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Nothing is written of the other.
    """
    file, folder = dump(tmp_path, pod("bad", GPU_150), pod("fine")), tmp_path / "out"

    code, _, _ = run(capsys, "solve", file, "--engine", "greedy", "--emit", "bindings", str(folder))

    assert code == Exit.NOT_ALL
    assert [file.name for file in folder.rglob("*.json")] == ["fine.json"]


def test_the_documents_of_all_nodes_are_written_beside_an_illegal_pod_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Its node's has it with what it holds.
    """
    bad = pod("bad", GPU_150, annotations=held(0), nodeName="n1")
    file, answer = dump(tmp_path, bad, pod("fine")), tmp_path / "answer.json"
    run(capsys, "solve", file, "--engine", "greedy", "--output", str(answer))
    folder = tmp_path / "documents"

    code, _, _ = run(capsys, "apply", file, str(answer), "--documents", str(folder))

    assert code == Exit.DONE
    (written,) = [json.loads(file.read_text()) for file in folder.iterdir()]
    assert sorted(one["name"] for one in written["pods"]) == ["bad", "fine"]
    assert main(["apply", str(folder / "n1.json"), "--dry-run"]) == Exit.DONE


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
    command: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    With one message that names the first of them, exit code 2.
    """
    Path("answer.json").write_text('{"apiVersion": "placer/v1", "kind": "Placement", "pods": []}')
    others = ["answer.json"] if command in ("verify", "apply") else []

    code, _, err = run(capsys, command, file, *others)

    assert code == Exit.BAD_INPUT
    more = "(and 1 more); --skip-illegal goes on with the rest"
    assert err == f"placer: {LINE} of CPUs (rule cpu-count) {more}\n"


@pytest.mark.parametrize("command", ["solve", "show", "validate"])
def test_the_option_is_named_only_where_it_helps(
    command: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Not where something cannot be read either, with the option or without it.
    """
    Path(file).write_text(FILE + "  - {name: older, requests: {cpu: some}, node: n}\n")

    said = [run(capsys, command, file, *more)[::2] for more in ((), ("--skip-illegal",))]

    assert [code for code, _ in said] == [Exit.BAD_INPUT] * 2
    assert "(and 2 more)\n" in said[0][1]
    assert "running[1].requests.cpu" in said[1][1]
    assert not any("--skip-illegal" in err for _, err in said)


def test_with_skip_illegal_a_file_is_solved_for_all_others(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Exit code 1; the table names those that are left out, and a note does, once for all alike.
    """
    code, out, err = run(capsys, "solve", file, "--skip-illegal", "--engine", "greedy")

    assert code == Exit.NOT_ALL
    assert "1 of 6 pods placed, 5 illegal; " in out
    assert "bad-[0-4]" in out
    assert f"illegal, not placed: bad-[0-4] (5): {LINE}" in err
    assert "illegal, running: old: instance.yaml:8: running[0].requests.cpu: got 2.5 CPUs" in err


def test_with_skip_illegal_the_answer_is_verified_shown_and_applied(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    By the same instance, read in the same way.
    """
    run(capsys, "solve", file, "--skip-illegal", "--engine", "greedy", "--output", "answer.json")
    misfit = "misfit: pod 'old' is illegal: instance.yaml:8: running[0].requests.cpu: got 2.5 CPUs"

    verified, finding, _ = run(capsys, "verify", file, "answer.json", "--skip-illegal")
    shown, picture, err = run(
        capsys, "show", file, "--placement", "answer.json", "--skip-illegal", "--node", "n"
    )
    _, cluster, _ = run(capsys, "show", file, "--placement", "answer.json", "--skip-illegal")
    applied, _, _ = run(
        capsys, "apply", file, "answer.json", "--skip-illegal", "--documents", "nodes"
    )

    assert (verified, shown, applied) == (Exit.DONE,) * 3
    assert "1 of 6 pods placed, 5 illegal." in finding
    assert "1 of 6 pods placed, 5 illegal" in cluster
    assert misfit in finding
    assert misfit in picture
    assert f"illegal, not placed: bad-[0-4] (5): {LINE}" in err
    document = json.loads(Path("nodes/n.json").read_text())
    assert [one["name"] for one in document["pods"]] == ["old", "fine"]


def test_skip_illegal_changes_nothing_for_files_without_any(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Nor for dumps, of which illegal pods are left out anyway.
    """
    for file in ("instances/hello.yaml", "instances/dumps/cluster.yaml"):
        said = [run(capsys, "show", file, *more)[:2] for more in ((), ("--skip-illegal",))]
        assert said[0] == said[1]


def test_validate_names_every_illegal_pod_of_a_file(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    With the option, and has exit code 1 if some wait, as for dumps.
    """
    for together in ((), ("--together",)):
        code, out, err = run(capsys, "validate", file, "--skip-illegal", *together)

        assert code == Exit.NOT_ALL
        assert "1 waiting pod" in out
        assert "misfit: pod 'old' is illegal: instance.yaml:8: running[0].requests.cpu: got" in out
        assert f"illegal, not placed: bad-[0-4] (5): {LINE}" in err


def test_who_is_left_out_with_illegal_members_is_named(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
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

    code, out, err = run(capsys, "show", file, "--skip-illegal")

    assert code == Exit.DONE
    assert "10 waiting, 6 illegal" in out
    assert "illegal, not placed: b: instance.yaml:13: gangs[0].pods[1].requests.cpu: got" in err
    assert "not placed without illegal members: a-[0-2]" in err
