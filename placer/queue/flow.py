"""Flows: jobs with units that wait, and groups of flows that share by weight.

A flow's value is its tally over its weight; the least value is served first. Values are
compared as keys, which are integers (``model.weighted_service_key``).
"""

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from placer.queue.model import KEY_BITS, DispatchUnit, FlowChargeTime, weighted_service_key

HeapEntry = tuple[int, int, "Flow"]
"""A flow in its parent's heap: its key, its rank among all flows, itself."""


class FlowBypassLag(NamedTuple):
    """How far a flow is behind siblings that went before it, see ``placer.queue.bypass``.

    Attributes:
        passes: How often they did.
        behind: The largest key of those siblings.

    """

    passes: int = 0
    behind: int = 0


class AbstractFlow(ABC):
    """What groups and jobs have in common. Mutable; ``FlowTree`` keeps it consistent.

    Attributes:
        rank: Order of creation; among equal values the lower rank goes first.
        tally: Thread-microseconds charged, plus those that lifted it at late starts.
        recent: Whether the tally was given as a recent past, so that the first start keeps it.
        started_at: Sequence number of the first ticket after its last start.
        ahead: Thread-microseconds by which it was ahead of the virtual time at that start,
            less the refunds since then for units dispatched before it.
        executed: Thread-microseconds of units that have ended; for a group, those of
            flows that were removed from it.
        entry: The flow's valid entry in its parent's heap; others there are stale.
        passes: How often siblings went before it, see ``placer.queue.bypass``.
        behind: The largest key of those siblings.

    """

    __slots__ = (
        "ahead",
        "behind",
        "entry",
        "executed",
        "name",
        "parent",
        "passes",
        "rank",
        "recent",
        "started_at",
        "tally",
        "weight_milli",
    )

    def __init__(self, name: str, parent: "FlowGroup | None", weight_milli: int, rank: int) -> None:
        self.name = name
        self.parent = parent
        self.weight_milli = weight_milli
        self.rank = rank
        self.tally = 0
        self.recent = False
        self.started_at = 0
        self.ahead = 0
        self.executed = 0
        self.entry: HeapEntry | None = None
        self.passes = 0
        self.behind = 0

    @abstractmethod
    def queued(self) -> int:
        """Return how many units wait, here or below."""

    @abstractmethod
    def holds(self) -> int:
        """Return how many threads of capacity are held, here or below."""

    @abstractmethod
    def service(self, now_us: int) -> int:
        """Return the thread-microseconds executed, running units included (Q4)."""

    def standing(self, charge: FlowChargeTime, now_us: int) -> int:
        """Return what decisions go by at the moment, in thread-microseconds."""
        return (
            self.tally if charge is FlowChargeTime.DISPATCH else self.tally + self.service(now_us)
        )

    def passed(self, charge: FlowChargeTime, now_us: int) -> FlowBypassLag:
        """Return how far behind it is; a sibling that starts beside it is at least as far."""
        return FlowBypassLag(self.passes_now(charge, now_us), self.behind)

    def passes_now(self, charge: FlowChargeTime, now_us: int) -> int:
        """Return how often siblings went before it since it last caught up."""
        return self.passes if self.key(self.standing(charge, now_us)) < self.behind else 0

    def key(self, standing: int) -> int:
        """Return an integer that orders siblings by standing over weight, exactly."""
        return (standing << KEY_BITS) // self.weight_milli  # weighted_service_key, without the call


