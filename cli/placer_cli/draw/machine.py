"""A machine that nobody uses yet: what is inside, and what it is known from."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from placer_cli.draw.blocks import cores_of_topology, drawn_numa_nodes_of_machine
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.links import draw_links
from placer_cli.draw.packages import MachineDrawingStyle, draw_packages
from placer_cli.draw.palette import ACCENT, BAD, QUIET, STRONG
from placer_cli.draw.text_flow import (
    drawing_with_title,
    drawings_side_by_side,
    stack_yielded_drawings,
    wrap_pieces,
)
from placer_cli.draw.texts import ids_text, memory_text, quantity_text
from placer_cli.draw.threads import StyledMark
from placer_models.capacity import DeviceQuantity
from placer_models.cluster import Machine
from placer_models.device import GPU, Device
from placer_models.message_text import count_with_noun
from placer_models.policy import HybridCoreKind
from placer_models.topology import Cpu, Topology

MOST_DISTANCES = 10
"""A matrix of distances for more NUMA nodes than these would be read by nobody."""


@stack_yielded_drawings
def draw_machine_hardware(machine: Machine, canvas: WidthAndMarks) -> Iterator[RenderableType]:
    """Draw a machine: a headline, its packages, distances, links and sources."""
    marks = canvas.marks
    yield Text.assemble((machine.name, STRONG), f"  {machine.title}")
    facts = (Text(fact, QUIET) for fact in machine_summary(machine, marks.times))
    yield wrap_pieces(facts, canvas.width, f" {marks.dot} ")
    yield draw_packages(machine, _paint(canvas), canvas)
    yield _marks_line(machine, canvas)
    matrices: list[RenderableType] = []
    if len(machine.topology.numa_distances) > 1:
        matrices.append(drawing_with_title("NUMA distances", draw_distances(machine.topology)))
    gpus = [device for device in machine.devices if device.type == GPU]
    broken = frozenset(gpu.minor for gpu in gpus if not gpu.healthy)
    if len(gpus) > 1:
        matrices.append(drawing_with_title("GPU links", draw_links(machine, canvas, broken=broken)))
    yield from drawings_side_by_side(matrices, canvas)
    if machine.notes or machine.sources:
        yield ""
    if machine.notes:
        yield Text(machine.notes, QUIET)
    if machine.sources:
        yield Text("Sources: " + "; ".join(machine.sources), QUIET)


def machine_summary(machine: Machine, times: str) -> tuple[str, ...]:
    """Return what a machine consists of: CPUs, NUMA nodes, memory, devices."""
    topology = machine.topology
    devices = Counter((d.type, d.model, d.memory_bytes, d.capacity) for d in machine.devices)
    return (
        count_with_noun(len(topology.cpus), "CPU"),
        count_with_noun(topology.packages, "package"),
        f"{count_with_noun(len(cores_of_topology(topology)), 'core')} of {_threads(topology)}",
        count_with_noun(len(topology.numa_nodes), "NUMA node"),
        memory_text(topology.memory_bytes),
        *(
            f"{number} {times} {_title(kind, model, size, capacity)}"
            for (kind, model, size, capacity), number in devices.items()
        ),
    )


def _title(kind: str, model: str, memory_bytes: int, capacity: Sequence[DeviceQuantity]) -> str:
    """Name a model of device, its memory if the name does not say it, and what else it shares."""
    words = [model or kind]
    words += [memory_text(memory_bytes)] if memory_bytes and "GB" not in model else []
    has = ", ".join(f"{quantity.name} {quantity_text(quantity)}" for quantity in capacity)
    return " ".join([*words, *([f"({has})"] if has else [])])


def threads_per_core_text(topology: Topology) -> str:
    """Return the numbers of threads that cores have, offline ones included: ``1-2``."""
    return ids_text({len(core) for core in cores_of_topology(topology)})


def _threads(topology: Topology) -> str:
    number = threads_per_core_text(topology)
    return "1 thread" if number == "1" else f"{number} threads"


def _paint(canvas: WidthAndMarks) -> MachineDrawingStyle:
    marks = canvas.marks

    def cpu(cpu: Cpu) -> StyledMark:
        if not cpu.online:
            return StyledMark(marks.offline, BAD)
        efficient = cpu.kind is HybridCoreKind.EFFICIENCY
        return StyledMark(marks.efficiency if efficient else marks.thread, ACCENT)

    def device(device: Device) -> Text:
        if device.healthy:
            return Text(str(device.minor), ACCENT)
        return Text(f"{device.minor}{marks.broken}", BAD)

    def holders(device: Device) -> list[StyledMark]:
        return [] if device.healthy else [StyledMark(marks.broken, BAD)]

    return MachineDrawingStyle(
        cpu, 1, lambda node, columns: None, device, lambda node: None, holders
    )


def _marks_line(machine: Machine, canvas: WidthAndMarks) -> Text:
    """Explain the marks that the picture has."""
    marks = canvas.marks
    cpus = machine.topology.cpus
    pieces = [Text.assemble((marks.thread, ACCENT), (" thread; a column is a core", QUIET))]
    if any(cpu.kind is HybridCoreKind.EFFICIENCY for cpu in cpus):
        pieces.append(Text.assemble((marks.efficiency, ACCENT), (" of an efficiency core", QUIET)))
    if not all(cpu.online for cpu in cpus):
        pieces.append(Text.assemble((marks.offline, BAD), (" offline", QUIET)))
    if not all(device.healthy for device in machine.devices):
        pieces.append(Text.assemble((marks.broken, BAD), (" unhealthy device", QUIET)))
    if any(len(block.groups) > 1 for block in drawn_numa_nodes_of_machine(machine)):
        pieces.append(Text("gap: another last-level cache or kind of core", QUIET))
    return wrap_pieces(pieces, canvas.width)


def draw_distances(topology: Topology) -> RenderableType:
    """Draw the NUMA distances; on large machines only which there are."""
    ids = [node.id for node in topology.numa_nodes]
    rows = topology.numa_distances
    if len(ids) > MOST_DISTANCES:
        seen = Counter(value for row in rows for value in row)
        words = ", ".join(f"{value} ({number} pairs)" for value, number in sorted(seen.items()))
        return Text(words, QUIET)
    table = Table.grid(padding=(0, 1))
    for _ in range(len(ids) + 1):
        table.add_column(justify="right")
    table.add_row(Text("NUMA", STRONG), *(Text(str(i), STRONG) for i in ids))
    local = min(value for row in rows for value in row)
    for i, row in zip(ids, rows, strict=True):
        cells = (Text(str(value), QUIET if value == local else ACCENT) for value in row)
        table.add_row(Text(str(i), STRONG), *cells)
    return table
