"""Nodes in files, read and written."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from placer_models.cluster import Machine, Node
from placer_models.cpuset import format_cpu_list, parse_cpu_list
from placer_models.defaults import NO_DEFAULTS, Defaults
from placer_models.device import GPU, PartitionTable
from placer_models.files.documents import DocumentInFile
from placer_models.files.errors import InputError
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json, check_name, none_if_default
from placer_models.files.tree import field_path_text
from placer_models.instance.hosts import MAX_HOSTS, expand_hosts
from placer_models.instance.hugepages import hugepages_to_dict, read_numa_hugepages_of_document
from placer_models.instance.machine_partitions import read_partitions, write_partitions
from placer_models.instance.network import InstanceNetworkLevelReader
from placer_models.instance.pods import UniqueNameCheck
from placer_models.instance.requests import (
    check_extended_name,
    device_type_of_written_name,
    parse_extended_amount,
)
from placer_models.instance.schema import InstanceNodePart
from placer_models.instance.wish_schema import TaintPart
from placer_models.message_text import cpu_ids_with_noun, in_quotes, spelling_suggestion
from placer_models.mig import TABLES, Modes
from placer_models.policy import CpuLocalityWish, NodeBindPolicy, NumaStrategy
from placer_models.quantity import format_bytes, parse_milli
from placer_models.taints import Taint
from placer_models.topology import ARM

log = logging.getLogger(__name__)

MachineFinder = Callable[[str, DocumentInFile], Machine]
"""Finds a machine that the files do not define, by its name or its path.

