"""``placer explain``: the tree for people, the document for programs, bad input."""

import json
from pathlib import Path

import pytest

from cli_samples import FOUR_CPUS, ONE_CORDONED, written
from commands import Placer
from json_schemas import faults
from placer_cli.commands.schema import SchemaDocumentKind, json_schema_of_document_kind


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return written(tmp_path, ONE_CORDONED, "cluster.yaml")


def test_who_waits_is_told_what_would_do(cluster: str, placer: Placer) -> None:
    printed = placer("explain", cluster, "--seconds", "20", code=1).out

    assert "nodes that remain: 2 nodes" in printed
    assert "would do: mend nodes: uncordon=b (proven smallest)" in printed
    assert "shared-pool asks 3 CPUs: 1 of 4 CPUs left, 2 missing" in printed
    assert "held by p 3 (placed now)" in printed
    assert "outvoted by p: either could have had the place" in printed
    assert "missing here: 2 CPUs" in printed


def test_programs_get_each_change_in_the_words_of_what_if(cluster: str, placer: Placer) -> None:
    tree = json.loads(placer("explain", cluster, "--seconds", "20", "--format", "json", code=1).out)

    schema = json_schema_of_document_kind(SchemaDocumentKind.EXPLANATIONS)
    assert faults(tree, schema, schema["$defs"]) == []
    (one,) = tree["explanations"]
    assert (one["count"], one["token"]) == (1, "outvoted/shared-pool")
    assert [near["node"] for near in one["nearest"]] == ["a", "b"]
    assert one["nearest"][0]["lacks"] == [
        {
            "rule": "shared-pool",
            "subject": "",
            "text": "shared-pool asks 3 CPUs",
            "asked": 3000,
            "left": 1000,
            "missing": 2000,
            "total": 4000,
            "unit": "milliCpu",
            "heldBy": [{"name": "p", "namespace": "default", "amount": 3000, "placed": True}],
        }
    ]
    assert one["outvotedBy"] == {"pods": [{"name": "p", "namespace": "default"}], "tier": None}
    assert one["funnel"][0] == {"rule": "", "nodes": 2, "subjects": []}
    changes = {change["kind"]: change for change in one["changes"]}
    assert changes["mend-node"] == {
        "kind": "mend-node",
        "what": ["uncordon=b"],
        "confirmed": True,
        "smallest": True,
        "act": ["in the file: node b: cordoned: false"],
        "others": [],
    }
    placer("solve", cluster, "--what-if", changes["mend-node"]["what"][0])


FIVE_REASONS = (
    FOUR_CPUS
    + """\
nodes:
  - {name: a, machine: small, cordoned: true}
  - {name: b, machine: small, taints: [{key: mine, effect: NoSchedule}]}
  - {name: c, machine: small, taints: [{key: mine, effect: NoSchedule}]}
  - {name: d, machine: small, taints: [{key: mine, effect: NoSchedule}]}
  - {name: e, machine: small, taints: [{key: yours, effect: NoSchedule}]}
  - {name: f, machine: small, labels: {disk: ssd}, extended: {example.com/foo: 1}}
  - {name: g, machine: small}
  - {name: h, machine: small}
pods:
  - {name: p, requests: {cpu: 1, example.com/foo: 2}, nodeSelector: {disk: ssd}}
"""
)


