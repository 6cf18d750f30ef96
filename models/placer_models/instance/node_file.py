"""The document of ``kind: NodePlacement``: what one node is to do, complete in itself."""

from typing import Annotated, Literal, NoReturn

from pydantic import Field

from placer_models.cluster import Instance, Node
from placer_models.defaults import NO_DEFAULTS
from placer_models.files.documents import API_VERSION, DocumentInFile
from placer_models.files.errors import InputError
from placer_models.files.faults import DocumentLocation, FileFaults
from placer_models.files.part import Id, Json, Name, Part, PlacerFileMetadataPart
from placer_models.files.validate import read_part_as
from placer_models.instance.build import NODE_PLACEMENT, InstanceMachineReader, document_kind
from placer_models.instance.defaults import defaults_to_dict, read_defaults
from placer_models.instance.granted import memory_bytes_by_device
from placer_models.instance.machine_schema import MachineFile
from placer_models.instance.machine_writer import machine_to_dict
from placer_models.instance.network import InstanceNetworkLevelReader
from placer_models.instance.nodes import InstanceNodeReader, node_to_dict
from placer_models.instance.placement_file import (
    PodHeldResourcesEntry,
    pod_placement_to_dict,
    read_pod_placement,
)
from placer_models.instance.pods import InstancePodReader, pod_to_dict
from placer_models.instance.requests import InstanceRequestsReader
from placer_models.instance.schema import (
    OTHER_SPELLINGS,
    SHORT_FORMS,
    UNSUPPORTED,
    DefaultsPart,
    InstanceNodePart,
    PodSpecPart,
)
from placer_models.legal_shares import quantity_units_by_device_type
from placer_models.message_text import in_quotes
from placer_models.node_placement import MAX_GENERATION, NodePlacement, NodePlacementPod
from placer_models.placement import Placement
from placer_models.pod import Pod


class NodePlacementPodPart(PodSpecPart):
    """A pod of the node: what it asks for, where it is, how its containers are found."""

    namespace: Name = "default"
    gang: Name | None = None
    container_ids: dict[str, Id] = Field(
        default_factory=dict, description="The runtime's id of each container, by its name."
    )
    placement: PodHeldResourcesEntry


class NodePlacementFile(Part):
    """One document of ``kind: NodePlacement``."""

    other_spellings = OTHER_SPELLINGS
    unsupported = UNSUPPORTED
    short_forms = SHORT_FORMS

    api_version: Literal["placer/v1"]
    kind: Literal["NodePlacement"]
    metadata: PlacerFileMetadataPart = PlacerFileMetadataPart()
    generation: Annotated[int, Field(ge=1, le=MAX_GENERATION)] = 1
    machine: MachineFile
    node: InstanceNodePart
    pods: tuple[NodePlacementPodPart, ...] = ()
    defaults: DefaultsPart | None = Field(
        None, description="What its scheduler is set to, for whoever says nothing."
    )


def read_node_placement_document(document: DocumentInFile) -> NodePlacement:
    """Return what a node is to do, without checking whether it can.

    Raises:
        InputError: The document is something else, or something is wrong with it.

    """
    place = DocumentLocation(document, FileFaults([document]))
    kind = document_kind(document)
    if kind != NODE_PLACEMENT:
        message = f"got {in_quotes(kind)}; expected {NODE_PLACEMENT}"
        raise InputError(document.file, place.at("kind").line, "kind", message)
    file = read_part_as(NodePlacementFile, place)
    node = _node(file, place)
    pods = InstancePodReader(
        InstanceRequestsReader(
            quantity_units_by_device_type([node]), {name for name, _ in node.extended}
        ),
        on_arm_alone=False,
    )
    found = tuple(_pod(part, node, pods, place.at("pods", i)) for i, part in enumerate(file.pods))
    place.faults.raise_first()
    return NodePlacement(node, found, file.generation)


def _node(file: NodePlacementFile, place: DocumentLocation) -> Node:
    machines = InstanceMachineReader()
    machines.add(file.machine, place.at("machine"))
    place.faults.raise_first()

    def find(name: str, _: DocumentInFile) -> NoReturn:
        raise ValueError(f"the machine of this document is {in_quotes(file.machine.name)}")

    defaults = read_defaults(file.defaults) or NO_DEFAULTS
    reader = InstanceNodeReader(machines.machines, find, InstanceNetworkLevelReader(), defaults)
    nodes = reader.nodes(file.node, place.at("node"))
    if len(nodes) > 1:
        place.at("node", "name").fault(f"got {len(nodes)} names; expected one node")
    place.faults.raise_first()
    return nodes[0]


def _pod(
    part: NodePlacementPodPart, node: Node, pods: InstancePodReader, place: DocumentLocation
) -> NodePlacementPod:
    spec, limits = pods.spec(part, place)
    pods.take(part.namespace, part.name, place)
    at = place.at("placement")
    seat = read_pod_placement(part.placement, (part.name, part.namespace, part.gang, node.name), at)
    names = {container.name for container in spec.containers}
    for field, given in (
        (place.at("containerIds"), list(part.container_ids)),
        (at.at("containers"), [container.name for container in seat.containers]),
    ):
        for name in given:
            if name not in names:
                message = f"the pod has no container {in_quotes(name)}"
                field.fault(message, name=name, known=sorted(names))
    if len({container.name for container in seat.containers}) < len(seat.containers):
        at.at("containers").fault("a container is given twice; keep one")
    return NodePlacementPod(
        Pod(part.name, part.namespace, spec, limits, pods.uid(part, place)),
        seat,
        tuple(sorted(part.container_ids.items())),
    )


def node_placement_document_to_dict(document: NodePlacement) -> Json:
    """Return the document as files write it: reading it back gives the same."""
    node = document.node
    held = Placement(tuple(pod.placement for pod in document.pods))
    memory_of = memory_bytes_by_device(Instance((node,), ()), held)
    written: Json = {
        "apiVersion": API_VERSION,
        "kind": NODE_PLACEMENT,
        "generation": document.generation,
        "machine": machine_to_dict(node.machine, node.machine.name),
        "node": node_to_dict(node, node.machine.name),
        **NodePlacementFile.written(defaults=defaults_to_dict(node.defaults) or None),
    }
    pods: list[Json] = []
    for one in document.pods:
        seat = one.placement
        pods.append(
            {
                **pod_to_dict(one.pod),
                "namespace": one.pod.namespace,
                **({"gang": seat.gang} if seat.gang else {}),
                **({"containerIds": dict(one.container_ids)} if one.container_ids else {}),
                "placement": _without_empty(pod_placement_to_dict(seat, memory_of)),
            }
        )
    return written | ({"pods": pods} if pods else {})


def _without_empty(written: Json) -> Json:
    """Leave out empty fields, but not ``cpuMilli``: if empty, it says that the pod floats."""
    return {k: v for k, v in written.items() if k == "cpuMilli" or v not in ("", {}, [])}
