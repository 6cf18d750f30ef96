"""One clear error for each thing that a job graph or a file of workers may not say."""

from itertools import pairwise
from pathlib import Path

import pytest

from placer.slots.compiler import compile_job
from placer.slots.errors import JobGraphError
from placer.slots.file import compile_job_file
from placer.slots.graph import (
    JobGraph,
    ManagedMemoryShare,
    ManagedMemoryUseCase,
    NetworkBufferSettings,
    Operator,
    OperatorEdge,
    SlotSharingGroup,
)
from placer.slots.resources import ANY, SlotResourceAmounts
from placer.slots.workers.file import read_workers
from placer_models.files.errors import InputError

HEAD = "apiVersion: placer/v1\nkind: JobGraph\n"
TWO = "operators:\n  - name: a\n  - name: b\n"

FILES = {
    "a cycle": (
        TWO
        + "  - name: c\nedges:\n  - {from: a, to: b}\n  - {from: b, to: c}\n  - {from: c, to: b}\n",
        "10: edges[2]: closes a cycle: b -> c -> b; data flows one way, delete an edge",
    ),
    "an operator that reads itself": (
        TWO + "edges:\n  - {from: b, to: b}\n",
        "7: edges[0]: closes a cycle: b -> b; data flows one way, delete an edge",
    ),
    "a missing producer": (
        "operators:\n  - name: source\n  - name: map\nedges:\n  - {from: sorce, to: map}\n",
        "7: edges[0].from: no operator is called 'sorce', so nobody produces it; "
        "did you mean 'source'?",
    ),
    "a missing consumer": (
        TWO + "edges:\n  - {from: a, to: zebra}\n",
        "7: edges[0].to: no operator is called 'zebra', so nobody consumes it; there are 'a', 'b'",
    ),
    "an unknown group": (
        "slotSharingGroups: [heavy]\noperators:\n  - {name: a, group: heavi}\n",
        "5: operators[0].group: no slot sharing group is called 'heavi'; "
        "name it under slotSharingGroups; did you mean 'heavy'?",
    ),
    "parallelism 0": (
        "operators:\n  - {name: a, parallelism: 0}\n",
        "4: operators[0].parallelism: got 0; expected 1 to 1,000,000",
    ),
    "negative parallelism": (
        "operators:\n  - {name: a, parallelism: -2}\n",
        "4: operators[0].parallelism: got -2; expected 1 to 1,000,000",
    ),
    "half a subtask": (
        "operators:\n  - {name: a, parallelism: 1.5}\n",
        "4: operators[0].parallelism: got '1.5'; expected a whole number",
    ),
    "a fraction over 1": (
        "operators:\n  - {name: a, managed: {offHeap: {fraction: 1.2}}}\n",
        "4: operators[0].managed.offHeap.fraction: got 1.2; a fraction of a slot is 0 to 1",
    ),
    "a negative fraction": (
        "operators:\n  - {name: a, managed: {offHeap: {fraction: -0.2}}}\n",
        "4: operators[0].managed.offHeap.fraction: got '-0.2'; "
        "a fraction of a slot is 0 to 1, such as 0.25",
    ),
    "fractions over 1 together": (
        "operators:\n  - {name: a, managed: {onHeap: {fraction: 0.6}}}\n"
        "  - {name: b, managed: {onHeap: {fraction: 0.5}}}\n",
        "5: operators[1].managed.onHeap.fraction: fractions of group 'default' come to 1.1 "
        "('a', 'b'); a slot is 1: lower them",
    ),
    "fractions that leave a user nothing": (
        "operators:\n  - {name: a, managed: {offHeap: {fraction: 0.6}}}\n"
        "  - {name: b, managed: {offHeap: {fraction: 0.4}}}\n"
        "  - {name: c, managed: {onHeap: 1, offHeap: 1}}\n",
        "6: operators[2].managed.offHeap: 'c' uses this memory by weight, and the fractions of "
        "group 'default', 1 in all ('a', 'b'), leave it nothing; lower them, or delete its weight",
    ),
    "a fraction that leaves too little for all": (
        "operators:\n  - {name: a, managed: {onHeap: {fraction: 0.9999999999999999}}}\n"
        "  - {name: b, managed: {onHeap: 1}}\n  - {name: c, managed: {onHeap: 1}}\n",
        "5: operators[1].managed.onHeap: 'b' uses this memory by weight, and the fractions of "
        "group 'default', 0.9999999999999999 in all ('a'), leave it nothing; lower them, or "
        "delete its weight",
    ),
    "a group without a name that shows": (
        "slotSharingGroups: [heavy ones, ' ']\noperators:\n  - {name: a}\n",
        "3: slotSharingGroups[1]: got ' '; expected text that shows",
    ),
    "a group called as a region's own": (
        "slotSharingGroups: [{name: 'default[1]'}]\noperators:\n  - {name: a}\n",
        "3: slotSharingGroups[0]: 'default[1]' is what the default group of a region is called; "
        "rename it",
    ),
    "a fraction finer than any": (
        "operators:\n  - {name: a, managed: {onHeap: {fraction: 0.33333333333333333}}}\n",
        "4: operators[0].managed.onHeap.fraction: got '0.33333333333333333'; "
        "a fraction has 16 places at most",
    ),
    "a fraction and a weight": (
        "operators:\n  - {name: a, managed: {onHeap: {fraction: 0.5, weight: 2}}}\n",
        "4: operators[0].managed.onHeap: has a weight and a fraction; give one of them",
    ),
    "a negative weight": (
        "operators:\n  - {name: a, managed: {onHeap: -1}}\n",
        "4: operators[0].managed.onHeap.weight: got -1; a weight is 0 to 2147483647",
    ),
    "resources and a weight": (
        "operators:\n  - name: a\n    resources: {cpu: 1, heap: 1Mi}\n    managed: {offHeap: 2}\n",
        "6: operators[0].managed.offHeap: 'a' has resources too, which settle its fraction; "
        "delete one of them",
    ),
    "known beside unknown (F3)": (
        "operators:\n  - {name: a, resources: {cpu: 1, heap: 1Mi}}\n  - {name: b}\n",
        "5: operators[1]: 'b' states no resources, but 'a' does; "
        "state them for all operators or none",
    ),
    "known beside unknown in a chain (F3)": (
        "operators:\n  - {name: a}\n  - {name: b, resources: {cpu: 1, heap: 1Mi}}\n"
        "edges:\n  - {from: a, to: b, partition: forward}\n",
        "4: operators[0]: 'a' states no resources, but 'b' does; "
        "state them for all operators or none",
    ),
    "groups with and without resources": (
        "semantics: flip-141\nslotSharingGroups:\n"
        "  - {name: big, resources: {cpu: 1, heap: 1Mi}}\n"
        "operators:\n  - {name: a, group: big}\n  - {name: b, group: default}\n",
        "8: operators[1]: 'b' is in slot sharing group 'default', which has no resources, but "
        "'big' of 'a' has; state them for all groups or none",
    ),
    "no heap": (
        "operators:\n  - {name: a, resources: {cpu: 1}}\n",
        "4: operators[0].resources.heap: is missing; add it",
    ),
    "negative heap": (
        "operators:\n  - {name: a, resources: {cpu: 1, heap: -1Mi}}\n",
        "4: operators[0].resources.heap: '-1Mi' is negative; an amount is 0 or more",
    ),
    "negative CPUs": (
        "operators:\n  - {name: a, resources: {cpu: -1, heap: 1Mi}}\n",
        "4: operators[0].resources.cpu: got '-1'; expected an amount such as 2, 0.25 or 500m",
    ),
    "negative GPUs": (
        "operators:\n  - {name: a, resources: {cpu: 1, heap: 1, extended: {gpu: -1}}}\n",
        "4: operators[0].resources.extended.gpu: got '-1'; "
        "expected an amount such as 2, 0.25 or 500m",
    ),
    "forward to another parallelism": (
        "operators:\n  - {name: a, parallelism: 2}\n  - {name: b, parallelism: 3}\n"
        "edges:\n  - {from: a, to: b, partition: forward}\n",
        "7: edges[0].partition: got 'forward' from 'a' (2 subtasks) to 'b' (3); forward needs "
        "as many on both sides: write rebalance or rescale",
    ),
    "two operators of one name": (
        "operators:\n  - name: a\n  - name: b\n  - name: a\n",
        "6: operators[2].name: 'a' is the name of operators[0] already; rename one",
    ),
    "two groups of one name": (
        "slotSharingGroups: [g, g]\noperators:\n  - name: a\n",
        "3: slotSharingGroups[1].name: 'g' is the name of slotSharingGroups[0] already; rename one",
    ),
    "no operators": ("operators: []\n", "3: operators: is empty; a job has at least one operator"),
    "operators left out": ("edges: []\n", "1: operators: is missing; add it"),
    "an operator without a name": (
        'operators:\n  - {name: ""}\n',
        "4: operators[0].name: got ''; expected text that shows",
    ),
    "a misspelt field": (
        "operators:\n  - {name: a, paralelism: 2}\n",
        "4: operators[0].paralelism: is not a field here; did you mean 'parallelism'?",
    ),
    "an unknown exchange": (
        TWO + "edges:\n  - {from: a, to: b, exchange: blocked}\n",
        "7: edges[0].exchange: got 'blocked'; expected 'undefined', 'pipelined', 'blocking', "
        "'hybrid-full' or 'hybrid-selective'; did you mean 'blocking'?",
    ),
    "use cases under flip-53": (
        "operators:\n  - {name: a, managed: {python: true}}\n",
        "4: operators[0].managed: names use cases; they belong to 'semantics: flip-141'",
    ),
    "kinds under flip-141": (
        "semantics: flip-141\noperators:\n  - {name: a, managed: {onHeap: 1}}\n",
        "5: operators[0].managed: names onHeap or offHeap; they belong to 'semantics: flip-53'",
    ),
    "operators with resources under flip-141": (
        "semantics: flip-141\noperators:\n  - {name: a, resources: {cpu: 1, heap: 1Mi}}\n",
        "5: operators[0].resources: belongs to 'semantics: flip-53'; "
        "under flip-141 slot sharing groups have resources",
    ),
    "groups with resources under flip-53": (
        "slotSharingGroups:\n  - {name: g, resources: {cpu: 1, heap: 1Mi}}\n"
        "operators:\n  - {name: a, group: g}\n",
        "4: slotSharingGroups[0].resources: belongs to 'semantics: flip-141'; "
        "under flip-53 operators have resources",
    ),
    "a group with resources of nothing": (
        "semantics: flip-141\nslotSharingGroups:\n"
        "  - {name: g, resources: {cpu: 0, heap: 1Mi}}\noperators:\n  - {name: a, group: g}\n",
        "5: slotSharingGroups[0].resources: cpu and heap are more than 0 where a group has "
        "resources",
    ),
    "a streaming job that blocks by default": (
        "semantics: flip-141\ndefaultExchange: blocking\noperators:\n  - name: a\n",
        "4: defaultExchange: got 'blocking'; a streaming job under flip-141 exchanges nothing "
        "that way: write 'mode: batch', or leave it out",
    ),
    "an undefined default": (
        "defaultExchange: undefined\noperators:\n  - name: a\n",
        "3: defaultExchange: got 'undefined'; expected what undefined means",
    ),
    "a negative consumer weight": (
        "semantics: flip-141\nconsumerWeights: {python: -1}\noperators:\n  - name: a\n",
        "4: consumerWeights.python: got -1; a weight is 0 to 2147483647",
    ),
    "a hybrid exchange beside a named group": (
        "slotSharingGroups: [g]\noperators:\n  - name: a\n  - {name: b, group: g}\n"
        "edges:\n  - {from: a, to: b, exchange: hybrid-full}\n",
        "6: operators[1].group: 'b' is in group 'g', and the job has hybrid exchanges, which "
        "keep to the default group: drop the group, or write pipelined or blocking",
    ),
    "a torn co-location": (
        "slotSharingGroups: [g]\noperators:\n  - {name: a, colocation: x}\n"
        "  - {name: b, colocation: x, group: g}\n",
        "6: operators[1].colocation: 'x' joins 'b' of group 'g' and 'a' of group 'default'; "
        "name one group for both",
    ),
    "buffers of negative number": (
        "network: {buffersPerChannel: -2}\noperators:\n  - name: a\n",
        "3: network.buffersPerChannel: got -2; expected 0 or more",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_fault_in_a_file_is_one_clear_error(case: str, tmp_path: Path) -> None:
    """
    File, line, field, what is wrong, what is allowed; and nothing else.
    """
    body, message = FILES[case]
    path = tmp_path / "job.yaml"
    path.write_text(HEAD + body, encoding="utf-8")

    with pytest.raises(InputError) as caught:
        compile_job_file(path)

    assert str(caught.value) == f"{path}:{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; expected a document that begins with 'apiVersion: placer/v1'"),
        ("apiVersion: placer/v1\nkind: Instance\n", "got 'Instance'; expected 'JobGraph'"),
        ("kind: Jobgraf\n", "got 'Jobgraf'; expected 'JobGraph'; did you mean 'JobGraph'?"),
        (f"{HEAD}{TWO}---\n{HEAD}{TWO}", "got 2 documents; expected one of 'kind: JobGraph'"),
    ],
)
def test_a_file_of_another_kind_is_named(text: str, message: str, tmp_path: Path) -> None:
    """
    Whoever hands in an instance hears that, not that its fields are strange.
    """
    path = tmp_path / "job.yaml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(InputError) as caught:
        compile_job_file(path)

    assert str(caught.value).endswith(message)


