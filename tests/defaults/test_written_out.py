"""A second telling: defaults hold as if they stood at each pod that they decide for (C22)."""

from dataclasses import replace
from random import Random

import pytest

from features.defaults import defaults_instance
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.defaults import Defaults
from placer_models.placement import PartlyPlaced, Placed, Placement, PodPlacement
from placer_models.pod import Pod, PodSpec
from placer_models.policy import BindPolicy, ExclusivePolicy, NodeBindPolicy, RequiredOrPreferred
from placer_models.topology import ARM

GREEDY = SolveOptions(engine=Engine.GREEDY, workers=1, seed=1)
WORLDS = 60


def written_out(instance: Instance, node: Node, defaults: Defaults) -> Instance:
    """Return the instance of one node, with words in place of a scheduler's defaults."""
    on_arm = node.machine.topology.architecture == ARM
    spreads = defaults.bind is BindPolicy.SPREAD_BY_PCPUS
    bind = (
        None if node.cpu_bind is not NodeBindPolicy.NONE or (on_arm and spreads) else defaults.bind
    )
    by_core = defaults.exclusive is ExclusivePolicy.PCPU_LEVEL
    exclusive = ExclusivePolicy.NONE if on_arm and by_core else defaults.exclusive

    def spelt(spec: PodSpec) -> PodSpec:
        if spec.bind is BindPolicy.DEFAULT and bind is not None:
            spec = replace(spec, bind=bind, bind_strength=RequiredOrPreferred.PREFERRED)
        if spec.exclusive is None:
            spec = replace(spec, exclusive=exclusive)
        if spec.alignment is None and node.alignment is None:
            spec = replace(spec, alignment=defaults.alignment)
        return spec

    def pod(one: Pod) -> Pod:
        return replace(one, spec=spelt(one.spec))

    strategy = node.numa_strategy or defaults.numa_strategy
    return replace(
        instance,
        nodes=(replace(node, numa_strategy=strategy),),
        gangs=tuple(replace(gang, pods=tuple(map(pod, gang.pods))) for gang in instance.gangs),
        running=tuple(RunningPod(pod(r.pod), r.placement, r.movable) for r in instance.running),
        defaults=Defaults(),
    )


def shuffled(rng: Random, places: list[PodPlacement], node: Node) -> list[PodPlacement]:
    """Return the places on other CPUs and NUMA nodes of their node, allowed or not."""
    cpus = sorted(node.machine.topology.cpu)
    other = dict(zip(cpus, rng.sample(cpus, len(cpus)), strict=True))
    numa = [one.id for one in node.machine.topology.numa_nodes]
    home = dict(zip(numa, rng.sample(numa, len(numa)), strict=True))
    found = []
    for place in places:
        if rng.random() < 0.5:
            place = replace(place, cpuset=frozenset(other[cpu] for cpu in place.cpuset))
        if rng.random() < 0.5:
            memory = sorted((home[n], amount) for n, amount in place.memory_bytes)
            place = replace(place, memory_bytes=tuple(memory))
        found.append(place)
    return found


@pytest.mark.check
def test_a_default_is_as_good_as_a_word() -> None:
    """
    Node by node, and for good placements and bad ones, rules and tiers say the same.
    """
    compared = broken = 0
    for seed in range(WORLDS):
        rng, instance = Random(f"written out {seed}"), defaults_instance(seed)
        answer = solve(instance, GREEDY)
        placed = answer.placement.pods if isinstance(answer, Placed | PartlyPlaced) else ()
        for node in instance.nodes:
            here = [place for place in placed if place.node == node.name]
            running = tuple(r for r in instance.running if r.placement.node == node.name)
            silent = replace(instance, nodes=(node,), running=running, move_budget=0)
            spelt = written_out(silent, node, instance.common_defaults)
            for places in (here, *(shuffled(rng, here, node) for _ in range(8))):
                placement = Placement(tuple(places))
                rules = [
                    sorted((b.rule, b.subject) for b in breaches(i, placement))
                    for i in (silent, spelt)
                ]
                values = [
                    {t.name: v for t, v in measure(i, placement) if v} for i in (silent, spelt)
                ]

                assert rules[0] == rules[1], seed
                assert values[0] == values[1], seed
                compared += 1
                broken += bool(rules[0])

    assert compared > 500
    assert 100 < broken < compared - 50
