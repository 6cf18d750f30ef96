"""Requests for devices are taken, refused and translated as Koordinator does."""

import json
from pathlib import Path

import pytest

from device_request.peer_rows import Row, answer, from_peer
from shared_files import rows_named, shared

ROWS = json.loads((Path(__file__).parent / "data" / "koordinator.json").read_text())["rows"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_row_is_answered_as_by_the_peer(row: Row) -> None:
    """
    Refused where the peer refuses; else the same names, resources, devices and shares.
    """
    assert answer(row) == row


def test_every_row_of_the_peers_own_table_is_answered_alike() -> None:
    """
    The same rows as the peer has written them, where its table lies beside the project.
    """
    table = json.loads(shared("cases/koordinator_device_requests.json").read_text())
    cases = rows_named([row["name"] for row in ROWS], table["cases"])
    rows = [from_peer(case) for case in cases]

    assert [row["name"] for row in rows if answer(row) != row] == []
