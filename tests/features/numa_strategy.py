"""Worlds whose nodes have NUMA allocate strategies."""

from dataclasses import replace
from random import Random

from features.feature import Feature, with_pods_alike
from placer_models.cluster import Instance
from placer_models.pod import Container, Pod, Resources
from placer_models.policy import AlignmentPolicy, BindPolicy, NodeBindPolicy, NumaStrategy, QosClass
from worlds import tiny_instance


def with_numa_strategies(rng: Random, instance: Instance) -> Instance:
    """Give nodes a NUMA allocate strategy."""
    return replace(
        instance,
        nodes=tuple(
            replace(node, numa_strategy=rng.choice((None, *NumaStrategy, *NumaStrategy)))
            for node in instance.nodes
        ),
    )


def strategy_instance(seed: int) -> Instance:
    """Draw a tiny instance whose nodes have NUMA allocate strategies."""
    return with_numa_strategies(Random(f"strategy-{seed}"), tiny_instance(seed))


def even_instance(seed: int) -> Instance:
    """Draw a tiny instance with even shares, for pods most of which need several NUMA nodes."""
    rng = Random(f"even-{seed}")
    instance = tiny_instance(seed)
    asked = rng.choice(((3, 4, 5), (5, 6, 6, 7), (2, 3, 6, 6)))

    def owning(pod: Pod) -> Pod:
        spec = replace(
            pod.spec,
            containers=(Container("app", Resources(1000 * rng.choice(asked))),),
            qos=rng.choice((QosClass.LSR, QosClass.LSE)),
            bind=rng.choice((*(BindPolicy.DEFAULT,) * 4, *BindPolicy)),
            alignment=AlignmentPolicy.NONE,
            joint=None,
        )
        return replace(pod, spec=spec)

    binds = (*(NodeBindPolicy.NONE,) * 4, *NodeBindPolicy)
    return replace(
        instance,
        nodes=tuple(
            replace(
                node,
                numa_strategy=rng.choice((*NumaStrategy, *(NumaStrategy.DISTRIBUTE_EVENLY,) * 4)),
                cpu_bind=rng.choice(binds),
                alignment=AlignmentPolicy.NONE,
            )
            for node in instance.nodes
        ),
        gangs=tuple(with_pods_alike(gang, owning) for gang in instance.gangs),
        name=f"{instance.name}, even",
    )


FEATURE = Feature("numa_strategy", with_numa_strategies)
