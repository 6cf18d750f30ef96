"""Devices are given as Koordinator gives them, or nearer to each other."""

import json
from collections import Counter
from pathlib import Path

import pytest

from figures import tell
from shared_files import rows_named, shared
from shares.peer_rows import Row, called, compared, from_peer, left_out

DATA = json.loads((Path(__file__).parent / "data" / "koordinator.json").read_text("utf-8"))
ROWS = [{**row, "devices": DATA["nodes"][row["devices"]]} for row in DATA["rows"]]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_row_is_answered_no_worse_than_by_the_peer(row: Row) -> None:
    """
    The same amounts, on no more PCIe switches.
    """
    assert compared(row) in ("equal", "better")


def test_no_row_of_the_peers_own_table_is_answered_worse() -> None:
    """
    The same rows as the peer has written them, where its table lies beside the project.
    """
    path = shared("cases/koordinator_device_allocator.json")
    table = json.loads(path.read_text("utf-8"))
    outcomes: Counter[str] = Counter()
    worse = []
    ours = [case for case in table["cases"] if left_out(case) is None]
    for case in rows_named([row["name"] for row in ROWS], ours, called):
        row = from_peer(case, table["fixtures"][case["device_fixture"]])
        verdict = compared(row)
        worse += [row["name"]] if verdict == "worse" else []
        outcomes[verdict] += 1
    counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(outcomes.items()))
    tell(counted)

    assert worse == [], counted
