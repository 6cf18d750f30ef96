"""Job graphs as files: the examples, and whatever else stands in a file."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from placer.slots.compiler import compile_job
from placer.slots.file import compile_job_file, read_job_graph
from placer.slots.graph import (
    CONSUMER_WEIGHTS,
    EdgeExchangeMode,
    EdgePartitioningStrategy,
    JobExecutionMode,
    JobGraph,
    ManagedMemoryShare,
    ManagedMemoryUseCase,
    NetworkBufferSettings,
    Operator,
    OperatorChainingMode,
    OperatorEdge,
    SlotResourceSemantics,
    SlotSharingGroup,
)
from placer.slots.resources import SlotResourceAmounts
from placer.slots.to_json import compiled_job_graph_to_dict
from placer_models.files.errors import InputError

EXAMPLES = sorted((Path(__file__).parents[2] / "instances" / "slots").glob("*.yaml"))


def example(name: str) -> Path:
    return next(path for path in EXAMPLES if path.stem == name)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_compile(path: Path) -> None:
    """
    Each example of a job graph is one, in YAML and in JSON, with the same result.
    """
    assert compiled_job_graph_to_dict(compile_job_file(path)) == compiled_job_graph_to_dict(
        compile_job(read_job_graph(path))
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_json_says_the_same_as_yaml(path: Path, tmp_path: Path) -> None:
    """
    A job graph may be written either way.
    """
    copy = tmp_path / "job.json"
    copy.write_text(json.dumps(yaml.safe_load(path.read_text("utf-8"))), encoding="utf-8")

    assert read_job_graph(copy) == read_job_graph(path)


def test_a_file_says_all_that_a_job_graph_can_be(tmp_path: Path) -> None:
    """
    Every field of the file arrives in its place (F1, F2).
    """
    path = tmp_path / "job.yaml"
    path.write_text(
        """
apiVersion: placer/v1
kind: JobGraph
metadata: {name: all, description: of it}
semantics: flip-53
mode: batch
allSourcesInSameRegion: true
defaultExchange: blocking
network: {bufferSize: 64Ki, buffersPerChannel: 3, floatingBuffers: 5}
slotSharingGroups: [g, {name: h}]
consumerWeights: {python: 5}
stateBackendManaged: false
operators:
  - name: a
    parallelism: 3
    group: g
    chaining: head
    colocation: x
    managed: {onHeap: 2, offHeap: {fraction: 0.25}}
  - name: b
    resources:
      cpu: 250m
      heap: 1Mi
      offHeap: 2Ki
      managedOnHeap: 3
      managedOffHeap: 4
      extended: {gpu: 0.5, fpga: 0}
edges:
  - {from: a, to: b, partition: broadcast, exchange: hybrid-selective}
""",
        encoding="utf-8",
    )

    assert read_job_graph(path) == JobGraph(
        (
            Operator(
                "a",
                3,
                "g",
                OperatorChainingMode.HEAD,
                on_heap=ManagedMemoryShare(2),
                off_heap=ManagedMemoryShare(0, Decimal("0.25")),
                colocation="x",
            ),
            Operator(
                "b",
                resources=SlotResourceAmounts(
                    25_000_000, 2**20, 2048, 3, 4, extended_e8=(("gpu", 50_000_000),)
                ),
            ),
        ),
        (
            OperatorEdge(
                "a", "b", EdgePartitioningStrategy.BROADCAST, EdgeExchangeMode.HYBRID_SELECTIVE
            ),
        ),
        "all",
        SlotResourceSemantics.FLIP_53,
        JobExecutionMode.BATCH,
        True,
        EdgeExchangeMode.BLOCKING,
        (SlotSharingGroup("g"), SlotSharingGroup("h")),
        NetworkBufferSettings(65536, 3, 5),
        (
            (ManagedMemoryUseCase.OPERATOR, 70),
            (ManagedMemoryUseCase.STATE_BACKEND, 70),
            (ManagedMemoryUseCase.PYTHON, 5),
        ),
        False,
    )


def test_uses_of_managed_memory_are_read(tmp_path: Path) -> None:
    """
    A weight for operators, yes or no for the pools that all share.
    """
    path = tmp_path / "job.yaml"
    path.write_text(
        "apiVersion: placer/v1\nkind: JobGraph\nsemantics: flip-141\noperators:\n"
        "  - {name: a, managed: {operator: 3, stateBackend: true, python: false}}\n",
        encoding="utf-8",
    )

    job = read_job_graph(path)

    assert job.operators[0].operator_weight == 3
    assert job.operators[0].slot_use_cases == {ManagedMemoryUseCase.STATE_BACKEND}
    assert job.consumer_weights == CONSUMER_WEIGHTS


WORDS = st.sampled_from(
    [
        *("", "0", "-1", "1e400", "0.5", "null", "[]", "{}", "true", "&a x", "*a", "!!int 1"),
        *("operators", "from", "a", "blocking", "flip-141", "batch", "9" * 40, "\x00", "\t", "💥"),
        *(
            "{fraction: 2}",
            "{weight: -1}",
            "[[[[",
            "64Gi",
            "hybrid-full",
            "- ",
            ": ",
            "#",
            "\n---\n",
        ),
    ]
)


@given(
    st.sampled_from(EXAMPLES),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3), WORDS), min_size=1, max_size=3),
)
def test_a_damaged_file_is_one_message_or_a_job(
    tmp_path_factory: pytest.TempPathFactory,
    path: Path,
    damages: list[tuple[int, int, str]],
) -> None:
    """
    Words torn out and others put in: it compiles, or there is one line that says why not.
    """
    words = path.read_text("utf-8").split(" ")
    for at, length, word in damages:
        at %= len(words)
        words[at : at + length] = [word]
    damaged = tmp_path_factory.mktemp("damaged") / "job.yaml"
    damaged.write_text(" ".join(words), encoding="utf-8")

    message = ""
    try:
        compile_job_file(damaged)
    except InputError as error:
        message = str(error)

    assert "\n" not in message
    assert message == "" or message.startswith(f"{damaged}:")
