"""Plans that do not exist, as a user meets them: which pod, why, and what would do."""

import json
from pathlib import Path

import pytest

from commands import Placer
from json_schemas import faults
from placer_cli.commands.schema import SchemaDocumentKind, json_schema_of_document_kind

SMALL = "{name: small, machine: core-i7-1270p, price: 0.40%s}"
LARGE = "{name: large, machine: hgx-h100, price: 40%s}"
WEB = "pods: [{name: web, replicas: 4, requests: {cpu: 8}}]"
TRAIN = "gangs: [{name: train%s, pods: [{name: w, replicas: 3, requests: {cpu: 8, gpu: 8}}]}]"
ALIGNED = "pods: [{name: al, replicas: 3, qos: LSR, numaPolicy: SingleNUMANode, requests: {%s}}]"
TAINT = ", taints: [{key: team, value: x, effect: NoSchedule}]"
ZONES = (
    "{name: a, machine: core-i7-1270p, price: 0.40, labels: {zone: a}},"
    " {name: b, machine: core-i7-1270p, price: 0.40, labels: {zone: b}, max: 1}"
)
NONE_DOES = "No change was found that would do; looked for: less of what a pod asks for"

CASES = {
    "one resource is too much": (
        SMALL % "",
        "pods: [{name: web, replicas: 2, requests: {cpu: 40}}]",
        "web-0: never fits (1 of 1 nodes: shared-pool asks 40 CPUs)",
        "ask-less=default/web-0:cpu=16, for each of 2 alike, at 0.80 EUR in all (proven smallest)",
    ),
    "two resources are too much": (
        SMALL % "",
        "pods: [{name: web, requests: {cpu: 40, memory: 900Gi}}]",
        "web: never fits (1 of 1 nodes: shared-pool asks 40 CPUs)",
        "ask-less=default/web:cpu=16, ask-less=default/web:memory=31779Mi, at 0.40 EUR in all",
    ),
    "no offer has such devices": (
        SMALL % "",
        "pods: [{name: web, requests: {cpu: 1, gpu: 1}}]",
        "web: never fits (1 of 1 nodes: device-count asks 1 gpu); no node has a device",
        NONE_DOES,
    ),
    "two pods are homeless": (
        SMALL % "",
        "pods: [{name: web, requests: {cpu: 40}}, {name: db, requests: {memory: 900Gi}}]",
        "db: never fits (1 of 1 nodes: memory asks 900Gi)",
        "ask-less=default/web:cpu=16, ask-less=default/db:memory=31779Mi, at 0.40 EUR in all",
    ),
    "a taint on all offers": (
        SMALL % TAINT,
        WEB,
        "web-0: never fits (1 of 1 nodes: taints team=x:NoSchedule)",
        "give-up=default/web-0:taint=team, for each of 4 alike, at 0.80 EUR in all (proven",
    ),
    "a label that no offer has": (
        SMALL % "",
        "pods: [{name: web, requests: {cpu: 4}, nodeSelector: {disk: ssd}}]",
        "web: never fits (1 of 1 nodes: node-selector disk=ssd); no node has the label 'disk'",
        "give-up=default/web:nodeSelector=disk, at 0.40 EUR in all (proven smallest)",
    ),
    "no NUMA node holds it": (
        LARGE % "",
        ALIGNED % "cpu: 12, gpu: 6",
        "al-0: never fits (1 of 1 nodes: alignment asks 6 gpu on one NUMA node)",
        "ask-less=default/al-0:gpu=4, for each of 3 alike, at 80 EUR in all (proven smallest)",
    ),
    "NUMA nodes are too few": (
        LARGE % ", max: 1",
        ALIGNED % "cpu: 60, gpu: 1",
        "al-0 would have no place",
        "offers.large.max=2, at 80 EUR in all (proven smallest)",
    ),
    "max is reached": (
        SMALL % ", max: 1",
        WEB,
        "web-0 and 1 pod like it would have no place",
        "offers.small.max=2, at 0.80 EUR in all (proven smallest)",
    ),
    "max is reached with packs": (
        SMALL % ", max: 5, packOf: 4",
        "pods: [{name: web, replicas: 9, requests: {cpu: 8}}]",
        "At most 4 of small can be bought.",
        "offers.small.max=8, at 3.20 EUR in all (proven smallest)",
    ),
    "max of a scenario is reached": (
        SMALL % ", max: 9",
        f"{WEB}}}\nscenarios: [{{name: now}}, {{name: later, changes: ['maxOf=small:1']}}]\n#",
        "At most 1 of small can be bought.",
        "scenarios.later: maxOf=small:2, at 0.80 EUR in all (proven smallest)",
    ),
    "a gang is larger than all offers": (
        LARGE % ", max: 2",
        TRAIN % "",
        "w-0 would have no place",
        "offers.large.max=3, at 120 EUR in all (proven smallest)",
    ),
    "a gang does not fit on one node": (
        LARGE % "",
        TRAIN % ", gather: node",
        "w-0: never fits: only 1 of 3 members of gang train fits on empty nodes (3 are needed)",
        "ask-less=default/train:gpu=2, at 40 EUR in all (proven smallest)",
    ),
    "a zone cannot be lost": (
        ZONES,
        f"{WEB}}}\nsurvive: {{domain: zone}}\n#",
        "web-0 and 1 pod like it would have no place (without zone a)",
        "offers.b.max=2, at 1.60 EUR in all (proven smallest)",
    ),
    "no other zone has such devices": (
        "{name: a, machine: core-i7-1270p, price: 0.40, labels: {zone: a}},"
        " {name: b, machine: hgx-h100, price: 40, labels: {zone: b}}",
        "pods: [{name: train, requests: {gpu: 1}}]}\nsurvive: {domain: zone}\n#",
        "train: without zone b: never fits (1 of 1 nodes: device-count asks 1 gpu)",
        "without survive, at 40.00 EUR in all",
    ),
    "a node cannot be lost": (
        SMALL % ", max: 2",
        f"{WEB}}}\nsurvive: {{nodes: 1}}\n#",
        "and 1 pod like it would have no place (without one small)",
        "offers.small.max=3, at 1.20 EUR in all (proven smallest)",
    ),
    "only pods of high priority can survive": (
        SMALL % ", max: 2",
        "pods: [{name: web, replicas: 2, priority: 5, requests: {cpu: 8}}, "
        "{name: low, replicas: 2, requests: {cpu: 8}}]}\nsurvive: {nodes: 1}\n#",
        "low-0 and 1 pod like it would have no place (without one small)",
        "survive.priority=5, at 0.80 EUR in all (proven smallest)",
    ),
    "there is no headroom": (
        SMALL % ", max: 3",
        f"{WEB}}}\nheadroom: [{{name: spare, replicas: 4, requests: {{cpu: 8}}}}]\n#",
        "would have no place",
        "headroom.spare.replicas=2, at 1.20 EUR in all (proven smallest)",
    ),
    "pods could ask for less": (
        SMALL % ", max: 1",
        WEB,
        "web-0 and 1 pod like it would have no place",
        "ask-less=default/web-0:cpu=4, for each of 4 alike, at 0.40 EUR in all (proven smallest)",
    ),
    "there is no headroom, and no node can be lost": (
        SMALL % ", max: 2",
        f"{WEB}}}\nheadroom: [{{name: spare, replicas: 2, requests: {{cpu: 4}}}}]\n"
        "survive: {nodes: 1}\n#",
        "would have no place",
        "without headroom.spare, without survive, at 0.80 EUR in all (proven smallest)",
    ),
    "no offer holds the headroom": (
        SMALL % "",
        f"{WEB}}}\nheadroom: [{{name: spare, requests: {{cpu: 80}}}}]\n#",
        "spare-headroom: never fits (1 of 1 nodes: shared-pool asks 80 CPUs)",
        "without headroom.spare, at 0.80 EUR in all (proven smallest)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_plan_that_does_not_exist_says_who_why_and_what_would_do(
    name: str, tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The table and the document name a pod, the reason, and the least change; exit code 1.
    """
    offers, demand, who, change = CASES[name]
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "plan.yaml"
    file.write_text(
        f"apiVersion: placer/v1\nkind: Plan\ncurrency: EUR\noffers: [{offers}]\n"
        f"demand: {{{demand}}}\n"
    )

    told = placer("plan", "buy", str(file), "--seconds", "10", "--workers", "1", code=1).out

    assert who in told
    assert change in told

    command = ["plan", "buy", str(file), "--seconds", "10", "--format", "json"]
    answer = json.loads(placer(*command, code=1).out)

    schema = json_schema_of_document_kind(SchemaDocumentKind.PLAN_ANSWER)
    assert faults(answer, schema, schema["$defs"]) == []
    assert answer["status"] == "infeasible"
    assert answer["unplaced"]
    assert {one["name"] for one in answer["unplaced"]} != {""}
    if change == NONE_DOES:
        assert (answer["mends"], len(answer["lookedFor"])) == ([], 3)
    else:
        words = {", ".join(one["changes"]): one["price"] for one in answer["mends"]}
        (said,) = [one for one in words if change.startswith(one)]
        assert f"at {words[said]}" in change


@pytest.mark.parametrize("name", ["one resource is too much", "no NUMA node holds it"])
def test_changes_of_pods_are_the_same_bytes_by_counted_work(
    name: str, tmp_path: Path, placer: Placer
) -> None:
    """
    They are looked for with a work limit as well, and found alike here and in other processes.
    """
    offers, demand, _, change = CASES[name]
    file = tmp_path / "plan.yaml"
    file.write_text(
        f"apiVersion: placer/v1\nkind: Plan\noffers: [{offers}]\ndemand: {{{demand}}}\n"
        "scenarios: [{name: now}, {name: later, scale: 2}]\n"
    )
    counted = ["plan", "buy", str(file), "--each", "--work-limit", "4", "--format", "json"]

    told = []
    for where in (["--workers", "1"], ["--workers", "2"], ["--processes", "2"]):
        told.append(placer(*counted, *where, code=1).out)

    assert told[1:] == told[:1] * 2
    for answer in json.loads(told[0])["answers"]:
        (mend,) = [m for m in answer["mends"] if change.startswith(", ".join(m["changes"]))]
        assert (mend["price"] is not None, mend["smallest"]) == (True, True)
