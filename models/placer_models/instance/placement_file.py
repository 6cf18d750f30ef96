"""The document of ``kind: Placement``, with its parts: what solve writes and verify reads."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypedDict, assert_never

from pydantic import Field

from placer_models.cluster import Instance
from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list
from placer_models.environment import environment_value_fault, variable_name_fault
from placer_models.files.documents import DocumentInFile
from placer_models.files.faults import DocumentLocation, FileFaults
from placer_models.files.part import Json, Part
from placer_models.files.validate import read_part_as
from placer_models.goals import strategy_of_last_tier
from placer_models.instance.fields import CpuList, Minor
from placer_models.instance.granted import (
    DeviceMemory,
    held_share_to_dict,
    memory_bytes_by_device,
    read_held_share,
)
from placer_models.instance.hugepages import hugepages_to_dict
from placer_models.instance.placement_claims import (
    MoveInPlacementFile,
    OutcomeInPlacementFile,
    TierInPlacementFile,
)
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import (
    Answer,
    ContainerPlacement,
    DeviceGrant,
    GaveUp,
    Infeasible,
    Move,
    PartlyPlaced,
    Placed,
    Placement,
    PodPlacement,
    TierBoundSource,
    TierValue,
    Unplaced,
)
from placer_models.pod import pods_of_gangs
from placer_models.quantity import parse_bytes
from placer_models.reasons import UnplacedCause, verdict_of_reasons

Bytes = Annotated[int, Field(ge=0, le=2**60)]

Milli = Annotated[int, Field(ge=0, le=10**9)]


class HeldDeviceEntry(Part):
    """One device that a pod holds."""

    type: str
    minor: Minor
    id: str = ""
    resources: dict[str, Bytes | str] = Field(default_factory=dict)
    vfs: tuple[Minor, ...] = ()


class HeldResourcesEntry(Part):
    """What a pod holds of its node, or one container of it."""

    cpuset: CpuList = ""
    cpu_milli: dict[str, Milli] | None = None
    memory: dict[str, Bytes] = Field(default_factory=dict)
    hugepages: dict[str, dict[str, Bytes]] = Field(default_factory=dict)
    devices: tuple[HeldDeviceEntry, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)


class CommonPlacementFields(TypedDict):
    """What `PodPlacement` and `ContainerPlacement` have in common."""

    cpuset: CpuSet
    memory_bytes: tuple[tuple[int, int], ...]
    hugepages: tuple[tuple[int, int, int], ...]
    devices: tuple[DeviceGrant, ...]
    env: tuple[tuple[str, str], ...]
    cpu_milli: tuple[tuple[int, int], ...] | None


def read_held_resources(
    entry: HeldResourcesEntry, place: DocumentLocation
) -> CommonPlacementFields:
    """Return what an entry holds, sorted; zeros are left out, except those of counted CPUs."""
    pages = []
    for numa, counts in entry.hugepages.items():
        for size, count in counts.items():
            at = place.at("hugepages", numa, size)
            pages.append((_id(numa, at), at.parsed(parse_bytes, size, 0), count))
    for name, value in entry.env.items():
        if told := variable_name_fault(name) or environment_value_fault(value):
            place.at("env", name).fault(told)
    memory = [(_id(numa, place.at("memory", numa)), size) for numa, size in entry.memory.items()]
    milli = [(_id(n, place.at("cpuMilli", n)), m) for n, m in (entry.cpu_milli or {}).items()]
    devices = [
        DeviceGrant(
            d.type,
            d.minor,
            d.id,
            read_held_share(d.type, d.resources, place.at("devices", i, "resources")),
            tuple(sorted(d.vfs)),
        )
        for i, d in enumerate(entry.devices)
    ]
    return {
        "cpuset": parse_cpu_list(entry.cpuset),
        "memory_bytes": tuple(sorted((numa, size) for numa, size in memory if size)),
        "hugepages": tuple(sorted(page for page in pages if page[2])),
        "devices": tuple(sorted(devices, key=lambda grant: (grant.type, grant.minor))),
        "env": tuple(sorted(entry.env.items())),
        "cpu_milli": None if entry.cpu_milli is None else tuple(sorted(milli)),
    }


def held_resources_to_dict(
    held: PodPlacement | ContainerPlacement, node: str, memory_of: DeviceMemory
) -> dict[str, Any]:
    """Return what is held on a node, by field of `HeldResourcesEntry`."""
    devices = [
        {
            "type": d.type,
            "minor": d.minor,
            "id": d.id,
            "resources": held_share_to_dict(d, memory_of.get((node, d.type, d.minor), 0)),
            "vfs": list(d.vfs),
        }
        for d in held.devices
    ]
    return {
        "cpu_milli": None
        if held.cpu_milli is None
        else amounts_by_numa_node_to_dict(held.cpu_milli),
        "memory": amounts_by_numa_node_to_dict(held.memory_bytes),
        "hugepages": hugepages_to_dict(held.hugepages),
        "devices": devices,
        "env": dict(held.env),
    }


def amounts_by_numa_node_to_dict(amounts: Iterable[tuple[int, int]]) -> Json:
    """Return amounts by NUMA node, which is text in files."""
    return {str(numa): amount for numa, amount in amounts}


def _id(text: str, place: DocumentLocation) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 5:
        return int(text)
    place.fault("the key is the id of a NUMA node, such as '0'")
    return 0


class ContainerHeldResourcesEntry(HeldResourcesEntry):
    """What one container of a pod holds."""

    name: str


class PodHeldResourcesEntry(HeldResourcesEntry):
    """What one pod holds of its node."""

    containers: tuple[ContainerHeldResourcesEntry, ...] = ()


class PlacedPodEntry(PodHeldResourcesEntry):
    """Where one pod runs."""

    name: str
    namespace: str = "default"
    gang: str | None = None
    node: str


class TierBottleneckEntry(Part):
    """A resource of some nodes that gives a bound.

    Attributes:
        nodes: Names of the nodes; null: all nodes.

    """

    resource: str
    nodes: tuple[str, ...] | None = None


class TierEntry(Part):
    """What the placement is worth in one tier.

    Attributes:
        bound_from: How it is known that nothing beats the bound.
        binds: What gives a bound that comes from sums; empty where that was not looked into.

    """

    name: str
    unit: str = ""
    sense: Literal["maximise", "minimise"]
    value: int
    bound: int | None = None
    proven: bool = False
    bound_from: TierBoundSource | None = None
    binds: tuple[TierBottleneckEntry, ...] = ()


class UnplacedEntry(Part):
    """A pod without a place.

    Attributes:
        verdict: What its first reason comes to; null where only the words of it are known.
        guessed: Whether a reason hangs on a guess of where running pods have their memory.

    """

    name: str
    namespace: str = "default"
    gang: str | None = None
    verdict: UnplacedCause | None = None
    reasons: tuple[str, ...] = ()
    guessed: bool = False


class RuleBreakingPlaceEntry(Part):
    """A place that was chosen for a pod and broke a rule: a defect of placer.

    Attributes:
        why: The rule, and what is wrong.

    """

    name: str
    namespace: str = "default"
    node: str
    why: str = ""


class MoveEntry(Part):
    """A running pod that gets another place, which is given among the pods.

    Attributes:
        mends: The rules that it broke where it was.

    """

    name: str
    namespace: str = "default"
    source: str = Field(alias="from")
    target: str = Field(alias="to")
    mends: tuple[str, ...] | None = None


class PlacementFile(Part):
    """One document of ``kind: Placement``; a hand-written one needs ``pods`` only."""

    api_version: Literal["placer/v1"]
    kind: Literal["Placement"]
    status: Literal["placed", "partly-placed", "infeasible", "gave-up"] | None = None
    strategy: NodeStrategy | None = None
    tiers: tuple[TierEntry, ...] = ()
    pods: tuple[PlacedPodEntry, ...]
    moves: tuple[MoveEntry, ...] = ()
    unplaced: tuple[UnplacedEntry, ...] = ()
    rejected: tuple[RuleBreakingPlaceEntry, ...] = ()
    timing: Json = Field(default_factory=dict)


def solve_answer_to_dict(answer: Answer, instance: Instance, timing: Mapping[str, object]) -> Json:
    """Return the document of an answer; pods stand in the order of the instance."""
    status, placement, tiers, unplaced, moves = _parts(answer)
    running = [runner.pod for runner in instance.running]
    order = {pod.key: i for i, pod in enumerate([*pods_of_gangs(instance.gangs), *running])}
    last = len(order)
    memory_of = memory_bytes_by_device(instance, placement)
    return {
        "apiVersion": "placer/v1",
        "kind": "Placement",
        "status": status,
        "strategy": (strategy_of_last_tier([v.tier for v in tiers]) or instance.strategy).value,
        "tiers": [_tier(value) for value in tiers],
        "pods": [
            _pod(pod, memory_of)
            for pod in sorted(placement.pods, key=lambda pod: order.get(pod.key, last))
        ],
        "moves": [
            {
                "name": to.name,
                "namespace": to.namespace,
                "from": home.node,
                "to": to.node,
                "mends": list(mends),
            }
            for home, to, mends in moves
        ],
        "unplaced": [_unplaced(pod) for pod in unplaced],
        "rejected": [
            {
                "name": place.name,
                "namespace": place.namespace,
                "node": place.node,
                "why": place.why,
            }
            for place in answer.rejected
        ],
        "timing": dict(timing),
    }


def placement_from_document(document: DocumentInFile) -> Placement:
    """Return the placement that a document holds; whether it is any good is for the judge.

    Raises:
        InputError: The document is not a placement.

    """
    return placement_and_outcome_from_document(document)[0]


def placement_and_outcome_from_document(
    document: DocumentInFile,
) -> tuple[Placement, OutcomeInPlacementFile]:
    """Return the placement of a document, and the claims about it, which are not checked here.

    Raises:
        InputError: The document is not a placement.

    """
    place = DocumentLocation(document, FileFaults([document]))
    file = read_part_as(PlacementFile, place, nulls=True)
    claims = OutcomeInPlacementFile(
        file.status,
        tuple(TierInPlacementFile(t.name, t.value, t.bound, t.proven) for t in file.tiers),
        tuple(
            MoveInPlacementFile((m.namespace, m.name), m.source, m.target, m.mends)
            for m in file.moves
        ),
        file.strategy,
    )
    pods = tuple(
        read_pod_placement(
            entry, (entry.name, entry.namespace, entry.gang, entry.node), place.at("pods", i)
        )
        for i, entry in enumerate(file.pods)
    )
    place.faults.raise_first()
    return Placement(pods), claims


def _parts(
    answer: Answer,
) -> tuple[str, Placement, tuple[TierValue, ...], tuple[Unplaced, ...], tuple[Move, ...]]:
    match answer:
        case Placed():
            return "placed", answer.placement, answer.tiers, (), answer.moves
        case PartlyPlaced():
            tiers, unplaced = answer.tiers, answer.unplaced
            return "partly-placed", answer.placement, tiers, unplaced, answer.moves
        case Infeasible():
            return "infeasible", Placement(), (), answer.unplaced, ()
        case GaveUp():
            return "gave-up", Placement(), (), answer.unplaced, ()
        case _:
            assert_never(answer)


def _tier(value: TierValue) -> Json:
    return {
        "name": value.tier.name,
        "unit": value.tier.unit,
        "sense": value.tier.sense.value,
        "value": value.value,
        "bound": value.bound,
        "proven": value.proven,
        "boundFrom": None if value.bound_from is None else value.bound_from.value,
        "binds": [
            {"resource": one.resource, "nodes": None if one.nodes is None else list(one.nodes)}
            for one in value.binds
        ],
    }


def _unplaced(pod: Unplaced) -> Json:
    verdict = verdict_of_reasons(pod.why)
    return {
        "name": pod.name,
        "namespace": pod.namespace,
        "gang": pod.gang,
        "verdict": None if verdict is None else verdict.value,
        "reasons": list(pod.reasons),
        "guessed": pod.guessed,
    }


def _pod(pod: PodPlacement, memory_of: DeviceMemory) -> Json:
    return {
        "name": pod.name,
        "namespace": pod.namespace,
        "gang": pod.gang,
        "node": pod.node,
        **pod_placement_to_dict(pod, memory_of),
    }


def pod_placement_to_dict(pod: PodPlacement, memory_of: DeviceMemory) -> Json:
    """Return what a pod holds of its node."""
    held = held_resources_to_dict(pod, pod.node, memory_of)
    return {
        "cpuset": format_cpu_list(pod.cpuset),
        **PodHeldResourcesEntry.written(cpu_milli=held.pop("cpu_milli")),
        "containers": [
            {
                "name": container.name,
                "cpuset": format_cpu_list(container.cpuset),
                **ContainerHeldResourcesEntry.written(
                    **held_resources_to_dict(container, pod.node, memory_of)
                ),
            }
            for container in pod.containers
        ],
        **held,
    }


def read_pod_placement(
    entry: PodHeldResourcesEntry, whose: tuple[str, str, str | None, str], place: DocumentLocation
) -> PodPlacement:
    """Read what a pod holds of its node.

    Args:
        entry: The entry as it is written.
        whose: Name and namespace of the pod, its gang and its node.
        place: Where the entry is written.

    """
    name, namespace, gang, node = whose
    return PodPlacement(
        name=name,
        namespace=namespace,
        gang=gang,
        node=node,
        containers=tuple(
            ContainerPlacement(c.name, **read_held_resources(c, place.at("containers", i)))
            for i, c in enumerate(entry.containers)
        ),
        **read_held_resources(entry, place),
    )
