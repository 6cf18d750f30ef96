"""What tests of the search share."""

import pytest

from placer.search import joint_search, neighbourhoods


@pytest.fixture
def parts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the search see two nodes at a time, and never the whole."""
    for name in ("FEW_ASSIGNMENTS", "MOST_LINKED_ASSIGNMENTS", "MOST_ASSIGNMENTS"):
        monkeypatch.setattr(joint_search, name, 0)
    monkeypatch.setattr(neighbourhoods, "FEWEST_NODES", 2)
    monkeypatch.setattr(neighbourhoods, "MOST_NODES", 2)
