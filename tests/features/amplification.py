"""Tiny instances whose CPUs count as more than they are."""

from dataclasses import replace
from random import Random

from features.bound import with_bound
from features.feature import Feature, with_pods
from placer_models.cluster import Instance
from placer_models.pod import Pod


def with_amplification(rng: Random, instance: Instance) -> Instance:
    """Amplify the CPUs of most nodes."""
    return replace(
        instance,
        nodes=tuple(
            replace(node, milli_per_cpu=rng.choice((1000, 1125, 1500, 1500, 2000)))
            for node in instance.nodes
        ),
    )


def amplified(rng: Random, instance: Instance) -> Instance:
    """Amplify, where LS and BE pods ask for much; in half of the instances some are bound."""

    def wanting(pod: Pod) -> Pod:
        if pod.spec.qos.owns_cpus:
            return pod
        first, *others = pod.spec.containers
        milli = rng.choice((0, 1125, 1500, 3000, 4500, 6000, 7500, 9000, 12_000))
        asked = replace(first, requests=replace(first.requests, cpu_milli=milli))
        return replace(pod, spec=replace(pod.spec, containers=(asked, *others)))

    if rng.random() < 0.5:
        return with_amplification(rng, with_bound(rng, instance))
    gangs = tuple(with_pods(gang, wanting) for gang in instance.gangs)
    return with_amplification(rng, replace(instance, gangs=gangs))


FEATURE = Feature("amplification", with_amplification)
