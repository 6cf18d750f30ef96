"""Rules and the tier about pods that want to be together or apart (C18)."""

from collections.abc import Iterator

from placer.judge.finding import Finding
from placer.judge.scene import Scene, Site, Tenant
from placer_models.affinity import AffinityTerm


def affinity(scene: Scene) -> Iterator[Finding]:
    """A pod is with another one that each of its required affinities means.

    The first of its kind needs none: a pod that its own affinity means, where no other
    pod of the cluster is meant.
    """
    for site, tenant in scene.newcomers():
        for term in tenant.pod.spec.affinity:
            if term.apart or not term.required or _others(site, tenant, term):
                continue
            if _means(tenant, term, tenant) and not _elsewhere(scene, tenant, term):
                continue
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} on node {site.node.name!r} is with no other pod that has "
                f"{_said(term)}; its affinity requires one",
            )


def anti_affinity(scene: Scene) -> Iterator[Finding]:
    """A pod is with none that its required anti-affinity means, nor one whose means it."""
    for site, tenant in scene.newcomers():
        for term in tenant.pod.spec.affinity:
            if term.apart and term.required:
                for other in _others(site, tenant, term):
                    yield _too_near(site, tenant, other, term, tenant)
        for runner in site.tenants:
            if runner.new:
                continue
            for term in runner.pod.spec.affinity:
                if term.apart and term.required and _means(runner, term, tenant):
                    yield _too_near(site, tenant, runner, term, runner)


def wishes_not_met(scene: Scene) -> int:
    """Return tier ``affinity``: preferred terms of newly placed pods that are not kept."""
    return sum(
        bool(_others(site, tenant, term)) is term.apart
        for site, tenant in scene.newcomers()
        for term in tenant.pod.spec.affinity
        if not term.required
    )


def _means(owner: Tenant, term: AffinityTerm, other: Tenant) -> bool:
    same_namespace = owner.pod.namespace == other.pod.namespace
    return same_namespace and term.matches(other.pod.spec.labels)


def _others(site: Site, tenant: Tenant, term: AffinityTerm) -> list[Tenant]:
    """Return the other pods of the node that the term means."""
    return [o for o in site.tenants if o is not tenant and _means(tenant, term, o)]


def _elsewhere(scene: Scene, tenant: Tenant, term: AffinityTerm) -> bool:
    """Return whether any other pod of the cluster is meant."""
    return any(_others(site, tenant, term) for site in scene.sites.values())


def _too_near(
    site: Site, tenant: Tenant, other: Tenant, term: AffinityTerm, owner: Tenant
) -> Finding:
    return Finding(
        tenant.title,
        f"pod {tenant.title!r} is on node {site.node.name!r} with pod {other.title!r}; "
        f"the anti-affinity of {owner.title!r} keeps it from pods with {_said(term)}",
    )


def _said(term: AffinityTerm) -> str:
    return ",".join(f"{key}={value}" for key, value in term.labels)
