"""Tiny instances whose pods want others near or far, on cores and NUMA nodes (C18)."""

from dataclasses import replace
from random import Random

from features.affinity import APPS, drawn_term, in_order
from features.exclusivity import crowded
from features.feature import Feature, with_specs
from placer_models.affinity import InNodeAffinityLevel
from placer_models.cluster import Instance
from placer_models.pod import PodSpec
from worlds import tiny_instance

INSIDE = (InNodeAffinityLevel.NUMA, InNodeAffinityLevel.CORE)


def with_company_inside(rng: Random, instance: Instance) -> Instance:
    """Let pods that own CPUs ask for others on their cores or NUMA nodes, or for none."""
    levels = rng.choice(((InNodeAffinityLevel.CORE,), (InNodeAffinityLevel.NUMA,), INSIDE))
    return with_specs(
        replace(instance, name=f"{instance.name}, beside"),
        lambda spec: _dressed_inside(rng, spec, levels),
        lambda: rng.random() < 0.6,
    )


def in_node_affinity_instance(seed: int) -> Instance:
    """Draw a tiny instance whose pods care who is on their cores and NUMA nodes."""
    rng = Random(f"beside-{seed}")
    instance = tiny_instance(seed)
    if rng.random() < 0.7:
        instance = crowded(rng, instance)
    return with_company_inside(rng, instance)


def _dressed_inside(rng: Random, spec: PodSpec, levels: tuple[InNodeAffinityLevel, ...]) -> PodSpec:
    if not spec.qos.owns_cpus:
        return spec
    app = rng.choice((*APPS, *APPS, None))
    terms = {
        replace(drawn_term(rng), level=rng.choice(levels))
        for _ in range(rng.choice((0, 1, 1, 1, 2)))
    }
    return replace(
        spec,
        labels=spec.labels or ((("app", app),) if app else ()),
        affinity=tuple(sorted({*spec.affinity, *terms}, key=in_order)),
    )


FEATURE = Feature("in_node_affinity", with_company_inside)
