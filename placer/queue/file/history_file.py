"""The file of ``kind: QueueHistory``: how long the threads of each job took."""

from dataclasses import dataclass
from pathlib import Path

from placer.queue.advice import MAJORITY_PERMILLE, TARGET_US, Advice, advise
from placer.queue.file.amounts import parse_duration_us, parse_permille
from placer.queue.file.fields import Fields
from placer.queue.file.flows import read_name
from placer.queue.file.header import open_document

KIND = "QueueHistory"

_KNOWN = ("target", "majority", "jobs")
_JOB = ("name", "durations", "splittable")
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class JobHistory:
    """The lengths of the threads of one run of a job."""

    name: str
    lengths_us: tuple[int, ...]
    splittable: bool


@dataclass(frozen=True, slots=True)
class History:
    """What is known of jobs, and what is wanted of their threads."""

    title: str
    jobs: tuple[JobHistory, ...]
    target_us: int
    majority_permille: int

    def advice(self) -> tuple[Advice, ...]:
        """Return the advice for each job."""
        return tuple(
            advise(
                job.name,
                job.lengths_us,
                splittable=job.splittable,
                target_us=self.target_us,
                majority_permille=self.majority_permille,
            )
            for job in self.jobs
        )


def read_history(path: Path) -> History:
    """Return the history of a file.

    Raises:
        InputError: Something is wrong; one message, for the first fault.

    """
    document, title = open_document(path, KIND, _KNOWN)
    names: dict[str, Fields] = {}
    jobs = [_job(fields, names) for fields in document.mappings("jobs", _JOB)]
    if not jobs and document.is_empty("jobs"):
        document.fault("jobs", "names no job; add one")
    history = History(
        title=title,
        jobs=tuple(jobs),
        target_us=document.duration_us("target", TARGET_US, least=1),
        majority_permille=document.parsed("majority", MAJORITY_PERMILLE, parse_permille),
    )
    document.place.faults.raise_first()
    return history


def _job(fields: Fields, names: dict[str, Fields]) -> JobHistory:
    name = read_name(fields, names)
    names[name] = fields
    lengths_us = tuple(fields.scalars("durations", parse_duration_us))
    if fields.is_empty("durations"):
        fields.fault("durations", "names no duration; list how long each thread took")
    return JobHistory(name, lengths_us, fields.parsed("splittable", True, _truth))


def _truth(text: str) -> bool:
    if text not in _WORDS:
        raise ValueError("expected true or false")
    return _WORDS[text]
