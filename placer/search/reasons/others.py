"""Reasons about who else is there: on the node, in its domains, and on cores and NUMA nodes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from placer.search.reasons.question import (
    PodOnNode,
    affinity_terms_text,
    is_kept_away_by_others,
    node_lacks_required_affinity_pod,
    own_terms_keeping_pod_away,
    pod_labels_sought_text,
)
from placer.search.reasons.rule import (
    ReasonRule,
    Said,
    always_settled_by_counting,
    only_demands_of_rule,
    owned_cpu_count,
)
from placer_models.affinity import AffinityTerm
from placer_models.message_text import count_with_noun
from placer_models.pod import PodSpec
from placer_models.reasons import RuleDemand


def _wanted(asked: PodOnNode) -> Iterator[RuleDemand]:
    if asked.crowd is not None and any(
        term.required and not term.apart and not term.inside for term in asked.spec.affinity
    ):
        yield RuleDemand("affinity")


def _kept_apart(asked: PodOnNode) -> Iterator[RuleDemand]:
    if asked.crowd is None:
        return
    there = any(runner.pod.spec.affinity for runner in asked.running)
    if asked.spec.affinity or there or asked.crowd.domains:
        yield RuleDemand(
            "anti-affinity", word=affinity_terms_text(own_terms_keeping_pod_away(asked))
        )


def _wanted_inside(asked: PodOnNode) -> Iterator[RuleDemand]:
    if asked.crowd is not None and any(t.inside and not t.apart for t in asked.spec.affinity):
        yield RuleDemand("affinity inside")


def _kept_apart_inside(asked: PodOnNode) -> Iterator[RuleDemand]:
    if asked.crowd is not None and any(
        term.inside and term.apart
        for side in (asked.spec, *(runner.pod.spec for runner in asked.running))
        for term in side.affinity
    ):
        yield RuleDemand("anti-affinity inside")


def _without(drops: Callable[[AffinityTerm], bool]) -> Callable[[PodOnNode, RuleDemand], PodOnNode]:
    """Return what drops terms of the pod, and of the pods that run there as well."""

    def kept(spec: PodSpec) -> PodSpec:
        terms = tuple(term for term in spec.affinity if not drops(term))
        return spec if terms == spec.affinity else replace(spec, affinity=terms)

    def without(asked: PodOnNode, _: RuleDemand) -> PodOnNode:
        running = tuple(
            replace(runner, pod=replace(runner.pod, spec=kept(runner.pod.spec)))
            for runner in asked.running
        )
        return replace(asked, spec=kept(asked.spec), running=running)

    return without


def _affinity(demand: RuleDemand, _: Sequence[RuleDemand], spec: PodSpec) -> Said:
    if demand.word:
        return f"affinity {demand.word}, which would have to be with it", ()
    wanted = [t for t in spec.affinity if t.required and not t.apart and not t.inside]
    return f"affinity asks a pod with {affinity_terms_text(wanted)}", ()


def _anti_affinity(demand: RuleDemand, _: Sequence[RuleDemand], __: PodSpec) -> Said:
    if demand.word:
        return f"anti-affinity asks no pod with {demand.word}", ()
    return "anti-affinity of a pod that is there", ()


def _affinity_inside(_: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    wanted = [t for t in spec.affinity if t.required and not t.apart and t.inside]
    places = " and ".join(dict.fromkeys(term.level.place for term in wanted))
    text = f"affinity asks a pod with {pod_labels_sought_text(wanted)} on each {places} of its CPUs"
    return text, only_demands_of_rule("cpu-count", others)


def _anti_affinity_inside(_: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    apart = [term for term in spec.affinity if term.required and term.apart and term.inside]
    whom = f"pods with {pod_labels_sought_text(apart)}" if apart else "pods that keep away from it"
    text = f"anti-affinity asks {count_with_noun(owned_cpu_count(spec), 'CPU')} apart from {whom}"
    return text, only_demands_of_rule("cpu-count", others)


ON_NODES = (
    ReasonRule(
        name="affinity",
        asked=_wanted,
        without=_without(lambda term: not term.inside and not term.apart),
        said=_affinity,
        lacks=lambda _, asked, __: node_lacks_required_affinity_pod(asked),
        settles=always_settled_by_counting,
        inside=False,
        opened_by_others=True,
    ),
    ReasonRule(
        name="anti-affinity",
        asked=_kept_apart,
        without=_without(lambda term: not term.inside and term.apart),
        said=_anti_affinity,
        lacks=lambda demand, asked, _: bool(demand.word) or is_kept_away_by_others(asked),
        settles=always_settled_by_counting,
        inside=False,
    ),
)

INSIDE = (
    ReasonRule(
        name="affinity inside",
        asked=_wanted_inside,
        without=_without(lambda term: term.inside and not term.apart),
        said=_affinity_inside,
        opened_by_others=True,
    ),
    ReasonRule(
        name="anti-affinity inside",
        asked=_kept_apart_inside,
        without=_without(lambda term: term.inside and term.apart),
        said=_anti_affinity_inside,
    ),
)
