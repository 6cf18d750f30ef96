"""Files of simulations and histories: what they may say, and one clear message for a fault."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from placer.queue.advice import JobThreadCountAdvice
from placer.queue.file.amount_text import parse_duration_us, parse_permille, parse_weight_milli
from placer.queue.file.history_file import read_thread_length_history
from placer.queue.file.simulation_file import read_queue_scenario
from placer.queue.model import US_PER_S, FlowChargeTime
from placer.queue.simulation.scenario import (
    FlowGroupSpec,
    QueueScenario,
    QueueThreadCountOverTime,
    SimulatedJob,
)
from placer_models.files.errors import InputError

QUEUES = Path(__file__).parents[2] / "instances" / "queues"
BAD = yaml.safe_load((Path(__file__).parent / "data" / "bad_files.yaml").read_text("utf-8"))
FIGURES = sorted(QUEUES.glob("*.yaml"))
S = US_PER_S

HEAD = "apiVersion: placer/v1\nkind: QueueSimulation\n"
JOB = "jobs:\n  - name: a\n    length: 60s\n"


def read(tmp_path: Path, text: str, name: str = "q.yaml") -> QueueScenario:
    (tmp_path / name).write_text(text, "utf-8")
    return read_queue_scenario(tmp_path / name)


def told(tmp_path: Path, text: str, reader: Callable[[Path], object]) -> str:
    """Return the message for a bad file, with FILE in place of its path."""
    path = tmp_path / "q.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as error:
        reader(path)
    return str(error.value).replace(str(path), "FILE")


def row_id(row: dict[str, str]) -> str:
    return row["message"][:120]


def test_a_file_says_all_that_a_simulation_needs(tmp_path: Path) -> None:
    """
    Every field, read to the last unit.
    """
    scenario = read(
        tmp_path,
        """\
apiVersion: placer/v1
kind: QueueSimulation
metadata: {name: all, description: every field}
seed: 5
charge: running
guess: 90s
bypassLimit: 3
hold: 2m
capacity:
  threads: 4
  changes:
    - {at: 1m, threads: 2}
    - {at: 90s, threads: 6}
  slow: {2: 1.5}
groups:
  - {name: inner, parent: outer, weight: 0.25}
  - {name: outer, weight: 4}
jobs:
  - {name: a, group: inner, weight: 2, arrives: 1h30m, lengths: [10, 20s, 500ms], threads: 2}
  - {name: b, work: 10s, threads: 3, estimate: learned, served: 101.5s}
  - {name: c, units: 3, length: 5s, slow: {2: 9s}, estimate: 7s, width: 2}
  - {name: d, length: 30s, runningOn: [3]}
