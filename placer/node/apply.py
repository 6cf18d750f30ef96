"""Application of a document to a node: all of it or nothing, with recovery after a crash (C19).

Nothing is written before the journal is safe on disk. Each write is checked against its effect
in the kernel. If one fails, all before it are taken back in reverse, through the same states, in
none of which an exclusive CPU is in two places. If that fails as well, nothing more is written
until a person has looked.
"""

import errno
import logging
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from placer.node.cgroups import CPUS, CPUSET, MEMS, CgroupReader, as_proc_cgroup_path, parse_cpuset
from placer.node.container_roots import OUR_ROOT
from placer.node.errors import (
    CgroupVanishedError,
    HostCannotApplyError,
    InapplicableDocumentError,
    ObserveOnlyError,
)
from placer.node.host import HostFactsForApply
from placer.node.operations import (
    CgroupOperation,
    CgroupOperationKind,
    IneffectiveCgroupWriteError,
    current_cgroup_file_value,
    perform_cgroup_operation,
    revert_cgroup_operation,
)
from placer.node.plan import CgroupPlan, cgroup_plan_of
from placer.node.render.cgroup import is_same_cgroup_value
from placer.node.state import APPLIED, AppliedStateFolder
from placer.node.systemd_units import SystemdError
from placer.node.ways import CgroupWritableByOthersCheck
from placer_models.node_placement import MAX_GENERATION, NodePlacement

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

TRIES = 5
"""How often something is done before containers that come and go all the time stop it."""

_GONE = (errno.ENOENT, errno.ENODEV)
_RIGHTS = (errno.EACCES, errno.EPERM, errno.EROFS)

_TRIES = 3
"""So often a container of others is tried before it is left alone."""

_MOST_ASIDE = 8
"""If the kernel refuses more containers than this, it is not these that are strange."""


class CgroupWriteRefusedError(HostCannotApplyError):
    """The kernel refused a write to a container's cgroup, and all was taken back.

    Attributes:
        cgroup: The container's cgroup.
        why: What the kernel refused, in words.

    """

    def __init__(self, cgroup: str, why: str) -> None:
        super().__init__(f"{why}; what was done before it is taken back")
        self.cgroup = cgroup
        self.why = why


@dataclass(frozen=True, slots=True)
class NodeApplyResult:
    """The result of applying a document.

    Attributes:
        plan: What was to be done; it has no operations if nothing differed.
        recovered: What an earlier run had left unfinished, in words; empty if nothing.

    """

    plan: CgroupPlan
    recovered: str = ""


def apply(
    document: NodePlacement,
    cgroups: CgroupReader,
    host: HostFactsForApply,
    state: AppliedStateFolder,
    *,
    root: str = OUR_ROOT,
    in_force: bool = False,
    trusted: frozenset[str] = frozenset(),
) -> NodeApplyResult:
    """Make this machine's cgroups say what the document wants; the caller has locked the state.

    A document that is `in_force` was applied before, and cgroups that are `trusted` are not read
    (see `cgroup_plan_of`).

    Raises:
        InapplicableDocumentError: The document is wrong, out of date, or not for this machine.
        HostCannotApplyError: The node cannot do it; all is as it was before.
        CgroupVanishedError: A container ended meanwhile, and its cgroup vanished; the same holds.
        ObserveOnlyError: Taking it back failed, now or earlier.

    """
    recovered = recover_interrupted_apply(cgroups, state)
    check_document_generation(document, state)
    previous = state.applied()
    tries: Counter[str] = Counter()
    aside: dict[str, str] = {}
    while True:
        try:
            plan = cgroup_plan_of(
                document,
                cgroups,
                host,
                root=root,
                previous=previous,
                in_force=in_force,
                trusted=trusted,
                aside=aside,
            )
        except OSError as error:
            if error.errno in _GONE:
                raise CgroupVanishedError(
                    f"{error.filename}: the cgroup vanished while it was read"
                ) from None
            raise HostCannotApplyError(_refusal(error, "read")) from None
        try:
            if plan.operations or plan.finish or not state.was_applied(document):
                carry_out_cgroup_plan(document, plan, cgroups, state)
        except CgroupWriteRefusedError as error:
            # Somebody else may have been at work there: again, and at last without it.
            cgroup = error.cgroup
            if cgroup.startswith(f"{root}/") or len(aside) == _MOST_ASIDE:
                raise
            tries[cgroup] += 1
            if tries[cgroup] == _TRIES:
                aside[cgroup] = error.why
        else:
            return NodeApplyResult(plan, recovered)


