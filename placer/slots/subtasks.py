"""Subtasks in the slots of a group: co-located, else beside a producer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple


class Subtask(NamedTuple):
    """One of a task's parallel subtasks."""

    task: str
    number: int


Slot = tuple[Subtask, ...]
"""The subtasks of one slot: at most one of each task."""


def slots_of_subtasks(
    parallelism: Mapping[str, int],
    producers: Mapping[Subtask, Sequence[Subtask]],
    colocated: Sequence[Sequence[str]] = (),
) -> tuple[Slot, ...]:
    """Return the slots of one group and who shares them.

    Subtasks of one index of co-located tasks share a slot. Any other goes to the slot of
    the first of its producers that has none of its task yet; then to the first such slot
    at all; then to a new one.

    Args:
        parallelism: For each task of the group, producers first.
        producers: For each subtask whom it reads from, if anyone.
        colocated: Tasks that are to share slots by index.

    """
    location = {task: i for i, tasks in enumerate(colocated) for task in tasks}
    slots: list[list[Subtask]] = []
    slot_of: dict[Subtask, int] = {}
    slot_at: dict[tuple[int, int], int] = {}

    def wishes(subtask: Subtask) -> Iterator[int]:
        at = (location.get(subtask.task, -1), subtask.number)
        if at in slot_at:
            yield slot_at[at]
            return
        for producer in producers.get(subtask, ()):
            if producer in slot_of:
                yield slot_of[producer]

    for task, width in parallelism.items():
        subtasks = [Subtask(task, i) for i in range(width)]
        taken: set[int] = set()
        rest = []
        # Who has a slot to wish for goes first, so that nobody else takes it away.
        for subtask in subtasks:
            slot = next((slot for slot in wishes(subtask) if slot not in taken), None)
            if slot is None:
                rest.append(subtask)
            else:
                taken.add(slot)
                slot_of[subtask] = slot
        free = iter([slot for slot in range(len(slots)) if slot not in taken])
        for subtask in rest:
            slot_of[subtask] = next(free, len(slots))
            if slot_of[subtask] == len(slots):
                slots.append([])
        for subtask in subtasks:
            slots[slot_of[subtask]].append(subtask)
            if task in location:
                slot_at.setdefault((location[task], subtask.number), slot_of[subtask])
    return tuple(map(tuple, slots))
