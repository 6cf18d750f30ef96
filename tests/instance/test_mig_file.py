"""GPUs in MIG mode, and their instances, in files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from features.mig import mig_instance
from instance.test_round_trip import canonical, read_back
from placer.load import is_catalogue_machine
from placer_models.cluster import Instance
from placer_models.instance.writer import instance_to_yaml
from placer_models.placement import DeviceGrant
from placer_models.pod import DeviceRequest

TEXT = """\
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 4Gi, cpus: 0-3}]
    devices: [{type: gpu, count: 2}]
nodes:
  - {name: a, machine: box, mig: {H100-80GB: [1]}}
pods:
  - {name: p, requests: {nvidia.com/mig-1g.10gb: 2}}
running:
  - {name: r, node: a, requests: {mig-3g.40gb: 1}, devices: {nvidia.com/mig-3g.40gb: [12]}}
"""


def test_an_instance_is_a_device_of_its_gpu_and_start(read: Callable[..., Instance]) -> None:
    """
    Minor 12 is start 4 of GPU 1, and the id says so.
    """
    instance = read(TEXT)

    assert instance.nodes[0].mig == ((1, "H100-80GB"),)
    assert instance.gangs[0].pods[0].spec.requests.devices == (DeviceRequest("mig-1g.10gb", 2),)
    assert instance.running[0].placement.devices == (
        DeviceGrant("mig-3g.40gb", 12, "gpu-1/3g.40gb@4"),
    )


def test_running_instances_do_not_overlap(refusal: Callable[[str], str]) -> None:
    """
    A second one that shares a slice is refused by name.
    """
    twice = TEXT + (
        "  - {name: s, node: a, requests: {mig-1g.10gb: 1}, devices: {mig-1g.10gb: [13]}}\n"
    )

    assert (
        "running[1].devices.mig-1g.10gb[0]: mig-1g.10gb 13 overlaps an instance that the "
        "running pod 'r' holds; instances of a GPU share no slice" in refusal(twice)
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_is_read_back(seed: int, tmp_path: Path) -> None:
    """
    Modes, requests and instances held, of random worlds.
    """
    instance = mig_instance(seed)

    again = read_back(instance_to_yaml(instance, is_catalogue_machine), tmp_path)

    assert canonical(again) == canonical(instance)
