"""Instances built from all their documents: by the schema first, then by all of them together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from placer_models.cluster import Instance, Machine
from placer_models.defaults import NO_DEFAULTS, Defaults
from placer_models.files.documents import API_VERSION, DocumentInFile
from placer_models.files.errors import InputError
from placer_models.files.faults import DocumentLocation, FileFaults
from placer_models.files.tree import DocumentTreeScalar
from placer_models.files.validate import read_by_schema, read_part_as
from placer_models.instance.defaults import read_defaults
from placer_models.instance.demand import read_demand
from placer_models.instance.gangs import InstanceGangReader, InstanceRunningGangReader
from placer_models.instance.machine_parts import InconsistentMachineError
from placer_models.instance.machine_schema import MachineFile, machine_of_file
from placer_models.instance.network import InstanceNetworkLevelReader
from placer_models.instance.nodes import InstanceNodeReader, MachineFinder
from placer_models.instance.pods import InstancePodReader
from placer_models.instance.requests import InstanceRequestsReader
from placer_models.instance.running import InstanceRunningPodReader
from placer_models.instance.schema import GangPart, InstanceFile, InstanceNodePart, WaitingPodPart
from placer_models.left_out import without_illegal_pods
from placer_models.legal_shares import first_quantity_of_other_unit, quantity_units_by_device_type
from placer_models.message_text import in_quotes, spelling_suggestion
from placer_models.node_strategy import NodeStrategy
from placer_models.pod import Gang
from placer_models.topology import ARM

T = TypeVar("T")

INSTANCE = "Instance"
MACHINE = "Machine"
PLACEMENT = "Placement"

MAX_MACHINE_PARTS = 1_000_000
"""Most CPUs, devices and links of all machines that are written out."""

NODE_PLACEMENT = "NodePlacement"

_KINDS = (INSTANCE, MACHINE, PLACEMENT, NODE_PLACEMENT)

_OF_DEFAULTS = frozenset({"apiVersion", "kind", "metadata", "defaults"})
"""The fields of a document that gives the defaults of a scheduler alone."""

READ_BY = {
    NODE_PLACEMENT: "placer apply",
    "JobGraph": "placer slots compile",
    "Plan": "placer plan buy",
    "QueueHistory": "placer queue advise",
    "QueueSimulation": "placer queue simulate",
}
"""Kinds of our other documents, and the commands that read them."""


def document_kind(document: DocumentInFile) -> str:
    """Return the kind of the document.

    Raises:
        InputError: It does not say its kind, or is of a kind that is not read here.

    """
    place = DocumentLocation(document, FileFaults([document]))
    for field, allowed in (("apiVersion", (API_VERSION,)), ("kind", _KINDS)):
        entry = document.tree.entries.get(field)
        if entry is None:
            message = f"is missing; begin with 'apiVersion: {API_VERSION}' and 'kind: {INSTANCE}'"
            raise InputError(document.file, place.line, field, message)
        text = entry.node.text if isinstance(entry.node, DocumentTreeScalar) else ""
        if text not in allowed:
            at = place.at(field)
            other = f", which '{READ_BY[text]}' reads" if text in READ_BY else ""
            hint = "" if other else spelling_suggestion(text, allowed)
            message = f"got {at.value}{other}; expected {', '.join(allowed)}{hint}"
            raise InputError(document.file, at.line, field, message)
    return text


@dataclass(frozen=True, slots=True)
class InstancePartsOfOtherDocuments:
    """What stands in a document of another kind, and belongs to the instance as well.

    Attributes:
        nodes: Further nodes.
        demand: Further pods and gangs.
        faults: Where all faults go, those of the instance's own documents, too.

    """

    nodes: tuple[tuple[InstanceNodePart, DocumentLocation], ...]
    demand: tuple["WaitingPodAndGangParts", ...]
    faults: FileFaults


@dataclass(frozen=True, slots=True)
class WaitingPodAndGangParts:
    """What waits, as a part of a document says it, and where its lists stand."""

    pods: Sequence[WaitingPodPart]
    gangs: Sequence[tuple[GangPart, DocumentLocation]]
    place: DocumentLocation
    pods_field: str = "pods"


def build_instance_from_placer_files(
    documents: Sequence[DocumentInFile],
    find_machine: MachineFinder,
    *,
    skip_illegal: bool = False,
    beside: InstancePartsOfOtherDocuments | None = None,
) -> Instance:
    """Return the instance that the documents make together.

    The order of everything is that of the documents; lone pods come before gangs.

    Args:
        documents: The documents.
        find_machine: Finds machines that no document defines.
        skip_illegal: Whether pods that can be read, and ask for what no pod may ask for, are left
            out if they wait, and are marked if they run. Otherwise they are faults.
        beside: What another document adds. With it there may be no document of an instance, and
            no other node.

    Raises:
        InputError: Something is wrong; it tells the first fault in the order of the files.

    """
    faults = FileFaults(documents) if beside is None else beside.faults
    files: list[tuple[InstanceFile, DocumentLocation]] = []
    parts: list[tuple[MachineFile, DocumentLocation]] = []
    for document in documents:
        place = DocumentLocation(document, faults)
        kind = document_kind(document)
        if kind == MACHINE:
            machine = read_by_schema(MachineFile, place)
            parts += [(machine, place)] if machine else []
        elif kind == INSTANCE:
            file = read_by_schema(InstanceFile, place)
            if file:
                files.append((file, place))
                parts += [(m, place.at("machines", i)) for i, m in enumerate(file.machines)]
        else:
            other = f", which '{READ_BY[kind]}' reads" if kind in READ_BY else ""
            message = f"got {in_quotes(kind)}{other}; expected {INSTANCE} or {MACHINE}"
            raise InputError(document.file, place.at("kind").line, "kind", message)
    faults.raise_first()
    if not files and beside is None:
        message = f"holds no document of 'kind: {INSTANCE}'"
        raise InputError(documents[0].file, None, "", message)
    reader = InstanceMachineReader()
    for part, place in parts:
        reader.add(part, place)
    faults.raise_first()
    instance = _build(
        files, reader.machines, find_machine, beside, faults, skip_illegal=skip_illegal
    )
    faults.raise_first()
    return instance


def defaults_beside_objects(documents: Sequence[DocumentInFile], objects: str) -> Defaults | None:
    """Return the defaults of documents that stand beside the objects of a cluster (C22).

    Args:
        documents: The documents.
        objects: The name of a file of objects, for messages.

    Raises:
        InputError: One of them is no Instance, or says something else.

    """
    wrong = (
        f"beside the objects of Kubernetes in {objects} a document of ours is an {INSTANCE} that "
        "gives 'defaults' alone; pods and nodes are among the objects"
    )
    faults = FileFaults(documents)
    files: list[tuple[InstanceFile, DocumentLocation]] = []
    for document in documents:
        place = DocumentLocation(document, faults)
        if (kind := document_kind(document)) != INSTANCE:
            raise InputError(document.file, place.at("kind").line, "kind", f"got {kind}; {wrong}")
        for field in document.tree.entries.keys() - _OF_DEFAULTS:
            place.at(field).fault(wrong)
        file = read_by_schema(InstanceFile, place)
        files += [(file, place)] if file else []
    said = _once("defaults", [(file.defaults, place) for file, place in files])
    faults.raise_first()
    return read_defaults(said)


def _is_default_alone(document: DocumentInFile) -> bool:
    return "defaults" in document.tree.entries and document.tree.entries.keys() <= _OF_DEFAULTS


def machine_from_document(document: DocumentInFile) -> Machine:
    """Return the machine that a document of ``kind: Machine`` describes.

    Raises:
        InputError: Something is wrong with it.

    """
    place, reader = DocumentLocation(document, FileFaults([document])), InstanceMachineReader()
    reader.add(read_part_as(MachineFile, place), place)
    place.faults.raise_first()
    return next(iter(reader.machines.values()))


class InstanceMachineReader:
    """Reads the machines that the files define.

    Attributes:
        machines: Name -> machine.

    """

    def __init__(self) -> None:
        self._weight = 0
        self.machines: dict[str, Machine] = {}

    def add(self, part: MachineFile, place: DocumentLocation) -> None:
        """Read one machine."""
        if part.name in self.machines:
            message = f"a machine {in_quotes(part.name)} is already given; rename one"
            place.at("name").fault(message)
            return
        # Short texts can stand for many CPUs and devices: weigh before unfolding.
        weight = self._weight + sum(d.count * (1 + d.function_count) for d in part.devices)
        if weight > MAX_MACHINE_PARTS:
            message = f"the machines have more than {MAX_MACHINE_PARTS:,} CPUs and devices together"
            place.fault(message)
            return
        try:
            machine = machine_of_file(part)
        except InconsistentMachineError as error:
            place.at(*error.field).fault(error.message)
        except ValueError as error:
            place.fault(str(error))
        else:
            links = len(machine.gpu_links.minors) ** 2 if machine.gpu_links else 0
            topology = machine.topology
            self._weight = weight + len(topology.cpus) + len(topology.numa_nodes) + links
            self.machines[part.name] = machine


def _build(
    files: Sequence[tuple[InstanceFile, DocumentLocation]],
    machines: dict[str, Machine],
    find_machine: MachineFinder,
    beside: InstancePartsOfOtherDocuments | None,
    faults: FileFaults,
    *,
    skip_illegal: bool,
) -> Instance:
    node_parts = [
        (part, place.at("nodes", i)) for file, place in files for i, part in enumerate(file.nodes)
    ]
    node_parts += beside.nodes if beside else ()
    levels = InstanceNetworkLevelReader()
    for file, place in files:
        for i, level in enumerate(file.network_topology):
            levels.add(level, place.at("networkTopology", i))
    defaults = read_defaults(_once("defaults", [(f.defaults, place) for f, place in files]))
    node_reader = InstanceNodeReader(machines, find_machine, levels, defaults or NO_DEFAULTS)
    nodes = tuple(node for part, place in node_parts for node in node_reader.nodes(part, place))
    if not node_parts and files:
        written = [place.at("nodes") for _, place in files if place.at("nodes").exists]
        what = "is empty; give one or more" if written else "is missing; give one node or more"
        if not written and all(_is_default_alone(place.document) for _, place in files):
            what += ", or the objects of a cluster beside the defaults (to validate: --together)"
        [*written, files[0][1].at("nodes")][0].fault(what)
    levels.check(nodes)
    # If nodes were missing, whatever names them would be blamed for their faults.
    faults.raise_first()
    shared_units = quantity_units_by_device_type(nodes)
    extended = {name for node in nodes for name, _ in node.extended}
    for machine in {id(node.machine): node.machine for node in nodes}.values():
        if clash := first_quantity_of_other_unit(machine, shared_units):
            device, quantity = clash
            _whole_list(node_parts[0][1]).fault(
                f"{quantity.name} of devices of type {in_quotes(device.type)} is in "
                f"{quantity.unit} on "
                f"machine {in_quotes(machine.name)}, and in "
                f"{shared_units[device.type][quantity.name]} on another; write it in one unit"
            )
    if both := sorted(shared_units.keys() & extended):
        _whole_list(node_parts[0][1]).fault(
            f"{in_quotes(both[0])} is a type of devices on some nodes, and an extended resource of "
            "others; name one of them otherwise"
        )
    pods = InstancePodReader(
        InstanceRequestsReader(shared_units, extended),
        on_arm_alone=all(n.machine.topology.architecture == ARM for n in nodes),
        device_choice=_once(
            "deviceChoice",
            [(f.device_choice, place) for f, place in files],
        ),
        skip_illegal=skip_illegal,
    )
    waiting = InstanceGangReader(pods, levels.known)
    gangs: list[Gang] = []
    asked = [
        WaitingPodAndGangParts(
            file.pods, [(gang, place.at("gangs", i)) for i, gang in enumerate(file.gangs)], place
        )
        for file, place in files
    ]
    asked += beside.demand if beside else ()
    for one in asked:
        for i, pod in enumerate(one.pods):
            gangs += waiting.lone(pod, one.place.at(one.pods_field, i))
    for one in asked:
        gangs += (waiting.gang(gang, place) for gang, place in one.gangs)
    groups = tuple(
        waiting.group(part, place.at("gangGroups", i))
        for file, place in files
        for i, part in enumerate(file.gang_groups)
    )
    together = InstanceRunningGangReader(waiting.names, levels.known)
    for file, place in files:
        for i, running_gang in enumerate(file.running_gangs):
            together.add(running_gang, place.at("runningGangs", i))
    running = InstanceRunningPodReader(nodes, pods)
    for file, place in files:
        for i, part in enumerate(file.running):
            running.read(part, place.at("running", i))
            together.member(part, place.at("running", i))
    in_place = running.finish()
    legal = without_illegal_pods(tuple(gangs), groups, pods.illegal)
    return Instance(
        nodes=nodes,
        gangs=legal.gangs,
        groups=legal.groups,
        running=in_place,
        name=next((file.metadata.name for file, _ in files if file.metadata.name), ""),
        move_budget=_once("moveBudget", [(f.move_budget, place) for f, place in files]) or 0,
        running_gangs=together.finish(),
        strategy=_once("strategy", [(f.strategy, place) for f, place in files])
        or NodeStrategy.USABLE,
        defaults=defaults,
        left_out=legal.left_out,
        demand=_once(
            "demand",
            [(read_demand(f.demand, place.at("demand")), place) for f, place in files],
        ),
    )


def _whole_list(item: DocumentLocation) -> DocumentLocation:
    """Return the place of the list that an item stands in."""
    return DocumentLocation(item.document, item.faults, item.path[:-1])


def _once(field: str, said: Sequence[tuple[T | None, DocumentLocation]]) -> T | None:
    """Return what one of the documents says; it is a fault if a second one says it, too."""
    given = [(value, place) for value, place in said if value is not None]
    for _, place in given[1:]:
        place.at(field).fault("is given by another document already; give it once")
    return given[0][0] if given else None
