"""A machine as far as a captured text tells it; the rest is left out or noted."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from placer_models.cluster import Machine
from placer_models.cpuset import format_cpu_list
from placer_models.device import GPU, Device
from placer_models.instance.machine_cores import group_number_by_cpu
from placer_models.instance.machine_links import SELF, Kinds, link_matrix
from placer_models.machines.affinity_columns import (
    GpuAffinityInTopoMatrix,
    NumaNodesFromGpuAffinity,
    cores_assumed_from_numbering,
    numa_nodes_from_gpu_affinity,
)
from placer_models.machines.rates import UNLINKED, assumed_gb_per_s, bonded_link_count
from placer_models.topology import Cpu, NumaNode, Topology

MAX_LINKS_OF_A_GPU = 18
"""A GPU that shows more links than this in total shares them among its peers, through switches."""

RDMA = "rdma"
"""The device type of network ports."""


@dataclass(frozen=True, slots=True)
class GpuInToolOutput:
    """What a text says about one GPU."""

    minor: int
    affinity: GpuAffinityInTopoMatrix
    model: str = ""
    bus_id: str = ""


@dataclass(frozen=True, slots=True)
class MachineFromToolOutput:
    """What a text says about a machine.

    Attributes:
        gpus: Ascending by minor.
        nics: Names of its network ports.
        kinds: Kind of the link from each device to each other, GPUs first; None where not said.
        architecture: As ``uname -m`` says it.
        source: Which tool printed the text.

    """

    gpus: tuple[GpuInToolOutput, ...]
    nics: tuple[str, ...]
    kinds: tuple[tuple[str | None, ...], ...]
    source: str
    architecture: str = "x86_64"


def machine_from_tool_output(
    sketch: MachineFromToolOutput,
    name: str,
    gb_per_s_per_link: float | None,
    gb_per_s_by_kind: Mapping[str, float],
) -> Machine:
    """Return the machine of the sketch, with notes on all that was assumed."""
    count = len(sketch.gpus)
    kinds: Kinds = tuple(tuple(k or UNLINKED for k in row[:count]) for row in sketch.kinds[:count])
    rates, rates_note = assumed_gb_per_s(
        (kind for row in kinds for kind in row), count, gb_per_s_per_link, gb_per_s_by_kind
    )
    places = numa_nodes_from_gpu_affinity([gpu.affinity for gpu in sketch.gpus])
    cores, cores_note = cores_assumed_from_numbering({**places.nodes, -1: places.loose})
    dead = {i for i, row in enumerate(kinds) if count > 1 and set(row) == {SELF, UNLINKED}}
    notes = [
        "Only what the text shows: CPUs and NUMA nodes near no GPU are missing.",
        "Memory is not in the text and counts as 0.",
        places.note,
        cores_note,
        "Each NUMA node counts as a package.",
        rates_note,
    ]
    if dead:
        minors = format_cpu_list(sketch.gpus[i].minor for i in dead)
        notes.append(f"GPU {minors} could not be reached and counts as broken.")
    topology = _topology(sketch.architecture, places, cores)
    return Machine(
        name=name,
        title=f"{count} GPUs and {len(sketch.nics)} network ports, read from {sketch.source}",
        topology=topology,
        devices=_devices(sketch, places, dead),
        gpu_links=link_matrix(
            [gpu.minor for gpu in sketch.gpus],
            kinds,
            rates,
            shared_egress=any(
                sum(map(bonded_link_count, row)) > MAX_LINKS_OF_A_GPU for row in kinds
            ),
        ),
        sources=(sketch.source,),
        notes=" ".join(note for note in notes if note),
    )


def _topology(
    architecture: str, places: NumaNodesFromGpuAffinity, cores: Collection[frozenset[int]]
) -> Topology:
    numa_of = {cpu: node for node, cpus in places.nodes.items() for cpu in cpus}
    present = frozenset(numa_of) | places.loose
    core_of = group_number_by_cpu(cores, present, "core")
    package_of = _packages(places)
    return Topology(
        architecture=architecture,
        cpus=tuple(
            Cpu(cpu, core_of[cpu], package_of.get(numa_of.get(cpu), 0), numa_of.get(cpu))
            for cpu in sorted(present)
        ),
        numa_nodes=tuple(NumaNode(node, 0) for node in sorted(places.nodes)),
    )


def _packages(places: NumaNodesFromGpuAffinity) -> dict[int | None, int]:
    """Return NUMA node -> package, for those that have CPUs."""
    return {node: i for i, node in enumerate(n for n, cpus in places.nodes.items() if cpus)}


def _devices(
    sketch: MachineFromToolOutput, places: NumaNodesFromGpuAffinity, dead: Collection[int]
) -> tuple[Device, ...]:
    count = len(sketch.gpus)
    switches = _groups(sketch.kinds, ("PIX",))
    roots = _groups(sketch.kinds, ("PIX", "PXB", "PSB"))
    package_of = _packages(places)
    gpus = [
        Device(
            type=GPU,
            minor=gpu.minor,
            model=gpu.model,
            healthy=i not in dead,
            numa_node=places.of_gpu[i],
            package=package_of.get(places.of_gpu[i]),
            pcie_root=roots[i],
            pcie_switch=switches[i],
            bus_id=gpu.bus_id,
        )
        for i, gpu in enumerate(sketch.gpus)
    ]
    nics: list[Device] = []
    for minor, (nic, row) in enumerate(zip(sketch.nics, sketch.kinds[count:], strict=True)):
        numa_node = _numa_of_nic(row, places.of_gpu)
        nics.append(
            Device(
                type=RDMA,
                minor=minor,
                id=nic,
                numa_node=numa_node,
                package=package_of.get(numa_node),
                pcie_root=roots[count + minor],
                pcie_switch=switches[count + minor],
            )
        )
    return (*gpus, *nics)


def _numa_of_nic(kinds: Sequence[str | None], of_gpu: Sequence[int | None]) -> int | None:
    """Return the NUMA node of the GPUs nearest to a port, or None if there is not exactly one."""
    for near in (("PIX",), ("PXB", "PSB"), ("PHB",), ("NODE",)):
        nodes = {node for kind, node in zip(kinds, of_gpu, strict=False) if kind in near}
        if nodes:
            return nodes.pop() if len(nodes) == 1 else None
    return None


def _groups(kinds: Sequence[Sequence[str | None]], joining: Collection[str]) -> list[str | None]:
    """Return a group key for each device, or None if no path of these kinds joins it to another."""
    group = list(range(len(kinds)))
    for i, row in enumerate(kinds):
        for j, kind in enumerate(row):
            if kind in joining and group[i] != group[j]:
                old, new = max(group[i], group[j]), min(group[i], group[j])
                group = [new if g == old else g for g in group]
    return [str(g) if group.count(g) > 1 else None for g in group]
