"""Tiny instances with extended resources: plain amounts that nodes have and pods ask for."""

from dataclasses import replace
from random import Random

from features.feature import Feature
from placer_models.cluster import Instance
from placer_models.pod import Gang, Pod, PodSpec

NAMES = ("example.com/licences", "tokens")


def with_extended(rng: Random, instance: Instance) -> Instance:
    """Give nodes amounts of one resource or two, and let most pods ask for some of them.

    Running pods may come to hold more than there is; then nothing more fits in.
    """
    names = NAMES[: rng.choice((1, 2))]
    unit = rng.choice((1, 1, 7, 1 << 30))
    specs: dict[PodSpec, PodSpec] = {}

    def amounts(most: int) -> tuple[tuple[str, int], ...]:
        drawn = ((name, unit * rng.randint(0, most)) for name in names)
        return tuple((name, amount) for name, amount in drawn if amount)

    def asking(pod: Pod) -> Pod:
        if pod.spec not in specs:
            first, *rest = pod.spec.containers
            asked = replace(first.requests, extended=amounts(3))
            specs[pod.spec] = replace(pod.spec, containers=(replace(first, requests=asked), *rest))
        return replace(pod, spec=specs[pod.spec])

    def gang_asking(gang: Gang) -> Gang:
        return replace(gang, pods=tuple(map(asking, gang.pods)))

    return replace(
        instance,
        nodes=tuple(replace(node, extended=amounts(5)) for node in instance.nodes),
        gangs=tuple(map(gang_asking, instance.gangs)),
        running=tuple(replace(runner, pod=asking(runner.pod)) for runner in instance.running),
    )


FEATURE = Feature("extended", with_extended)