class FlowGroup(AbstractFlow):
    """A flow of flows.

    Attributes:
        active: How many children have units that wait.
        active_milli: The sum of their weights.
        heap: Their entries, and stale ones, least first.
        virtual: The virtual time, as a key: where a child that was idle starts.
        highest: The largest key that a child has had while active. Starts at the virtual time
            do not count: they are rounded up, and roundings must not add up.
        last: How far behind the last active child was; only used while none is active.

    """

    __slots__ = (
        "active",
        "active_milli",
        "children",
        "heap",
        "highest",
        "last",
        "virtual",
    )

    def __init__(self, name: str, parent: "FlowGroup | None", weight_milli: int, rank: int) -> None:
        super().__init__(name, parent, weight_milli, rank)
        self.children: dict[str, Flow] = {}
        self.active = 0
        self.active_milli = 0
        self.heap: list[HeapEntry] = []
        self.virtual = 0
        self.highest = 0
        self.last = FlowBypassLag()

    def queued(self) -> int:
        """Return how many units wait below."""
        return sum(child.queued() for child in self.children.values())

    def holds(self) -> int:
        """Return how many threads of capacity are held below."""
        return sum(child.holds() for child in self.children.values())

    def service(self, now_us: int) -> int:
        """Return the thread-microseconds executed below, running units included."""
        return self.executed + sum(child.service(now_us) for child in self.children.values())

    def enter(self, child: "Flow") -> None:
        """Count a child among the active ones."""
        self.active += 1
        self.active_milli += child.weight_milli
        child.entry = (child.key(child.tally), child.rank, child)
        self._push(child.entry)

    def leave(self, child: "Flow", charge: FlowChargeTime, now_us: int) -> None:
        """Take a child that has nothing left to dispatch out of the active children."""
        self.active -= 1
        self.active_milli -= child.weight_milli
        if self.active == 0:
            self.heap.clear()
            self.virtual = max(self.virtual, child.key(child.standing(charge, now_us)))
            self.last = child.passed(charge, now_us)
        elif self.heap[0] is child.entry:
            heapq.heappop(self.heap)
        child.entry = None

    def update(self, child: "Flow") -> None:
        """Move an active child to where its tally now puts it."""
        old, key = child.entry, child.key(child.tally)
        child.entry = entry = (key, child.rank, child)
        if key > self.highest:
            self.highest = key
        if self.heap[0] is old:
            heapq.heapreplace(self.heap, entry)
        else:
            self._push(entry)

    def first(self) -> "Flow":
        """Return the active child of least value; some child must be active."""
        return self._least()[2]

    def in_order(self, charge: FlowChargeTime, now_us: int) -> Iterator["Flow"]:
        """Yield the active children, least value first; k of them cost O(k log k)."""
        if charge is FlowChargeTime.RUNNING:
            active = (child for child in self.children.values() if child.entry is not None)
            yield from sorted(active, key=lambda c: (c.key(c.standing(charge, now_us)), c.rank))
            return
        frontier = [(self.heap[0], 0)] if self.heap else []
        while frontier:
            entry, position = heapq.heappop(frontier)
            if entry is entry[2].entry:
                yield entry[2]
            for below in (2 * position + 1, 2 * position + 2):
                if below < len(self.heap):
                    heapq.heappush(frontier, (self.heap[below], below))

    def lowest(self, charge: FlowChargeTime, now_us: int) -> "Flow | None":
        """Return the active child of least value at the moment, or None if none is active."""
        if self.active == 0:
            return None
        return (
            self.first()
            if charge is FlowChargeTime.DISPATCH
            else next(self.in_order(charge, now_us))
        )

    def advance(self, charge: int) -> int:
        """Raise the virtual time by a charge over the active weights, and return the rise.

        It never goes beyond the highest value so far, so a flow that starts is no further
        ahead than one that was served.
        """
        room = self.highest - self.virtual
        if room <= 0:
            return 0
        rise = min(weighted_service_key(charge, self.active_milli), room)
        self.virtual += rise
        return rise

    def catch_up(self) -> None:
        """Lift the virtual time to the lowest value of the active children."""
        if self.active and (lowest := self._least()[0]) > self.virtual:
            self.virtual = lowest

    def correct(self, part: int) -> None:
        """Correct the virtual time by the part of a rise that belongs to a charge's error."""
        if part > 0:
            part = max(min(part, self.highest - self.virtual), 0)
        self.virtual += part
        self.catch_up()

    def _least(self) -> HeapEntry:
        heap = self.heap
        while (entry := heap[0]) is not entry[2].entry:
            heapq.heappop(heap)
        return entry

    def _push(self, entry: HeapEntry) -> None:
        heapq.heappush(self.heap, entry)
        # Stale entries never outnumber the valid ones for long; the sweep costs O(1) each.
        if len(self.heap) > 2 * self.active + 16:
            self.heap = [e for e in self.heap if e is e[2].entry]
            heapq.heapify(self.heap)


class QueueJob(AbstractFlow):
    """A flow of units.

    Attributes:
        waiting: Units not dispatched yet, oldest first.
        overtaken: How often others went before the oldest one because it did not fit.
        held_since_us: The time since which nothing may go before the oldest one, or None if
            something still may.
        running: Threads of capacity held by units that have not ended.
        starts_sum: The sum of the start times of those threads, in microseconds.
        ended: How many units have ended. Estimates are made of this and ended_us.
        ended_us: The sum of the lengths of those units.

    """

    __slots__ = (
        "ended",
        "ended_us",
        "held_since_us",
        "overtaken",
        "running",
        "starts_sum",
        "waiting",
    )

    def __init__(self, name: str, parent: FlowGroup, weight_milli: int, rank: int) -> None:
        super().__init__(name, parent, weight_milli, rank)
        self.waiting: deque[DispatchUnit] = deque()
        self.overtaken = 0
        self.held_since_us: int | None = None
        self.running = 0
        self.starts_sum = 0
        self.ended = 0
        self.ended_us = 0

    def queued(self) -> int:
        """Return how many units wait."""
        return len(self.waiting)

    def holds(self) -> int:
        """Return how many threads of capacity its units hold."""
        return self.running

    def service(self, now_us: int) -> int:
        """Return the thread-microseconds executed, running units included (Q4)."""
        return self.executed + self.running * now_us - self.starts_sum

    def path(self) -> Iterator["Flow"]:
        """Yield the job and the groups above it, without the top of the tree."""
        flow: Flow = self
        while flow.parent is not None:
            yield flow
            flow = flow.parent

    def estimate_us(self, guess_us: int) -> int:
        """Return the mean length of the units that have ended, or the guess before any has."""
        return self.ended_us // self.ended if self.ended else guess_us


Flow = FlowGroup | QueueJob
"""Either kind of flow; ``isinstance(flow, FlowGroup)`` tells them apart."""
