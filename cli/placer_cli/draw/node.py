"""One node with its owners: who holds which thread, memory and device."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from placer_cli.draw.bars import draw_bar
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.legend import PodWithLegendMark, assign_pod_marks, draw_legend
from placer_cli.draw.links import draw_links
from placer_cli.draw.packages import MachineDrawingStyle, device_lines, draw_packages
from placer_cli.draw.palette import BAD, FRAME, QUIET, STRONG
from placer_cli.draw.plain import draw_node_resource_bars
from placer_cli.draw.residents import DrawnPod, extended_amount_asked_by_pods, pod_count_and_limit
from placer_cli.draw.shares import (
    IN_MIG_MODE,
    broken_device_legend,
    device_left_text,
    has_broken_device,
)
from placer_cli.draw.text_flow import drawing_with_title, stack_yielded_drawings, wrap_pieces
from placer_cli.draw.texts import (
    amount_text,
    amounts_without_cpu_sum,
    device_type_title,
    memory_text,
    policy_defaults_in_words,
)
from placer_cli.draw.threads import StyledMark
from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.effective import defaults_on
from placer_models.kubernetes.insides import are_node_devices_known, is_node_topology_known
from placer_models.message_text import count_with_noun
from placer_models.policy import AlignmentPolicy, AlignmentScope, NodeBindPolicy, QosClass
from placer_models.quantity import cpu_count_with_noun
from placer_models.topology import Cpu, NumaNode

MEMORY_COLUMNS = 24
"""Width of a NUMA node's memory bar, where there is room."""


@stack_yielded_drawings
def draw_node(
    node: Node,
    residents: Sequence[DrawnPod],
    canvas: WidthAndMarks,
    labels: Container[str] | None = None,
) -> Iterator[RenderableType]:
    """Draw the inside of a node, its owners' legend, and its links.

    Args:
        node: The node.
        residents: Who is there.
        canvas: Where it is drawn.
        labels: Which of its labels are told; None: all.

    """
    yield _headline(node, canvas, labels)
    if not is_node_topology_known(node):
        tenants = assign_pod_marks([resident for resident in residents if resident.is_pod])
        claims = _Claims.of(node, tenants)
        if are_node_devices_known(node):
            yield from device_lines(
                node.machine.devices, _paint(node, claims, canvas), canvas.width
            )
        pods = [(one.cell, one.resident) for one in tenants]
        yield draw_node_resource_bars(node, residents, pods, canvas)
        yield from _links(node, claims, canvas)
        return
    tenants = assign_pod_marks(residents)
    claims = _Claims.of(node, tenants)
    yield draw_packages(node.machine, _paint(node, claims, canvas), canvas)
    yield _marks_line(node, claims, canvas)
    yield _free_line(node, claims, residents, canvas)
    if claims.shared:
        yield _parts_line(node, claims, residents, canvas)
    if tenants:
        yield ""
        yield draw_legend(node, tenants, canvas)
    yield from _links(node, claims, canvas)


def _links(node: Node, claims: "_Claims", canvas: WidthAndMarks) -> Iterator[RenderableType]:
    gpus = [device for device in node.machine.devices if device.type == GPU]
    broken = frozenset(gpu.minor for gpu in gpus if not node.is_healthy(gpu))
    if len(gpus) > 1 and are_node_devices_known(node):
        yield ""
        yield drawing_with_title("GPU links", draw_links(node.machine, canvas, claims.gpu, broken))


@dataclass(frozen=True, slots=True)
class _Claims:
    """Who holds what on the node; more than one holder is a breach, and shown as such.

    Attributes:
        shared: Devices of which pods hold shares alone: they may have several holders.

    """

    cpus: Mapping[int, list[PodWithLegendMark]]
    memory_bytes: Mapping[int, list[tuple[int, PodWithLegendMark]]]
    devices: Mapping[tuple[str, int], list[PodWithLegendMark]]
    shared: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, node: Node, tenants: Sequence[PodWithLegendMark]) -> "_Claims":
        cpus, memory, devices = defaultdict(list), defaultdict(list), defaultdict(list)
        for tenant in tenants:
            for cpu in tenant.cpuset:
                cpus[cpu].append(tenant)
            for numa, amount in tenant.resident.place.memory_bytes:
                memory[numa].append((amount, tenant))
            for grant in tenant.resident.place.devices:
                devices[grant.type, grant.minor].append(tenant)
        grants = [grant for tenant in tenants for grant in tenant.resident.place.devices]
        whole = {
            (grant.type, grant.minor)
            for grant in grants
            if grant.share is None or grant.share.whole
        }
        return cls(dict(cpus), dict(memory), dict(devices), frozenset(devices.keys() - whole))

    @property
    def twice(self) -> bool:
        """Whether something has two holders that may have one."""
        alone = (holders for key, holders in self.devices.items() if key not in self.shared)
        return any(len(holders) > 1 for holders in (*self.cpus.values(), *alone))

    def gpu(self, minor: int) -> StyledMark | None:
        """Return the mark of the holder of a GPU."""
        holders = self.devices.get((GPU, minor), [])
        return holders[0].cell if holders else None


