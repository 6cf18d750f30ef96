"""Limits of domains for which pods that run go on asking, held against required anti-affinity.

No limit of ours lasts yet. So one is made here, which says in the words of topology spread what
anti-affinity says in its own: answers to both have to be equally good, and each to keep the other.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import pytest

from placer.judge.breaches import RULES, breaches
from placer.judge.measure import measure
from placer.search.options import Engine
from placer_models import relations
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.network import NODE_LEVEL
from placer_models.pod import Pod, PodSpec
from placer_models.relations import RELATIONS, DomainLimit, limits_domains
from placer_models.selectors import LabelPair
from placer_models.topology_spread import SpreadConstraint
from search.by_parts import answer
from tiny_machines import unused_name
from worlds import tiny_instance

WEB, DB = (("app", "web"),), (("app", "db"),)


@dataclass(frozen=True)
class KeptOut:
    """No pod that a constraint counts may be in the domain; the skew means nothing."""

    constraint: SpreadConstraint
    namespace: str
    required = True
    most = 0
    said = nodes_said = "nobody there"

    def is_beyond_fewest(self, _: int) -> bool:
        return False

    @property
    def topology(self) -> str:
        return self.constraint.topology

    looks = topology

    @property
    def label_choices(self) -> Iterable[Sequence[LabelPair]]:
        return [[label] for label in self.constraint.labels]

    def domain(self, node: Node) -> str | None:
        return node.topology_domain(self.constraint.topology)

    def means(self, spec: PodSpec, namespace: str) -> bool:
        return namespace == self.namespace and self.constraint.means(spec.labels)


def kept_out(spec: PodSpec, namespace: str) -> Iterator[DomainLimit]:
    """Yield whom a pod keeps out."""
    return (KeptOut(one, namespace) for one in spec.spread)


LIMIT = limits_domains("topology-spread", "spread", kept_out, lasts=True)


def apart_instance(seed: int) -> Instance:
    """Draw nodes in zones, and pods of which some keep the others out of theirs, or off a node."""
    rng, instance = Random(f"apart-{seed}"), tiny_instance(seed)
    nodes = instance.nodes
    while len(nodes) < 3 and rng.random() < 0.8:
        nodes = (*nodes, replace(rng.choice(nodes), name=unused_name(nodes)))

    def dressed(pod: Pod) -> Pod:
        labels, others = rng.choice(((WEB, DB), (DB, WEB), ((), WEB), (WEB, ())))
        term = AffinityTerm(others, apart=True, topology=rng.choice(("zone", "zone", "")))
        return replace(
            pod, spec=replace(pod.spec, labels=labels, affinity=(term,) if others else ())
        )

    return replace(
        instance,
        nodes=tuple(replace(node, labels=(("zone", rng.choice("ab")),)) for node in nodes),
        gangs=tuple(replace(g, pods=tuple(map(dressed, g.pods))) for g in instance.gangs),
        running=tuple(RunningPod(dressed(r.pod), r.placement) for r in instance.running),
    )


def by_limits(instance: Instance) -> Instance:
    """Return the instance in which pods ask by the limit for what they ask by affinity."""

    def dressed(pod: Pod) -> Pod:
        spread = tuple(
            SpreadConstraint(term.topology or NODE_LEVEL, labels=term.labels)
            for term in pod.spec.affinity
        )
        return replace(pod, spec=replace(pod.spec, affinity=(), spread=spread))

    return replace(
        instance,
        gangs=tuple(replace(g, pods=tuple(map(dressed, g.pods))) for g in instance.gangs),
        running=tuple(RunningPod(dressed(r.pod), r.placement) for r in instance.running),
    )


@pytest.fixture
def lasting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let topology spread mean the limit, to all but the judge, who is told of affinity."""
    others = [one for one in RELATIONS if one.rule != "topology-spread"]
    monkeypatch.setattr(relations, "RELATIONS", (*others, LIMIT))
    monkeypatch.setitem(RULES, "topology-spread", lambda _: iter(()))


@pytest.mark.usefixtures("lasting")
@pytest.mark.parametrize("seed", range(60))
def test_a_limit_that_lasts_keeps_apart_as_affinity_does(seed: int) -> None:
    """
    Of pods that wait and that run, whole and greedily.
    """
    instance = apart_instance(seed)
    limited = by_limits(instance)
    found = answer(limited, Engine.EXACT)

    assert breaches(instance, found) == ()
    assert measure(instance, found) == measure(instance, answer(instance, Engine.EXACT))
    assert breaches(instance, answer(limited, Engine.GREEDY)) == ()


@pytest.mark.check
@pytest.mark.usefixtures("lasting", "parts_only")
def test_parts_know_who_goes_on_asking_beyond_them() -> None:
    """
    Two nodes at a time.
    """
    for seed in range(40):
        instance = apart_instance(seed)

        assert breaches(instance, answer(by_limits(instance), Engine.AUTO)) == ()


def test_a_world_has_pods_that_run_and_keep_others_out() -> None:
    """
    Without what lasts, some answer would be wrong.
    """
    asking = [r for seed in range(60) for r in apart_instance(seed).running if r.pod.spec.affinity]
    assert len(asking) > 20
