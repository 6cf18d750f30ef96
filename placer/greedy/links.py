"""Links between the GPUs of a pod, and partitions that they should be (D10)."""

from placer.greedy.inside import CandidatePlace, TierCosts
from placer_models.device import GPU
from placer_models.goals import PARTITIONS, POD_PAIR_MINIMUM, POD_PAIR_SUM
from placer_models.links.allowed import is_set_in_partition_table


def _outside_partitions(place: CandidatePlace) -> int:
    """Return 1 if the GPUs should be a partition and are not, else 0."""
    gpus = place.devices.gpus
    return sum(
        bank.type == GPU
        and bank.board.partitions is not None
        and gpus is not None
        and not is_set_in_partition_table(bank.board, gpus.counts)
        for bank in place.node.banks
    )


def _pair_minimum_short(place: CandidatePlace) -> int:
    """Return how far the slowest pair of GPUs is short of the best, in 0.01 GB/s."""
    gpus = place.devices.gpus
    if gpus is None or sum(gpus.counts) < 2:
        return 0
    return place.shape.best_pair_minimum - gpus.pair_minimum


def _pair_sum_short(place: CandidatePlace) -> int:
    """Return how far the sum over pairs of GPUs is short of the best, in 0.01 GB/s."""
    gpus = place.devices.gpus
    if gpus is None or sum(gpus.counts) < 2:
        return 0
    return place.fit.best_pair_sum - gpus.pair_sum


COSTS: TierCosts = {
    PARTITIONS: _outside_partitions,
    POD_PAIR_MINIMUM: _pair_minimum_short,
    POD_PAIR_SUM: _pair_sum_short,
}
