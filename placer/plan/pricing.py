"""The pricing problem of a kind of bin: what can be in one bin that is worth most.

Its answer is an upper bound in whole numbers, which proofs rest on, and a filling if one was
found. A search that stops early gives its bound all the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from placer.linear import LinearProgram
from placer.packing.bins import Counts
from placer.plan.aggregate import FUNCTIONS, scaled_dual_feasible_function
from placer.plan.device_fillings import ways_to_fill_devices_with_shares
from placer.plan.market import BinDevicesOfOneType, BinKind

_Row = tuple[tuple[int, ...], int]
"""What items take of something, and how much of it there is."""

_SCALE = 10**6
"""Multipliers of the linear relaxation are turned into whole numbers by this."""

_NEARLY = 1e-6
_GAP = 5e-4
"""A search ends when its filling is this close to its bound."""


@dataclass(frozen=True, slots=True)
class DearestFillingsResult:
    """What a bin can be filled with at most.

    Attributes:
        bound: No filling is worth more.
        fillings: Fillings that were found on the way, the best one first.
        work: The deterministic work that it took.

    """

    bound: int
    fillings: tuple[Counts, ...] = ()
    work: float = 0.0


class PricingProblem:
    """Asks again and again for the fullest bin of one kind; keeps its models.

    Attributes:
        by_sums: Whether some devices are counted by their sums, because there are too many ways
            to fill them one by one.

    """

    def __init__(self, kind: BinKind, most: Sequence[int]) -> None:
        """Write the models.

        Args:
            kind: The kind of bin.
            most: How many items of each kind a bin may hold.

        """
        self._items = [item for item, count in enumerate(most) if count]
        self._most = [most[item] for item in self._items]
        self._width = len(most)
        self.by_sums = False
        sums = [row for row in self._sums(kind) if any(row[0])]
        self._rows = list(dict.fromkeys((*sums, *self._rounded(kind, sums))))
        self._model = cp_model.CpModel()
        self._counts = [self._model.new_int_var(0, count, "") for count in self._most]
        for sizes, room in self._rows:
            self._model.add(cp_model.LinearExpr.weighted_sum(self._counts, sizes) <= room)
        for devices in kind.devices:
            self._one_by_one(devices)
        self._linear = self._relaxation()

    def _sums(self, kind: BinKind) -> Iterator[_Row]:
        """Yield what items take of each sum, and how much of it there is."""
        sizes = [kind.sizes[item] or kind.room for item in self._items]
        for number, room in enumerate(kind.room):
            yield tuple(size[number] for size in sizes), room
        for devices in kind.devices:
            asks = [devices.asks[item] for item in self._items]
            yield tuple(ask.whole for ask in asks), sum(devices.free)
            for quantity, most in enumerate(map(max, zip(*devices.rooms, strict=True))):
                # A whole device is free, and takes all that the smallest free one has.
                least = min(
                    (r[quantity] for r, f in zip(devices.rooms, devices.free, strict=True) if f),
                    default=most,
                )
                taken = [
                    ask.whole * least + sum(n * devices.sizes[s][quantity] for s, n in ask.shares)
                    for ask in asks
                ]
                yield tuple(taken), sum(room[quantity] for room in devices.rooms)

    def _rounded(self, kind: BinKind, sums: Sequence[_Row]) -> Iterator[_Row]:
        """Yield rows by dual feasible functions, of sums and of the inside of devices."""
        for k in range(1, FUNCTIONS + 1):
            for sizes, room in sums:
                if room:
                    yield (
                        tuple(scaled_dual_feasible_function(size, room, k) for size in sizes),
                        k * room,
                    )
            for devices in kind.devices:
                asks = [devices.asks[item] for item in self._items]
                # By the largest device: a part of it is at least as large a part of any other.
                for quantity, room in enumerate(map(max, zip(*devices.rooms, strict=True))):
                    if room and devices.sizes:
                        parts = [
                            scaled_dual_feasible_function(size[quantity], room, k)
                            for size in devices.sizes
                        ]
                        taken = [
                            ask.whole * k * room + sum(n * parts[s] for s, n in ask.shares)
                            for ask in asks
                        ]
                        yield tuple(taken), k * room * len(devices.rooms)

    def _one_by_one(self, devices: BinDevicesOfOneType) -> None:
        """Let each device be filled in one of the ways in which shares fill it, or be whole."""
        found = ways_to_fill_devices_with_shares(devices)
        if found is None:
            self.by_sums = True
            return
        asks = [devices.asks[item] for item in self._items]
        ways = []
        filled: list[list[tuple[cp_model.IntVar, int]]] = [[] for _ in devices.sizes]
        for count, fillings in found:
            used = [self._model.new_int_var(0, count, "") for _ in fillings]
            self._model.add(sum(used) <= count)
            ways += used
            for way, filling in zip(used, fillings, strict=True):
                for share, times in enumerate(filling):
                    if times:
                        filled[share].append((way, times))
        for share, terms in enumerate(filled):
            taken = [sum(n for s, n in ask.shares if s == share) for ask in asks]
            self._model.add(
                cp_model.LinearExpr.weighted_sum(self._counts, taken)
                <= cp_model.LinearExpr.weighted_sum([w for w, _ in terms], [n for _, n in terms])
            )
        whole = cp_model.LinearExpr.weighted_sum(self._counts, [ask.whole for ask in asks])
        self._model.add(whole + sum(ways) <= len(devices.rooms))

    def _relaxation(self) -> LinearProgram:
        """Return the program of sums, each row in parts of its room."""
        program = LinearProgram(maximise=True)
        for count in self._most:
            program.variable(most=float(count))
        for number, (sizes, room) in enumerate(self._rows):
            program.row(most=1.0)
            for item, size in enumerate(sizes):
                if size:
                    program.put(number, item, size / max(1, room))
        return program

    def quick_bound(self, values: Sequence[int]) -> int:
        """Return an upper bound by the sums of the bin alone, in a millisecond.

        The multipliers come from a linear program in floating point; whatever they are, the
        bound that is made of them holds.
        """
        mine = [values[item] for item in self._items]
        if not any(mine):
            return 0
        for item, value in enumerate(mine):
            self._linear.set_cost(item, float(value))
        self._linear.solve()
        duals = map(self._linear.dual, range(len(self._rows)))
        prices = [int(max(0.0, dual) * _SCALE) for dual in duals]
        # In the linear program a row is in parts of its room; here its room is the denominator.
        total = sum(prices)
        priced = [(p, *row) for p, row in zip(prices, self._rows, strict=True) if p]
        for item, (value, most) in enumerate(zip(mine, self._most, strict=True)):
            if value:
                # Rounded down, so that what is left of the value is never too little.
                covered = sum(price * size[item] // max(1, room) for price, size, room in priced)
                total += most * max(0, value * _SCALE - covered)
        return total // _SCALE

    def fullest(
        self, values: Sequence[int], work: float, wall_s: float | None = None
    ) -> DearestFillingsResult:
        """Return the fullest bin that so much deterministic work finds, and a bound.

        Args:
            values: What an item of each kind is worth.
            work: In CP-SAT's deterministic seconds.
            wall_s: The most seconds that it may take.

        """
        mine = [values[item] for item in self._items]
        if not any(mine):
            return DearestFillingsResult(0, ((0,) * self._width,))
        self._model.clear_objective()
        self._model.maximize(cp_model.LinearExpr.weighted_sum(self._counts, mine))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = work
        if wall_s is not None:
            solver.parameters.max_time_in_seconds = wall_s
        solver.parameters.relative_gap_limit = _GAP
        found = _Fillings(self._counts)
        status = solver.solve(self._model, found)
        work = solver.response_proto.deterministic_time
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            most = sum(v * m for v, m in zip(mine, self._most, strict=True))
            return DearestFillingsResult(most, work=work)
        fillings = [[0] * self._width for _ in found.counts]
        for filling, counts in zip(fillings, reversed(found.counts), strict=True):
            for item, count in zip(self._items, counts, strict=True):
                filling[item] = count
        bound = int(solver.best_objective_bound + _NEARLY)
        return DearestFillingsResult(bound, tuple(map(tuple, fillings)), work)


class _Fillings(cp_model.CpSolverSolutionCallback):
    """Keeps all fillings that a search finds on the way; each is worth more than the last."""

    def __init__(self, variables: Sequence[cp_model.IntVar]) -> None:
        super().__init__()
        self._variables = variables
        self.counts: list[list[int]] = []

    def on_solution_callback(self) -> None:
        """Note a filling."""
        self.counts.append([self.value(variable) for variable in self._variables])
