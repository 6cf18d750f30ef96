"""First pods of their kind: found in steps that grow as the pods do."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from random import Random

import pytest

from judge.hand import node, pod, put
from placer.search.reasons.firsts import (
    FirstAffinityPod,
    FirstAffinityPods,
    find_first_affinity_pods,
)
from placer.search.reasons.question import OtherPods
from placer_models.affinity import EVERY_NAMESPACE, AffinityTerm, InNodeAffinityLevel
from placer_models.cluster import Node, RunningPod
from placer_models.pod import Pod
from placer_models.policy import QosClass, RequiredOrPreferred
from placer_models.selectors import LabelExpression, SelectorOperator

ZONES = tuple(node(f"n{i}", labels={"zone": "ab"[i % 2]} if i < 3 else {}) for i in range(4))
KEYS, VALUES = ("app", "tier", "team"), ("x", "y", "z")


def own_kind(number: int) -> RunningPod:
    """Return a pod that wants its like, of which there is no other."""
    kind = {"app": f"kind-{number}", "team": "all"}
    runner = pod(
        f"p{number}", 1, labels=kind, affinity=[AffinityTerm((("app", f"kind-{number}"),))]
    )
    return RunningPod(runner, put(runner.name, on=f"n{number % len(ZONES)}"))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[AffinityTerm]]:
    """Note each look at whether a term means a pod."""
    seen: list[AffinityTerm] = []
    means: Callable[..., bool] = AffinityTerm.means

    def noted(term: AffinityTerm, *given: object, **named: object) -> bool:
        seen.append(term)
        return means(term, *given, **named)

    monkeypatch.setattr(AffinityTerm, "means", noted)
    return seen


def test_twice_as_many_pods_take_twice_as_many_steps(looks: list[AffinityTerm]) -> None:
    """
    Pods of which each is the first of its kind, and for each that is left out who keeps it off.
    """
    steps = []
    for count in (100, 200, 400):
        looks.clear()
        everyone = [own_kind(number) for number in range(count)]

        found = list(find_first_affinity_pods(ZONES, everyone, OtherPods(everyone), lambda: False))
        assert len(found) == count
        firsts = FirstAffinityPods(found)
        for one in everyone:
            spec, namespace = one.pod.spec, one.pod.namespace
            off = [each for each in ZONES if firsts.keep_off(spec, namespace, each)]
            assert [each.name for each in off] == [
                each.name for each in ZONES if each.name != one.placement.node
            ]
        steps.append(len(looks))

    assert steps[1] <= 2.2 * steps[0]
    assert steps[2] <= 2.2 * steps[1]


def drawn_term(rng: Random) -> AffinityTerm:
    """Draw a term that may mean anything."""
    labels = {key: rng.choice(VALUES) for key in KEYS if rng.random() < 0.3}
    expressions = []
    if rng.random() < 0.4:
        operator = rng.choice(
            (
                SelectorOperator.IN,
                SelectorOperator.NOT_IN,
                SelectorOperator.EXISTS,
                SelectorOperator.DOES_NOT_EXIST,
            )
        )
        listed = operator in (SelectorOperator.IN, SelectorOperator.NOT_IN)
        values = tuple(sorted(rng.sample(VALUES, rng.choice((1, 2))))) if listed else ()
        expressions.append(LabelExpression(rng.choice(KEYS), operator, values))
    return AffinityTerm(
        tuple(sorted(labels.items())),
        apart=rng.random() < 0.2,
        strength=rng.choice(
            (
                RequiredOrPreferred.REQUIRED,
                RequiredOrPreferred.REQUIRED,
                RequiredOrPreferred.PREFERRED,
            )
        ),
        level=rng.choice(
            (InNodeAffinityLevel.NODE, InNodeAffinityLevel.NODE, InNodeAffinityLevel.NUMA)
        ),
        expressions=tuple(expressions),
        namespaces=rng.choice(((), (), ("a",), ("a", "b"), (EVERY_NAMESPACE,))),
    )


def drawn_pod(rng: Random, name: str) -> RunningPod:
    labels = {key: rng.choice(VALUES) for key in KEYS if rng.random() < 0.5}
    terms = [drawn_term(rng) for _ in range(rng.choice((0, 1, 1, 2)))]
    qos = rng.choice((QosClass.LSR, QosClass.LS))
    found = pod(name, 1, qos=qos, labels=labels, affinity=terms)
    found = Pod(found.name, rng.choice("ab"), found.spec)
    return RunningPod(found, put(name, on=rng.choice(ZONES).name))


def plainly(
    nodes: Sequence[Node], arrived: Sequence[RunningPod], everyone: Sequence[RunningPod]
) -> list[FirstAffinityPod]:
    """Return the firsts as the page says it: no other pod is meant."""
    found = []
    domains = {one.name: one.name for one in nodes}
    for runner in arrived:
        for term in runner.pod.spec.affinity:
            company = [
                other
                for other in everyone
                if other is not runner
                and term.looks_into(other.pod.namespace, runner.pod.namespace)
                and term.means(other.pod.spec.labels, owns_cpus=other.pod.spec.qos.owns_cpus)
            ]
            if term.required and not term.apart and not company:
                found.append(
                    FirstAffinityPod(runner.pod.namespace, term, domains[runner.placement.node])
                )
    return found


@pytest.mark.parametrize("seed", range(100))
def test_firsts_are_those_that_no_other_pod_keeps_company(seed: int) -> None:
    """
    By labels and expressions, over namespaces, inside nodes too; equal pods are not each other.
    """
    rng = Random(seed)
    everyone = [drawn_pod(rng, f"p{i}") for i in range(rng.choice((1, 2, 4, 8)))]
    arrived = [one for one in everyone if rng.random() < 0.7]

    found = list(find_first_affinity_pods(ZONES, arrived, OtherPods(everyone), lambda: False))
    assert found == plainly(ZONES, arrived, everyone)

    firsts = FirstAffinityPods(found)
    for one, each in product((drawn_pod(rng, "late") for _ in range(4)), ZONES):
        spec, namespace = one.pod.spec, one.pod.namespace
        assert firsts.keep_off(spec, namespace, each) == any(
            first.term.looks_into(namespace, first.namespace)
            and first.term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
            and first.domain != each.name
            for first in found
        )