def apply_to_this_host(
    document: NodePlacement,
    cgroups: CgroupReader,
    read_host: Callable[[], HostFactsForApply],
    state: AppliedStateFolder,
    *,
    root: str = OUR_ROOT,
    in_force: bool = False,
    trusted: frozenset[str] = frozenset(),
) -> NodeApplyResult:
    """Do as `apply`, and again at once while cgroups vanish; the host is read each time."""
    return retry_while_cgroups_vanish(
        lambda: apply(
            document, cgroups, read_host(), state, root=root, in_force=in_force, trusted=trusted
        )
    )


def retry_while_cgroups_vanish(attempt: Callable[[], _Result]) -> _Result:
    """Return the result of an attempt in which no cgroup vanished.

    Raises:
        HostCannotApplyError: One vanished each time.

    """
    error: Exception = CgroupVanishedError("")
    for _ in range(TRIES):
        try:
            return attempt()
        except CgroupVanishedError as vanished:
            error = vanished
        except OSError as gone:
            if gone.errno not in _GONE:
                raise
            error = CgroupVanishedError(f"{gone.filename}: the cgroup vanished while it was read")
        log.info("once more, as a cgroup vanished: %s", error)
    raise CgroupVanishedError(f"{error} ({TRIES} times in a row)")


def carry_out_cgroup_plan(
    document: NodePlacement, plan: CgroupPlan, cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """Carry out a plan, all of it or nothing; nothing may have changed since it was made.

    Raises:
        HostCannotApplyError: The node cannot do it; all is as it was before.
        ObserveOnlyError: It cannot even be taken back.

    """
    _begin(document, plan, state)
    _carry_out(plan, cgroups, state)
    _finish(document, plan, cgroups, state)


def check_document_generation(document: NodePlacement, state: AppliedStateFolder) -> None:
    """Refuse a document older than the applied one, or another one of the same generation.

    Raises:
        InapplicableDocumentError: The document is one of these.

    """
    previous = state.applied()
    if previous is None or previous.node.name != document.node.name:
        return
    if document.generation < previous.generation == MAX_GENERATION:
        next_document_generation(previous.generation, state.folder / APPLIED)
    named = f"the document for node {document.node.name!r}"
    if document.generation < previous.generation:
        raise InapplicableDocumentError(
            f"{named} is out of date: its generation is {document.generation}, and "
            f"{previous.generation} was applied; make a new one of a higher generation"
        )
    if document.generation == previous.generation and not state.was_applied(document):
        after = next_document_generation(document.generation, state.folder / APPLIED)
        raise InapplicableDocumentError(
            f"{named} says something else than what was applied as generation "
            f"{document.generation}; give it generation {after}"
        )


def next_document_generation(generation: int, *remembered: Path) -> int:
    """Return the generation that follows one.

    Args:
        generation: The last one.
        remembered: The files that say that it was the last one.

    Raises:
        InapplicableDocumentError: None can follow it.

    """
    if generation >= MAX_GENERATION:
        files = " and ".join(map(str, remembered))
        raise InapplicableDocumentError(
            f"{generation} is the highest generation there is, and no document can follow it; to "
            f"begin anew with generation 1, stop the agent, remove {files}, and start it again"
        )
    return generation + 1


def recover_interrupted_apply(cgroups: CgroupReader, state: AppliedStateFolder) -> str:
    """Take back what was begun or finish what was committed, and return what that was in words.

    Raises:
        ObserveOnlyError: The journal cannot be read, or taking back failed, now or earlier.

    """
    state.check_may_write()
    if (begun := state.unfinished()) is not None:
        document, plan = begun
        _undo(plan.operations, cgroups, state, f"generation {document.generation} broke off")
        state.abandon()
        return f"took back generation {document.generation}, which had broken off"
    if (committed := state.committed()) is not None:
        document, plan = committed
        _finish(document, plan, cgroups, state)
        return f"finished generation {document.generation}, which had broken off"
    return ""


def _begin(document: NodePlacement, plan: CgroupPlan, state: AppliedStateFolder) -> None:
    try:
        state.begin(document, plan)
    except OSError as error:
        raise HostCannotApplyError(
            f"the journal cannot be written to {state.folder}: "
            f"{error.strerror}; nothing was changed"
        ) from None


def _carry_out(plan: CgroupPlan, cgroups: CgroupReader, state: AppliedStateFolder) -> None:
    """Carry out all operations and commit, or take them back."""
    done = 0
    try:
        for operation in plan.operations:
            log.debug("%s /%s/%s: %s", operation.kind, operation.cgroup, operation.file, operation)
            perform_cgroup_operation(operation, cgroups)
            done += 1
        _verify(plan.operations, cgroups)
        state.commit()
    except (OSError, SystemdError, IneffectiveCgroupWriteError) as error:
        why = _refusal(error, "write") if isinstance(error, OSError) else str(error)
        gone = _vanished(error, plan.operations[: done + 1], cgroups)
        _undo(plan.operations, cgroups, state, why)
        state.abandon()
        if done < len(plan.operations):
            cgroup = _container(plan, plan.operations[done], error)
            if cgroup is not None:
                raise CgroupWriteRefusedError(cgroup, why) from None
        if gone:
            raise CgroupVanishedError(
                f"{why}; the cgroup {as_proc_cgroup_path(gone)} vanished meanwhile; "
                "what was done before it is taken back"
            ) from None
        raise HostCannotApplyError(f"{why}; what was done before it is taken back") from None


def _container(plan: CgroupPlan, failed: CgroupOperation, error: Exception) -> str | None:
    """Return the cgroup of the container that an error is about, or None if it is of no one's.

    A right that is missing here is missing elsewhere, and systemd has been waited for already.
    """
    if failed.unit or (isinstance(error, OSError) and error.errno in _RIGHTS):
        return None
    at = f"{failed.cgroup}/"
    return next((one for one in plan.cgroups if at.startswith(f"{one}/")), None)


def _vanished(error: Exception, begun: Sequence[CgroupOperation], cgroups: CgroupReader) -> str:
    """Return the cgroup that vanished, so that something failed, or an empty text."""
    made = {one.cgroup for one in begun if one.kind is CgroupOperationKind.MAKE}
    for operation in begun:
        there = operation.cgroup not in made
        if there and not cgroups.exists(operation.cgroup, operation.controller):
            return operation.cgroup
    if isinstance(error, OSError) and error.errno in _GONE:
        return begun[-1].cgroup  # it is there again, and another one
    return ""


def _verify(operations: Sequence[CgroupOperation], cgroups: CgroupReader) -> None:
    """Check at the end that every set is in effect: a later write may undo an earlier one."""
    last = {
        (o.cgroup, o.file): o.new
        for o in operations
        if o.kind is CgroupOperationKind.WRITE and o.controller == CPUSET and o.file in (CPUS, MEMS)
    }
    for (cgroup, file), new in last.items():
        if (has := cgroups.effective(cgroup, file)) != parse_cpuset(new):
            raise IneffectiveCgroupWriteError(
                f"{as_proc_cgroup_path(cgroup)}: "
                f"{file} was set to {new}, and in the end {sorted(has)} is in effect"
            )


def _finish(
    document: NodePlacement, plan: CgroupPlan, cgroups: CgroupReader, state: AppliedStateFolder
) -> None:
    """Clean up; what cannot be removed now is found again by the next run."""
    for operation in plan.finish:
        try:
            perform_cgroup_operation(operation, cgroups)
        except OSError as error:
            log.warning("%s stays: %s", as_proc_cgroup_path(operation.cgroup), error.strerror)
    try:
        state.finished(document)
    except OSError as error:
        raise HostCannotApplyError(
            f"the node does what the document says, but {state.folder} cannot say so: "
            f"{error.strerror}; the next run finishes it"
        ) from None


def _undo(
    operations: Sequence[CgroupOperation],
    cgroups: CgroupReader,
    state: AppliedStateFolder,
    why: str,
) -> None:
    """Take back, in reverse, those of the operations that were carried out.

    The kernel's files tell which these are: a file holds what one of the operations wrote, or
    what was there before the first of them.
    """
    before: dict[tuple[str, str, str], list[str]] = {}
    chains = []
    for operation in operations:
        values = before.setdefault((operation.controller, operation.cgroup, operation.file), [])
        values.append(operation.old)
        chains.append(tuple(values))
    if any(operation.unit for operation in operations):
        try:  # systemd may still be about to do what it was asked last
            cgroups.units.settle()
        except SystemdError as error:
            raise _gave_up(
                f"{why}; it cannot be taken back without systemd ({error})", state
            ) from None
    for operation, earlier in reversed(list(zip(operations, chains, strict=True))):
        try:
            if _was_done(operation, earlier, cgroups):
                revert_cgroup_operation(operation, cgroups)
        except (OSError, SystemdError, IneffectiveCgroupWriteError) as error:
            if not cgroups.exists(operation.cgroup, operation.controller):
                continue  # it vanished meanwhile, and all that was written there with it
            if isinstance(error, OSError) and _is_delegated(operation.cgroup, cgroups):
                log.warning("%s stays: %s", as_proc_cgroup_path(operation.cgroup), error.strerror)
                continue
            path = cgroups.path(operation.controller, operation.cgroup, operation.file)
            reason = error.strerror if isinstance(error, OSError) else None
            raise _gave_up(
                f"{why}; taking it back failed at {path} ({reason or error}), which was to say "
                f"{operation.old!r} again",
                state,
            ) from None


def _is_delegated(cgroup: str, cgroups: CgroupReader) -> bool:
    """Return whether somebody else may change a cgroup, or it went.

    What they did there meanwhile is no reason to write nothing any more: it is drift.
    """
    try:
        return not cgroups.exists(cgroup) or bool(
            CgroupWritableByOthersCheck(cgroups).trouble(cgroup)
        )
    except OSError:
        return False


def _gave_up(told: str, state: AppliedStateFolder) -> ObserveOnlyError:
    """Note that something could not be taken back, and return the error that says so."""
    state.stop_writing(told)
    return ObserveOnlyError(f"{told}; Placer only observes this node from now on")


def _was_done(operation: CgroupOperation, earlier: Sequence[str], cgroups: CgroupReader) -> bool:
    """Return whether an operation was carried out and not yet taken back."""
    match operation.kind:
        case CgroupOperationKind.MAKE:
            return cgroups.exists(operation.cgroup, operation.controller)
        case CgroupOperationKind.ENABLE:
            on = (current_cgroup_file_value(operation, cgroups) or "").split()
            # What is fresh goes with its cgroup, and cgroups below may still hold the controllers.
            return not operation.fresh and any(name in on for name in operation.new.split())
        case CgroupOperationKind.WRITE if operation.fresh:
            return False  # it goes with its cgroup
        case _:
            value = current_cgroup_file_value(operation, cgroups)
            if value is None and operation.unit:  # systemd took the controller away
                return bool(operation.old) and cgroups.exists(operation.cgroup)
            return value is not None and not any(
                is_same_cgroup_value(operation.file, value, old) for old in earlier
            )


def _refusal(error: OSError, doing: str) -> str:
    """Say what the kernel refused, and which right is missing."""
    where = error.filename or "the cgroup file system"
    if error.errno in _RIGHTS:
        return (
            f"no right to {doing} {where} ({os.strerror(error.errno)}); run as the owner of "
            "these cgroups, as a rule root, or let them be delegated to this user"
        )
    return f"{where}: the kernel says {error.strerror or error}"
