"""Reads a file of workers, with errors that name file, line and field."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from placer.slots.amounts import FIELDS, format_e8, parse_e8, parse_fraction
from placer.slots.documents import only_document
from placer.slots.resources import ZERO, Amounts, add, extended, short
from placer.slots.workers.default_slots import worker_spec
from placer.slots.workers.place import Pool
from placer.slots.workers.schema import (
    KIND,
    RegisteredPart,
    SpecPart,
    TotalPart,
    UsedPart,
    WorkerPart,
    WorkersFile,
)
from placer.slots.workers.words import PendingWorker, Reserve, Worker, Workers, WorkerSpec
from placer_models.files.faults import Place
from placer_models.files.validate import read_as
from placer_models.quantity import parse_bytes

Number = TypeVar("Number", int, Decimal)


def read_workers(path: Path) -> Pool:
    """Return the workers of a file; ``-`` is standard input.

    Raises:
        InputError: Something is wrong; one message, for the first fault.

    """
    place = only_document(path, KIND)
    pool = _Builder(place).pool(read_as(WorkersFile, place))
    place.faults.raise_first()
    return pool


@dataclass(frozen=True, slots=True)
class _Builder:
    """Makes words of parts; what cannot be read becomes a fault, and nothing."""

    place: Place

    def pool(self, part: WorkersFile) -> Pool:
        spec = self._spec(part.worker, part.worker.resources, self.place.at("worker"))
        self.place.faults.raise_first()  # The others are read with it.
        self._check_names(part)
        pool = Pool(
            Workers(
                spec,
                tuple(
                    self._registered(worker, part.worker, self.place.at("registered", i))
                    for i, worker in enumerate(part.registered)
                ),
                tuple(
                    self._pending(worker, part.worker, self.place.at("pending", i))
                    for i, worker in enumerate(part.pending)
                ),
                self._reserve(part, spec),
            ),
            tuple(worker.name for worker in part.registered),
            tuple(worker.name for worker in part.pending),
            self._limit(parse_e8, part.limits.max_cpu, "maxCpu"),
            self._limit(parse_bytes, part.limits.max_memory, "maxMemory"),
        )
        self._check_limits(pool)
        return pool

    def _check_names(self, part: WorkersFile) -> None:
        first: dict[str, Place] = {}
        lists = (("registered", part.registered), ("pending", part.pending))
        for field, workers in lists:
            for i, worker in enumerate(workers):
                here = self.place.at(field, i, "name")
                before = first.setdefault(worker.name, here)
                if before is not here:
                    here.fault(
                        f"two workers are called '{worker.name}', the other in line "
                        f"{before.line}; rename one"
                    )

    def _registered(self, part: RegisteredPart, new: SpecPart, place: Place) -> Worker:
        its = self._worker(part, new, place)
        used = self._amounts(part.used, place.at("used"))
        for name, has, wants in short(its.total, used):
            say = str if name.endswith("_bytes") else format_e8
            place.at("used").fault(
                f"slots use {say(wants)} {FIELDS.get(name, name)} of worker '{part.name}', "
                f"which has {say(has)}; lower it, or raise resources"
            )
            return Worker(its.total, its.total, its.default_slot)
        return Worker(its.total, add(its.total, used, -1), its.default_slot, part.blocked)

    def _pending(self, part: WorkerPart, new: SpecPart, place: Place) -> PendingWorker:
        its = self._worker(part, new, place)
        return PendingWorker(its.total, its.default_slot)

    def _worker(self, part: WorkerPart, new: SpecPart, place: Place) -> WorkerSpec:
        """Return what a worker is: what it does not say is as in a new one."""
        sized = new if part.slots is None and part.slot_fraction is None else part
        return self._spec(sized, part.resources or new.resources, place)

    def _spec(self, sized: SpecPart | WorkerPart, total: TotalPart, place: Place) -> WorkerSpec:
        has = self._amounts(total, place.at("resources"))
        if has == ZERO:
            place.at("resources").fault("a worker of nothing holds no slot; raise an amount")
        text, fraction = sized.slot_fraction, None
        if text is not None:
            fraction = self._read(parse_fraction, text, place.at("slotFraction"), Decimal(1))
        size = place.at("slotFraction" if sized.slots is None and text is not None else "slots")
        try:
            spec = worker_spec(has, slots=sized.slots, fraction=fraction)
        except ValueError as error:
            size.fault(str(error))
            return WorkerSpec(has, has)
        if has != ZERO and spec.default_slot == ZERO:
            size.fault("nothing is left for one slot; make slots fewer and larger")
        return spec

    def _reserve(self, part: WorkersFile, spec: WorkerSpec) -> Reserve:
        place = self.place.at("reserve")
        its = part.reserve
        if its.redundant_workers < 0:
            place.at("redundantWorkers").fault(f"got {its.redundant_workers}; expected 0 or more")
        cpu_e8 = self._read(parse_e8, its.min_cpu, place.at("minCpu"), 0)
        memory_bytes = self._read(parse_bytes, its.min_memory, place.at("minMemory"), 0)
        for field, least, each in (
            ("minCpu", cpu_e8, spec.total.cpu_e8),
            ("minMemory", memory_bytes, spec.total.total_memory_bytes),
        ):
            if least and not each:
                place.at(field).fault("a new worker has none of it; raise worker.resources")
        return Reserve(max(its.redundant_workers, 0), cpu_e8, memory_bytes)

    def _limit(self, parse: Callable[[str], int], text: str | None, field: str) -> int | None:
        return None if text is None else self._read(parse, text, self.place.at("limits", field), 0)

    def _check_limits(self, pool: Pool) -> None:
        reserve = pool.workers.reserve
        for field, most, least in (
            ("Cpu", pool.max_cpu_e8, reserve.min_cpu_e8),
            ("Memory", pool.max_memory_bytes, reserve.min_memory_bytes),
        ):
            if most is not None and most < least:
                self.place.at("limits", f"max{field}").fault(
                    f"is less than reserve.min{field}; raise it, or lower the other"
                )

    def _amounts(self, part: UsedPart, place: Place) -> Amounts:
        more = {
            name: self._read(parse_e8, amount, place.at("extended", name), 0)
            for name, amount in (part.extended or {}).items()
        }
        return Amounts(
            self._read(parse_e8, part.cpu, place.at("cpu"), 0),
            self._read(parse_bytes, part.heap, place.at("heap"), 0),
            self._read(parse_bytes, part.off_heap, place.at("offHeap"), 0),
            self._read(parse_bytes, part.managed_on_heap, place.at("managedOnHeap"), 0),
            self._read(parse_bytes, part.managed_off_heap, place.at("managedOffHeap"), 0),
            self._read(parse_bytes, part.network, place.at("network"), 0),
            extended(more),
        )

    def _read(
        self, parse: Callable[[str], Number], text: str, place: Place, fallback: Number
    ) -> Number:
        try:
            return parse(text)
        except ValueError as error:
            place.fault(str(error))
            return fallback