Raises ValueError with the nearest known names, InputError for a file."""


class InstanceNodeReader:
    """Reads nodes; knows the machines that the files define."""

    def __init__(
        self,
        machines: dict[str, Machine],
        find: MachineFinder,
        levels: InstanceNetworkLevelReader,
        defaults: Defaults = NO_DEFAULTS,
    ) -> None:
        self._machines = machines
        self._defaults = defaults
        self._levels = levels
        self._find = find
        self._names = UniqueNameCheck("node")
        self._count = 0

    def nodes(self, part: InstanceNodePart, place: DocumentLocation) -> tuple[Node, ...]:
        """Return the nodes of one entry: as many as its host list has names."""
        machine = self._machine(part.machine, place.at("machine"))
        try:
            names = expand_hosts(part.name)
            for name in names:
                check_name(name)
        except ValueError as error:
            place.at("name").fault(str(error))
            return ()
        self._count += len(names)
        if self._count > MAX_HOSTS:
            place.at("name").fault(f"the nodes are more than {MAX_HOSTS:,}; use fewer")
            return ()
        if machine is None:
            return ()
        domains = self._levels.domains(part, place)
        labels = tuple(sorted(part.labels.items()))
        reserved = parse_cpu_list(part.reserved_cpus)
        unpooled = parse_cpu_list(part.unpooled_cpus)
        for field, cpus in (("reservedCpus", reserved), ("unpooledCpus", unpooled)):
            if unknown := cpus - machine.topology.cpu.keys():
                place.at(field).fault(
                    f"the machine {machine.name} has no {cpu_ids_with_noun(unknown)}; "
                    f"it has {format_cpu_list(machine.topology.cpu)}"
                )
        unhealthy = self._devices(part.unhealthy_devices, machine, place.at("unhealthyDevices"))
        kept = self._devices(part.checkpoint_devices, machine, place.at("checkpointDevices"))
        cpu_bind = node_bind_policy_of(part)
        if part.cpu_bind_policy not in (None, NodeBindPolicy.NONE, cpu_bind):
            at = place.at("cpuBindPolicy")
            log.warning(
                "%s: %s: %s does not hold beside the kubelet's full-pcpus-only, which rejects "
                "all but whole cores: leave one of them out",
                at.where,
                field_path_text(at.path),
                part.cpu_bind_policy,
            )
        if cpu_bind is NodeBindPolicy.SPREAD_BY_PCPUS and machine.topology.architecture == ARM:
            place.at("cpuBindPolicy").fault(
                f"the machine {machine.name} is {ARM}, whose pods take whole cores: "
                "FullPCPUsOnly, or leave it out (rule arm-cpu-policy)"
            )
        hugepages = self._hugepages(part, names[0], machine, place.at("hugepages"))
        partitions = self._partitions(part, machine, place)
        extended = self._extended(part, machine, place.at("extended"))
        modes = self._mig(part, machine, place.at("mig"))
        nodes = []
        for name in names:
            if not self._names.take(("", name), place):
                break
            nodes.append(
                Node(
                    name,
                    machine,
                    labels,
                    reserved,
                    part.numa_policy,
                    unhealthy | kept,
                    part.cordoned,
                    cpu_bind,
                    hugepages,
                    partitions,
                    part.gpu_partition_policy,
                    cpu_locality_wishes_of_node(part),
                    numa_strategy_of(part),
                    extended,
                    part.offered,
                    modes,
                    part.numa_scope,
                    domains=domains,
                    max_pods=part.max_pods,
                    unpooled_cpus=unpooled,
                    taints=tuple(Taint(one.key, one.value, one.effect) for one in part.taints),
                    milli_per_cpu=parse_milli(part.cpu_amplification),
                    checkpoint_devices=kept - unhealthy,
                    defaults=self._defaults,
                    closed=part.closed,
                )
            )
        return tuple(nodes)

    def _machine(self, name: str, place: DocumentLocation) -> Machine | None:
        if name in self._machines:
            return self._machines[name]
        try:
            machine = self._find(name, place.document)
        except (ValueError, InputError) as error:
            hint = spelling_suggestion(name, self._machines)
            place.fault(f"no machine {in_quotes(name)} is given{hint}" if hint else str(error))
            return None
        other = self._machines.setdefault(machine.name, machine)
        if other != machine:
            place.fault(
                f"another machine is called {in_quotes(machine.name)} too; rename one of them"
            )
        return machine

    def _hugepages(
        self, part: InstanceNodePart, name: str, machine: Machine, place: DocumentLocation
    ) -> tuple[tuple[int, int, int], ...]:
        numa_nodes = [numa.id for numa in machine.topology.numa_nodes]
        pages = read_numa_hugepages_of_document(part.hugepages, numa_nodes, name, place)
        said = tuple((numa, size, count) for (numa, size), count in sorted(pages.items()))
        for numa, left in Node(name, machine, hugepages=said).memory_bytes_in().items():
            if left < 0:
                (place.at(str(numa)) if str(numa) in part.hugepages else place).fault(
                    f"the hugepages of NUMA node {numa} are {format_bytes(-left)} more than its "
                    "memory; set fewer aside"
                )
        return said

    def _partitions(
        self, part: InstanceNodePart, machine: Machine, place: DocumentLocation
    ) -> PartitionTable | None:
        """Return the node's own table, if any; its policy needs either that or the machine's."""
        own: PartitionTable | None = None
        if part.partitions is not None:
            gpus = [d.minor for d in machine.devices if d.type == GPU]
            try:
                own = read_partitions(part.partitions, gpus)
            except ValueError as error:
                place.at("partitions").fault(str(error))
                return None
        table = machine.partitions if own is None else own
        if part.gpu_partition_policy is not None and not table:
            place.at("gpuPartitionPolicy").fault(
                f"the machine {machine.name} has no partition table; give the node partitions"
            )
        return own

    def _extended(
        self, part: InstanceNodePart, machine: Machine, place: DocumentLocation
    ) -> tuple[tuple[str, int], ...]:
        amounts = {}
        types = {device.type for device in machine.devices}
        for name, text in part.extended.items():
            try:
                check_extended_name(name)
                if name in types:
                    raise ValueError(
                        f"the machine {machine.name} has devices of the type {in_quotes(name)}; "
                        "name the amount otherwise"
                    )
                amounts[name] = parse_extended_amount(text)
            except ValueError as error:
                place.at(name).fault(str(error))
        return tuple(sorted((name, amount) for name, amount in amounts.items() if amount))

    def _mig(self, part: InstanceNodePart, machine: Machine, place: DocumentLocation) -> Modes:
        """Return the GPUs in MIG mode, each with its table."""
        have = {d.minor for d in machine.devices if d.type == GPU}
        found: dict[int, str] = {}
        for table, minors in part.mig.items():
            if table not in TABLES:
                known = ", ".join(TABLES)
                place.at(table).fault(f"no such MIG table; expected one of {known}")
                continue
            for i, minor in enumerate(minors):
                if minor not in have:
                    place.at(table, i).fault(missing_device_message(GPU, minor, have, machine.name))
                elif minor in found:
                    place.at(table, i).fault(f"gpu {minor} is in MIG mode already")
                else:
                    found[minor] = table
        return tuple(sorted(found.items()))

    def _devices(
        self, named: Mapping[str, Sequence[int]], machine: Machine, place: DocumentLocation
    ) -> frozenset[tuple[str, int]]:
        """Return the devices of the machine that a field names by type."""
        found = set()
        for written, minors in named.items():
            kind = device_type_of_written_name(written)
            have = {d.minor for d in machine.devices if d.type == kind}
            for i, minor in enumerate(minors):
                if minor not in have:
                    place.at(written, i).fault(
                        missing_device_message(kind, minor, have, machine.name)
                    )
                found.add((kind, minor))
        return frozenset(found)


def node_bind_policy_of(part: InstanceNodePart) -> NodeBindPolicy:
    """Return the node's bind policy: the kubelet's, which rejects all else, or its own (C17)."""
    if part.kubelet.cpu_manager_policy_options.full_pcpus_only:
        return NodeBindPolicy.FULL_PCPUS_ONLY
    return part.cpu_bind_policy or NodeBindPolicy.NONE


def cpu_locality_wishes_of_node(part: InstanceNodePart) -> tuple[CpuLocalityWish, ...]:
    """Return what pods would like to stay within: the node's word, else the kubelet's (C17)."""
    if part.cpu_locality is not None:
        return part.cpu_locality
    options = part.kubelet.cpu_manager_policy_options
    told = {
        CpuLocalityWish.PACKAGE: options.align_by_socket,
        CpuLocalityWish.LLC: options.prefer_align_cpus_by_uncorecache,
    }
    return tuple(wish for wish, asked in told.items() if asked)


def numa_strategy_of(part: InstanceNodePart) -> NumaStrategy | None:
    """Return which NUMA nodes CPUs come from: the node's word, else the kubelet's (C11, C17)."""
    if part.numa_allocate_strategy is not None:
        return part.numa_allocate_strategy
    even = part.kubelet.cpu_manager_policy_options.distribute_cpus_across_numa
    return NumaStrategy.DISTRIBUTE_EVENLY if even else None


def node_to_dict(node: Node, machine: str) -> Json:
    """Return a node as files write it, with its machine given by name."""
    return InstanceNodePart.written(
        name=node.name,
        machine=machine,
        labels=dict(node.labels),
        domains=dict(node.domains),
        reserved_cpus=format_cpu_list(node.reserved_cpus),
        unpooled_cpus=format_cpu_list(node.unpooled_cpus),
        cpu_bind_policy=none_if_default(node.cpu_bind, NodeBindPolicy.NONE),
        numa_allocate_strategy=node.numa_strategy,
        cpu_locality=node.locality or None,
        numa_policy=node.alignment,
        numa_scope=node.scope,
        unhealthy_devices=minors_by_type(sorted(node.unhealthy - node.checkpoint_devices)),
        checkpoint_devices=minors_by_type(sorted(node.checkpoint_devices)),
        hugepages=hugepages_to_dict(node.hugepages),
        cordoned=node.cordoned,
        closed=node.closed,
        partitions=None if node.partitions is None else write_partitions(node.partitions),
        gpu_partition_policy=node.partition_policy,
        offered=node.offered,
        extended=dict(node.extended),
        mig=minors_by_type(sorted((table, minor) for minor, table in node.mig)),
        max_pods=node.max_pods,
        cpu_amplification=node.milli_per_cpu / 1000,
        taints=[
            TaintPart.written(key=one.key, value=one.value, effect=one.effect)
            for one in node.taints
        ],
    )


def minors_by_type(devices: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Return device type -> minors, given (type, minor) of each device."""
    minors: dict[str, list[int]] = {}
    for kind, minor in devices:
        minors.setdefault(kind, []).append(minor)
    return minors


def missing_device_message(kind: str, minor: int, have: set[int], machine: str) -> str:
    """Say that a machine has no such device, and which it has."""
    known = f"{kind} {format_cpu_list(have)}" if have else f"no devices of type {in_quotes(kind)}"
    return f"the machine {machine} has no {kind} {minor}; it has {known}"
