"""The file of ``kind: QueueSimulation``."""

from pathlib import Path

from placer.queue.file.amounts import parse_factor_milli, parse_weight_milli
from placer.queue.file.fields import Fields
from placer.queue.file.flows import read_group_of, read_groups, read_name
from placer.queue.file.header import open_document
from placer.queue.file.lengths import MAX_THREADS, read_lengths
from placer.queue.simulation.scenario import Capacity, GroupSpec, JobSpec, Scenario
from placer.queue.words import ONE_MILLI, US_PER_S, Charge
from placer_models.files.tree import Scalar

KIND = "QueueSimulation"

MAX_CAPACITY = 10_000
"""Most threads of capacity."""

_KNOWN = ("seed", "charge", "guess", "bypassLimit", "hold", "capacity", "groups", "jobs")
_CAPACITY = ("threads", "changes", "slow")
_JOB = (
    "name",
    "group",
    "weight",
    "arrives",
    "length",
    "lengths",
    "work",
    "units",
    "slow",
    "threads",
    "width",
    "estimate",
    "served",
    "runningOn",
)
_LEARNED = "learned"


def read_simulation(path: Path, *, seed: int | None = None) -> Scenario:
    """Return the simulation of a file; ``seed`` replaces the file's own.

    Raises:
        InputError: Something is wrong; one message, for the first fault.

    """
    document, title = open_document(path, KIND, _KNOWN)
    own_seed = document.integer("seed", 0, least=0, most=2**63 - 1)
    capacity = _capacity(document)
    groups = read_groups(document)
    jobs = _jobs(document, groups, capacity, own_seed if seed is None else seed)
    scenario = Scenario(
        title=title,
        capacity=capacity,
        jobs=tuple(jobs),
        groups=tuple(groups.values()),
        charge=document.parsed("charge", Charge.DISPATCH, _charge),
        guess_us=document.duration_us("guess", 60 * US_PER_S, least=1),
        bypass_limit=document.integer("bypassLimit", 8, least=0, most=1_000_000),
        hold_us=document.duration_us("hold", 600 * US_PER_S),
    )
    document.place.faults.raise_first()
    return scenario


def _capacity(document: Fields) -> Capacity:
    if isinstance(document.node("capacity"), Scalar):
        return Capacity(document.integer("capacity", least=1, most=MAX_CAPACITY))
    fields = document.below("capacity", _CAPACITY)
    if fields is None:
        document.fault("capacity", "is missing; say how many threads of capacity there are")
        return Capacity(1)
    threads = fields.integer("threads", least=1, most=MAX_CAPACITY)
    changes: list[tuple[int, int]] = []
    for change in fields.mappings("changes", ("at", "threads")):
        at_us = change.duration_us("at", least=1)
        if changes and at_us <= changes[-1][0]:
            change.fault("at", "is not after the change before it; put changes in order")
        changes.append((at_us, change.integer("threads", least=0, most=MAX_CAPACITY)))
    capacity = Capacity(threads, tuple(changes))
    slow: list[tuple[int, int]] = []
    for key, milli, place in fields.pairs("slow", parse_factor_milli):
        number = _number(key, capacity.most)
        if number is None:
            message = f"got '{key}'; expected the number of a thread, 1 to {capacity.most}"
            place.fault(message)
        else:
            slow.append((number, milli))
    return Capacity(threads, tuple(changes), tuple(slow))


def _jobs(
    document: Fields, groups: dict[str, GroupSpec], capacity: Capacity, seed: int
) -> list[JobSpec]:
    jobs: list[JobSpec] = []
    names: dict[str, Fields] = {}
    busy: set[int] = set()
    threads = 0
    for fields in document.mappings("jobs", _JOB):
        name = read_name(fields, names)
        if name in groups:
            fields.fault("name", f"'{name}' is also a group; rename one")
        names[name] = fields
        job = _job(fields, name, groups, capacity, busy, seed)
        jobs.append(job)
        threads += len(job.lengths_us)
        if threads > MAX_THREADS:
            fields.fault("", f"brings the threads of work to {threads:,}; at most {MAX_THREADS:,}")
            break
    if not jobs and document.is_empty("jobs"):
        document.fault("jobs", "names no job; add one")
    return jobs


def _job(
    fields: Fields,
    name: str,
    groups: dict[str, GroupSpec],
    capacity: Capacity,
    busy: set[int],
    seed: int,
) -> JobSpec:
    lengths_us = read_lengths(fields, f"{seed}/{name}")
    arrives_us = fields.duration_us("arrives", 0)
    width = fields.integer("width", 1, least=1, most=capacity.most)
    learned = fields.text("estimate", "") == _LEARNED
    estimated = "estimate" in fields and not learned
    return JobSpec(
        name=name,
        lengths_us=lengths_us,
        group=read_group_of(fields, groups),
        weight_milli=fields.parsed("weight", ONE_MILLI, parse_weight_milli),
        arrives_us=arrives_us,
        width=width,
        known=not learned,
        estimate_us=fields.duration_us("estimate", least=1) if estimated else None,
        served=fields.duration_us("served") if "served" in fields else None,
        running_on=_running_on(fields, len(lengths_us) * width, arrives_us, capacity, busy),
    )


def _running_on(
    fields: Fields, needed: int, arrives_us: int, capacity: Capacity, busy: set[int]
) -> tuple[int, ...]:
    if "runningOn" not in fields:
        return ()
    numbers = tuple(fields.scalars("runningOn", lambda text: _thread(text, capacity, busy)))
    named = sum(1 for _ in fields.items("runningOn"))
    if named != needed:
        fields.fault(
            "runningOn", f"names {named} threads of capacity; its threads of work hold {needed}"
        )
    if arrives_us:
        fields.fault("arrives", "a job that runs already has arrived; leave it out")
    return numbers


def _thread(text: str, capacity: Capacity, busy: set[int]) -> int:
    number = _number(text, capacity.threads)
    if number is None:
        raise ValueError(f"expected the number of a thread of capacity, 1 to {capacity.threads}")
    if number in busy:
        raise ValueError("another thread of work runs there already")
    busy.add(number)
    return number


def _number(text: str, most: int) -> int | None:
    plain = text.isascii() and text.isdigit() and len(text) < 10
    return int(text) if plain and 1 <= int(text) <= most else None


def _charge(text: str) -> Charge:
    try:
        return Charge(text)
    except ValueError:
        raise ValueError(f"expected {' or '.join(Charge)}") from None
