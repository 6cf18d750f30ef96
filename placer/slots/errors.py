"""Errors of a job graph: what is wrong, where, and in which words."""

from typing import NamedTuple

from placer_models.files.tree import Path, field_path_text
from placer_models.message_text import spelling_suggestion


class JobGraphFault(NamedTuple):
    """One thing that is wrong.

    Attributes:
        path: The field as the job's file spells it, such as ``("operators", 3, "group")``.
        message: What is wrong, what is allowed, and the mend.
        name: A name that is not known; the message ends with the nearest known one.
        known: The known names.

    """

    path: Path
    message: str
    name: str = ""
    known: tuple[str, ...] = ()


class JobGraphError(ValueError):
    """A job graph that cannot be compiled. ``str()`` names the field and the fault."""

    def __init__(self, fault: JobGraphFault) -> None:
        hint = spelling_suggestion(fault.name, fault.known) if fault.name else ""
        super().__init__(f"{field_path_text(fault.path)}: {fault.message}{hint}")
        self.fault = fault
