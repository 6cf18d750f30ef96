"""allocateStrategy in instance files: what is read, written back and refused."""

import json
from pathlib import Path

import pytest

from answers import expect
from instance_texts import instance_of_text, reread
from placer.judge.breaches import breaches
from placer.load import load_placement
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.files.errors import InputError
from placer_models.instance.placement_file import solve_answer_to_dict
from placer_models.placement import Placed

BOX = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 64Gi, cpus: 0-7}]
    devices:
      - {type: gpu, count: 2, pcieSwitches: [a, b]}
      - {type: rdma, count: 2, pcieSwitches: [a, b]}
nodes: [{name: n, machine: box}]
"""
BESIDE = "jointAllocate: {deviceTypes: [gpu, rdma], requiredScope: SamePCIe}"


def pods(*written: str) -> str:
    lines = "".join(f"  - {{name: p{i}, {one}}}\n" for i, one in enumerate(written))
    return f"{BOX}pods:\n{lines}"


GOOD = pods(
    "requests: {rdma: 1}, allocateStrategy: {rdma: ApplyForAll}",
    f"requests: {{gpu: 1, koordinator.sh/rdma: 1}}, {BESIDE}, "
    "allocateStrategy: {rdma: ApplyForEachGroup}",
)


def test_what_is_written_is_read_back() -> None:
    """
    Both strategies, of whole devices and of shares, through a file and back.
    """
    instance = instance_of_text(GOOD)
    assert [gang.pods[0].spec.strategies for gang in instance.gangs] == [
        (("rdma", DeviceCountStrategy.APPLY_FOR_ALL),),
        (("rdma", DeviceCountStrategy.APPLY_FOR_EACH_GROUP),),
    ]

    assert reread(instance) == instance


def test_a_placement_file_says_how_many_they_are(tmp_path: Path) -> None:
    """
    And is read back as it was, with nothing to find fault with.
    """
    instance = instance_of_text(pods("requests: {rdma: 1}, allocateStrategy: {rdma: ApplyForAll}"))
    answer = expect(Placed, solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1)))
    path = tmp_path / "placement.json"
    path.write_text(json.dumps(solve_answer_to_dict(answer, instance, {})), "utf-8")

    placement = load_placement(path)
    assert placement.pods[0].minors("rdma") == (0, 1)
    assert breaches(instance, placement) == ()


def test_a_running_pod_holds_as_many_as_it_has_got() -> None:
    """
    Any number of them, for nodes change; none is a mistake.
    """
    runs = BOX + (
        "running:\n  - {name: r, node: n, requests: {koordinator.sh/rdma: 5}, "
        "allocateStrategy: {rdma: ApplyForAll}, devices: {rdma: %s}}\n"
    )
    for minors in ([0], [0, 1]):
        instance = instance_of_text(runs % minors)
        held = instance.running[0].placement.devices
        assert [(grant.minor, grant.share and grant.share.percent) for grant in held] == [
            (minor, 5) for minor in minors
        ]
        assert reread(instance) == instance
    with pytest.raises(InputError, match="got 0 of type 'rdma'"):
        instance_of_text(runs % [])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("requests: {gpu: 1}, allocateStrategy: {gpu: ApplyForAll}", "no strategy for gpu"),
        ("requests: {gpu: 1}, allocateStrategy: {rdma: ApplyForAll}", "asks for 0 devices"),
        ("requests: {rdma: 2}, allocateStrategy: {rdma: ApplyForAll}", "asks for 2 devices"),
        (
            "requests: {rdma: 1}, allocateStrategy: {rdma: ApplyForEachGroup}",
            "is for what jointAllocate names after another type",
        ),
        (
            "requests: {gpu: 1, rdma: 1}, allocateStrategy: {rdma: ApplyForEachGroup}, "
            "jointAllocate: {deviceTypes: [rdma, gpu]}",
            "is for what jointAllocate names after another type",
        ),
        (
            "requests: {rdma: 1}, allocateStrategy: {rdma: ApplyForAll}, "
            "requiredTopologyScope: {rdma: PCIe}",
            "leave requiredTopologyScope out",
        ),
        (
            "requests: {rdma: 1}, allocateStrategy: {rdma: ApplyForAll}, numaScope: container",
            "leave numaScope out",
        ),
        ("requests: {rdma: 1}, allocateStrategy: {rdma: RequestsAsCount}", "ApplyForEachGroup"),
    ],
)
def test_what_does_not_go_together_is_refused(written: str, said: str) -> None:
    """
    With the place and what would do instead.
    """
    with pytest.raises(InputError, match=said) as refused:
        instance_of_text(pods(written))
    assert "pods[0].allocateStrategy" in str(refused.value)
