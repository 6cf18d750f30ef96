"""Job graph files, read and compiled with errors that name file, line and field."""

from pathlib import Path

from placer.slots.check import job_graph_faults
from placer.slots.compiled import CompiledDataflowJob
from placer.slots.compiler import compile_job
from placer.slots.errors import JobGraphError, JobGraphFault
from placer.slots.graph import (
    JobGraph,
    ManagedMemoryShare,
    ManagedMemoryUseCase,
    NetworkBufferSettings,
    Operator,
    OperatorEdge,
    SlotSharingGroup,
)
from placer.slots.resources import UNKNOWN
from placer.slots.schema import (
    JobGraphFile,
    ManagedMemorySharePart,
    OperatorPart,
    SlotSharingGroupPart,
)
from placer_models.files.faults import DocumentLocation
from placer_models.files.validate import read_only_document


def compile_job_file(path: Path) -> CompiledDataflowJob:
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


def _read(path: Path) -> tuple[JobGraph, DocumentLocation]:
    part, place = read_only_document(path, JobGraphFile)
    job = _job(part)
    for fault in job_graph_faults(job):
        _add(place, fault)
    place.faults.raise_first()
    return job, place


def _add(place: DocumentLocation, fault: JobGraphFault) -> None:
    place.at(*fault.path).fault(fault.message, name=fault.name, known=fault.known)


def _job(part: JobGraphFile) -> JobGraph:
    weights, network = part.consumer_weights, part.network
    return JobGraph(
        tuple(_operator(operator) for operator in part.operators),
        tuple(OperatorEdge(e.from_, e.to, e.partition, e.exchange) for e in part.edges),
        part.metadata.name,
        part.semantics,
        part.mode,
        part.all_sources_in_same_region,
        part.default_exchange,
        tuple(_group(group) for group in part.slot_sharing_groups),
        NetworkBufferSettings(
            network.buffer_size, network.buffers_per_channel, network.floating_buffers
        ),
        (
            (ManagedMemoryUseCase.OPERATOR, weights.operator),
            (ManagedMemoryUseCase.STATE_BACKEND, weights.state_backend),
            (ManagedMemoryUseCase.PYTHON, weights.python),
        ),
        part.state_backend_managed,
    )


def _operator(part: OperatorPart) -> Operator:
    managed = part.managed
    uses = (
        (ManagedMemoryUseCase.STATE_BACKEND, managed.state_backend),
        (ManagedMemoryUseCase.PYTHON, managed.python),
    )
    return Operator(
        part.name,
        part.parallelism,
        part.group,
        part.chaining,
        UNKNOWN if part.resources is None else part.resources.amounts(),
        _share(managed.on_heap),
        _share(managed.off_heap),
        managed.operator,
        frozenset(use_case for use_case, used in uses if used),
        part.colocation,
    )


def _group(part: str | SlotSharingGroupPart) -> SlotSharingGroup:
    if isinstance(part, str):
        return SlotSharingGroup(part)
    return SlotSharingGroup(part.name, None if part.resources is None else part.resources.amounts())


def _share(part: int | ManagedMemorySharePart) -> ManagedMemoryShare:
    return (
        ManagedMemoryShare(part)
        if isinstance(part, int)
        else ManagedMemoryShare(part.weight, part.fraction)
    )
