"""The file of ``kind: QueueSimulation``."""

from pathlib import Path

from placer.queue.file.flows import flow_group_of_job, note_unique_flow_name, read_flow_groups
from placer.queue.file.lengths import read_job_thread_lengths
from placer.queue.file.schema import (
    MAX_THREADS,
    QueueJobPart,
    QueueSimulationFile,
    QueueThreadCapacityPart,
)
from placer.queue.model import DEFAULT_GROUP
from placer.queue.simulation.scenario import (
    FlowGroupSpec,
    QueueScenario,
    QueueThreadCountOverTime,
    SimulatedJob,
)
from placer_models.files.faults import DocumentLocation
from placer_models.files.validate import read_only_document
from placer_models.message_text import in_quotes


def read_queue_scenario(path: Path, *, seed: int | None = None) -> QueueScenario:
    """Return the simulation of a file; ``seed`` replaces the file's own.

    Raises:
        InputError: Something is wrong; one message, for the first fault.

    """
    file, place = read_only_document(path, QueueSimulationFile)
    capacity = _capacity(file.capacity, place.at("capacity"))
    groups = read_flow_groups(file.groups, place.at("groups"))
    scenario = QueueScenario(
        title=file.metadata.name or path.stem,
        capacity=capacity,
        jobs=_jobs(file, groups, capacity, place, file.seed if seed is None else seed),
        groups=tuple(groups.values()),
        charge=file.charge,
        guess_us=file.guess,
        bypass_limit=file.bypass_limit,
        hold_us=file.hold,
    )
    place.faults.raise_first()
    return scenario


def _capacity(
    part: int | QueueThreadCapacityPart | None, place: DocumentLocation
) -> QueueThreadCountOverTime:
    if part is None:
        place.fault("is missing; say how many threads of capacity there are")
        return QueueThreadCountOverTime(1)
    if isinstance(part, int):
        return QueueThreadCountOverTime(part)
    changes: list[tuple[int, int]] = []
    for i, change in enumerate(part.changes):
        if changes and change.at <= changes[-1][0]:
            message = "is not after the change before it; put changes in order"
            place.at("changes", i, "at").fault(message)
        changes.append((change.at, change.threads))
    most = QueueThreadCountOverTime(part.threads, tuple(changes)).most
    slow: list[tuple[int, int]] = []
    for key, milli in part.slow.items():
        if key.isascii() and key.isdigit() and len(key) < 10 and 1 <= int(key) <= most:
            slow.append((int(key), milli))
        else:
            message = f"got '{key}'; expected the number of a thread, 1 to {most}"
            place.at("slow", key).fault(message)
    return QueueThreadCountOverTime(part.threads, tuple(changes), tuple(slow))


def _jobs(
    file: QueueSimulationFile,
    groups: dict[str, FlowGroupSpec],
    capacity: QueueThreadCountOverTime,
    place: DocumentLocation,
    seed: int,
) -> tuple[SimulatedJob, ...]:
    jobs: list[SimulatedJob] = []
    names: dict[str, DocumentLocation] = {}
    busy: set[int] = set()
    threads = 0
    for i, part in enumerate(file.jobs):
        at = place.at("jobs", i)
        note_unique_flow_name(part.name, at, names)
        if part.name in groups or part.name == DEFAULT_GROUP:
            at.at("name").fault(f"'{part.name}' is also a group; rename one")
        job = _job(part, groups, capacity, at, f"{seed}/{part.name}")
        _check_running_on(job, capacity, busy, at)
        jobs.append(job)
        threads += len(job.lengths_us)
        if threads > MAX_THREADS:
            at.fault(f"brings the threads of work to {threads:,}; at most {MAX_THREADS:,}")
            break
    if not jobs:
        place.at("jobs").fault("names no job; add one")
    return tuple(jobs)


def _job(
    part: QueueJobPart,
    groups: dict[str, FlowGroupSpec],
    capacity: QueueThreadCountOverTime,
    place: DocumentLocation,
    seed: str,
) -> SimulatedJob:
    if part.width > capacity.most:
        place.at("width").fault(f"got '{part.width}'; expected {capacity.most} at most")
    return SimulatedJob(
        name=part.name,
        lengths_us=read_job_thread_lengths(part, place, seed),
        group=flow_group_of_job(part.group, groups, place.at("group")),
        weight_milli=part.weight,
        arrives_us=part.arrives,
        width=part.width,
        known=part.estimate != "learned",
        estimate_us=part.estimate if isinstance(part.estimate, int) else None,
        served=part.served,
        running_on=part.running_on or (),
    )


def _check_running_on(
    job: SimulatedJob, capacity: QueueThreadCountOverTime, busy: set[int], place: DocumentLocation
) -> None:
    at = place.at("runningOn")
    for i, number in enumerate(job.running_on):
        got = f"got {in_quotes(str(number))}"
        if not 1 <= number <= capacity.threads:
            expected = f"the number of a thread of capacity, 1 to {capacity.threads}"
            at.at(i).fault(f"{got}; expected {expected}")
        elif number in busy:
            at.at(i).fault(f"{got}; another thread of work runs there already")
        busy.add(number)
    if not at.exists:
        return
    needed = len(job.lengths_us) * job.width
    if len(job.running_on) != needed:
        at.fault(
            f"names {len(job.running_on)} threads of capacity; its threads of work hold {needed}"
        )
    if job.arrives_us:
        place.at("arrives").fault("a job that runs already has arrived; leave it out")
