"""Nodes whose insides nobody knows, and who is there: amounts in place of ids."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from placer_cli.draw.bars import draw_bar
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import ACCENT, QUIET
from placer_cli.draw.residents import DrawnPod, extended_amount_asked_by_pods, pod_count_and_limit
from placer_cli.draw.shares import devices_text, non_gpu_device_texts
from placer_cli.draw.tables import TableCell, table_without_empty_columns
from placer_cli.draw.texts import amount_text, amounts_without_cpu_sum, memory_text
from placer_cli.draw.threads import StyledMark
from placer_models.cluster import Instance, Node
from placer_models.device import GPU
from placer_models.device_request import WHOLE_GPUS
from placer_models.kubernetes.insides import are_node_devices_known, is_node_topology_known
from placer_models.kubernetes.names import ZONES
from placer_models.pod import PodSpec, pods_of_gangs
from placer_models.quantity import cpu_count_with_noun, cpu_milli_text

BAR_COLUMNS = 40
"""Width of a bar of a node by itself, where there is room."""

PLAIN_HEAD = ("CPU", "memory", "GPUs", "other")
"""Columns of what a pod asks for where its node's inside is not known."""


def zone_label_of_node(node: Node) -> str:
    """Return the zone of a node of a cluster; empty if no label says it."""
    labels = dict(node.labels)
    return next((labels[key] for key in ZONES if labels.get(key)), "")


def are_qos_classes_worth_showing(instance: Instance) -> bool:
    """Return whether classes of pods say anything: some inside is known, or a pod wants CPUs."""
    return any(map(is_node_topology_known, instance.nodes)) or any(
        pod.spec.qos.owns_cpus for pod in pods_of_gangs(instance.gangs)
    )


def gpu_count_asked_by_pod(spec: PodSpec) -> int:
    """Return how many GPUs a pod asks for, by whatever name."""
    extended = sum(n for name, n in spec.requests.extended if name in WHOLE_GPUS)
    return spec.requests.count_of(GPU) + extended


def gpu_count_of_node(node: Node) -> int:
    """Return how many GPUs a node has, by whatever name."""
    devices = sum(device.type == GPU for device in node.machine.devices)
    return devices + sum(n for name, n in node.extended if name in WHOLE_GPUS)


def amounts_besides_gpus(amounts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the plain amounts that people name, besides GPUs."""
    return [one for one in amounts_without_cpu_sum(amounts) if one[0] not in WHOLE_GPUS]


def pod_request_texts(resident: DrawnPod, node: Node) -> tuple[str, ...]:
    """Say what a pod asks for, in the columns of ``PLAIN_HEAD``; known devices by their ids."""
    need, place = resident.pod.spec.requests, resident.place
    others = [f"{pages.count}x{memory_text(pages.page_bytes)} pages" for pages in need.hugepages]
    if are_node_devices_known(node):
        gpus = devices_text(place, GPU)
        others += non_gpu_device_texts(place)
    else:
        gpus = str(gpu_count_asked_by_pod(resident.pod.spec) or "")
        others += [f"{device.count} {device.type}" for device in need.devices if device.type != GPU]
    others += [
        f"{amount_text(name, amount)} {name}"
        for name, amount in amounts_besides_gpus(need.extended)
    ]
    return (
        cpu_milli_text(need.cpu_milli) if need.cpu_milli else "",
        memory_text(need.memory_bytes) if need.memory_bytes else "",
        gpus,
        ", ".join(others),
    )


def node_cpu_milli_asked_and_allocatable(
    node: Node, residents: Sequence[DrawnPod]
) -> tuple[int, int]:
    """Return what the pods ask for, and what the node has for pods: without its system's part."""
    asked = sum(r.pod.spec.requests.cpu_milli for r in residents if r.is_pod)
    kept = sum(r.pod.spec.requests.cpu_milli for r in residents if not r.is_pod)
    given = len(node.machine.topology.online - node.reserved_cpus)
    return asked, max(0, node.milli_per_cpu * given - kept)


MarkedPods = Sequence[tuple[StyledMark, DrawnPod]]
"""The pods of a node, each with the mark that stands for it."""


def draw_node_resource_bars(
    node: Node, residents: Sequence[DrawnPod], pods: MarkedPods, canvas: WidthAndMarks
) -> RenderableType:
    """Draw a bar for each resource of a node: how much of it who asks for; and who they are."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        grid.add_column(no_wrap=True)
    rows = list(_bars(node, residents, pods, canvas))
    words = max(len(said) for *_, said in rows)
    longest = max(len(name) for name, *_ in rows)
    columns = max(4, min(BAR_COLUMNS, canvas.width - longest - words - 4))
    for name, parts, total, said in rows:
        grid.add_row(
            Text(name, QUIET),
            draw_bar(parts, total, columns, canvas.marks.empty),
            Text(said, QUIET),
        )
    drawn: list[RenderableType] = [grid]
    if kept := sum(r.pod.spec.requests.cpu_milli for r in residents if not r.is_pod):
        drawn.append(Text(f"{cpu_count_with_noun(kept)} kept for the system", QUIET))
    if pods:
        drawn += ["", _legend(node, pods, canvas)]
    return Group(*drawn)


_Parts = list[tuple[int, StyledMark]]


def _bars(
    node: Node, residents: Sequence[DrawnPod], pods: MarkedPods, canvas: WidthAndMarks
) -> Iterable[tuple[str, _Parts, int, str]]:
    """Yield each resource: its name, who asks for how much, how much there is, and words."""
    asked, has = node_cpu_milli_asked_and_allocatable(node, residents)
    parts = [(r.pod.spec.requests.cpu_milli, mark) for mark, r in pods]
    yield "CPU", parts, has, f"{cpu_milli_text(asked)} of {cpu_milli_text(has)}"
    parts = [(sum(n for _, n in r.place.memory_bytes), mark) for mark, r in pods]
    total = node.machine.topology.memory_bytes
    taken = sum(amount for amount, _ in parts)
    yield "memory", parts, total, f"{memory_text(taken)} of {memory_text(total)}"
    gpus = gpu_count_of_node(node)
    if gpus and not are_node_devices_known(node):
        parts = [(gpu_count_asked_by_pod(r.pod.spec), mark) for mark, r in pods]
        yield "GPUs", parts, gpus, f"{sum(n for n, _ in parts)} of {gpus}"
    here, most = pod_count_and_limit(node, residents)
    if most is not None:
        full = StyledMark(canvas.marks.full, ACCENT)
        yield "pods", [(here, full)], most, f"{here} of {most:,}"
    for name, amount in amounts_besides_gpus(node.extended):
        parts = [(r.pod.spec.requests.amount_of(name), mark) for mark, r in pods]
        asked = extended_amount_asked_by_pods(residents, name)
        said = f"{amount_text(name, asked)} of {amount_text(name, amount)}"
        yield name, parts, amount, said


def _legend(node: Node, pods: MarkedPods, canvas: WidthAndMarks) -> RenderableType:
    rows: list[list[TableCell]] = []
    for mark, resident in pods:
        name = Text(resident.pod.title)
        if resident.running:
            name.append(" running", QUIET)
        gang = resident.place.gang or ""
        rows.append([Text(mark.mark, mark.style), name, gang, *pod_request_texts(resident, node)])
    cpu, size, gpus, other = PLAIN_HEAD
    return table_without_empty_columns(
        ("", "pod", "gang", cpu, size, "GPU" if are_node_devices_known(node) else gpus, other),
        rows,
        canvas.width,
        numbers=(cpu, size, gpus),
        wrap={"pod": 16, "other": 12},
        spare=("gang",),
    )
