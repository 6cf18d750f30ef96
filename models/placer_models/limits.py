"""Limits: what a container may use at most. They say nothing about where it can go."""

from dataclasses import dataclass

from placer_models.typed import check_field_types


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """The limits of one container; None where there is none.

    Attributes:
        pids: The number of processes and threads.
        swap_bytes: Swap besides the memory, which must then have a limit, too.

    """

    cpu_milli: int | None = None
    memory_bytes: int | None = None
    pids: int | None = None
    swap_bytes: int | None = None

    def __post_init__(self) -> None:
        check_field_types(self)
        if self.swap_bytes is not None and self.memory_bytes is None:
            raise ValueError("a limit of swap needs one of memory")


NO_LIMITS = ContainerLimits()

PodLimits = tuple[tuple[str, ContainerLimits], ...]
"""(Container, its limits) in the order of the containers; containers without are left out."""