A, B = Operator("a"), Operator("b")

GRAPHS = {
    "a cycle of three": (
        JobGraph(
            (A, B, Operator("c")),
            (OperatorEdge("a", "b"), OperatorEdge("b", "c"), OperatorEdge("c", "a")),
        ),
        "edges[2]: closes a cycle: a -> b -> c -> a",
    ),
    "an edge from nobody": (
        JobGraph((A,), (OperatorEdge("x", "a"),)),
        "edges[0].from: no operator is called 'x'",
    ),
    "resources without limit": (
        JobGraph((Operator("a", resources=ANY),)),
        "operators[0].resources: got ANY",
    ),
    "network memory": (
        JobGraph((Operator("a", resources=SlotResourceAmounts(1, 1, network_bytes=1)),)),
        "operators[0].resources: states network memory; it is derived",
    ),
    "a weight that is a pool": (
        JobGraph((Operator("a", slot_use_cases=frozenset([ManagedMemoryUseCase.OPERATOR])),)),
        "operators[0].managed.operator: is no pool of the slot; give its weight",
    ),
    "a name that does not show": (
        JobGraph((Operator("\x07"),)),
        "operators[0].name: got '\x07'; expected text that shows",
    ),
    "a weight beyond counting": (
        JobGraph((Operator("a", on_heap=ManagedMemoryShare(2**31)),)),
        "operators[0].managed.onHeap.weight: got 2147483648",
    ),
    "buffers of negative size": (
        JobGraph((A,), network=NetworkBufferSettings(buffer_bytes=-1)),
        "network.bufferSize: got -1; expected 0 or more",
    ),
    "two of one name on a cycle": (
        JobGraph((A, A), (OperatorEdge("a", "a"),)),
        "operators[1].name: 'a' is the name of operators[0] already",
    ),
    "an undeclared group": (
        JobGraph((Operator("a", group="h"),), groups=(SlotSharingGroup("g"),)),
        "operators[0].group: no slot sharing group is called 'h'",
    ),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_a_graph_made_in_code_is_checked_as_well(case: str) -> None:
    """
    The rules hold for jobs that no file ever held; the error names the field.
    """
    graph, message = GRAPHS[case]

    with pytest.raises(JobGraphError) as caught:
        compile_job(graph)

    assert message in str(caught.value)


def test_a_long_cycle_is_not_spelt_out() -> None:
    """
    Of a thousand operators on a cycle the message names a few.
    """
    names = [f"op{i}" for i in range(1000)]
    edges = (*(OperatorEdge(a, b) for a, b in pairwise(names)), OperatorEdge(names[-1], "op0"))

    with pytest.raises(JobGraphError, match=r"op0 -> .* -> … -> op0; data") as caught:
        compile_job(JobGraph(tuple(map(Operator, names)), edges))

    assert len(str(caught.value)) < 200


WORKERS_HEAD = "apiVersion: placer/v1\nkind: Workers\n"
SPEC = "worker: {resources: {cpu: 4, heap: 4Gi}, slots: 4}\n"

WORKERS_FILES = {
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


@pytest.mark.parametrize(("text", "expected"), WORKERS_FILES.values(), ids=WORKERS_FILES)
def test_each_fault_is_one_line(text: str, expected: str, tmp_path: Path) -> None:
    """
    File, line, field, what is wrong and the mend.
    """
    file = tmp_path / "workers.yaml"
    file.write_text(WORKERS_HEAD + text, encoding="utf-8")

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
