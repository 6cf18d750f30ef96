"""Optional tiers: tiers that an instance has only if something in it asks for them."""

from placer_models.cluster import Instance, NodesWithCachedFacts
from placer_models.goals import (
    InstanceFactsDecidingTiers,
    Tier,
    tiers_asked_by_fleet,
    tiers_asked_by_pod,
)
from placer_models.pod import pods_of_gangs


def tiers_asked_by_instance(instance: Instance) -> tuple[Tier, ...]:
    """Return the tiers that something in the instance asks for, beyond those of every instance.

    They include the tiers of its strategy, and those that running pods in breach of a rule, which
    could move (``could_leave``), ask for.
    """
    could = [running.pod for running in instance.could_leave]
    # By identity: replicas share their spec.
    specs = {id(pod.spec): pod.spec for pod in (*pods_of_gangs(instance.gangs), *could)}.values()
    fleet = _fleet_of(instance)
    asked = dict.fromkeys(tiers_asked_by_fleet(fleet))
    for spec in specs:
        for each in spec.each:
            asked.update(dict.fromkeys(tiers_asked_by_pod(each, fleet)))
    return tuple(asked)


def _fleet_of(instance: Instance) -> InstanceFactsDecidingTiers:
    nodes = NodesWithCachedFacts.of(instance.nodes)
    named = {(r.pod.namespace, r.placement.gang) for r in instance.could_leave}
    levels = [gang.levels for gang in instance.gangs]
    levels += [gang.levels for gang in instance.running_gangs if gang.key in named]
    return InstanceFactsDecidingTiers(
        instance.strategy,
        bool(nodes.offer),
        bool(instance.move_budget),
        any(not rule.required for rules in levels for rule in rules),
        nodes.have_cells,
        nodes.have_packages,
        nodes.have_strategy,
        nodes.prefer_partitions,
        nodes.soft_taints,
        nodes.localities,
        nodes.exclusive_defaults,
    )
