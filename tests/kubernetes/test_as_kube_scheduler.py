"""Nodes that Placer offers in small clusters: those that kube-scheduler is known to leave.

That they do leave them is seen where a control plane is built (`tests/e2e`).
"""

import pytest

from e2e.known_differences import ASKED, Row, rows
from e2e.placer_verdict import verdict_of


@pytest.mark.parametrize(
    "row",
    [row for row in rows() if row.placer is None],
    ids=lambda row: f"{row.word}: {row.name}",
)
def test_a_word_in_a_small_cluster(row: Row) -> None:
    """
    One word of Kubernetes each, on two or three nodes; what is stricter says why.
    """
    found = verdict_of(row.objects, ASKED)

    assert found.fits == row.wanted, found.refused
