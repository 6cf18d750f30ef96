"""Helpers of the slot tests: rows of data, and job graphs written out as files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from placer.slots.compiled import CompiledDataflowJob
from placer.slots.file import compile_job_file, read_job_graph
from placer.slots.graph import JobGraph

DATA = Path(__file__).parent / "data"

Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    """Return the rows of a data file of ours."""
    found: list[Row] = json.loads((DATA / name).read_text("utf-8"))["rows"]
    return found


def row_id(row: Row) -> str:
    """Return a row's name, for the report of a test."""
    return str(row["id"])


def job_file(folder: Path, job: Mapping[str, object]) -> Path:
    """Write a job graph's document."""
    path = folder / "job.json"
    path.write_text(
        json.dumps({"apiVersion": "placer/v1", "kind": "JobGraph", **job}), encoding="utf-8"
    )
    return path


def read(folder: Path, job: Mapping[str, object]) -> JobGraph:
    """Read a job graph through its file."""
    return read_job_graph(job_file(folder, job))


def compiled(folder: Path, job: Mapping[str, object]) -> CompiledDataflowJob:
    """Compile a job graph through its file."""
    return compile_job_file(job_file(folder, job))


def chain_names(job: CompiledDataflowJob, chain: int) -> list[str]:
    """Return the operators of a chain by name, sorted."""
    return sorted(job.operators[i] for i in job.chains[chain].operators)


def partition(labels: Mapping[str, object]) -> set[frozenset[str]]:
    """Return who is together, whatever the labels are."""
    parts: dict[object, set[str]] = {}
    for item, label in labels.items():
        parts.setdefault(label, set()).add(item)
    return {frozenset(part) for part in parts.values()}
