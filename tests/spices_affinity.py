"""Dresses tiny instances with labels and pods that want others near or far (C18)."""

from dataclasses import replace
from random import Random

from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, RunningPod
from placer_models.pod import Gang, Pod, PodSpec
from placer_models.policy import Strength
from worlds import tiny_instance

APPS = ("web", "db")


def with_affinity(rng: Random, instance: Instance) -> Instance:
    """Give pods labels, and let some ask for others, or for none; replicas ask alike."""
    nodes = instance.nodes
    if len(nodes) < 2 or (len(nodes) < 3 and rng.random() < 0.3):
        nodes = (*nodes, replace(rng.choice(nodes), name=f"n{len(nodes)}"))
    dressed: dict[PodSpec, PodSpec] = {}

    def dress(pod: Pod) -> Pod:
        if pod.spec not in dressed:
            dressed[pod.spec] = _dressed(rng, pod.spec)
        return replace(pod, spec=dressed[pod.spec])

    def dress_gang(gang: Gang) -> Gang:
        if rng.random() < 0.5:
            dressed.clear()  # the next gang's replicas may ask for something else
        return replace(gang, pods=tuple(map(dress, gang.pods)))

    return replace(
        instance,
        nodes=nodes,
        gangs=tuple(map(dress_gang, instance.gangs)),
        running=tuple(RunningPod(dress(r.pod), r.placement) for r in instance.running),
    )


def affinity_instance(seed: int) -> Instance:
    """Draw a tiny instance whose pods care who is beside them."""
    return with_affinity(Random(f"affinity-{seed}"), tiny_instance(seed))


def _dressed(rng: Random, spec: PodSpec) -> PodSpec:
    app = rng.choice((*APPS, None))
    terms = [_term(rng) for _ in range(rng.choice((0, 0, 1, 1, 1, 2)))]
    return replace(
        spec,
        labels=(("app", app),) if app else (),
        affinity=tuple(sorted(set(terms), key=lambda t: (t.apart, not t.required, t.labels))),
    )


def _term(rng: Random) -> AffinityTerm:
    return AffinityTerm(
        (("app", rng.choice(APPS)),), rng.random() < 0.5, rng.choice(tuple(Strength))
    )
