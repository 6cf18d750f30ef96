"""Rules and the tier about pods that want to be together or apart (C18)."""

from collections.abc import Iterator

from placer.judge.finding import Finding
from placer.judge.scene import Scene, Site, Tenant
from placer_models.affinity import AffinityLevel, AffinityTerm


def affinity(scene: Scene) -> Iterator[Finding]:
    """A pod is with another one that each of its required affinities means.

    The first of its kind needs none: a pod that its own affinity means, where no other
    pod of the cluster is meant.
    """
    for site, tenant in scene.newcomers():
        for term in tenant.pod.spec.affinity:
            if term.apart or not term.required or _kept(site, tenant, term):
                continue
            if _means(tenant, term, tenant) and not _elsewhere(scene, tenant, term):
                continue
            where = "" if not term.inside else f" on each {term.level.place} that it owns CPUs of"
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} on node {site.node.name!r} is with no other pod that has "
                f"{_said(term)}{where}; its affinity requires one",
            )


def anti_affinity(scene: Scene) -> Iterator[Finding]:
    """A pod is with none that its required anti-affinity means, nor one whose means it."""
    for site, tenant in scene.newcomers():
        for term in tenant.pod.spec.affinity:
            if term.apart and term.required:
                for other in _met(site, tenant, term):
                    yield _too_near(site, tenant, other, term, tenant)
        for runner in site.tenants:
            if runner.new:
                continue
            for term in runner.pod.spec.affinity:
                meant = term.apart and term.required and _means(runner, term, tenant)
                if meant and _is_near(site, runner, term, tenant):
                    yield _too_near(site, tenant, runner, term, runner)


def wishes_not_met(scene: Scene) -> int:
    """Return tier ``affinity``: what preferred terms of newly placed pods lose.

    One that wants others loses 1 where it is not kept, one that wants to be apart 1 for
    each pod that it means and meets.
    """
    return sum(
        len(_met(site, tenant, term)) if term.apart else not _kept(site, tenant, term)
        for site, tenant in scene.newcomers()
        for term in tenant.pod.spec.affinity
        if not term.required
    )


def _means(owner: Tenant, term: AffinityTerm, other: Tenant) -> bool:
    same_namespace = owner.pod.namespace == other.pod.namespace
    labels = other.pod.spec.labels
    return same_namespace and term.means(labels, owns_cpus=other.qos.owns_cpus)


def _others(site: Site, tenant: Tenant, term: AffinityTerm) -> list[Tenant]:
    """Return the other pods of the node that the term means."""
    return [o for o in site.tenants if o is not tenant and _means(tenant, term, o)]


def _kept(site: Site, tenant: Tenant, term: AffinityTerm) -> bool:
    """Return whether the pod is with pods that the term means."""
    others = _others(site, tenant, term)
    if not term.inside:
        return bool(others)
    there = [_places(site, other, term.level) for other in others]
    return all(
        place is not None and any(place in places for places in there)
        for place in _places(site, tenant, term.level)
    )


def _met(site: Site, tenant: Tenant, term: AffinityTerm) -> list[Tenant]:
    """Return the pods that the term means and that are where the pod is."""
    return [o for o in _others(site, tenant, term) if _is_near(site, tenant, term, o)]


def _is_near(site: Site, owner: Tenant, term: AffinityTerm, other: Tenant) -> bool:
    """Return whether two pods of a node share a place of the term's level."""
    if not term.inside:
        return True
    mine, theirs = (_places(site, one, term.level) for one in (owner, other))
    return not mine.isdisjoint(theirs - {None})


def _places(site: Site, tenant: Tenant, level: AffinityLevel) -> set[int | None]:
    """Return the cores, or the NUMA nodes, of the CPUs that the pod owns."""
    cpus = site.inside.topology.cpu
    owned = [cpus[cpu] for cpu in tenant.owned if cpu in cpus]
    return {cpu.core if level is AffinityLevel.CORE else cpu.numa_node for cpu in owned}


def _elsewhere(scene: Scene, tenant: Tenant, term: AffinityTerm) -> bool:
    """Return whether any other pod of the cluster is meant."""
    return any(_others(site, tenant, term) for site in scene.everywhere())


def _too_near(
    site: Site, tenant: Tenant, other: Tenant, term: AffinityTerm, owner: Tenant
) -> Finding:
    where = "" if not term.inside else f", on one {term.level.place}"
    return Finding(
        tenant.title,
        f"pod {tenant.title!r} is on node {site.node.name!r} with pod {other.title!r}{where}; "
        f"the anti-affinity of {owner.title!r} keeps it from pods with {_said(term)}",
    )


def _said(term: AffinityTerm) -> str:
    return ",".join(f"{key}={value}" for key, value in term.labels)
