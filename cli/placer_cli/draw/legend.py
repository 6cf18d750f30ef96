"""The legend of a node's picture: what each mark stands for, to the last device."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.links import pair_bandwidths
from placer_cli.draw.palette import QUIET, owner_marks, owner_style
from placer_cli.draw.residents import DrawnPod
from placer_cli.draw.shares import devices_text, non_gpu_device_texts
from placer_cli.draw.tables import TableCell, table_without_empty_columns
from placer_cli.draw.texts import gb_per_s_text, ids_text, memory_text
from placer_cli.draw.threads import StyledMark
from placer_models.alignment import effective_alignment_scope
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.device import GPU
from placer_models.effective import effective_alignment_policy
from placer_models.placement import ContainerPlacement, PodPlacement
from placer_models.policy import AlignmentPolicy, AlignmentScope

PLACE_WRAPS = {
    "pod": 16,
    "node": 12,
    "CPUs": 17,
    "memory": 7,
    "GPU": 14,
    "links": 8,
    "other": 12,
}
"""How far the columns that say where a pod is give way."""


_Held = PodPlacement | ContainerPlacement
"""A pod in its place, or one of its containers."""


@dataclass(frozen=True, slots=True)
class PodWithLegendMark:
    """A pod of the picture, with the mark that stands for it."""

    cell: StyledMark
    resident: DrawnPod

    @property
    def cpuset(self) -> CpuSet:
        """The CPUs that are the pod's own; pools belong to nobody."""
        return self.resident.place.cpuset if self.resident.owns_cpus else frozenset()


def assign_pod_marks(residents: Sequence[DrawnPod]) -> tuple[PodWithLegendMark, ...]:
    """Give each pod of a node a mark; those with CPUs or devices of their own come first."""
    ordered = sorted(residents, key=lambda r: not (r.owns_cpus or r.place.devices))
    marks = owner_marks(len(ordered))
    return tuple(
        PodWithLegendMark(StyledMark(mark, owner_style(number)), resident)
        for number, (mark, resident) in enumerate(zip(marks, ordered, strict=True))
    )


def draw_legend(
    node: Node, tenants: Sequence[PodWithLegendMark], canvas: WidthAndMarks
) -> RenderableType:
    """Return a row for each pod of the node."""
    rows: list[list[TableCell]] = []
    for tenant in tenants:
        rows.append(_row(node, tenant, canvas))
        for name, *held in container_legend_rows(tenant.resident, node, canvas):
            rows.append(["", f"  {name}", "", "", *held])
    head = ("", "pod", "gang", "QoS", "CPUs", "memory", "GPU", "links", "other")
    return table_without_empty_columns(
        head, rows, canvas.width, wrap=PLACE_WRAPS, spare=("gang", "QoS", "links")
    )


MOST_LISTED = 48
"""A longer list of CPUs is cut short; the placement's file has it in full."""


UNBROKEN = 17
"""Two ranges of three digits stay together."""


def own_cpus_text(ids: CpuSet) -> str:
    """Say which CPUs are something's own, by id."""
    # With blanks, so that a list that does not fit breaks between two ranges.
    listed = ids_text(ids, MOST_LISTED)
    return listed if len(listed) <= UNBROKEN else listed.replace(",", ", ")


def pool_cpu_counts_text(place: _Held) -> str:
    """Say the size of a pool, and how many CPUs are counted on which NUMA node: ``(0:6 1:2)``."""
    parts = " ".join(f"{numa}:{milli / 1000:g}" for numa, milli in place.cpu_milli or ())
    size = f"pool of {len(place.cpuset)}" if place.cpuset else ""
    return size + (f" ({parts})" if parts else "")


def memory_held_text(place: _Held) -> str:
    """Say how many bytes something has on which NUMA node: ``0:64Gi 1:32Gi``."""
    parts = [f"{numa}:{memory_text(amount)}" for numa, amount in place.memory_bytes]
    parts += [f"{numa}:{count}x{memory_text(size)}" for numa, size, count in place.hugepages]
    return " ".join(parts)


ROOM_FOR_SUMS = 100
"""A narrower page has no room for what the pairs of GPUs sum to."""


def pair_minimum_and_sum_text(node: Node, place: _Held, canvas: WidthAndMarks) -> str:
    """Say how fast the slowest pair of GPUs is, and what the pairs sum to, where it is known."""
    if node.machine.gpu_links is None:
        return ""
    gpus = tuple(grant.minor for grant in place.devices if grant.type == GPU)
    pairs = pair_bandwidths(node.machine.gpu_links, gpus)
    if not pairs:
        return ""
    slowest = f"{gb_per_s_text(min(pairs))} GB/s"
    if len(pairs) == 1 or canvas.width < ROOM_FOR_SUMS:
        return slowest
    return f"{slowest}, sum {gb_per_s_text(sum(pairs))}"


def held_resource_texts(
    place: _Held, node: Node, canvas: WidthAndMarks, *, own: bool
) -> tuple[str, ...]:
    """Say what is held, in the columns from CPUs to other devices."""
    return (
        own_cpus_text(place.cpuset) if own else pool_cpu_counts_text(place),
        memory_held_text(place),
        devices_text(place, GPU),
        pair_minimum_and_sum_text(node, place, canvas),
        ", ".join(non_gpu_device_texts(place)),
    )


def container_legend_rows(
    resident: DrawnPod, node: Node, canvas: WidthAndMarks
) -> list[tuple[str, ...]]:
    """Return the name of each container and what it has, where that is not all of the pod's.

    This is so if each is aligned by itself, or if several have devices.
    """
    spec, parts = resident.pod.spec, resident.place.containers
    is_aligned = effective_alignment_policy(spec, node) not in (None, AlignmentPolicy.NONE)
    by_container = effective_alignment_scope(spec.scope, node.scope) is AlignmentScope.CONTAINER
    by_container = by_container and not spec.constrained_burst
    if not (is_aligned and by_container) and sum(bool(part.devices) for part in parts) < 2:
        return []
    return [
        (part.name, *held_resource_texts(part, node, canvas, own=resident.owns_cpus))
        for part in parts
    ]


def _row(node: Node, tenant: PodWithLegendMark, canvas: WidthAndMarks) -> list[TableCell]:
    resident, place = tenant.resident, tenant.resident.place
    name = Text(resident.pod.title) if resident.is_pod else Text("kept for the system", QUIET)
    if resident.running and resident.is_pod:
        name.append(" running", QUIET)
    held = held_resource_texts(place, node, canvas, own=resident.owns_cpus)
    mark = Text(tenant.cell.mark, tenant.cell.style)
    return [mark, name, place.gang or "", resident.pod.spec.qos.value, *held]
