"""Attributes and capacity of devices, as drivers publish them and selectors see them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_VERSION = re.compile(
    r"(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})"
    r"(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)


@dataclass(frozen=True, slots=True, order=True)
class SemanticVersion:
    """A semantic version, without the build metadata after a plus sign.

    Attributes:
        numbers: Major, minor, patch.
        pre: The pre-release part, comparable by precedence; a release has ``(1,)``.

    """

    numbers: tuple[int, int, int]
    pre: tuple[object, ...]


def parse_semantic_version(text: str) -> SemanticVersion:
    """Read a semantic version, such as ``9.0.0`` or ``1.2.3-rc.1``.

    Raises:
        ValueError: The text is no semantic version.

    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"got '{text}'; expected a version of three numbers, such as 9.0.0")
    major, minor, patch, pre = match.groups()
    if pre is None:
        return SemanticVersion((int(major), int(minor), int(patch)), (1,))
    # Numbers come before words, and a longer list after a shorter one that it begins with.
    parts = tuple((0, int(one), "") if one.isdigit() else (1, 0, one) for one in pre.split("."))
    return SemanticVersion((int(major), int(minor), int(patch)), (0, parts))


AttributeScalar = bool | int | str | SemanticVersion
AttributeValue = AttributeScalar | tuple[AttributeScalar, ...]
"""An attribute: one value, or a list of them."""

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
PCI_BUS_ID = "resource.kubernetes.io/pciBusID"
NUMA_NODE = "resource.kubernetes.io/numaNode"


@dataclass(frozen=True, slots=True)
class ResourceSliceDevice:
    """A device that a driver publishes.

    Attributes:
        attributes: Name with its domain (``gpu.nvidia.com/uuid``) -> value.
        capacity_milli: Name with its domain -> thousandths of a unit.
        lacks: Properties that Placer has no word for; such a device is given to nobody.
        taints: Its taints that keep pods off, as ``key=value:effect``.

    """

    driver: str
    name: str
    attributes: Mapping[str, AttributeValue]
    capacity_milli: Mapping[str, int]
    lacks: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()

    def text(self, *names: str) -> str:
        """Return the first of these attributes that is a text, or an empty text."""
        found = (self.attributes.get(name) for name in names)
        return next((one for one in found if isinstance(one, str)), "")

    def number(self, *names: str) -> int | None:
        """Return the first of these attributes that is a whole number, or None."""
        found = (self.attributes.get(name) for name in names)
        return next((one for one in found if type(one) is int), None)