def _headline(node: Node, canvas: WidthAndMarks, labels: Container[str] | None) -> Text:
    facts = [f"{key}={value}" for key, value in node.labels if labels is None or key in labels]
    if node.alignment not in (None, AlignmentPolicy.NONE):
        each = " for each container" if node.scope is AlignmentScope.CONTAINER else ""
        facts.append(f"NUMA policy {node.alignment}{each}")
    if node.cpu_bind is not NodeBindPolicy.NONE:
        facts.append(f"CPU bind policy {node.cpu_bind}")
    if node.numa_strategy is not None:
        facts.append(f"NUMA strategy {node.numa_strategy}")
    facts += policy_defaults_in_words(defaults_on(node))
    if node.locality:
        facts.append(f"CPU locality {', '.join(node.locality)}")
    if node.partition_policy is not None:
        facts.append(f"GPU partition policy {node.partition_policy}")
    if node.offered:
        facts.append("offered")
    pieces = [Text.assemble((node.name, STRONG), f"  {node.machine.title}")]
    pieces += [Text(fact, QUIET) for fact in facts]
    if node.taints:
        pieces.append(Text(f"taints {', '.join(map(str, node.taints))}", BAD))
    if node.cordoned:
        pieces.append(Text("cordoned: nothing new comes here", BAD))
    if node.closed:
        pieces.append(Text("closed, as not all that it has is known: nothing new comes here", BAD))
    return wrap_pieces(pieces, canvas.width, f" {canvas.marks.dot} ")


def _paint(node: Node, claims: _Claims, canvas: WidthAndMarks) -> MachineDrawingStyle:
    marks = canvas.marks
    cells = [tenant.cell for holders in claims.cpus.values() for tenant in holders]
    free, twice = StyledMark(marks.free, QUIET), StyledMark(marks.broken, BAD)

    def cpu(cpu: Cpu) -> StyledMark:
        holders = claims.cpus.get(cpu.id, [])
        if len(holders) > 1 or (holders and not cpu.online):
            return twice
        if holders:
            return holders[0].cell
        if not cpu.online:
            return StyledMark(marks.offline, BAD)
        return StyledMark(marks.reserved, FRAME) if cpu.id in node.reserved_cpus else free

    def held(numa: NumaNode) -> list[tuple[int, StyledMark]] | None:
        if not numa.memory_bytes:
            return None
        return [(taken, tenant.cell) for taken, tenant in claims.memory_bytes.get(numa.id, [])]

    def amount(numa: NumaNode, columns: int) -> Text | None:
        parts = held(numa)
        if parts is None:
            return None
        taken = sum(number for number, _ in parts)
        words = f" {memory_text(taken)}"
        over = taken > numa.memory_bytes
        width = max(4, min(MEMORY_COLUMNS, columns - 5 - len(words)))
        picture = draw_bar(parts, numa.memory_bytes, width, marks.empty)
        return Text.assemble(("mem  ", QUIET), picture, (words, BAD if over else QUIET))

    def holders(device: Device) -> list[StyledMark]:
        found = claims.devices.get((device.type, device.minor), [])
        shared = (device.type, device.minor) in claims.shared
        if device.type == GPU and device.minor in dict(node.mig):
            return [StyledMark(IN_MIG_MODE, QUIET)]
        if (len(found) > 1 and not shared) or not node.is_healthy(device):
            return [twice]
        return [holder.cell for holder in found]

    def device(device: Device) -> Text:
        pieces = ((cell.mark, cell.style) for cell in holders(device) or [free])
        return Text.assemble((f"{device.minor}:", QUIET), *pieces)

    widest = max((len(cell.mark) for cell in cells), default=1)
    return MachineDrawingStyle(cpu, widest, amount, device, held, holders)


