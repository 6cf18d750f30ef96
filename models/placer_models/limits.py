"""Limits: what a container may use at most. They say nothing about where it can go."""

from dataclasses import dataclass

from placer_models.typed import check_types


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one container; None where there is none.

    Attributes:
        pids: Processes and threads.

    """

    cpu_milli: int | None = None
    memory_bytes: int | None = None
    pids: int | None = None

    def __post_init__(self) -> None:
        check_types(self)


NO_LIMITS = Limits()

PodLimits = tuple[tuple[str, Limits], ...]
"""(Container, its limits) in the order of the containers; those without any are left out."""
