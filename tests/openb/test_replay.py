"""Replays: figures that a book kept by hand has, too, and published placements line by line."""

import csv
import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from commands import Placer
from openb.small_trace import FIVE_COLUMNS, NODES, trace, written
from placer.openb.policies import POLICIES, solve_options_for_policy
from placer.openb.replay import (
    ReplayLeakError,
    allocation_by_arrived_percent,
    gpu_milli_asked_by_lone_pod,
    replay_with_departures,
    replay_without_departures,
)
from placer.openb.trace import WorkloadTrace, read_trace
from placer.openb.words import TraceConverter
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer_cli.exits import ExitCode
from placer_models.placement import NamespacedName
from shared_files import shared

TRACE = "traces/openb"


def silent(done: int) -> None:
    """Tell nobody."""


def test_the_allocation_at_a_mark_is_the_mean_over_arrivals_that_round_to_it() -> None:
    """
    Of 1,000 milli, 500, 5 and 100 arrive, and the last one finds no place: 50 and 50.5 round to
    50, as halves go to the even number, and 60.5 to 60.
    """
    found = allocation_by_arrived_percent((50, 60, 95), [500, 5, 100], [500, 5, 0], 1000)
    assert found == {50: pytest.approx(50.25), 60: pytest.approx(50.5)}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_small_trace_is_replayed(tmp_path: Path, policy: str) -> None:
    """
    4,000 milli of GPUs: 500 + 1,000 + 0 + 2,000 + 300 arrive, of which the two T4 that the fourth
    pod asks for are free only if nobody before it has gone there.
    """
    found = replay_without_departures(trace(tmp_path), policy, 1, silent)
    assert found.pods == len(found.call_s) == 5
    assert found.rejected in (0, 1)
    assert found.allocation == {95: pytest.approx(95.0 if not found.rejected else 45.0)}


def test_with_departures_the_load_is_kept_and_nothing_leaks(tmp_path: Path) -> None:
    """
    25 pods arrive, 5 at a time; at a load of 25 % (1,000 milli) the pods that ask for two whole
    GPUs come when all others have left.
    """
    found = replay_with_departures(trace(tmp_path), "fgd", 1, 25, silent)
    assert (found.pods, found.rejected) == (25, 0)
    assert found.over_time[-1].arrived == 25
    assert all(sample.allocated <= 50 for sample in found.over_time)
    assert found.allocation == {}


def test_what_is_left_behind_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A Scheduler that forgets to take the last pod off its node is found out.
    """
    release = Scheduler.release

    def forgetful(self: Scheduler, pods: Iterable[NamespacedName]) -> object:
        return release(self, tuple(pods)[:-1])

    monkeypatch.setattr(Scheduler, "release", forgetful)
    with pytest.raises(ReplayLeakError, match="are not as they were"):
        replay_with_departures(trace(tmp_path), "best-fit", 1, 100, silent)


def test_nodes_without_gpus_are_refused(tmp_path: Path, placer: Placer) -> None:
    """
    There is nothing of which the allocation could be a part.
    """
    bare = NODES.replace("2,T4", "0,").replace("2,V100", "0,")
    nodes, pods, orders = map(str, written(tmp_path, nodes=bare, pods=FIVE_COLUMNS))
    files = ["--nodes", nodes, "--pods", pods, "--sequence", orders, "--seed", "7"]
    printed = placer("bench", "openb", *files, code=ExitCode.BAD_INPUT)
    assert printed.err.startswith(f"placer: {nodes}: none of the nodes has GPUs")
    assert (printed.out, printed.err.count("\n")) == ("", 1)


def test_the_command_prints_the_figures(tmp_path: Path, placer: Placer) -> None:
    """
    JSON has the allocation at the marks that were reached, who was rejected, and the speed.
    """
    nodes, pods, orders = map(str, written(tmp_path))
    files = ["--nodes", nodes, "--pods", pods, "--sequence", orders, "--seed", "7"]
    command = ["bench", "openb", *files, "--strategy", "fgd", "--format", "json"]
    found = json.loads(placer(*command).out)
    assert set(found) == {
        "allocation",
        "pods",
        "rejected",
        "podsPerSecond",
        "p50Ms",
        "p99Ms",
    }
    assert set(found["allocation"]) == {"95"}
    printed = placer("bench", "openb", *files, "--depart", "50", "--batch", "2")
    assert "of 25 pods placed under usable." in printed.out
    printed = placer("bench", "openb", *files, "--strategy", "fdg", code=2)
    assert "did you mean 'fgd'?" in printed.err


def test_what_is_converted_is_an_instance(tmp_path: Path, placer: Placer) -> None:
    """
    The file that is written can be solved, as YAML and as JSON.
    """
    nodes, pods, _ = map(str, written(tmp_path))
    for name in ("openb.yaml", "openb.json"):
        output = str(tmp_path / name)
        placer("convert", "openb", "--nodes", nodes, "--pods", pods, "--output", output)
        assert "5 of 5 pods placed" in placer("solve", output, "--engine", "greedy").out


def published(policy: str) -> Iterator[tuple[str, str]]:
    """Yield (pod, node) line by line, as published for the default list under seed 42."""
    file = shared(f"{TRACE}/golden/default_42_{policy}.csv.gz")
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            yield row["pod"], row["node"]


def default_42() -> WorkloadTrace:
    return read_trace(
        shared(f"{TRACE}/csv/openb_node_list_gpu_node.csv"),
        shared(f"{TRACE}/csv/openb_pod_list_default.csv"),
        shared(f"{TRACE}/sequences/default.npz"),
        42,
    )


@pytest.mark.parametrize(
    "lines", [pytest.param(400, id="first"), pytest.param(None, id="all", marks=pytest.mark.check)]
)
@pytest.mark.parametrize(
    ("policy", "name"), [("best-fit", "BestFit"), ("dot-product", "DotProd"), ("fgd", "FGD")]
)
def test_placements_are_those_that_were_published(
    policy: str, name: str, lines: int | None
) -> None:
    """
    Through a Scheduler with its own state and filters, judged, each pod goes to the node that it
    went to in the evaluation of FGD, or has no place ("-"), line by line.
    """
    found = default_42()
    words = TraceConverter()
    scheduler = Scheduler(found.ranked_nodes(words))
    options = solve_options_for_policy(policy, (words.spec(pod) for pod in found.pods))
    placed = 0
    for gang, (pod, node) in zip(found.arriving(words), published(name), strict=True):
        assert gang.name.endswith(pod)
        decision = scheduler.place(Batch((gang,)), 3600.0, options=options)
        places = [place.node.partition("-")[2] for place in decision.placement.pods]
        assert places == ([] if node == "-" else [node]), f"line {placed + 2}: {pod}"
        placed += 1
        if placed == lines:
            return
    assert placed == len(found.arrivals.pods)


def test_what_a_pod_asks_of_gpus_is_what_its_row_says(tmp_path: Path) -> None:
    """
    A share, a whole GPU, none, two, and a share again.
    """
    found = [
        gpu_milli_asked_by_lone_pod(gang) for gang in trace(tmp_path).arriving(TraceConverter())
    ]
    assert found == [500, 1000, 0, 2000, 300]
