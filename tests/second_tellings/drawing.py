"""Nodes, pods and labels to hold two tellings of a rule against each other."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from random import Random

from mixed_worlds import mixed_instance
from placer_models.cluster import Instance, Node
from placer_models.pod import Pod, PodSpec, pods_of_gangs
from placer_models.selectors import Labels


@cache
def mixed_worlds() -> tuple[Instance, ...]:
    """Return 50 tiny worlds in which the words of all families meet."""
    return tuple(map(mixed_instance, range(50)))


def all_pods(instance: Instance) -> Iterator[Pod]:
    """Yield the pods that wait, then those that run."""
    yield from pods_of_gangs(instance.gangs)
    yield from (running.pod for running in instance.running)


def nodes_and_specs() -> Iterator[tuple[Node, PodSpec]]:
    """Yield each node of a world with each spec of its world."""
    for instance in mixed_worlds():
        specs = dict.fromkeys(pod.spec for pod in all_pods(instance))
        yield from product(instance.nodes, specs)


def drawn_labels(rng: Random, keys: str, values: Sequence[str]) -> Labels:
    """Draw labels of which each key may be missing."""
    return tuple((key, rng.choice(values)) for key in keys if rng.random() < 0.7)
