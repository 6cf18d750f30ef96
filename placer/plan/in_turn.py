"""Independent tasks, done one after the other."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_turn(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, Result]]:
    """Yield the index and the result of each task as it is done.

    Every caller hands over a function of a module and tasks that can be pickled, and takes
    results in any order, so that they may as well be done elsewhere.

    Args:
        work: What is done with a task.
        tasks: The tasks, none of which needs another one's result.
        stop: Asked before each task whether the rest is left out.

    """
    for index, task in enumerate(tasks):
        if stop():
            return
        yield index, work(task)