@pytest.mark.parametrize("command", ["solve", "explain"])
def test_all_reasons_are_told_where_all_are_asked_for(
    command: str, tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Else those on few nodes are counted together, but never a cordon; for programs all are told.
    """
    monkeypatch.setenv("COLUMNS", "400")
    file = tmp_path / "cluster.yaml"
    file.write_text(FIVE_REASONS)
    told = ("1 of 8 nodes: cordon", "3 of 8 nodes: taints mine:NoSchedule")

    few = placer(command, str(file), code=1).out
    every = placer(command, str(file), "--all", code=1).out
    document = placer(command, str(file), "--format", "json", code=1).out

    for text in (few, every, document):
        assert all(reason in text for reason in told)
    assert "of 8 nodes: 2 other reasons" in few
    for text in (every, document):
        assert "1 of 8 nodes: taints yours:NoSchedule" in text
        assert "1 of 8 nodes: example.com/foo: asks 2" in text


def test_the_funnel_names_resources_by_their_own_names(
    tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    file = tmp_path / "cluster.yaml"
    file.write_text(FIVE_REASONS)

    assert "node-selector 1 → example.com/foo 0" in placer("explain", str(file), code=1).out
    tree = json.loads(placer("explain", str(file), "--format", "json", code=1).out)
    (one,) = tree["explanations"]
    assert one["funnel"][-1] == {"rule": "extended", "nodes": 0, "subjects": ["example.com/foo"]}


def test_where_only_two_kinds_together_would_do_that_is_said(
    tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The pod would have to ask for less and to give up its label.
    """
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "cluster.yaml"
    start, _, _ = ONE_CORDONED.partition("nodes:")
    file.write_text(
        f"{start}nodes: [{{name: a, machine: small, labels: {{disk: hdd}}}}]\n"
        "pods: [{name: p, requests: {cpu: 8}, nodeSelector: {disk: ssd}}]\n"
    )
    both = ["--what-if", "ask-less=p:cpu=4", "--what-if", "give-up=p:nodeSelector=disk"]

    printed = placer("explain", str(file), "--seconds", "20", code=1)
    assert "no change of one kind would do; two kinds at once are not looked for" in printed.out
    placer("solve", str(file), *both)


def test_an_answer_that_is_given_is_explained(cluster: str, tmp_path: Path, placer: Placer) -> None:
    file = str(tmp_path / "answer.json")
    placer("solve", cluster, "--output", file, "--engine", "greedy", code=1)

    printed = placer("explain", cluster, "q", "--answer", file, "--seconds", "20", code=1)
    assert "uncordon=b" in printed.out


def test_who_has_a_place_is_told_where(cluster: str, placer: Placer) -> None:
    assert placer("explain", cluster, "p", "--seconds", "5").out == "p is on a.\n"


def test_a_stale_answer_is_refused(cluster: str, tmp_path: Path, placer: Placer) -> None:
    answer = str(tmp_path / "answer.json")
    placer("solve", cluster, "--output", answer, "--engine", "greedy", code=1)
    Path(cluster).write_text(
        ONE_CORDONED.replace("{name: a, machine: small}", "{name: c, machine: small}")
    )

    error = placer("explain", cluster, "--answer", answer, code=2).err
    assert "the answer does not fit the instance" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.yaml"], "none.yaml: does not exist"),
        (["p"], "'p' is no file: name an INSTANCE first"),
        (["CLUSTER", "pp"], "no pod or gang 'pp' waits; did you mean 'p'?"),
        (["CLUSTER", "--answer", "none.json"], "none.json"),
        (["CLUSTER", "--seconds", "0"], "--seconds is 0"),
    ],
)
def test_bad_input_is_one_line(
    cluster: str, arguments: list[str], said: str, placer: Placer
) -> None:
    error = placer(
        "explain", *(cluster if one == "CLUSTER" else one for one in arguments), code=2
    ).err

    assert said in error
    assert error.count("\n") == 1


SPACES = (
    FOUR_CPUS
    + """\
nodes:
  - {name: a, machine: small}
pods:
  - {name: zonal-7k2mm, namespace: prod, requests: {cpu: 3}}
  - {name: cache-0, namespace: prod, requests: {cpu: 3}}
running:
  - {name: web-0, namespace: prod, node: a, requests: {cpu: 1}}
"""
)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zonal-7k2mm", "no pod or gang 'zonal-7k2mm' waits; did you mean 'prod/zonal-7k2mm'?"),
        ("zonal-7k2m", "no pod or gang 'zonal-7k2m' waits; did you mean 'prod/zonal-7k2mm'?"),
        ("prod/nosuch-0", "waits; there are 'prod/cache-0', 'prod/zonal-7k2mm' (see"),
        ("prod/web-0", "'prod/web-0' runs already, on a (see"),
        ("web-0", "no pod or gang 'web-0' waits; did you mean 'prod/web-0'?"),
    ],
)
def test_who_does_not_wait_is_told_who_is_meant(
    name: str, said: str, tmp_path: Path, placer: Placer
) -> None:
    """
    Names are told with their namespaces, and no guess rests on the namespace alone.
    """
    file = tmp_path / "spaces.yaml"
    file.write_text(SPACES)

    error = placer("explain", str(file), name, code=2).err
    assert said in error
    assert error.count("\n") == 1
