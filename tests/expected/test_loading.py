"""Compiled scores are loaded where that is worth its time, and never in a short call."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from placer.compiled import digest_of_sources, source_digest_path
from placer.greedy.expected import compiled_scores, loading
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Machine, Node
from placer_models.device import GPU, Device
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources, lone_gang
from placer_models.topology import Cpu, NumaNode, Topology

COMPILED = "placer.greedy.expected.compiled_scores"
SOURCE = Path(loading.__file__).with_name("compiled_scores.py")
PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}"
TOPOLOGY = Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, 1024),))
WITH_GPU = Machine("with", "", TOPOLOGY, (Device(GPU, 0),))
WITHOUT = Machine("without", "", TOPOLOGY)


def nodes(count: int, machine: Machine = WITH_GPU) -> list[Node]:
    return [Node(f"n{i}", machine) for i in range(count)]


def keep(
    folder: Path,
    *,
    python: str = PYTHON,
    age_s: float = 0.0,
    digest: str = digest_of_sources(COMPILED),
) -> None:
    """Leave in a folder what Numba leaves where it keeps compiled scores."""
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / f"compiled_scores._lost-1.{python}.nbi"
    index.touch()
    source_digest_path(folder, COMPILED).write_text(digest)
    changed_s = SOURCE.stat().st_mtime - age_s
    os.utime(index, (changed_s, changed_s))


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return where Numba keeps what it compiles; nothing is kept or loaded yet."""
    monkeypatch.delitem(sys.modules, COMPILED, raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "some"


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that has a line more for each time that compiled scores are loaded."""
    found: list[str] = []
    monkeypatch.setattr(loading, "load_compiled_scores", lambda: found.append("loaded"))
    return found


@pytest.mark.parametrize(
    ("count", "left_s", "kept", "worth"),
    [
        (1000, 2.9, True, False),
        (1000, 3.0, True, True),
        (99, 60.0, True, False),
        (1000, 29.9, False, False),
        (1000, 30.0, False, True),
    ],
)
def test_seconds_and_nodes_decide(
    count: int, left_s: float, kept: bool, worth: bool, cache: Path
) -> None:
    """
    Compiling takes 5 s of CPU, once; reading what was compiled a quarter of a second.
    """
    if kept:
        keep(cache)

    assert loading.is_compiled_worth_loading(count, left_s) is worth


@pytest.mark.parametrize(
    "kept", [{"python": "py20"}, {"age_s": 1.0}, {"digest": ""}, {"digest": "0" * 64}]
)
def test_what_another_python_kept_or_was_compiled_of_another_source_is_of_no_use(
    kept: dict[str, Any], cache: Path
) -> None:
    """
    After an upgrade of Placer or of Python the first call compiles again.
    """
    keep(cache, **kept)

    assert not loading.is_compiled_worth_loading(1000, 5.0)


def test_where_nobody_may_write_beside_the_package_the_users_cache_counts(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """
    Numba reads and writes in the first folder where it may write.
    """
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def access(path: Path, _: int) -> bool:
        return path.is_relative_to(tmp_path)

    monkeypatch.setattr(loading.os, "access", access)
    assert not loading.is_compiled_worth_loading(1000, 5.0)
    keep(tmp_path / "numba" / "expected_0123")

    assert loading.is_compiled_worth_loading(1000, 5.0)


MADE: dict[str, Callable[[], Scheduler]] = {
    "made": lambda: Scheduler(nodes(100)),
    "restored": lambda: Scheduler.restore(Scheduler(nodes(100)).snapshot()),
}


@pytest.mark.parametrize("make", MADE)
def test_a_scheduler_of_many_nodes_with_gpus_loads_them_when_it_is_made(
    make: str, cache: Path, loads: list[str]
) -> None:
    """
    The first call need not, however short its deadline is.
    """
    keep(cache)

    MADE[make]()

    assert loads


def test_they_are_loaded_when_a_scheduler_gets_its_hundredth_node(
    cache: Path, loads: list[str]
) -> None:
    """
    A cluster may come node by node.
    """
    keep(cache)
    scheduler = Scheduler(nodes(99))
    assert not loads

    scheduler.add_node(Node("new", WITH_GPU))

    assert loads


def test_a_scheduler_that_needs_none_loads_nothing(cache: Path, loads: list[str]) -> None:
    """
    Few nodes, and nodes without GPUs, do without; and what is not compiled waits for a call.
    """
    Scheduler(nodes(100))
    keep(cache)
    Scheduler(nodes(99))
    Scheduler(nodes(100, WITHOUT))
    Scheduler(nodes(99)).fork()

    assert not loads


@pytest.mark.parametrize("kept", [True, False])
def test_the_first_time_on_a_machine_it_is_said_that_something_is_compiled(
    kept: bool, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """
    Nobody has to wonder where five seconds went.
    """
    if kept:
        keep(cache)
    called: list[str] = []

    def compiled(_: object, module: str, name: str) -> Callable[[], None]:
        return lambda: called.append(f"{module}.{name}")

    monkeypatch.setattr(loading, "compiled_or_plain", compiled)
    with caplog.at_level(logging.INFO, "placer"):
        loading.load_compiled_scores()

    assert called == [f"{COMPILED}.warm_up_compiled_scores"]
    assert ("compiling" in caplog.text) is not kept


def test_a_source_that_is_only_written_anew_is_compiled_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Numba goes by what a source says, and its files stay as old as they are.
    """
    keep(cache, age_s=1.0)
    assert not loading.is_compiled_worth_loading(1000, 5.0)
    monkeypatch.setattr(loading, "compiled_or_plain", lambda *_: lambda: None)

    loading.load_compiled_scores()

    assert loading.is_compiled_worth_loading(1000, 5.0)


def test_without_numba_nothing_is_loaded_and_nothing_fails(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    What it kept may outlive it.
    """
    keep(cache)
    monkeypatch.setitem(sys.modules, "numba", None)

    Scheduler(nodes(100))

    assert COMPILED not in sys.modules


def test_once_ready_calls_compile_nothing() -> None:
    """
    What is compiled ahead is what calls ask for, type by type.
    """
    compiled_scores.warm_up_compiled_scores()
    loop = vars(compiled_scores)["_lost"]
    ready = list(loop.signatures)
    asked = Resources(100, 1, devices=(DeviceRequest(GPU, 1),))
    pod = Pod("a", "default", PodSpec((Container("main", asked),)))
    scheduler = Scheduler(nodes(300))
    scheduler.place(Batch((lone_gang(pod),)), 60.0, options=SolveOptions(Engine.GREEDY))

    assert scheduler.demand.shapes
    assert loop.signatures == ready


@pytest.mark.check
def test_small_schedulers_leave_numba_alone() -> None:
    """
    Importing Placer loads nothing compiled.
    """
    program = (
        "import sys, placer; from placer.scheduler import Scheduler; Scheduler().fork();"
        "sys.exit('numba' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
