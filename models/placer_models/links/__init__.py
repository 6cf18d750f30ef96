"""The mathematics of links: which sets of GPUs are good, and what they leave.

Two devices are equivalent when swapping them changes nothing. A set is described by its count
per equivalence class, and sets of equal counts are equivalent; so sixteen GPUs behind one switch
are two classes with a handful of sets, not 12,870.

* ``board``: the classes of a node's devices, and what a set of them is worth.
* ``best``: the best set there is, on the empty node and among what is free.
* ``allowed``, ``permitted``: which sets a pod may have at all, and the best of those.
* ``usable``: how much a node's free devices are still good for.
"""

from placer_models.links.allowed import (
    has_set,
    is_partition,
    offered_count,
    offered_sets,
    partitions_of,
    place_keys,
    rooms_for_a_set,
    tells_apart,
)
from placer_models.links.best import best_pair_minimum, best_pair_sum, best_selection
from placer_models.links.board import (
    Board,
    DeviceSelection,
    board_of,
    counts_by_class,
    minors_of,
    pair_minimum,
    pair_sum,
    selection_count,
    selections,
    total_distance,
)
from placer_models.links.permitted import (
    best_permitted,
    best_permitted_minimum,
    best_permitted_sum,
)
from placer_models.links.usable import disjoint_sets, usable_points, usable_sets

__all__ = [
    "Board",
    "DeviceSelection",
    "best_pair_minimum",
    "best_pair_sum",
    "best_permitted",
    "best_permitted_minimum",
    "best_permitted_sum",
    "best_selection",
    "board_of",
    "counts_by_class",
    "disjoint_sets",
    "has_set",
    "is_partition",
    "minors_of",
    "offered_count",
    "offered_sets",
    "pair_minimum",
    "pair_sum",
    "partitions_of",
    "place_keys",
    "rooms_for_a_set",
    "selection_count",
    "selections",
    "tells_apart",
    "total_distance",
    "usable_points",
    "usable_sets",
]
