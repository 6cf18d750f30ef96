"""What a what-if prints: the short answer, and reasons of those alone for whom they are others."""

from pathlib import Path

import pytest

from cli_samples import FOUR_CPUS, written
from commands import Placer

CLUSTER = (
    FOUR_CPUS
    + """nodes:
  - {name: a, machine: small, labels: {zone: x}}
  - {name: b, machine: small, cordoned: true}
pods:
  - {name: p, requests: {cpu: 5}}
  - {name: q, requests: {cpu: 3}, nodeSelector: {zone: y}}
  - {name: r, requests: {cpu: 6}}
"""
)


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return written(tmp_path, CLUSTER, "cluster.yaml")


def test_reasons_that_stay_are_counted_alone(cluster: str, placer: Placer) -> None:
    """
    With the node uncordoned other numbers of nodes keep all three off, by the same rules.
    """
    printed = placer("solve", cluster, "--what-if", "uncordon=b", code=1).out

    assert "3 pods wait for the same reason as before (placer explain says why)" in printed
    assert "Without a place" not in printed


def test_who_asks_for_less_and_waits_still_is_told_why(cluster: str, placer: Placer) -> None:
    printed = placer("solve", cluster, "--what-if", "give-up=q:nodeSelector=zone", code=1).out
    assert "1 pod gains a place." in printed
    assert "2 pods wait for the same reason as before" in printed

    command = ["solve", cluster, "--what-if", "ask-less=r:cpu=5"]
    _, told = placer(*command, code=1).out.split("Without a place, for another reason than before")
    assert "asks 5 CPUs" in told
    assert "\nr " in told
    assert "\np " not in told
    assert "2 more pods wait for the same reason as before" in told
