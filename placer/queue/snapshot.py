"""Snapshots: a queue's whole state, taken, written as JSON, and made a queue again.

A restored queue makes the same decisions as the one that was taken, tie by tie.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

from placer.queue.fair import FairQueue
from placer.queue.flow import Flow, FlowBypassLag, FlowGroup, QueueJob
from placer.queue.model import (
    DispatchTicket,
    DispatchUnit,
    FlowChargeTime,
    VirtualTimeRiseByDispatch,
)
from placer.queue.reservation import UnitReservation

VERSION = 2

_NOBODY = FlowBypassLag()


@dataclass(frozen=True, slots=True)
class GroupVirtualTimeSnapshot:
    """The fields that only groups and the top of the tree have; see ``FlowGroup``."""

    virtual: int = 0
    highest: int = 0
    last: FlowBypassLag = _NOBODY


@dataclass(frozen=True, slots=True)
class FlowSnapshot:
    """One flow. A group has no units; a job has nothing of a group.

    Attributes:
        group: Name of the group it is in; the top of the tree has no name.

    """

    name: str
    group: str
    is_group: bool
    weight_milli: int
    rank: int
    tally: int
    recent: bool
    started_at: int
    ahead: int
    executed: int
    passes: int
    behind: int
    as_group: GroupVirtualTimeSnapshot = GroupVirtualTimeSnapshot()
    waiting: tuple[DispatchUnit, ...] = ()
    overtaken: int = 0
    held_since_us: int | None = None
    ended: int = 0
    ended_us: int = 0


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """A queue at one moment.

    Attributes:
        top: The top of the tree.
        flows: In the order of creation, so that each follows its group.

    """

    charge: FlowChargeTime
    guess_us: int
    bypass_limit: int
    hold_us: int
    look_ahead: int
    sequence: int
    ranks: int
    top: GroupVirtualTimeSnapshot
    flows: tuple[FlowSnapshot, ...]
    in_flight: tuple[DispatchTicket, ...]
    set_aside: tuple[tuple[str, DispatchUnit], ...]
    reserved: UnitReservation | None = None


def take_queue_snapshot(queue: FairQueue) -> QueueSnapshot:
    """Return the queue's state."""
    return QueueSnapshot(
        charge=queue.tree.charge,
        guess_us=queue.guess_us,
        bypass_limit=queue.bypass_limit,
        hold_us=queue.hold_us,
        look_ahead=queue.look_ahead,
        sequence=queue.tree.sequence,
        ranks=queue.tree.ranks,
        top=_group_state(queue.tree.root),
        flows=tuple(_state(flow) for flow in queue.tree.flows.values()),
        in_flight=tuple(queue.in_flight.values()),
        set_aside=tuple(queue.set_aside),
        reserved=queue.reserved,
    )


def restore_queue(snapshot: QueueSnapshot) -> FairQueue:
    """Return a queue in the state that was taken."""
    queue = FairQueue(
        charge=snapshot.charge,
        guess_us=snapshot.guess_us,
        bypass_limit=snapshot.bypass_limit,
        hold_us=snapshot.hold_us,
        look_ahead=snapshot.look_ahead,
    )
    tree = queue.tree
    for state in snapshot.flows:
        if state.is_group:
            tree.add_group(state.name, state.weight_milli, state.group or None)
        else:
            tree.add_job(state.name, state.weight_milli, state.group or None)
        _resume(tree.flow(state.name), state)
    for ticket in snapshot.in_flight:
        job = tree.job(ticket.job)
        job.running += ticket.unit.width
        job.starts_sum += ticket.unit.width * ticket.start_us
    queue.in_flight = {ticket.sequence: ticket for ticket in snapshot.in_flight}
    queue.set_aside = list(snapshot.set_aside)
    queue.reserved = snapshot.reserved
    _resume_group(tree.root, snapshot.top)
    tree.sequence, tree.ranks = snapshot.sequence, snapshot.ranks
    for flow in tuple(tree.flows.values()):
        if isinstance(flow, QueueJob) and flow.waiting:
            tree.resume(flow)
    return queue


def queue_snapshot_json_text(snapshot: QueueSnapshot) -> str:
    """Write a snapshot as one line of JSON."""
    return json.dumps({"version": VERSION, **asdict(snapshot)}, separators=(",", ":"))


def parse_queue_snapshot_json(text: str) -> QueueSnapshot:
    """Read what ``queue_snapshot_json_text`` wrote.

    Raises:
        ValueError: The text was written by a version that this one does not know.

    """
    fields = json.loads(text)
    version = fields.pop("version", None)
    if version != VERSION:
        raise ValueError(f"the snapshot is of version {version}; this Placer reads {VERSION}")
    fields["charge"] = FlowChargeTime(fields["charge"])
    fields["top"] = _group_of(fields["top"])
    fields["flows"] = tuple(
        FlowSnapshot(
            **{
                **state,
                "as_group": _group_of(state["as_group"]),
                "waiting": tuple(DispatchUnit(*unit) for unit in state["waiting"]),
            }
        )
        for state in fields["flows"]
    )
    fields["in_flight"] = tuple(_ticket(values) for values in fields["in_flight"])
    fields["set_aside"] = tuple((job, DispatchUnit(*unit)) for job, unit in fields["set_aside"])
    if reserved := fields.get("reserved"):
        job, unit, *times = reserved
        fields["reserved"] = UnitReservation(job, DispatchUnit(*unit), *times)
    return QueueSnapshot(**fields)


def _state(flow: Flow) -> FlowSnapshot:
    group = flow.parent.name if flow.parent else ""
    common = (
        flow.weight_milli,
        flow.rank,
        flow.tally,
        flow.recent,
        flow.started_at,
        flow.ahead,
        flow.executed,
        flow.passes,
        flow.behind,
    )
    if isinstance(flow, FlowGroup):
        return FlowSnapshot(flow.name, group, True, *common, as_group=_group_state(flow))
    return FlowSnapshot(
        flow.name,
        group,
        False,
        *common,
        waiting=tuple(flow.waiting),
        overtaken=flow.overtaken,
        held_since_us=flow.held_since_us,
        ended=flow.ended,
        ended_us=flow.ended_us,
    )


def _resume(flow: Flow, state: FlowSnapshot) -> None:
    flow.rank = state.rank
    flow.tally, flow.recent = state.tally, state.recent
    flow.started_at, flow.ahead = state.started_at, state.ahead
    flow.executed = state.executed
    flow.passes, flow.behind = state.passes, state.behind
    if isinstance(flow, FlowGroup):
        _resume_group(flow, state.as_group)
        return
    flow.waiting.extend(state.waiting)
    flow.overtaken, flow.held_since_us = state.overtaken, state.held_since_us
    flow.ended, flow.ended_us = state.ended, state.ended_us


def _ticket(values: list[Any]) -> DispatchTicket:
    sequence, job, unit, *rest, rises = values
    ticket = DispatchTicket(sequence, job, DispatchUnit(*unit), *rest)
    return ticket._replace(rises=tuple(VirtualTimeRiseByDispatch(*rise) for rise in rises))


def _group_of(fields: dict[str, Any]) -> GroupVirtualTimeSnapshot:
    return GroupVirtualTimeSnapshot(
        fields["virtual"], fields["highest"], FlowBypassLag(*fields["last"])
    )


def _group_state(group: FlowGroup) -> GroupVirtualTimeSnapshot:
    return GroupVirtualTimeSnapshot(group.virtual, group.highest, group.last)


def _resume_group(group: FlowGroup, state: GroupVirtualTimeSnapshot) -> None:
    group.virtual, group.highest, group.last = state.virtual, state.highest, state.last
