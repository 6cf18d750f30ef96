"""Sweeps on each kind of workers: every task has one result, whoever dies on the way."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from dask_cluster import DASK, NO_DASK, TESTS, Cluster, wait_until
from placer.sweep.sweep import run_sweep
from placer.sweep.workers import (
    InProcessSweepWorker,
    LocalProcessSweepWorkers,
    SweepBackend,
    SweepWorkersError,
    make_sweep_workers,
)
from sweep_tasks import Told, deadly, square, wrong


def told(folder: Path, count: int, slow: tuple[int, ...] = ()) -> list[Told]:
    return [Told(number, str(folder), number in slow) for number in range(count)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A real Dask cluster on this machine."""
    pytest.importorskip("distributed", reason=NO_DASK)
    found = Cluster(tmp_path)
    yield found
    found.end()


@pytest.fixture(params=["this process", "local processes", DASK])
def workers(request: pytest.FixtureRequest) -> SweepBackend:
    """Each kind of workers, two where there can be more than one."""
    match request.param:
        case "this process":
            return InProcessSweepWorker()
        case "local processes":
            return LocalProcessSweepWorkers(2)
        case _:
            cluster: Cluster = request.getfixturevalue("cluster")
            return cluster.workers()


def test_results_come_in_the_order_of_the_tasks(workers: SweepBackend, tmp_path: Path) -> None:
    counts: list[int] = []
    tasks = told(tmp_path, 9)

    swept = run_sweep(square, tasks, workers, on_done=counts.append)

    assert swept.done == tuple((task, task.number**2) for task in tasks)
    assert (swept.left, swept.lost) == ((), False)
    assert counts == list(range(1, 10))
    assert all(len(task.begun) == 1 for task in tasks)


def test_no_task_is_no_work(workers: SweepBackend) -> None:
    assert run_sweep(square, [], workers).done == ()


def test_an_error_of_a_task_ends_the_sweep(workers: SweepBackend, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no task 0"):
        run_sweep(wrong, told(tmp_path, 1), workers)


@pytest.mark.parametrize("kind", ["local processes", DASK])
def test_a_worker_killed_in_the_middle_costs_no_result(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """
    The task that the dead one was at begins again elsewhere, and counts once.
    """
    workers: SweepBackend = (
        LocalProcessSweepWorkers(2)
        if kind == "local processes"
        else request.getfixturevalue("cluster").workers()
    )
    tasks = told(tmp_path, 8, slow=(3,))
    counts: list[int] = []

    def kill() -> None:
        wait_until(lambda: bool(tasks[3].begun))
        os.kill(tasks[3].begun[0], signal.SIGKILL)
        wait_until(lambda: len(tasks[3].begun) == 2)
        (tmp_path / "go").touch()

    killer = Thread(target=kill)
    killer.start()
    swept = run_sweep(square, tasks, workers, on_done=counts.append)
    killer.join()

    assert swept.done == tuple((task, task.number**2) for task in tasks)
    assert counts == list(range(1, 9))
    assert tasks[3].begun[0] != tasks[3].begun[1]


def test_a_task_that_kills_every_worker_is_told_of(tmp_path: Path) -> None:
    """
    All others are done; the sweep does not go on for ever.
    """
    tasks = told(tmp_path, 6, slow=(2,))

    swept = run_sweep(deadly, tasks, LocalProcessSweepWorkers(2))

    assert [task.number for task, _ in swept.done] == [0, 1, 3, 4, 5]
    assert swept.left == (tasks[2],)
    assert swept.lost


def test_a_halt_keeps_what_is_done(workers: SweepBackend, tmp_path: Path) -> None:
    """
    Tasks that hear of it end with what they have, where they run on this machine; others are
    given up. None begins after it.
    """
    tasks = told(tmp_path, 7, slow=(4, 5, 6))
    counts: list[int] = []

    def stop() -> bool:
        return len(counts) >= 4 and any(task.begun for task in tasks[4:])

    swept = run_sweep(square, tasks, workers, stop=stop, on_done=counts.append)

    assert [result for _, result in swept.done[:4]] == [0, 1, 4, 9]
    assert {result for _, result in swept.done[4:]} <= {-1}
    assert len(swept.done) + len(swept.left) == 7
    assert not swept.lost
    assert swept.left


def test_processes_end_with_who_started_them(tmp_path: Path) -> None:
    """
    A killed command leaves nobody behind that works on.
    """
    code = (
        "from placer.sweep.sweep import run_sweep\n"
        "from placer.sweep.workers import LocalProcessSweepWorkers\n"
        "from sweep_tasks import Told, square\n"
        "if __name__ == '__main__':\n"
        f"    run_sweep(square, [Told(0, {str(tmp_path)!r}, True)], LocalProcessSweepWorkers(1))\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    task = Told(0, str(tmp_path), slow=True)
    parent = subprocess.Popen(
        [sys.executable, str(script)], env=os.environ | {"PYTHONPATH": str(TESTS)}
    )
    wait_until(lambda: bool(task.begun))

    parent.kill()
    parent.wait()

    wait_until(lambda: not is_alive(task.begun[0]))


def is_alive(process: int) -> bool:
    """Return whether a process is there and not a zombie that nobody has waited for."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("processes", "address", "message"),
    [
        (None, "tcp://10.0.0.1:8786", "got 'tcp://10.0.0.1:8786'; expected dask:tcp://HOST:PORT"),
        (None, "dask:", "got 'dask:'; expected dask:tcp://HOST:PORT"),
        (None, "dask:foo", "got 'dask:foo'; expected dask:tcp://HOST:PORT"),
        (None, "dask:tcp://foo", "got 'dask:tcp://foo'; expected dask:tcp://HOST:PORT"),
        (2, "dask:tcp://a:1", "got 2 processes and dask:tcp://a:1; name one of them"),
    ],
)
def test_workers_that_nobody_has(processes: int | None, address: str, message: str) -> None:
    with pytest.raises(SweepWorkersError) as caught:
        make_sweep_workers(processes, address)

    assert str(caught.value) == message


def test_one_process_is_this_one() -> None:
    assert isinstance(make_sweep_workers(1, None), InProcessSweepWorker)
    assert isinstance(make_sweep_workers(None, None), InProcessSweepWorker)
    assert isinstance(make_sweep_workers(3, None), LocalProcessSweepWorkers)


def test_dask_that_is_not_installed_is_told_how_to_get(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(SweepWorkersError, match=r"pip install 'placer\[dask\]'"):
        make_sweep_workers(None, "dask:tcp://127.0.0.1:8786")


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    One line says where nobody answers, and how to start somebody.
    """
    pytest.importorskip("distributed", reason=NO_DASK)
    monkeypatch.setattr("placer.sweep.workers._ANSWER_S", 0.2)

    with pytest.raises(SweepWorkersError) as caught:
        run_sweep(square, [Told(0, "")], make_sweep_workers(None, "dask:tcp://127.0.0.1:9"))

    assert str(caught.value).startswith("no Dask scheduler answers at tcp://127.0.0.1:9 (")
    assert "\n" not in str(caught.value)
