"""Tables on narrow pages: columns are left out or wrap, and no cell is ever cut."""

from collections import Counter
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.text import Text

from cli_samples import busy, text_of
from commands import Placer
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.places import draw_newly_placed_pods
from placer_cli.draw.residents import drawn_pods_by_node
from placer_cli.draw.tables import MOST_LINES, table_without_empty_columns

CHECKOUT = Path(__file__).parents[2]
HEAD = ("pod", "node", "CPUs", "note")
ROWS = (
    ("train-0", "gpu-00", "48-55,176-183", "on a node whose name is far longer than forty columns"),
    ("train-1", "gpu-01", "112-119,240-247", ""),
)


def drawn(width: int, spare: tuple[str, ...] = ()) -> str:
    rows = [[Text(word) for word in row] for row in ROWS]
    return text_of(
        table_without_empty_columns(HEAD, rows, width, wrap={"pod": 5}, spare=spare), width
    )


@pytest.mark.parametrize("width", range(20, 110, 3))
def test_every_cell_is_there_to_its_last_letter(width: int) -> None:
    """
    However narrow the page, no line runs over it, and nothing is cut.
    """
    text = drawn(width)

    assert max(map(cell_len, text.splitlines())) <= width
    letters = Counter("".join("".join(row) for row in (HEAD, *ROWS)).replace(" ", ""))
    assert not letters - Counter(text)


@pytest.mark.parametrize("width", ["60", "72", "80", "100"])
@pytest.mark.parametrize(
    "command",
    [["show", "instances/dumps/cluster.yaml"], ["show", "instances/infeasible.yaml"]],
    ids=lambda command: command[1],
)
def test_a_table_keeps_to_its_page(
    command: list[str], width: str, monkeypatch: pytest.MonkeyPatch, placer: Placer
) -> None:
    """
    With names of several words' width beside columns that break.
    """
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.chdir(CHECKOUT)

    assert max(map(cell_len, placer(*command).out.splitlines())) <= int(width)


def test_spare_columns_go_first_and_then_rows_become_lists() -> None:
    """
    Where not even that is enough, each row is a list, spare columns and all.
    """
    table_of_three, lists = drawn(36, ("note",)), drawn(21, ("note", "node"))

    assert table_of_three.splitlines()[0].split() == ["pod", "node", "CPUs"]
    assert lists.splitlines()[:3] == ["pod   train-0", "node  gpu-00", "CPUs  48-55,176-183"]
    assert "\n\npod   train-1\nnode  gpu-01\n" in lists


@pytest.mark.parametrize("width", [30, 40, 50, 60])
def test_places_are_told_in_full_on_a_narrow_page(width: int) -> None:
    """
    The CPUs of a pod are never half a list.
    """
    instance, placement = busy()
    text = text_of(
        draw_newly_placed_pods(
            instance, drawn_pods_by_node(instance, placement), WidthAndMarks(width)
        ),
        width,
    )

    assert max(map(cell_len, text.splitlines())) <= width
    for cell in ("train-0", "112-119,240-247", "7:64Gi", "jobs/batch", "rdma 0"):
        assert cell in text


@pytest.mark.parametrize(
    "command",
    [
        ["machines"],
        ["queue", "simulate", "instances/queues/fig-3-04.yaml"],
        ["queue", "advise", "instances/queues/history.yaml"],
        ["slots", "place", "instances/slots/word-count.yaml", "instances/slots/workers/small.yaml"],
        ["solve", "instances/hello.yaml", "--engine", "greedy"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
@pytest.mark.parametrize("width", ["32", "48"])
def test_no_command_cuts_a_cell(
    command: list[str], width: str, monkeypatch: pytest.MonkeyPatch, placer: Placer
) -> None:
    """
    The tables of all commands keep to a narrow terminal without leaving out half of a word.
    """
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.chdir(CHECKOUT)

    text = placer(*command).out

    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= int(width)


REASON = "not now: only 3 of 4 members of gang train fit beside what runs (4 are needed)"
MINIMUM = "it runs with 4 or not at all"


@pytest.mark.parametrize("width", range(28, 140, 4))
def test_long_sentences_stand_below_their_row(width: int) -> None:
    """
    A sentence that would take more than three lines beside the names has all of the width below
    them; it begins a line of its own there, and goes on further to the right.
    """
    rows = [
        [Text("worker-[0-3] (4)"), Text("train"), Text(f"{REASON}\n{MINIMUM}")],
        [Text("lone"), Text(""), Text("never fits")],
    ]

    text = text_of(
        table_without_empty_columns(("pod", "gang", "why"), rows, width, sentences="why"), width
    )

    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(cell_len, lines)) <= width
    if "─" in text:
        assert sum("not now" in line or "needed" in line for line in lines) <= MOST_LINES
        assert len(lines) <= 2 + MOST_LINES + MOST_LINES + 1
        return
    assert (lines[0], *lines[-2:]) == ("worker-[0-3] (4)  gang train", "lone", "  never fits")
    first, second = (" ".join(part.split()) for part in "\n".join(lines[1:-2]).split("\n  it"))
    assert (first, f"it {second}") == (REASON, MINIMUM)


def test_sentences_stand_beside_their_row_on_a_wide_page() -> None:
    """
    Three lines are not too many, and four are.
    """
    rows = [[Text("worker"), Text(" ".join(["word"] * 30))]]

    drawn = [
        text_of(table_without_empty_columns(("pod", "why"), rows, width, sentences="why"), width)
        for width in (64, 48)
    ]

    assert ["─" in text for text in drawn] == [True, False]
