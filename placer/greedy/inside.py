"""Places inside a node before they have a price: what a pod would take of what."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from placer_models.goals import Tier
from placer_models.links.board import LinkedDeviceSetCounts
from placer_models.problem.banks import DeviceChosenForShare
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import CoreTake, Fit, Shape


class DevicesChosenForPod(NamedTuple):
    """Devices for one pod.

    Attributes:
        counts: For each bank, whole devices from each equivalence class.
        gpus: The GPUs among them, whole or in part; None if the pod asks for none.
        cells: Cells that they are on.
        apart: What they cost in tier ``joint``.
        shares: Shares of devices, ascending.

    """

    counts: tuple[tuple[int, ...], ...]
    gpus: LinkedDeviceSetCounts | None
    cells: frozenset[int]
    apart: int = 0
    shares: tuple[DeviceChosenForShare, ...] = ()


class CandidatePlace(NamedTuple):
    """What a pod would take of a node.

    Attributes:
        node: What is left on the node.
        shape: What the pod asks for.
        fit: What that means on the node.
        devices: The devices.
        cores: What it takes of each core class.
        cells: The cells where it has anything.
        beside_pool: How many of them hold something of a pod under ConstrainedBurst that has no
            CPUs there; where cells are counted, they count once more.

    """

    node: NodeState
    shape: Shape
    fit: Fit
    devices: DevicesChosenForPod
    cores: tuple[CoreTake, ...]
    cells: Collection[int]
    beside_pool: int = 0


PlaceCost = Callable[[CandidatePlace], int]
"""Returns what a place costs in a tier, or in the tiers of a strategy together."""

TierCosts = Mapping[Tier, PlaceCost]
"""Tier -> what a family counts in it; the file of a family with such tiers ends in them."""
