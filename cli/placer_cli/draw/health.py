"""Notes on running pods that are not well, as lines below a picture."""

from collections.abc import Sequence, Set
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.text import Text

from placer.judge.health import broken_devices_held
from placer.judge.misfits import misfits_of_instance
from placer_cli.draw.breaking import WrappingText
from placer_cli.draw.palette import BAD
from placer_models.cluster import Instance

BROKEN = "device-health"
"""The rule of which a line of its own says more."""

MOST_OF_A_RULE = 3
"""Most misfits of one rule to list one by one; in a large cluster hundreds may be alike."""


def notes_on_running_pods(
    instance: Instance, moved: Set[tuple[str, str]] = frozenset()
) -> tuple[str, ...]:
    """Return the notes on running pods: broken devices that they hold, and misfits.

    Pods that have moved have no notes.
    """
    if moved:
        staying = tuple(running for running in instance.running if running.pod.key not in moved)
        instance = replace(instance, running=staying)
    notes = [broken.message for broken in broken_devices_held(instance)]
    by_rule: dict[str, list[str]] = {}
    for misfit in misfits_of_instance(instance):
        if misfit.rule != BROKEN:
            by_rule.setdefault(misfit.rule, []).append(misfit.message)
    for rule, messages in by_rule.items():
        told = list(dict.fromkeys(messages))
        notes += [f"misfit: {message} (rule {rule})" for message in told[:MOST_OF_A_RULE]]
        more = len(told) - MOST_OF_A_RULE
        notes += [f"and {more:,} more misfits (rule {rule})"] if more > 0 else []
    return tuple(dict.fromkeys(notes))


def draw_notes(notes: Sequence[str]) -> RenderableType:
    """Say them, one a line."""
    return Group("", *(WrappingText(Text(note, BAD)) for note in notes))


def drawing_with_notes(drawn: RenderableType, notes: Sequence[str]) -> RenderableType:
    """Return the picture, and the notes below it, where there are any."""
    return Group(drawn, draw_notes(notes)) if notes else drawn
