"""Workers files, read with errors that name file, line and field."""

from dataclasses import dataclass
from pathlib import Path

from placer.slots.amount_text import FIELDS, format_hundred_millionths
from placer.slots.resources import ZERO, add_slot_amounts, slot_amount_shortages
from placer.slots.workers.default_slots import worker_spec
from placer.slots.workers.model import (
    DataflowWorkers,
    NewWorkerSpec,
    RequestedWorker,
    Worker,
    WorkerReserve,
)
from placer.slots.workers.place import NamedWorkers
from placer.slots.workers.schema import (
    NewWorkerSpecPart,
    RegisteredWorkerPart,
    WorkerPart,
    WorkersFile,
    WorkerTotalResourcesPart,
)
from placer_models.files.faults import DocumentLocation
from placer_models.files.validate import read_only_document


def read_workers(path: Path) -> NamedWorkers:
    """Return the workers of a file; ``-`` is standard input.

    Raises:
        InputError: Something is wrong; one message, for the first fault.

    """
    part, place = read_only_document(path, WorkersFile)
    pool = _Builder(place).pool(part)
    place.faults.raise_first()
    return pool


@dataclass(frozen=True, slots=True)
class _Builder:
    """Makes words of parts; what they contradict becomes a fault."""

    place: DocumentLocation

    def pool(self, part: WorkersFile) -> NamedWorkers:
        spec = self._spec(part.worker, part.worker.resources, self.place.at("worker"))
        self.place.faults.raise_first()  # The others are read with it.
        self._check_names(part)
        pool = NamedWorkers(
            DataflowWorkers(
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
            part.limits.max_cpu,
            part.limits.max_memory,
        )
        self._check_limits(pool)
        return pool

    def _check_names(self, part: WorkersFile) -> None:
        first: dict[str, DocumentLocation] = {}
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

    def _registered(
        self, part: RegisteredWorkerPart, new: NewWorkerSpecPart, place: DocumentLocation
    ) -> Worker:
        its = self._worker(part, new, place)
        used = part.used.amounts()
        for name, has, wants in slot_amount_shortages(its.total, used):
            say = str if name.endswith("_bytes") else format_hundred_millionths
            place.at("used").fault(
                f"slots use {say(wants)} {FIELDS.get(name, name)} of worker '{part.name}', "
                f"which has {say(has)}; lower it, or raise resources"
            )
            return Worker(its.total, its.total, its.default_slot)
        return Worker(
            its.total, add_slot_amounts(its.total, used, -1), its.default_slot, part.blocked
        )

    def _pending(
        self, part: WorkerPart, new: NewWorkerSpecPart, place: DocumentLocation
    ) -> RequestedWorker:
        its = self._worker(part, new, place)
        return RequestedWorker(its.total, its.default_slot)

    def _worker(
        self, part: WorkerPart, new: NewWorkerSpecPart, place: DocumentLocation
    ) -> NewWorkerSpec:
        """Return what a worker is: what it does not say is as in a new one."""
        sized = new if part.slots is None and part.slot_fraction is None else part
        return self._spec(sized, part.resources or new.resources, place)

    def _spec(
        self,
        sized: NewWorkerSpecPart | WorkerPart,
        total: WorkerTotalResourcesPart,
        place: DocumentLocation,
    ) -> NewWorkerSpec:
        has = total.amounts()
        if has == ZERO:
            place.at("resources").fault("a worker of nothing holds no slot; raise an amount")
        fraction = sized.slot_fraction
        size = place.at("slotFraction" if sized.slots is None and fraction is not None else "slots")
        try:
            spec = worker_spec(has, slots=sized.slots, fraction=fraction)
        except ValueError as error:
            size.fault(str(error))
            return NewWorkerSpec(has, has)
        if has != ZERO and spec.default_slot == ZERO:
            size.fault("nothing is left for one slot; make slots fewer and larger")
        return spec

    def _reserve(self, part: WorkersFile, spec: NewWorkerSpec) -> WorkerReserve:
        place = self.place.at("reserve")
        its = part.reserve
        if its.redundant_workers < 0:
            place.at("redundantWorkers").fault(f"got {its.redundant_workers}; expected 0 or more")
        for field, least, each in (
            ("minCpu", its.min_cpu, spec.total.cpu_e8),
            ("minMemory", its.min_memory, spec.total.total_memory_bytes),
        ):
            if least and not each:
                place.at(field).fault("a new worker has none of it; raise worker.resources")
        return WorkerReserve(max(its.redundant_workers, 0), its.min_cpu, its.min_memory)

    def _check_limits(self, pool: NamedWorkers) -> None:
        reserve = pool.workers.reserve
        for field, most, least in (
            ("Cpu", pool.max_cpu_e8, reserve.min_cpu_e8),
            ("Memory", pool.max_memory_bytes, reserve.min_memory_bytes),
        ):
            if most is not None and most < least:
                self.place.at("limits", f"max{field}").fault(
                    f"is less than reserve.min{field}; raise it, or lower the other"
                )
