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
    allowed_device_sets,
    count_offered_device_sets,
    free_counts_within_scope,
    has_allowed_set_on_empty_board,
    is_set_in_partition_table,
    partition_table_sets_left,
    partitions_matter_for,
    scope_places_of_classes,
)
from placer_models.links.best import best_device_set_among_free, best_pair_minimum, best_pair_sum
from placer_models.links.board import (
    LinkedDeviceClasses,
    LinkedDeviceSetCounts,
    counts_by_class,
    linked_classes_of_devices,
    lowest_free_minors,
    number_of_selectable_device_sets,
    pair_minimum,
    pair_sum,
    selectable_device_sets,
    total_device_pair_distance,
)
from placer_models.links.permitted import (
    best_permitted_devices,
    best_permitted_pair_minimum,
    best_permitted_pair_sum,
)
from placer_models.links.usable import (
    max_disjoint_fast_set_count,
    total_devices_in_usable_sets,
    usable_set_counts,
)

__all__ = [
    "LinkedDeviceClasses",
    "LinkedDeviceSetCounts",
    "allowed_device_sets",
    "best_device_set_among_free",
    "best_pair_minimum",
    "best_pair_sum",
    "best_permitted_devices",
    "best_permitted_pair_minimum",
    "best_permitted_pair_sum",
    "count_offered_device_sets",
    "counts_by_class",
    "free_counts_within_scope",
    "has_allowed_set_on_empty_board",
    "is_set_in_partition_table",
    "linked_classes_of_devices",
    "lowest_free_minors",
    "max_disjoint_fast_set_count",
    "number_of_selectable_device_sets",
    "pair_minimum",
    "pair_sum",
    "partition_table_sets_left",
    "partitions_matter_for",
    "scope_places_of_classes",
    "selectable_device_sets",
    "total_device_pair_distance",
    "total_devices_in_usable_sets",
    "usable_set_counts",
]
