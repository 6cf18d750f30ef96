"""Faults of a dump: each object that is wrong is named, not only the first."""

from collections.abc import Sequence

from placer_models.files.errors import InputError

SHOWN = 20
"""The most faults that are reported; a dump may have thousands of the same kind."""


class DumpError(InputError):
    """A dump that is refused. ``str()`` is its first fault.

    Attributes:
        faults: All faults, in the order of the files.

    """

    def __init__(self, faults: Sequence[InputError]) -> None:
        first = faults[0]
        super().__init__(first.file, first.line, first.field, first.message, more=len(faults) - 1)
        self.faults = tuple(faults)

    @property
    def messages(self) -> tuple[str, ...]:
        """The faults, a line for each object."""
        more = len(self.faults) - SHOWN
        told = tuple(str(fault) for fault in self.faults[:SHOWN])
        return (*told, f"and {more:,} more objects are faulty") if more > 0 else told
