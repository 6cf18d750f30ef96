"""Reads a job graph's file, and compiles it with errors that name file, line and field."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from placer.slots.amounts import parse_e8, parse_fraction
from placer.slots.check import faults
from placer.slots.compiled import CompiledJob
from placer.slots.compiler import compile_job
from placer.slots.documents import only_document
from placer.slots.errors import Fault, JobGraphError
from placer.slots.graph import (
    Edge,
    JobGraph,
    Network,
    Operator,
    Share,
    SharingGroup,
    UseCase,
)
from placer.slots.resources import UNKNOWN, Amounts, extended
from placer.slots.schema import (
    KIND,
    GroupPart,
    JobGraphFile,
    ManagedPart,
    OperatorPart,
    ResourcesPart,
    SharePart,
)
from placer_models.files.faults import Place
from placer_models.files.validate import read_as
from placer_models.quantity import parse_bytes

Number = TypeVar("Number", int, Decimal)

# The operators of a job have few different needs: each text is read once.
_parse_bytes = lru_cache(parse_bytes)
_parse_e8 = lru_cache(parse_e8)


def compile_file(path: Path) -> CompiledJob:
    """Return the job graph of a file, compiled; ``-`` is standard input.

    Raises:
        InputError: Something is wrong; one message, for the first fault.

    """
    job, place = _read(path)
    try:
        return compile_job(job)
    except JobGraphError as error:
        _add(place, error.fault)
        place.faults.raise_first()
        raise


def read_job_graph(path: Path) -> JobGraph:
    """Return the job graph of a file; ``-`` is standard input.

    Raises:
        InputError: Something is wrong; one message, for the first fault.

    """
    return _read(path)[0]


def _read(path: Path) -> tuple[JobGraph, Place]:
    place = only_document(path, KIND)
    job = _Builder().job(read_as(JobGraphFile, place), place)
    place.faults.raise_first()
    for fault in faults(job):
        _add(place, fault)
    place.faults.raise_first()
    return job, place


def _add(place: Place, fault: Fault) -> None:
    place.at(*fault.path).fault(fault.message, name=fault.name, known=fault.known)


@dataclass(frozen=True, slots=True)
class _Builder:
    """Makes words of parts; amounts that cannot be read become faults, and nothing."""

    def job(self, part: JobGraphFile, place: Place) -> JobGraph:
        operators = tuple(
            self._operator(operator, place.at("operators", i))
            for i, operator in enumerate(part.operators)
        )
        groups = tuple(
            self._group(group, place.at("slotSharingGroups", i))
            for i, group in enumerate(part.slot_sharing_groups)
        )
        weights = part.consumer_weights
        return JobGraph(
            operators,
            tuple(Edge(e.from_, e.to, e.partition, e.exchange) for e in part.edges),
            part.metadata.name,
            part.semantics,
            part.mode,
            part.all_sources_in_same_region,
            part.default_exchange,
            groups,
            Network(
                self._bytes(part.network.buffer_size, place, "network", "bufferSize"),
                part.network.buffers_per_channel,
                part.network.floating_buffers,
            ),
            (
                (UseCase.OPERATOR, weights.operator),
                (UseCase.STATE_BACKEND, weights.state_backend),
                (UseCase.PYTHON, weights.python),
            ),
            part.state_backend_managed,
        )

    def _operator(self, part: OperatorPart, place: Place) -> Operator:
        return Operator(
            part.name,
            part.parallelism,
            part.group,
            part.chaining,
            UNKNOWN if part.resources is None else self._resources(part.resources, place),
            self._share(part.managed.on_heap, place, "onHeap"),
            self._share(part.managed.off_heap, place, "offHeap"),
            part.managed.operator,
            _slot_use_cases(part.managed),
            part.colocation,
        )

    def _group(self, part: str | GroupPart, place: Place) -> SharingGroup:
        if isinstance(part, str):
            return SharingGroup(part)
        if part.resources is None:
            return SharingGroup(part.name)
        return SharingGroup(part.name, self._resources(part.resources, place))

    def _resources(self, part: ResourcesPart, place: Place) -> Amounts:
        more = {
            name: self._e8(amount, place, "resources", "extended", name)
            for name, amount in (part.extended or {}).items()
        }
        return Amounts(
            self._e8(part.cpu, place, "resources", "cpu"),
            self._bytes(part.heap, place, "resources", "heap"),
            self._bytes(part.off_heap, place, "resources", "offHeap"),
            self._bytes(part.managed_on_heap, place, "resources", "managedOnHeap"),
            self._bytes(part.managed_off_heap, place, "resources", "managedOffHeap"),
            extended_e8=extended(more),
        )

    def _share(self, part: int | SharePart, place: Place, kind: str) -> Share:
        if isinstance(part, int):
            return Share(part)
        if part.fraction is None:
            return Share(part.weight)
        path = ("managed", kind, "fraction")
        return Share(
            part.weight, self._amount(parse_fraction, part.fraction, place, path, Decimal(0))
        )

    def _bytes(self, text: str, place: Place, *path: str) -> int:
        return self._amount(_parse_bytes, text, place, path, 0)

    def _e8(self, text: str, place: Place, *path: str) -> int:
        return self._amount(_parse_e8, text, place, path, 0)

    def _amount(
        self,
        parse: Callable[[str], Number],
        text: str,
        place: Place,
        path: tuple[str, ...],
        fallback: Number,
    ) -> Number:
        try:
            return parse(text)
        except ValueError as error:
            place.at(*path).fault(str(error))
            return fallback


def _slot_use_cases(part: ManagedPart) -> frozenset[UseCase]:
    uses = ((UseCase.STATE_BACKEND, part.state_backend), (UseCase.PYTHON, part.python))
    return frozenset(use_case for use_case, used in uses if used)
