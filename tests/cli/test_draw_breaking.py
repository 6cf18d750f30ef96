"""Narrow cells: where a name breaks, and what is left out for want of room."""

from pathlib import Path

import pytest
from rich.text import Text

from cli_samples import written
from commands import Placer
from placer_cli.draw.breaking import WrappingText

LONG_NAMES = """\
apiVersion: placer/v1
kind: Instance
nodes: [{name: eu-west-rack-07-gpu, machine: dgx-1-v100}]
pods:
  - {name: llama-3-70b-pretraining-worker, namespace: customer-facing-services,
     requests: {cpu: 4, memory: 8Gi, gpu: 4}}
"""


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("llama-pretraining-worker-0", 18, ["llama-pretraining-", "worker-0"]),
        ("team-a/web", 8, ["team-a/", "web"]),
        ("0-3,40-43", 5, ["0-3,", "40-43"]),
        ("1,024 CPUs", 3, ["1,024", "CPUs"]),
        ("node-a.eu-1.internal", 9, ["node-a.", "eu-1.", "internal"]),
        ("  worker-of-a-gang", 9, ["  worker-", "of-a-gang"]),
        ("unbreakable", 4, ["unbreakable"]),
        ("one two\nthree", 20, ["one two", "three"]),
        ("fits-as-it-is", 13, ["fits-as-it-is"]),
        ("two words", 5, ["two", "words"]),
        ("", 5, [""]),
    ],
)
def test_a_name_breaks_where_a_reader_would_break_it(
    text: str, width: int, lines: list[str]
) -> None:
    """
    After hyphens, dots, slashes and blanks; not in numbers, and never in mid-word.
    """
    assert [line.plain.rstrip() for line in WrappingText(Text(text)).lines(width)] == lines


@pytest.mark.parametrize(("columns", "links"), [("80", "25 GB/s\n"), ("140", "25 GB/s, sum 225\n")])
def test_a_narrow_table_says_the_slowest_link_alone(
    columns: str, links: str, tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    At 80 columns a cell of links is whole, and no word of a name is torn apart.
    """
    monkeypatch.setenv("COLUMNS", columns)

    command = ["solve", written(tmp_path, LONG_NAMES), "--engine", "greedy"]
    table = placer(*command).out.split("How good it is")[0]

    rows = "\n".join(line.rstrip() for line in table.splitlines()) + "\n"
    assert links in rows
    for word in ("customer-", "services/", "llama-3-70b-", "pretraining-", "worker", "eu-west-"):
        assert word in rows
