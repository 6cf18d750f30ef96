"""The file of ``kind: QueueHistory``: how long the threads of each job took."""

from dataclasses import dataclass
from pathlib import Path

from placer.queue.advice import JobThreadCountAdvice, advise_job_thread_count
from placer.queue.file.flows import note_unique_flow_name
from placer.queue.file.schema import QueueHistoryFile
from placer_models.files.faults import DocumentLocation
from placer_models.files.validate import read_only_document


@dataclass(frozen=True, slots=True)
class JobRunThreadLengths:
    """The lengths of the threads of one run of a job."""

    name: str
    lengths_us: tuple[int, ...]
    splittable: bool


@dataclass(frozen=True, slots=True)
class ThreadLengthHistory:
    """The lengths of the threads of jobs, and the target that they should meet."""

    title: str
    jobs: tuple[JobRunThreadLengths, ...]
    target_us: int
    majority_permille: int

    def advice(self) -> tuple[JobThreadCountAdvice, ...]:
        """Return the advice for each job."""
        return tuple(
            advise_job_thread_count(
                job.name,
                job.lengths_us,
                splittable=job.splittable,
                target_us=self.target_us,
                majority_permille=self.majority_permille,
            )
            for job in self.jobs
        )


def read_thread_length_history(path: Path) -> ThreadLengthHistory:
    """Return the history of a file.

    Raises:
        InputError: Something is wrong; one message, for the first fault.

    """
    file, place = read_only_document(path, QueueHistoryFile)
    names: dict[str, DocumentLocation] = {}
    for i, job in enumerate(file.jobs):
        at = place.at("jobs", i)
        note_unique_flow_name(job.name, at, names)
        if not job.durations:
            at.at("durations").fault("names no duration; list how long each thread took")
    if not file.jobs:
        place.at("jobs").fault("names no job; add one")
    place.faults.raise_first()
    return ThreadLengthHistory(
        title=file.metadata.name or path.stem,
        jobs=tuple(
            JobRunThreadLengths(job.name, job.durations, job.splittable) for job in file.jobs
        ),
        target_us=file.target,
        majority_permille=file.majority,
    )
