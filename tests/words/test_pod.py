"""What a pod holds over its life: app, init and sidecar containers (C12)."""

import pytest

from placer_models.pod import Container, ContainerRole, DeviceRequest, PodSpec, Resources
from placer_models.topology import Hugepages

APP, INIT, SIDECAR = ContainerRole


def container(role: ContainerRole, cpu_milli: int) -> Container:
    return Container(f"{role}-{cpu_milli}", Resources(cpu_milli), role)


@pytest.mark.parametrize(
    ("containers", "cpu_milli"),
    [
        ([], 0),
        ([(APP, 1000), (APP, 2000)], 3000),
        ([(INIT, 5000), (APP, 1000)], 5000),
        ([(INIT, 500), (APP, 1000)], 1000),
        ([(SIDECAR, 1000), (APP, 2000)], 3000),
        ([(SIDECAR, 1000), (INIT, 4000), (APP, 2000)], 5000),
        ([(INIT, 4000), (SIDECAR, 1000), (APP, 2000)], 4000),
        ([(INIT, 2000), (SIDECAR, 1000), (INIT, 3000), (SIDECAR, 500), (APP, 1000)], 4000),
    ],
)
def test_a_pod_holds_the_most_of_any_phase(
    containers: list[tuple[ContainerRole, int]], cpu_milli: int
) -> None:
    """
    Init containers one after the other, each beside the sidecars started before it;
    then all sidecars beside the apps.
    """
    spec = PodSpec(tuple(container(role, milli) for role, milli in containers))

    assert spec.requests.cpu_milli == cpu_milli


def test_phases_are_compared_amount_by_amount() -> None:
    """
    The init phase may need most memory and the app phase most devices.
    """
    spec = PodSpec(
        (
            Container("load", Resources(memory_bytes=9, hugepages=(Hugepages(2, 1),)), INIT),
            Container("run", Resources(1000, 4, devices=(DeviceRequest("gpu", 2),))),
            Container("log", Resources(500, 1, devices=(DeviceRequest("gpu", 1),))),
        )
    )

    assert spec.requests == Resources(
        1500, 9, hugepages=(Hugepages(2, 1),), devices=(DeviceRequest("gpu", 3),)
    )
    assert spec.requests.count_of("gpu") == 3
    assert spec.requests.count_of("rdma") == 0
