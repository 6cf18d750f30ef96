"""Tiny instances with a budget of moves, and running pods in the way."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from features.feature import Feature
from features.network import level_rule
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node, RunningGang, RunningPod
from placer_models.placement import Placed
from placer_models.pod import Gang, Pod, PodSpec, pods_of_gangs
from placer_models.policy import GatherLevel


def with_moves(rng: Random, instance: Instance) -> Instance:
    """Let likes of the pods that wait run already, in the way of the rest, and allow moves.

    Few of them, for all of a node's pods are tried in all places.
    """
    specs = [pod.spec for pod in pods_of_gangs(instance.gangs)]
    chosen = [rng.choice(specs) for _ in range(2 if 0 < len(specs) < 3 else 1)] if specs else []
    running = tuple(replace(runner, movable=False) for runner in instance.running)
    instance = replace(instance, running=running, move_budget=rng.choice((1, 1, 2)))
    instance = scattered(rng, instance, chosen)
    return tied(rng, instance) if rng.random() < 0.5 else instance


def tied(rng: Random, instance: Instance) -> Instance:
    """Let running pods that may move be gangs, which often ask for what they have."""
    running = list(instance.running)
    gangs = []
    for i in range(rng.choice((1, 1, 2))):
        free = [r for r in running if r.movable and r.placement.gang is None]
        members = rng.sample(free, min(len(free), rng.choice((1, 2, 2, 3))))
        if not members:
            break
        name = f"tied-{i}"
        running = [
            replace(r, placement=replace(r.placement, gang=name)) if r in members else r
            for r in running
        ]
        gangs.append(_asking(rng, RunningGang(name, "default"), members))
    return replace(instance, running=tuple(running), running_gangs=tuple(gangs))


def _asking(rng: Random, gang: RunningGang, members: Sequence[RunningPod]) -> RunningGang:
    """Let a gang ask for one or two levels, or for one node if it is on one, or for nothing."""
    if rng.random() < 0.2:
        return gang
    if rng.random() < 0.3 and len({r.placement.node for r in members}) == 1:
        return replace(gang, gather=GatherLevel.NODE)
    rules = {rule.level: rule for rule in (level_rule(rng) for _ in range(rng.choice((1, 1, 2))))}
    return replace(gang, levels=tuple(rules[level] for level in sorted(rules)))


def scattered(rng: Random, instance: Instance, specs: Sequence[PodSpec]) -> Instance:
    """Return the instance with pods of those specs running, as far as they find a place.

    Each comes to a cluster of which another part looks taken.
    """
    running = list(instance.running)
    for spec in specs:
        gang = _alone(f"early-{len(running)}", spec)
        nodes = tuple(_half_taken(rng, node) for node in instance.nodes)
        asked = Instance(nodes, (gang,), running=tuple(running))
        answer = solve(asked, SolveOptions(engine=Engine.GREEDY, workers=1, seed=1))
        if isinstance(answer, Placed):
            (place,) = answer.placement.pods
            movable = rng.random() < 0.9
            running.append(RunningPod(gang.pods[0], replace(place, env=()), movable=movable))
    return replace(instance, running=tuple(running))


def _alone(name: str, spec: PodSpec) -> Gang:
    return Gang(name, "default", (Pod(name, "default", spec),), 1, lone=True)


def _half_taken(rng: Random, node: Node) -> Node:
    """Return the node with CPUs reserved and devices broken by chance."""
    share = rng.choice((0.0, 0.3, 0.6))
    cpus = frozenset(c for c in sorted(node.machine.topology.online) if rng.random() < share)
    devices = {(d.type, d.minor) for d in node.devices if rng.random() < share}
    return replace(
        node,
        reserved_cpus=node.reserved_cpus | cpus,
        unhealthy=node.unhealthy | devices,
        cordoned=node.cordoned or rng.random() < 0.4,
    )


FEATURE = Feature("moves", with_moves)
