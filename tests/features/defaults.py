"""Worlds whose scheduler has defaults, for pods and nodes that say little themselves (C22)."""

from dataclasses import replace
from random import Random
from typing import TypeVar

from features.bound import with_bound
from features.burst import some_of
from features.exclusivity import with_exclusivity
from features.feature import Feature, with_pods_alike
from features.node_binds import with_node_binds
from features.numa import with_aligned_containers
from features.numa_strategy import with_numa_strategies
from placer_models.bound import is_bound_by_policy
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.defaults import Defaults
from placer_models.pod import Pod
from placer_models.policy import AlignmentPolicy, BindPolicy, ExclusivePolicy, NumaStrategy
from worlds import tiny_instance

T = TypeVar("T")


def some_defaults(rng: Random) -> Defaults:
    """Draw what a scheduler is set to; each word by itself."""
    return Defaults(
        bind=rng.choice((*BindPolicy, BindPolicy.SPREAD_BY_PCPUS)),
        exclusive=rng.choice(tuple(ExclusivePolicy)),
        alignment=rng.choice((AlignmentPolicy.NONE, *AlignmentPolicy)),
        numa_strategy=rng.choice((None, *NumaStrategy)),
    )


def with_defaults(rng: Random, instance: Instance) -> Instance:
    """Take words from pods and nodes, and give the scheduler some instead."""

    def less(word: T | None, nothing: T) -> T | None:
        return None if rng.random() < (0.8 if word is nothing else 0.4) else word

    def quiet(pod: Pod) -> Pod:
        spec = replace(
            pod.spec,
            alignment=less(pod.spec.alignment, AlignmentPolicy.NONE),
            exclusive=less(pod.spec.exclusive, ExclusivePolicy.NONE),
        )
        if not spec.bind_required and rng.random() < 0.5:
            spec = replace(spec, bind=BindPolicy.DEFAULT)
        return replace(pod, spec=spec)

    def silent(node: Node) -> Node:
        return replace(
            node,
            alignment=less(node.alignment, AlignmentPolicy.NONE),
            numa_strategy=None if rng.random() < 0.6 else node.numa_strategy,
        )

    found = replace(
        instance,
        nodes=tuple(map(silent, instance.nodes)),
        gangs=tuple(with_pods_alike(gang, quiet) for gang in instance.gangs),
        defaults=some_defaults(rng),
        name=f"{instance.name}, defaults",
    )
    by_name = {node.name: node for node in found.nodes}
    running = []
    for runner in instance.running:
        pod, place, node = quiet(runner.pod), runner.placement, by_name[runner.placement.node]
        # Whom the default binds now ran somewhere before; some are known to float.
        if (
            is_bound_by_policy(pod.spec, node)
            and not is_bound_by_policy(runner.pod.spec, node)
            and rng.random() < 0.7
        ):
            cpus = some_of(rng, place.cpuset, node)
            place = replace(place, cpuset=cpus) if cpus else replace(place, cpu_milli=())
        running.append(RunningPod(pod, place, runner.movable))
    return replace(found, running=tuple(running))


def defaults_instance(seed: int) -> Instance:
    """Draw a tiny instance under defaults, with words that they meet in most of them."""
    rng = Random(f"defaults-{seed}")
    instance = tiny_instance(seed)
    for dress, odds in (
        (with_node_binds, 0.4),
        (with_numa_strategies, 0.4),
        (with_exclusivity, 0.4),
        (with_bound, 0.3),
        (with_aligned_containers, 0.2),
    ):
        if rng.random() < odds:
            instance = dress(rng, instance)
    return with_defaults(rng, instance)


FEATURE = Feature("defaults", with_defaults)
