"""Figures of the house that are not to get worse unseen."""

from pathlib import Path

from house.house_figures import House

CHECKOUT = Path(__file__).parents[2]
LONGEST_CHAIN = 38
"""Modules of which each imports the next."""


def test_no_chain_of_imports_is_longer_than_it_was() -> None:
    """
    A longer one is told with all its modules.
    """
    chain = House(CHECKOUT).chain()
    assert len(chain) <= LONGEST_CHAIN, "\n".join(chain)
