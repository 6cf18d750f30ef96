"""Tier ``alignment``: cells used beyond the fewest that an empty node would need."""

from functools import lru_cache

from placer.judge.cells import cells_used, claims_of, empty_cells, policy_of
from placer.judge.scene import Cell, Scene
from placer_models.alignment import Amounts, fewest_cells
from placer_models.policy import AlignmentPolicy


def cells_beyond_fewest(scene: Scene) -> int:
    """Return the sum over the newly placed pods under BestEffort."""
    beyond = 0
    for site, tenant in scene.newcomers():
        if policy_of(site, tenant) is AlignmentPolicy.BEST_EFFORT:
            every_cell: list[Cell] = [numa.id for numa in site.inside.topology.numa_nodes]
            every_cell.append(None)
            for claim in claims_of(site, tenant):
                fewest = _fewest(*empty_cells(site.inside, claim, every_cell))
                beyond += len(cells_used(site, claim)) - fewest
    return beyond


@lru_cache(maxsize=4096)
def _fewest(cells: tuple[Amounts, ...], need: Amounts) -> int:
    # None: not even the empty node holds it, so that the placement has breaches.
    return fewest_cells(cells, need) or 0
