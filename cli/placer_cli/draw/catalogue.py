"""The machine catalogue as a table."""

from collections import Counter
from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from placer_cli.draw.blocks import cores_of_topology
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.links import gpu_link_kinds_with_pair_counts
from placer_cli.draw.machine import threads_per_core_text
from placer_cli.draw.palette import QUIET, STRONG
from placer_cli.draw.tables import TableCell, table_without_empty_columns
from placer_cli.draw.texts import gb_per_s_text, memory_text
from placer_models.cluster import Machine
from placer_models.device import GPU

LINK_CLASSES = 2
"""How many bandwidths the table names, fastest first."""


def draw_machine_catalogue(machines: Sequence[Machine], canvas: WidthAndMarks) -> RenderableType:
    """Return a row for each machine."""
    head = ("machine", "CPUs", "pkg", "NUMA", "SMT", "memory", "GPUs", "links, GB/s")
    return table_without_empty_columns(
        head,
        [_row(machine) for machine in machines],
        canvas.width,
        numbers=head[1:6],
        wrap={"GPUs": 17, "links, GB/s": 20},
        spare=("memory", "pkg", "SMT", "links, GB/s", "NUMA"),
    )


def catalogue_row_to_dict(machine: Machine) -> dict[str, object]:
    """Return what the table says of a machine, for programs."""
    topology = machine.topology
    return {
        "name": machine.name,
        "title": machine.title,
        "architecture": topology.architecture,
        "packages": topology.packages,
        "numaNodes": len(topology.numa_nodes),
        "cores": len(cores_of_topology(topology)),
        "cpus": len(topology.cpus),
        "memory": topology.memory_bytes,
        "devices": dict(Counter(device.type for device in machine.devices)),
        "links": []
        if machine.gpu_links is None
        else [
            {"kind": link.kind, "gbPerS": link.centi_gb_per_s / 100, "pairs": link.pairs}
            for link in gpu_link_kinds_with_pair_counts(machine.gpu_links)
        ],
    }


def _row(machine: Machine) -> list[TableCell]:
    topology = machine.topology
    return [
        Text(machine.name, STRONG),
        str(len(topology.cpus)),
        str(topology.packages),
        str(len(topology.numa_nodes)),
        threads_per_core_text(topology),
        memory_text(topology.memory_bytes),
        _gpus(machine),
        Text(_links(machine), QUIET),
    ]


def _gpus(machine: Machine) -> str:
    models = Counter(device.model for device in machine.devices if device.type == GPU)
    if len(models) > 1:
        return f"{models.total()} of {len(models)} models"
    return "".join(f"{number} {model or 'GPU'}" for model, number in models.items())


def _links(machine: Machine) -> str:
    """Name the fastest links; names of one bandwidth stand together: ``NODE/SYS 31.5``."""
    if machine.gpu_links is None:
        return ""
    kinds: dict[int, list[str]] = {}
    for link in gpu_link_kinds_with_pair_counts(machine.gpu_links):
        kinds.setdefault(link.centi_gb_per_s, []).append(link.kind)
    named = [f"{'/'.join(names)} {gb_per_s_text(value)}" for value, names in kinds.items()]
    rest = len(named) - LINK_CLASSES
    return ", ".join(named[:LINK_CLASSES]) + (f" +{rest}" if rest > 0 else "")
