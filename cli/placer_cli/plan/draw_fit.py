"""Drawing of how many more fit: first the sentence, then what stops the next one where."""

from collections.abc import Sequence

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from placer.plan.fit_answer import FitCount, NodesWithSameFitBlocker
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import QUIET, STRONG
from placer_cli.draw.tables import table_without_empty_columns
from placer_cli.draw.text_flow import drawing_with_title
from placer_cli.draw.texts import names_as_host_lists
from placer_models.message_text import count_with_noun


def draw_fit_counts(
    steps: Sequence[FitCount], shape: str, waiting: int, canvas: WidthAndMarks
) -> RenderableType:
    """Draw how many fit as it is, then with each change.

    Args:
        steps: As it is, then with each change.
        shape: The shape as people named it.
        waiting: How many pods wait, which nobody placed.
        canvas: What it is drawn on.

    """
    first = steps[0]
    lines: list[RenderableType] = [Text(_sentence(first, shape), STRONG)]
    if waiting:
        pods = count_with_noun(waiting, "pod waits and is", "pods wait and are")
        lines.append(Text(f"{pods} not placed first.", QUIET))
    lines += ["", _classes(first.classes, canvas)]
    if len(steps) > 1:
        lines += ["", drawing_with_title("With a change", _changes(steps, canvas))]
        for step in steps[1:]:
            if step.classes != first.classes:
                lines += [
                    "",
                    drawing_with_title(f"With {_words(step)}", _classes(step.classes, canvas)),
                ]
    return Lines(*lines)


def _sentence(step: FitCount, shape: str) -> str:
    of = f"of {shape}" if "=" in shape else f"like {step.pod.title.removesuffix('-more')}"
    if not step.count:
        if not step.bound:
            return f"No more pods {of} fit, which is proven."
        return f"No place for another pod {of} was found; at most {step.bound:,} fit."
    fit = count_with_noun(step.count, f"more pod {of} fits", f"more pods {of} fit")
    if step.proven:
        return f"{fit}, and no more than that, which is proven."
    return f"{fit}; no more than {step.bound:,} can, which is proven."


def _classes(classes: Sequence[NodesWithSameFitBlocker], canvas: WidthAndMarks) -> RenderableType:
    rows = [
        (
            one.machine,
            f"{len(one.nodes):,}",
            names_as_host_lists(one.nodes),
            f"{one.count:,}",
            one.reason,
        )
        for one in classes
    ]
    head = ("nodes", "how many", "which", "more", "what stops the next one")
    wrap = {"which": 14, "what stops the next one": 24}
    return table_without_empty_columns(
        head, rows, canvas.width, numbers=("how many", "more"), wrap=wrap
    )


def _changes(steps: Sequence[FitCount], canvas: WidthAndMarks) -> RenderableType:
    before = steps[0].count
    rows = []
    for step in steps[1:]:
        most = "" if step.proven else f"{step.bound:,}"
        differs = f"{step.count - before:+,}" if step.count != before else "±0"
        rows.append((_words(step), f"{step.count:,}", differs, most))
    head = ("change", "fit", "difference", "at most")
    return table_without_empty_columns(
        head, rows, canvas.width, numbers=head[1:], wrap={"change": 20}
    )


def _words(step: FitCount) -> str:
    shown = ", ".join(step.changes[:3])
    return shown if len(step.changes) <= 3 else f"{shown} and {len(step.changes) - 3} more"
