"""Tiny instances whose nodes take only so many pods."""

from dataclasses import replace
from random import Random

from features.feature import Feature
from placer_models.cluster import Instance


def with_max_pods(rng: Random, instance: Instance) -> Instance:
    """Say of most nodes how many pods they take; more may run there already."""
    return replace(
        instance,
        nodes=tuple(
            replace(node, max_pods=rng.choice((None, 0, 1, 1, 2, 3))) for node in instance.nodes
        ),
    )


FEATURE = Feature("max_pods", with_max_pods)