def _marks_line(node: Node, claims: _Claims, canvas: WidthAndMarks) -> Text:
    marks = canvas.marks
    pieces = [Text(f"{marks.free} free", QUIET), Text("a column is a core", QUIET)]
    if node.reserved_cpus:
        pieces.append(Text.assemble((marks.reserved, FRAME), (" kept for the system", QUIET)))
    if len(node.machine.topology.online) < len(node.machine.topology.cpus):
        pieces.append(Text.assemble((marks.offline, BAD), (" offline", QUIET)))
    if node.mig:
        pieces.append(Text(f"{IN_MIG_MODE} in MIG mode", QUIET))
    if has_broken_device(node):
        pieces.append(Text.assemble((marks.broken, BAD), (broken_device_legend([node]), QUIET)))
    if claims.twice:
        pieces.append(Text.assemble((marks.broken, BAD), (" claimed twice", BAD)))
    return wrap_pieces(pieces, canvas.width)


def _parts_line(
    node: Node, claims: _Claims, residents: Sequence[DrawnPod], canvas: WidthAndMarks
) -> Text:
    """Say what is left of the devices that pods share."""
    shares: dict[tuple[str, int], list[DeviceShare]] = defaultdict(list)
    for resident in residents:
        for grant in resident.place.devices:
            if grant.share:
                shares[grant.type, grant.minor].append(grant.share)
    words = [
        f"{device_type_title(device.type)} {device.minor}: "
        f"{device_left_text(device, shares[device.type, device.minor])}"
        for device in node.machine.devices
        if (device.type, device.minor) in claims.shared
    ]
    words[0] = f"left of {words[0]}"
    return wrap_pieces((Text(word, QUIET) for word in words), canvas.width, f" {canvas.marks.dot} ")


def _free_line(
    node: Node, claims: _Claims, residents: Sequence[DrawnPod], canvas: WidthAndMarks
) -> Text:
    """Say what is left, and what the pools of pods without CPUs of their own carry."""
    topology = node.machine.topology
    allocatable = topology.online - node.reserved_cpus
    unowned = allocatable - claims.cpus.keys()
    whole = sum(core <= unowned for core in topology.cores.values())
    words = [
        f"free: {len(unowned)} of {count_with_noun(len(allocatable), 'CPU')}",
        count_with_noun(whole, "whole core"),
    ]
    types = Counter(device.type for device in node.machine.devices)
    free_devices = Counter(
        device.type
        for device in node.machine.devices
        if node.is_healthy(device) and (device.type, device.minor) not in claims.devices
    )
    words += [
        f"{free_devices[kind]} of {total} {device_type_title(kind)}"
        for kind, total in types.items()
    ]
    words += [
        f"{amount_text(name, has - extended_amount_asked_by_pods(residents, name))} "
        f"of {amount_text(name, has)} {name}"
        for name, has in amounts_without_cpu_sum(node.extended)
    ]
    pods, most = pod_count_and_limit(node, residents)
    if most is not None:
        words.append(f"{max(0, most - pods):,} of {count_with_noun(most, 'pod')}")
    taken = sum(amount for parts in claims.memory_bytes.values() for amount, _ in parts)
    # What is set aside as hugepages is no memory that pods can ask for.
    words.append(memory_text(max(0, sum(node.memory_bytes_in().values()) - taken)))
    for qos, pool in ((QosClass.LS, "shared pool"), (QosClass.BE, "best-effort pool")):
        members = [r for r in residents if r.pod.spec.qos is qos and r.is_pod]
        if members:
            asked = sum(r.pod.spec.requests.cpu_milli for r in members)
            shown = count_with_noun(len(members), "pod")
            words.append(f"{pool}: {shown} asking for {cpu_count_with_noun(asked)}")
    if kept := sum(r.pod.spec.requests.cpu_milli for r in residents if not r.is_pod):
        words.append(f"{cpu_count_with_noun(kept)} kept for the system")
    return wrap_pieces((Text(word, QUIET) for word in words), canvas.width, f" {canvas.marks.dot} ")
