"""Tiny instances with extended resources: plain amounts that nodes have and pods ask for."""

from dataclasses import replace
from random import Random

from features.feature import Feature, with_specs
from placer_models.cluster import Instance
from placer_models.pod import PodSpec

NAMES = ("example.com/licences", "tokens")


def with_extended(rng: Random, instance: Instance) -> Instance:
    """Give nodes amounts of one resource or two, and let most pods ask for some of them.

    Running pods may come to hold more than there is; then nothing more fits in.
    """
    names = NAMES[: rng.choice((1, 2))]
    unit = rng.choice((1, 1, 7, 1 << 30))

    def amounts(most: int) -> tuple[tuple[str, int], ...]:
        drawn = ((name, unit * rng.randint(0, most)) for name in names)
        return tuple((name, amount) for name, amount in drawn if amount)

    def asking(spec: PodSpec) -> PodSpec:
        first, *rest = spec.containers
        asked = replace(first.requests, extended=amounts(3))
        return replace(spec, containers=(replace(first, requests=asked), *rest))

    nodes = tuple(replace(node, extended=amounts(5)) for node in instance.nodes)
    return with_specs(replace(instance, nodes=nodes), asking)


FEATURE = Feature("extended", with_extended)
