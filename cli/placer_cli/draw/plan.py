"""The plan of a node: each cgroup with what changes in it, from what, to what, and why."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from placer.node.operations import CgroupOperation, CgroupOperationKind
from placer.node.plan import CgroupPlan
from placer.node.render.systemd import systemd_property_for
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, GOOD, STRONG
from placer_cli.draw.tables import TableCell, table_without_empty_columns
from placer_models.files.part import Json
from placer_models.message_text import count_with_noun
from placer_models.node_placement import NodePlacement


def draw_cgroup_plan(
    document: NodePlacement, plan: CgroupPlan, done: str, canvas: WidthAndMarks
) -> RenderableType:
    """Draw a plan; ``done`` says what became of it."""
    changes = len(plan.operations) + len(plan.finish)
    head = f"Node {document.node.name}, generation {document.generation}: "
    if changes:
        head += f"{count_with_noun(changes, 'change')} {done}."
    else:
        head += "nothing is written." if plan.observed else "all is as it should be."
    parts: list[RenderableType] = [Text(head, BAD if plan.observed else GOOD)]
    by_cgroup: dict[str, list[CgroupOperation]] = {}
    for one in (*plan.operations, *plan.finish):
        by_cgroup.setdefault(one.cgroup, []).append(one)
    rows: list[list[TableCell]] = []
    inner = []
    for cgroup, operations in by_cgroup.items():
        found = list(_rows(operations))
        if not found:
            inner.append(cgroup)
        for i, row in enumerate(found):
            rows.append([Text(_label(cgroup, operations) if i == 0 else "", STRONG), *row])
    if inner:
        more = f" and {len(inner) - 2} more" if len(inner) > 2 else ""
        names = ", ".join(f"/{cgroup}" for cgroup in inner[:2])
        above = f"{count_with_noun(len(inner), 'cgroup')} above them made ready"
        parts += ["", Text(f"{above}: {names}{more}")]
    if rows:
        heads = ("cgroup", "file", "from", "to", "why")
        parts += [
            "",
            table_without_empty_columns(heads, rows, canvas.width, wrap={"cgroup": 16, "why": 16}),
        ]
    if any(one.unit for one in plan.operations):
        words = "systemd owns the cgroups of units; it is asked to set these properties of theirs."
        parts += ["", Text(words)]
    for words in (
        *(f"{name} does not run here; its CPUs are kept for it" for name in plan.absent),
        *plan.lacking,
        *plan.left_alone,
        *plan.observed,
    ):
        bad = words in (*plan.left_alone, *plan.observed)
        parts += ["", Text(words, BAD if bad else "")]
    return Group(*parts)


def cgroup_plan_to_dict(
    document: NodePlacement, plan: CgroupPlan, *, applied: bool, recovered: str
) -> Json:
    """Return the same for programs."""
    return {
        "node": document.node.name,
        "generation": document.generation,
        "applied": applied,
        "recovered": recovered,
        "operations": [
            {
                "kind": one.kind.value,
                "cgroup": f"/{one.cgroup}",
                "file": one.file,
                "from": one.old,
                "to": one.new,
                "why": one.why,
                **({"unit": one.unit, "property": _file(one)} if one.unit else {}),
            }
            for one in (*plan.operations, *plan.finish)
        ],
        "absent": list(plan.absent),
        "leftAlone": list(plan.left_alone),
        "observed": list(plan.observed),
        "lacking": list(plan.lacking),
    }


def _label(cgroup: str, operations: Sequence[CgroupOperation]) -> str:
    """Return the cgroup as a diff marks it: ``+`` made, ``-`` removed."""
    kinds = {one.kind for one in operations}
    marks = {CgroupOperationKind.MAKE: "+ ", CgroupOperationKind.REMOVE: "- "}
    return f"{next((mark for kind, mark in marks.items() if kind in kinds), '')}/{cgroup}"


def _rows(operations: Sequence[CgroupOperation]) -> Iterator[tuple[str, ...]]:
    """Yield what becomes of each file; of several values one after the other all are shown."""
    if any(one.kind is CgroupOperationKind.REMOVE for one in operations):
        yield "", "", "", operations[0].why
    by_file: dict[str, list[CgroupOperation]] = {}
    for one in operations:
        if one.kind is CgroupOperationKind.WRITE:
            by_file.setdefault(_file(one), []).append(one)
    for file, writes in by_file.items():
        values = " → ".join(one.new for one in writes)
        why = "; ".join(dict.fromkeys(one.why for one in reversed(writes)))
        yield file, writes[0].old, values, why


def _file(one: CgroupOperation) -> str:
    """Return what is written: a file, or the property by which systemd writes it."""
    return systemd_property_for(one.file, one.new).name if one.unit else one.file
