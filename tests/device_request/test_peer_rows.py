"""Requests for devices are taken, refused and translated as Koordinator does."""

import json
import os
from pathlib import Path

import pytest

from device_request.peer_rows import Row, answer, from_peer

ROWS = json.loads((Path(__file__).parent / "data" / "koordinator.json").read_text())["rows"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_row_is_answered_as_by_the_peer(row: Row) -> None:
    """
    Refused where the peer refuses; else the same names, resources, devices and shares.
    """
    assert answer(row) == row


def test_every_row_of_the_peers_own_table_is_answered_alike() -> None:
    """
    The same over a whole table of the peer, where there is one beside the project.
    """
    root = Path(os.environ.get("PLACER_SHARED", Path(__file__).parents[3] / "shared"))
    table = root / "cases" / "koordinator_device_requests.json"
    if not table.exists():
        pytest.skip(
            f"{table} is not there: set PLACER_SHARED to a folder with cases/ of tables "
            "extracted from the tests that data/koordinator.json names"
        )
    rows = [from_peer(case) for case in json.loads(table.read_text())["cases"]]

    assert [row["name"] for row in rows if answer(row) != row] == []
