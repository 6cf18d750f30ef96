"""``placer verify``: the judge at the command line."""

import json
import re
from pathlib import Path

import pytest

from cli_samples import SMALL, written
from commands import Placer
from placer_cli.exits import ExitCode


def placement(folder: Path, **changes: object) -> str:
    """Write a placement of the lone pod of SMALL; return its path."""
    return claiming(folder, {}, **changes)


def claiming(folder: Path, claims: dict[str, object], **changes: object) -> str:
    """Write the same with what it claims of itself."""
    pod = {
        "name": "web",
        "node": "gpu-0",
        "cpuset": "0-79",
        "containers": [{"name": "main", "cpuset": "0-79"}],
        "memory": {"0": 2**30},
        "env": {"NVIDIA_VISIBLE_DEVICES": "none"},
    }
    tree = {"apiVersion": "placer/v1", "kind": "Placement", "pods": [pod | changes]} | claims
    return written(folder, json.dumps(tree), "placement.json")


def test_what_solve_writes_has_no_breach(tmp_path: Path, placer: Placer) -> None:
    """
    Solve, then verify: no breach, and the same tiers.
    """
    instance, answer = written(tmp_path, SMALL), str(tmp_path / "p.json")
    placer("solve", instance, "--workers", "1", "--work-limit", "5", "--output", answer)

    out = placer("verify", instance, answer).out

    assert out.startswith("No breach of ")
    assert "3 of 3 pods placed." in out
    assert "usable" in out


def test_a_breach_is_named_and_ends_with_one(tmp_path: Path, placer: Placer) -> None:
    """
    Memory of a NUMA node that does not exist breaks the rule `memory`.
    """
    out = placer(
        "verify",
        written(tmp_path, SMALL),
        placement(tmp_path, memory={"7": 2**30}),
        code=ExitCode.NOT_ALL,
    ).out

    assert out.splitlines()[0] == "1 breach"
    assert re.search(r"^memory  gpu-0 .*NUMA\s+node 7", out, re.MULTILINE)


def test_programs_get_breaches_and_tiers(tmp_path: Path, placer: Placer) -> None:
    """
    A breach has rule, subject and message; without one there are tiers.
    """
    instance = written(tmp_path, SMALL)
    good = json.loads(placer("verify", instance, placement(tmp_path), "--format", "json").out)
    command = ["verify", instance, placement(tmp_path, node="gpu-7"), "--format", "json"]
    bad = json.loads(placer(*command, code=ExitCode.NOT_ALL).out)

    assert good["breaches"] == []
    assert {"name", "unit", "sense", "value"} == set(good["tiers"][0])
    assert bad["tiers"] == []
    assert {"rule", "subject", "message"} == set(bad["breaches"][0])
    assert bad["breaches"][0]["rule"] == "known"


TIERS = {
    "placed.priority-0": 2, "alignment": 0, "bind": 0, "links.pod-minimum": 0, "links.pod-sum": 0,
    "links.gang-sum": 0, "locality.numa-nodes": 0, "locality.packages": 0, "usable": 1185,
}  # fmt: skip
"""What the placement of the lone pod is worth: 80 free cores; sets of 1, 2, 4 and 8 GPUs twice;
rooms of 12 and 5 points."""


def tiers(**changes: int) -> list[dict[str, object]]:
    """Write the tiers as a file has them; values under names with _ in place of - and ."""
    return [
        {"name": name, "sense": "maximise", "value": changes.get(re.sub("[-.]", "_", name), value)}
        for name, value in TIERS.items()
    ]


def bounded(name: str, bound: int, *, proven: bool = False) -> list[dict[str, object]]:
    """Write the tiers with a bound in one of them."""
    more = {"bound": bound, "proven": proven}
    return [tier | (more if tier["name"] == name else {}) for tier in tiers()]


@pytest.mark.parametrize(
    ("claims", "subjects"),
    [
        ({}, []),
        ({"status": "partly-placed"}, []),
        ({"status": "partly-placed", "tiers": tiers()}, []),
        ({"status": "placed"}, ["status"]),
        ({"status": "infeasible", "tiers": tiers()}, ["status"]),
        ({"tiers": tiers(usable=9999)}, ["usable"]),
        ({"status": "gave-up", "tiers": tiers(bind=-1)}, ["status", "bind"]),
        ({"tiers": tiers()[1:]}, ["placed.priority-0"]),
        ({"tiers": bounded("usable", 1185)}, []),
        ({"tiers": bounded("usable", 1184)}, ["usable"]),
        ({"tiers": bounded("bind", 1)}, ["bind"]),
        ({"tiers": bounded("placed.priority-0", 2, proven=True)}, []),
        ({"tiers": bounded("placed.priority-0", 4, proven=True)}, ["placed.priority-0"]),
        ({"tiers": bounded("bind", 0, proven=True)}, ["bind"]),  # those before are not
        ({"tiers": [*tiers(), tiers()[0] | {"name": "beauty"}]}, ["beauty"]),
    ],
)
def test_what_a_file_claims_of_itself_is_compared(
    claims: dict[str, object], subjects: list[str], tmp_path: Path, placer: Placer
) -> None:
    """
    Status and tiers: a false one is a finding named claims, with what is measured; a
    file that claims nothing is fine.
    """
    file = claiming(tmp_path, claims)

    command = ["verify", written(tmp_path, SMALL), file, "--format", "json"]
    tree = json.loads(placer(*command, code=ExitCode.NOT_ALL if subjects else ExitCode.DONE).out)

    assert [(b["rule"], b["subject"]) for b in tree["breaches"]] == [
        ("claims", subject) for subject in subjects
    ]
    assert {tier["name"]: tier["value"] for tier in tree["tiers"]} == TIERS


def test_a_false_claim_is_told_with_what_is_measured(tmp_path: Path, placer: Placer) -> None:
    """
    The table names the claim and the truth.
    """
    file = claiming(tmp_path, {"status": "placed", "tiers": tiers(bind=7)})

    out = placer("verify", written(tmp_path, SMALL), file, code=ExitCode.NOT_ALL).flat

    assert "claims status the file claims 'placed', but 1 of 3 pods are placed" in out
    assert "claims bind the file claims 7, but 0 is measured" in out


def test_values_of_a_broken_placement_are_not_compared(tmp_path: Path, placer: Placer) -> None:
    """
    What breaks a rule is worth nothing that could be measured.
    """
    file = claiming(tmp_path, {"tiers": tiers(usable=1)}, node="gpu-7")

    command = ["verify", written(tmp_path, SMALL), file, "--format", "json"]
    tree = json.loads(placer(*command, code=ExitCode.NOT_ALL).out)
    rules = {breach["rule"] for breach in tree["breaches"]}

    assert "known" in rules
    assert "claims" not in rules
