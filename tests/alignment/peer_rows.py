"""Rows of the peers' own tests, read into words."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from alignment.hints import Hint, ProviderHints
from placer_models.cpuset import parse_cpu_list

DATA = Path(__file__).parent / "data"

Row = dict[str, Any]


@cache
def table(name: str) -> dict[str, Any]:
    """Return a data file: where it comes from, and its rows."""
    found: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return found


def name_of(row: Row) -> str:
    """Return what the test of the row is called."""
    return f"{row.get('policy', '')} {row['name']}{' (closest)' * row.get('closest', False)}"


def numa_nodes_of(text: str | None) -> frozenset[int] | None:
    """Read a list of NUMA nodes; none is wherever."""
    return None if text is None else parse_cpu_list(text)


def hint_of(text: str) -> Hint:
    """Read one hint, such as ``0-1*``."""
    place = text.removesuffix("*")
    numa_nodes = {"any": None, "none": frozenset[int]()}
    return Hint(
        numa_nodes[place] if place in numa_nodes else parse_cpu_list(place),
        preferred=text.endswith("*"),
    )


def hints_of(text: str) -> list[Hint]:
    """Read the hints of one resource; none at all: it cannot be had."""
    return [hint_of(word) for word in text.split()]


def providers_of(row: Row) -> list[ProviderHints | None]:
    """Read what each provider says of each of its resources."""
    return [
        provider
        and {name: None if text is None else hints_of(text) for name, text in provider.items()}
        for provider in row["hints"]
    ]
