"""Large files show how far they are read: on a terminal, and nowhere else."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from rich.text import Text

from kubernetes_worlds import node, pod
from placer.load import load_instance
from placer_cli import reading_bar
from placer_models.files.documents import load_documents
from placer_models.files.reading import LEAST_BYTES, Tell, reading_watched_by

BIG = "x" * (LEAST_BYTES + 1)


def told_of(work: Callable[[], object]) -> dict[str, tuple[int | None, list[int]]]:
    """Return what a watcher is told: each file with its size, and how far it was read."""
    told: dict[str, tuple[int | None, list[int]]] = {}

    @contextmanager
    def watcher(file: str, size_bytes: int | None) -> Iterator[Tell]:
        told[file] = size_bytes, []
        yield told[file][1].append

    with reading_watched_by(watcher):
        work()
    work()  # nobody is told any more
    return told


@pytest.mark.parametrize("name", ["dump.yaml", "dump.json"])
def test_a_dump_tells_of_its_bytes(tmp_path: Path, name: str) -> None:
    """
    The bytes read rise to the size of the file; of a small file nothing is told.
    """
    write = json.dumps if name.endswith("json") else yaml.safe_dump
    long = pod("long", annotations={"note": BIG})
    path, small = tmp_path / name, tmp_path / f"small-{name}"
    path.write_text(write({"apiVersion": "v1", "items": [node(), long], "kind": "List"}))
    small.write_text(write({"apiVersion": "v1", "items": [node(), pod()], "kind": "List"}))

    told = told_of(lambda: (load_instance([path]), load_instance([small])))

    ((file, (size_bytes, steps)),) = told.items()
    assert file == str(path)
    assert size_bytes == steps[-1] == path.stat().st_size
    assert steps == sorted(steps)
    assert steps[0] < steps[-1]


@pytest.mark.parametrize("name", ["big.yaml", "big.json"])
def test_a_document_of_ours_tells_of_its_text(tmp_path: Path, name: str) -> None:
    """
    In steps, up to its length.
    """
    path = tmp_path / name
    rows = [["x" * 300] * 10] * 1500
    path.write_text(json.dumps({"rows": rows, "more": [0] * 25_000}))

    ((file, (size, steps)),) = told_of(lambda: load_documents(path)).items()

    assert (file, size) == (str(path), path.stat().st_size)
    assert len(steps) > 3
    assert steps == sorted(set(steps))
    assert 0 < steps[-1] <= path.stat().st_size


def shown(
    monkeypatch: pytest.MonkeyPatch, size_bytes: int | None, *, terminal: bool, width: int = 80
) -> str:
    """Return what is written while five MiB of a file are read."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=width)
    monkeypatch.setattr(reading_bar, "error_console", lambda: console)
    with reading_bar.reading_bar("a/very/long/cluster.yaml", size_bytes) as tell:
        tell(5 * 2**20)
        return Text.from_ansi(stream.getvalue()).plain


def test_the_bar_has_the_file_and_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Bytes read of all bytes, and the part that this is.
    """
    text = shown(monkeypatch, 10 * 2**20, terminal=True)

    assert "reading cluster.yaml" in text
    assert "50%" in text
    assert "5.0/10.0 MiB" in text


def test_a_narrow_terminal_has_less_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The bar keeps to one line, or each step would leave a line behind.
    """
    text = shown(monkeypatch, 10 * 2**20, terminal=True, width=64)

    assert "reading cluste" in text
    assert "cluster.yaml" not in text
    assert "5.0/10.0 MiB" in text
    assert all(len(line) <= 64 for line in text.splitlines())


def test_a_pipe_has_bytes_and_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Nobody knows how many there will be.
    """
    text = shown(monkeypatch, None, terminal=True)

    assert "reading cluster.yaml" in text
    assert "5.0/?" in text


@pytest.mark.parametrize("size_bytes", [10 * 2**20, None])
def test_no_terminal_gets_no_bar(monkeypatch: pytest.MonkeyPatch, size_bytes: int | None) -> None:
    """
    A log or a pipe has no use for it.
    """
    assert shown(monkeypatch, size_bytes, terminal=False) == ""
