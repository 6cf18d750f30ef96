"""Selectors of devices in CEL: what is understood, and what is refused with its words."""

import pytest

from placer_models.kubernetes.device_attributes import ResourceSliceDevice, parse_semantic_version
from placer_models.kubernetes.device_selector import (
    UnsupportedDeviceSelectorError,
    device_meets_selectors,
    read_cel_selector,
)

GPU = ResourceSliceDevice(
    "gpu.nvidia.com",
    "gpu-0",
    {
        "gpu.nvidia.com/type": "gpu",
        "gpu.nvidia.com/index": 3,
        "gpu.nvidia.com/healthy": True,
        "gpu.nvidia.com/driver": parse_semantic_version("580.105.8"),
        "dra.cpu/roots": ("a", "b"),
    },
    {"gpu.nvidia.com/memory": 80 * 2**30 * 1000},
)

MEANS = {
    "device.driver == 'gpu.nvidia.com'": True,
    '"gpu.nvidia.com" != device.driver': False,
    "device.attributes['gpu.nvidia.com'].type == 'gpu'": True,
    "device.attributes['gpu.nvidia.com']['type'] == 'mig'": False,
    "device.attributes['gpu.nvidia.com'].index >= 3": True,
    "3 < device.attributes['gpu.nvidia.com'].index": False,
    "4 > device.attributes['gpu.nvidia.com'].index": True,
    "device.attributes['gpu.nvidia.com'].index == '3'": False,
    "device.attributes['gpu.nvidia.com'].index == true": False,
    "device.attributes['gpu.nvidia.com'].index < '3'": None,
    "device.attributes['gpu.nvidia.com'].healthy": True,
    "!device.attributes['gpu.nvidia.com'].healthy": False,
    "device.attributes['gpu.nvidia.com'].healthy == true": True,
    "device.attributes['gpu.nvidia.com'].driver == semver('580.105.8')": True,
    "device.attributes['gpu.nvidia.com'].driver.compareTo(semver('580.99.0')) > 0": True,
    "device.attributes['gpu.nvidia.com'].driver.isLessThan(semver('580.105.8-rc.1'))": False,
    "device.capacity['gpu.nvidia.com'].memory == quantity('80Gi')": True,
    "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('81920Mi')) <= 0": True,
    "device.capacity['gpu.nvidia.com'].memory == 80": None,
    "device.attributes['gpu.nvidia.com'].other == 'x'": None,
    "device.attributes['dra.cpu'].roots == 'a'": None,
    "device.driver == 'x' && device.attributes['x'].y == 1": False,
    "device.attributes['x'].y == 1 && device.driver == 'x'": False,
    "device.attributes['x'].y == 1 && device.driver == 'gpu.nvidia.com'": None,
    "(device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].index != 4)": True,
}
"""Selector -> whether the GPU meets it; None: an error, as in Kubernetes."""

REFUSED = {
    "device.driver == 'a' || device.driver == 'b'": "'|| device.driver == ' is not",
    "device.driver.startsWith('gpu')": "'startsWith' is not understood",
    "'type' in device.attributes['gpu.nvidia.com']": "'in' is not understood",
    "device.attributes['a'].b.lowerAscii().matches('x')": "')' is not understood",
    "device.attributes['a'].b == 1.5": "'1.5' is not understood",
    "cel.bind(dra, device.attributes['a'], dra.b)": "', device.attributes[' is not",
    "device.driver": "device.driver is compared with nothing",
    "device.driver ==": "it ends too early",
    "": "it ends too early",
    "device.attributes['a'].b == 'c' 'd'": "''d'' is not understood",
    "device.name == 'gpu-0'": "'device.name' is not understood",
    "device.attributes['a'].b == semver('1')": "got '1'; expected a version",
    "device.capacity['a'].b == quantity('x')": "'x'",
    r"device.driver == 'a\n'": "is not understood",
    "true": "it ends too early",
}
"""Selector -> what is said of it."""


@pytest.mark.parametrize(("expression", "result"), MEANS.items())
def test_a_selector_means_what_it_means_in_kubernetes(expression: str, result: bool | None) -> None:
    """
    One that is false is false whatever else is an error.
    """
    assert device_meets_selectors([read_cel_selector(expression)], GPU) is result


@pytest.mark.parametrize(("expression", "message"), REFUSED.items())
def test_all_other_cel_is_refused(expression: str, message: str) -> None:
    """
    With the part that is not understood.
    """
    with pytest.raises(UnsupportedDeviceSelectorError) as caught:
        read_cel_selector(expression)
    assert message in str(caught.value)


def test_versions_have_their_precedence() -> None:
    """
    As semver.org orders them.
    """
    order = [
        *("1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"),
        *("1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.10.0"),
    ]
    versions = [parse_semantic_version(text) for text in order]

    assert sorted(versions, reverse=True) == versions[::-1]
    assert parse_semantic_version("1.0.0+a") == parse_semantic_version("1.0.0+b")
