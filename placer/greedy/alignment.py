"""Alignment: the NUMA nodes of a pod under BestEffort beyond the fewest."""

from placer.greedy.inside import CandidatePlace, TierCosts
from placer_models.goals import ALIGNMENT
from placer_models.policy import AlignmentPolicy


def _cells_beyond(place: CandidatePlace) -> int:
    fit = place.fit
    if fit.alignment is not AlignmentPolicy.BEST_EFFORT:
        return 0
    return len(place.cells) - fit.fewest_cells + place.beside_pool


COSTS: TierCosts = {ALIGNMENT: _cells_beyond}
