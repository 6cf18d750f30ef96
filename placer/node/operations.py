"""Operations: single changes of the cgroup tree, with old value, new value and reason."""

import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from placer.node.cgroups import CPUS, CPUSET, MEMS, CgroupReader, parent_cgroup_path, parse_cpuset
from placer.node.render.cgroup import NO_LIMIT, is_same_cgroup_value
from placer.node.render.systemd import systemd_property_for
from placer_models.cpuset import format_cpu_list


class CgroupOperationKind(StrEnum):
    """The kind of an operation."""

    MAKE = "make"
    """A cgroup is made."""

    ENABLE = "enable"
    """Controllers are handed down to the cgroups below (version 2)."""

    WRITE = "write"
    """A file gets another value."""

    REMOVE = "remove"
    """A cgroup of ours that has no processes is removed; not undone."""


@dataclass(frozen=True, slots=True)
class CgroupOperation:
    """One change.

    Attributes:
        controller: The controller whose hierarchy the cgroup is in, on version 1.
        cgroup: The cgroup's path below the root.
        file: The file's name in the cgroup; empty if the cgroup itself is made or removed.
        old: What the file said before; for ENABLE the controllers that were on.
        new: What the file is to say; for ENABLE the controllers to turn on.
        fresh: Whether the file comes with an earlier operation of the same plan, and goes when
            that one is taken back.
        unit: The unit through which systemd is asked to write the file; empty if Placer writes it.

    """

    kind: CgroupOperationKind
    controller: str
    cgroup: str
    file: str = ""
    old: str = ""
    new: str = ""
    why: str = ""
    fresh: bool = False
    unit: str = ""

    @property
    def writer(self) -> str:
        """Who writes the file."""
        return "systemd" if self.unit else "Placer"


SUBTREE = "cgroup.subtree_control"

_EFFECT_STEP_S = 0.01


class IneffectiveCgroupWriteError(Exception):
    """The kernel accepted a value, but its effect is another one."""


def perform_cgroup_operation(operation: CgroupOperation, cgroups: CgroupReader) -> None:
    """Carry out an operation, and check that the kernel did what it says.

    Raises:
        OSError: The kernel refused.
        SystemdError: systemd refused, or did not answer.
        IneffectiveCgroupWriteError: Nobody refused, and yet the effect is another one.

    """
    files = cgroups.files
    path = cgroups.path(operation.controller, operation.cgroup, operation.file)
    match operation.kind:
        case CgroupOperationKind.MAKE:
            with suppress(FileExistsError):  # a runtime may have been quicker
                files.make_directory(path)
        case CgroupOperationKind.ENABLE:
            files.write(path, " ".join(f"+{name}" for name in operation.new.split()))
        case CgroupOperationKind.WRITE if operation.unit:
            _ask_systemd(operation, operation.new, cgroups)
            _check_effect(operation, cgroups)
        case CgroupOperationKind.WRITE:
            files.write(path, operation.new)
            _check_effect(operation, cgroups)
        case CgroupOperationKind.REMOVE:
            if files.exists(path) and not cgroups.has_processes(operation.cgroup):
                files.remove_directory(path)


def revert_cgroup_operation(operation: CgroupOperation, cgroups: CgroupReader) -> None:
    """Undo an operation that was carried out.

    Raises:
        OSError: The kernel refused.
        SystemdError: systemd refused, or did not answer.
        IneffectiveCgroupWriteError: Nobody refused, and yet the effect is another one.

    """
    files = cgroups.files
    path = cgroups.path(operation.controller, operation.cgroup, operation.file)
    match operation.kind:
        case CgroupOperationKind.MAKE:
            if files.exists(path):
                files.remove_directory(path)
        case CgroupOperationKind.ENABLE:
            files.write(path, " ".join(f"-{name}" for name in operation.new.split()))
        case CgroupOperationKind.WRITE if operation.unit:
            _restore_unit(operation, cgroups)
        case CgroupOperationKind.WRITE if operation.file in (CPUS, MEMS):
            _restore_set(operation, path, cgroups)
        case CgroupOperationKind.WRITE:
            files.write(path, operation.old)
        case CgroupOperationKind.REMOVE:
            raise AssertionError("a removal follows the commit, after which nothing is undone")


def current_cgroup_file_value(operation: CgroupOperation, cgroups: CgroupReader) -> str | None:
    """Return what the file of an operation says now, or None if it is not there."""
    path = cgroups.path(operation.controller, operation.cgroup, operation.file)
    try:
        return cgroups.files.read(path).strip()
    except FileNotFoundError:
        return None


def _ask_systemd(operation: CgroupOperation, text: str, cgroups: CgroupReader) -> None:
    """Let systemd write a file, and wait for the kernel to say so: systemd may answer earlier."""
    cgroups.units.set(operation.unit, [systemd_property_for(operation.file, text)])
    give_up = time.monotonic() + cgroups.units.answer_s
    while not _says(operation, text, cgroups) and time.monotonic() < give_up:
        time.sleep(_EFFECT_STEP_S)


def _says(operation: CgroupOperation, text: str, cgroups: CgroupReader) -> bool:
    now = current_cgroup_file_value(operation, cgroups)
    if now is None and operation.unit and text in NO_LIMIT:
        return True  # systemd takes away a controller for which no unit has a limit
    return is_same_cgroup_value(operation.file, now or "", text)


def _check_effect(operation: CgroupOperation, cgroups: CgroupReader) -> None:
    file = operation.file
    if not _says(operation, operation.new, cgroups):
        now = current_cgroup_file_value(operation, cgroups)
        raise IneffectiveCgroupWriteError(
            f"/{operation.cgroup}/{file}: "
            f"{operation.writer} wrote {operation.new!r}, and it says {now or ''!r}"
        )
    if operation.controller == CPUSET and file in (CPUS, MEMS):
        effective = cgroups.effective(operation.cgroup, file)
        if effective != parse_cpuset(operation.new):
            name = cgroups.effective_path(operation.cgroup, file)
            raise IneffectiveCgroupWriteError(
                f"/{name}: {operation.writer} wrote {operation.new!r} to {file}, and the kernel "
                f"made it {format_cpu_list(effective)!r}"
            )


def _restore_unit(operation: CgroupOperation, cgroups: CgroupReader) -> None:
    """Let systemd write the old value again; if it is empty, all that the cgroup above has.

    CPUs of an old set may be offline by now, and systemd rounds quotas: that is no failure.
    """
    text = operation.old
    if not text:
        text = format_cpu_list(
            cgroups.effective(parent_cgroup_path(operation.cgroup), operation.file)
        )
    _ask_systemd(operation, text, cgroups)
    if operation.controller == CPUSET and not _says(operation, text, cgroups):
        raise IneffectiveCgroupWriteError(
            f"{operation.unit} was to have {text} again, and its {operation.file} does not say so"
        )


def _restore_set(operation: CgroupOperation, path: str, cgroups: CgroupReader) -> None:
    """Write the old set again, or what is left of it.

    A CPU of it may be offline by now. And not every kernel lets a cpuset with processes become
    empty: it then gets all that the cgroup above has, which means the same on version 2.
    """
    try:
        cgroups.files.write(path, operation.old)
    except OSError:
        above = cgroups.effective(parent_cgroup_path(operation.cgroup), operation.file)
        left = format_cpu_list(parse_cpuset(operation.old) & above or above)
        if left == operation.old:
            raise
        cgroups.files.write(path, left)
