"""A queue's whole state as a word: taken, written as JSON, and made a queue again.

A restored queue makes the same decisions as the one that was taken, tie by tie.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

from placer.queue.fair import FairQueue
from placer.queue.flow import Floor, Flow, Group, Job
from placer.queue.words import Charge, Ticket, Unit

VERSION = 1

_NO_FLOOR = Floor()


@dataclass(frozen=True, slots=True)
class FlowState:
    """One flow. A group has no units and a job no floor.

    Attributes:
        group: Name of the group it is in; the top of the tree has no name.
        floor: See ``Group``.

    """

    name: str
    group: str
    is_group: bool
    weight_milli: int
    rank: int
    tally: int
    recent: bool
    lifted_at: int
    executed: int
    passes: int
    behind: int
    floor: Floor = _NO_FLOOR
    waiting: tuple[Unit, ...] = ()
    overtaken: int = 0
    held_since_us: int | None = None
    ended: int = 0
    ended_us: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A queue at one moment.

    Attributes:
        flows: In the order of creation, so that each follows its group.
        top_floor: The floor of the top of the tree.

    """

    charge: Charge
    guess_us: int
    bypass_limit: int
    hold_us: int
    look_ahead: int
    sequence: int
    ranks: int
    top_floor: Floor
    flows: tuple[FlowState, ...]
    in_flight: tuple[Ticket, ...]
    set_aside: tuple[tuple[str, Unit], ...]


def take(queue: FairQueue) -> Snapshot:
    """Return the queue's state."""
    return Snapshot(
        charge=queue.tree.charge,
        guess_us=queue.guess_us,
        bypass_limit=queue.bypass_limit,
        hold_us=queue.hold_us,
        look_ahead=queue.look_ahead,
        sequence=queue.tree.sequence,
        ranks=queue.tree.ranks,
        top_floor=queue.tree.root.floor,
        flows=tuple(_state(flow) for flow in queue.tree.flows.values()),
        in_flight=tuple(queue.in_flight.values()),
        set_aside=tuple(queue.set_aside),
    )


def restore(snapshot: Snapshot) -> FairQueue:
    """Return a queue in the state."""
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
    tree.root.floor = snapshot.top_floor
    tree.sequence, tree.ranks = snapshot.sequence, snapshot.ranks
    for flow in tuple(tree.flows.values()):
        if isinstance(flow, Job) and flow.waiting:
            tree.wake(flow, now_us=0, lift=False)
    return queue


def to_json(snapshot: Snapshot) -> str:
    """Write a snapshot as one line of JSON."""
    return json.dumps({"version": VERSION, **asdict(snapshot)}, separators=(",", ":"))


def from_json(text: str) -> Snapshot:
    """Read what ``to_json`` wrote.

    Raises:
        ValueError: It was written by a version that this one does not know.

    """
    fields = json.loads(text)
    version = fields.pop("version", None)
    if version != VERSION:
        raise ValueError(f"the snapshot is of version {version}; this Placer reads {VERSION}")
    fields["charge"] = Charge(fields["charge"])
    fields["top_floor"] = Floor(*fields["top_floor"])
    fields["flows"] = tuple(
        FlowState(
            **{
                **state,
                "floor": Floor(*state["floor"]),
                "waiting": tuple(Unit(*unit) for unit in state["waiting"]),
            }
        )
        for state in fields["flows"]
    )
    fields["in_flight"] = tuple(_ticket(values) for values in fields["in_flight"])
    fields["set_aside"] = tuple((job, Unit(*unit)) for job, unit in fields["set_aside"])
    return Snapshot(**fields)


def _state(flow: Flow) -> FlowState:
    group = flow.parent.name if flow.parent else ""
    common = (
        flow.weight_milli,
        flow.rank,
        flow.tally,
        flow.recent,
        flow.lifted_at,
        flow.executed,
        flow.passes,
        flow.behind,
    )
    if isinstance(flow, Group):
        return FlowState(flow.name, group, True, *common, floor=flow.floor)
    return FlowState(
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


def _resume(flow: Flow, state: FlowState) -> None:
    flow.rank = state.rank
    flow.tally, flow.recent = state.tally, state.recent
    flow.lifted_at, flow.executed = state.lifted_at, state.executed
    flow.passes, flow.behind = state.passes, state.behind
    if isinstance(flow, Group):
        flow.floor = state.floor
        return
    flow.waiting.extend(state.waiting)
    flow.overtaken, flow.held_since_us = state.overtaken, state.held_since_us
    flow.ended, flow.ended_us = state.ended, state.ended_us


def _ticket(values: list[Any]) -> Ticket:
    sequence, job, unit, *rest = values
    return Ticket(sequence, job, Unit(*unit), *rest)
