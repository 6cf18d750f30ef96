"""One clear error for each thing that a file of workers may not say."""

from pathlib import Path

import pytest

from placer.slots.workers.file import read_workers
from placer_models.files.errors import InputError

HEAD = "apiVersion: placer/v1\nkind: Workers\n"
SPEC = "worker: {resources: {cpu: 4, heap: 4Gi}, slots: 4}\n"

FILES = {
    "no worker": ("registered: []\n", "1: worker: is missing; add it"),
    "neither slots nor a fraction": (
        "worker: {resources: {cpu: 4, heap: 4Gi}}\n",
        "3: worker.slots: give the number of slots of a worker, or the fraction of one slot",
    ),
    "no slots": (
        "worker: {resources: {cpu: 4, heap: 4Gi}, slots: 0}\n",
        "3: worker.slots: a worker has 0 slots; expected 1 or more",
    ),
    "a fraction over 1": (
        "worker: {resources: {cpu: 4, heap: 4Gi}, slotFraction: 1.5}\n",
        "3: worker.slotFraction: a slot is 1.5 of a worker; expected more than 0, at most 1",
    ),
    "slots and a fraction that differ": (
        "worker: {resources: {cpu: 4, heap: 4Gi}, slots: 4, slotFraction: 0.5}\n",
        "3: worker.slots: a worker has 4 slots, and one slot is 0.5 of it, not 1/4; "
        "give one of the two",
    ),
    "a worker of nothing": (
        "worker: {resources: {cpu: 0, heap: 0}, slots: 4}\n",
        "3: worker.resources: a worker of nothing holds no slot; raise an amount",
    ),
    "slots of nothing": (
        "worker: {resources: {cpu: 0, heap: 1}, slots: 4}\n",
        "3: worker.slots: nothing is left for one slot; make slots fewer and larger",
    ),
    "negative CPUs": (
        "worker: {resources: {cpu: -1, heap: 4Gi}, slots: 4}\n",
        "3: worker.resources.cpu: got '-1'; expected an amount such as 2, 0.25 or 500m",
    ),
    "an unknown field": (
        SPEC + "registred: []\n",
        "4: registred: is not a field here; did you mean 'registered'?",
    ),
    "a name twice": (
        SPEC + "registered: [{name: a}]\npending: [{name: a}]\n",
        "5: pending[0].name: two workers are called 'a', the other in line 4; rename one",
    ),
    "more used than there is": (
        SPEC + "registered: [{name: a, used: {cpu: 4.5}}]\n",
        "4: registered[0].used: slots use 4.5 cpu of worker 'a', which has 4; "
        "lower it, or raise resources",
    ),
    "a resource used that is not there": (
        SPEC + "registered: [{name: a, used: {extended: {gpu: 1}}}]\n",
        "4: registered[0].used: slots use 1 gpu of worker 'a', which has 0; "
        "lower it, or raise resources",
    ),
    "negative redundancy": (
        SPEC + "reserve: {redundantWorkers: -1}\n",
        "4: reserve.redundantWorkers: got -1; expected 0 or more",
    ),
    "a minimum that no worker helps": (
        "worker: {resources: {cpu: 0, heap: 4Gi}, slots: 4}\nreserve: {minCpu: 2}\n",
        "4: reserve.minCpu: a new worker has none of it; raise worker.resources",
    ),
    "a maximum below the minimum": (
        SPEC + "reserve: {minMemory: 8Gi}\nlimits: {maxMemory: 4Gi}\n",
        "5: limits.maxMemory: is less than reserve.minMemory; raise it, or lower the other",
    ),
}


@pytest.mark.parametrize(("text", "expected"), FILES.values(), ids=FILES)
def test_each_fault_is_one_line(text: str, expected: str, tmp_path: Path) -> None:
    """
    File, line, field, what is wrong and the mend.
    """
    file = tmp_path / "workers.yaml"
    file.write_text(HEAD + text, encoding="utf-8")

    with pytest.raises(InputError) as caught:
        read_workers(file)

    assert str(caught.value) == f"{file}:{expected}"


def test_a_job_graph_is_no_file_of_workers(tmp_path: Path) -> None:
    """
    The two files in the wrong order are told by their kind.
    """
    file = tmp_path / "job.yaml"
    file.write_text("apiVersion: placer/v1\nkind: JobGraph\noperators: []\n", encoding="utf-8")

    with pytest.raises(InputError) as caught:
        read_workers(file)

    assert str(caught.value) == f"{file}:2: kind: got 'JobGraph'; expected 'Workers'"
