"""A machine that was just looked into: its picture, its devices, and what else its kernel says."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from placer.node.discover.machine import DiscoveredMachine
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.machine import draw_machine_hardware
from placer_cli.draw.palette import BAD, QUIET, STRONG
from placer_cli.draw.tables import TableCell, table_without_empty_columns
from placer_cli.draw.texts import memory_text
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.device import Device
from placer_models.message_text import count_with_noun


def draw_discovered_machine(found: DiscoveredMachine, canvas: WidthAndMarks) -> RenderableType:
    """Draw the machine, then its devices and the rest."""
    plain = replace(found.machine, notes="", sources=())
    parts: list[RenderableType] = [draw_machine_hardware(plain, canvas), "", _rest(found)]
    if found.machine.devices:
        parts += ["", _devices(found.machine.devices, canvas)]
    return Group(*parts)


def _rest(found: DiscoveredMachine) -> Table:
    """Return what the picture does not show, a line for each fact that there is."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style=QUIET, no_wrap=True)
    grid.add_column(overflow="fold")
    for what, text in _facts(found):
        grid.add_row(what, text)
    return grid


def _facts(found: DiscoveredMachine) -> Iterator[tuple[str, Text]]:
    inventory = found.inventory
    present = frozenset(cpu.id for cpu in inventory.cpus)
    parts = [
        count_with_noun(inventory.packages, "package"),
        *([count_with_noun(inventory.dies, "die")] if inventory.dies else []),
        *([count_with_noun(inventory.llcs, "last-level cache")] if inventory.llcs else []),
        count_with_noun(len(inventory.numa_nodes), "NUMA node"),
        count_with_noun(len(inventory.cores), "core"),
        f"{count_with_noun(len(inventory.online), 'CPU')} online",
    ]
    yield "found", Text(", ".join(parts))
    yield "in", Text(inventory.source)
    if inventory.architecture:
        yield "architecture", Text(inventory.architecture)
    offline = present - inventory.online
    for what, cpus in (
        ("offline", offline),
        ("isolated", inventory.isolated),
        ("without tick", inventory.nohz_full),
    ):
        if cpus:
            yield what, Text(f"CPUs {format_cpu_list(cpus)}")
    nodes = frozenset(node.id for node in inventory.numa_nodes)
    yield "allowed", _allowed(inventory.allowed_cpus, inventory.online, "CPUs")
    if nodes:
        yield "", _allowed(inventory.allowed_numa_nodes, nodes, "NUMA nodes")
    for node in inventory.numa_nodes:
        for pages in node.hugepages:
            size = memory_text(pages.page_bytes)
            yield "hugepages", Text(f"{pages.count:,} of {size} on NUMA node {node.id}")


def _allowed(allowed: CpuSet | None, there: CpuSet, what: str) -> Text:
    if allowed is None:
        return Text(f"nothing says which {what} may be used", QUIET)
    if there <= allowed:
        return Text(f"all {what}")
    return Text(f"{what} {format_cpu_list(allowed & there) or 'none'}", STRONG)


def _devices(devices: Sequence[Device], canvas: WidthAndMarks) -> RenderableType:
    head = ("device", "model", "memory", "NUMA", "switch", "bus id", "id", "virtual functions")
    return table_without_empty_columns(
        head,
        [_row(device) for device in devices],
        canvas.width,
        numbers=("memory", "NUMA"),
        wrap={"model": 16, "id": 20},
        spare=("switch", "virtual functions", "id"),
    )


def _row(device: Device) -> list[TableCell]:
    title = f"{device.type} {device.minor}"
    functions = len(device.virtual_functions)
    return [
        Text(title, STRONG) if device.healthy else Text(f"{title} unhealthy", BAD),
        device.model,
        memory_text(device.memory_bytes) if device.memory_bytes else "",
        "" if device.numa_node is None else str(device.numa_node),
        Text(device.pcie_switch or "", QUIET),
        Text(device.bus_id, QUIET),
        Text(device.id, QUIET),
        str(functions) if functions else "",
    ]