""",
    )

    assert scenario == QueueScenario(
        title="all",
        capacity=QueueThreadCountOverTime(4, ((60 * S, 2), (90 * S, 6)), ((2, 1500),)),
        groups=(FlowGroupSpec("outer", 4000), FlowGroupSpec("inner", 250, "outer")),
        jobs=(
            SimulatedJob("a", (30 * S, S // 2), "inner", 2000, 5400 * S),
            SimulatedJob("b", (3333334, 3333333, 3333333), known=False, served=101_500_000),
            SimulatedJob("c", (5 * S, 9 * S, 5 * S), width=2, estimate_us=7 * S),
            SimulatedJob("d", (30 * S,), running_on=(3,)),
        ),
        charge=FlowChargeTime.RUNNING,
        guess_us=90 * S,
        bypass_limit=3,
        hold_us=120 * S,
    )


def test_a_small_file_has_safe_defaults(tmp_path: Path) -> None:
    """
    Q6: the group is the default one. Capacity and one job are enough; the title is the file's name.
    """
    scenario = read(tmp_path, f"{HEAD}capacity: 2\n{JOB}", "night.yaml")

    assert scenario == QueueScenario(
        "night", QueueThreadCountOverTime(2), (SimulatedJob("a", (60 * S,)),)
    )


def test_json_is_read_too(tmp_path: Path) -> None:
    """
    The same document as JSON.
    """
    text = """{"apiVersion": "placer/v1", "kind": "QueueSimulation", "capacity": 2,
     "jobs": [{"name": "a", "length": "60s"}]}"""

    assert read(tmp_path, text, "q.json").jobs == (SimulatedJob("a", (60 * S,)),)


@pytest.mark.parametrize(
    "spec", ["{uniform: [5s, 9s]}", "{exponential: 30s}", "{lognormal: {median: 30s}}"]
)
def test_lengths_can_be_drawn(tmp_path: Path, spec: str) -> None:
    """
    Drawn lengths differ, are 1 microsecond or more, and keep to their limits.
    """
    text = f"{HEAD}capacity: 2\njobs:\n  - {{name: a, units: 200, length: {spec}}}\n"
    lengths = read(tmp_path, text).jobs[0].lengths_us

    assert len(set(lengths)) > 100
    assert min(lengths) >= 1
    if "uniform" in spec:
        assert 5 * S <= min(lengths) <= max(lengths) <= 9 * S


@pytest.mark.parametrize("row", BAD["simulations"], ids=row_id)
def test_a_faulty_simulation_is_told_once_with_its_place(
    tmp_path: Path, row: dict[str, str]
) -> None:
    """
    File, line, field, value and what is allowed, in one line.
    """
    assert told(tmp_path, row["text"], read_queue_scenario) == row["message"]


@pytest.mark.parametrize("row", BAD["histories"], ids=row_id)
def test_a_faulty_history_is_told_once_with_its_place(tmp_path: Path, row: dict[str, str]) -> None:
    """
    The same care for histories.
    """
    assert told(tmp_path, row["text"], read_thread_length_history) == row["message"]


@pytest.mark.parametrize("file", FIGURES, ids=lambda file: file.stem)
def test_every_file_of_ours_is_read(file: Path) -> None:
    """
    What we ship reads well.
    """
    if file.stem == "history":
        assert all(
            isinstance(advice, JobThreadCountAdvice)
            for advice in read_thread_length_history(file).advice()
        )
    else:
        assert read_queue_scenario(file).jobs


def test_damaged_files_end_in_one_message(tmp_path: Path) -> None:
    """
    Whatever is cut out, doubled or mistyped: a simulation, or one line that says what is wrong.
    """
    texts = [file.read_text("utf-8") for file in FIGURES if file.stem != "history"]
    rng = random.Random(1)
    messages = []
    for _ in range(600):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            text = damaged(rng, text) or "x"
        try:
            read(tmp_path, text)
        except InputError as error:
            messages.append(str(error))

    assert len(messages) > 200
    assert [message for message in messages if "\n" in message] == []


def damaged(rng: random.Random, text: str) -> str:
    """Return the text with one line or a few characters cut out, doubled or replaced."""
    lines = text.split("\n")
    at, spot = rng.randrange(len(lines)), rng.randrange(len(text))
    match rng.randrange(5):
        case 0:
            return "\n".join([*lines[:at], *lines[at + 1 :]])
        case 1:
            return "\n".join([*lines[:at], lines[at], *lines[at:]])
        case 2:
            return text[:spot] + rng.choice("0-9:{}[]'\"\t#&*!|>%@é\0\x07xs") + text[spot:]
        case 3:
            return text[:spot] + text[spot + rng.randint(1, 9) :]
        case _:
            return text.replace("60", rng.choice(["-1", "0", "1e99", "9" * 30, "", "~"]), 1)


@pytest.mark.parametrize(
    ("text", "us"),
    [("90", 90 * S), ("1h30m", 5400 * S), ("0.5s", S // 2), ("250ms", S // 4), ("1d", 86400 * S)],
)
def test_durations_are_read_as_people_write_them(text: str, us: int) -> None:
    """
    Plain numbers are seconds; units may follow one another.
    """
    assert parse_duration_us(text) == us


def test_weights_and_shares_are_exact() -> None:
    """
    Decimals never pass through a float.
    """
    assert parse_weight_milli("0.333") == 333
    assert parse_weight_milli("2147483.647") == 2**31 - 1
    assert (parse_permille("90%"), parse_permille("0.9"), parse_permille("1")) == (900, 900, 1000)
