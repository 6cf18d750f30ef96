"""Topology spread: rule and tier about pods spread evenly over domains of nodes."""

from collections import Counter
from collections.abc import Iterator

from placer.judge.finding import Finding
from placer.judge.scene import Scene, Site, Tenant
from placer_models.spreading import Spreading, spreadings_of


def topology_spread(scene: Scene) -> Iterator[Finding]:
    """A pod's domain has at most the allowed skew more pods than the domain with the fewest.

    What running pods ask of each other is never blamed.
    """
    counted: dict[Spreading, dict[str, int]] = {}
    for site, tenant, spreading in _asked(scene, required=True):
        if spreading not in counted:
            counted[spreading] = _counts(scene, spreading)
        counts = counted[spreading]
        constraint, here = spreading.constraint, spreading.domain(site.node)
        if here is None:
            yield _finding(site, tenant, f"in no domain of {', '.join(spreading.keys)}")
            continue
        skew = counts[here] - spreading.fewest([*counts.values()])
        if skew > constraint.max_skew:
            what = f"in {constraint.topology} {here} with {counts[here]} pods that it spreads with"
            yield _finding(
                site,
                tenant,
                f"{what}, {skew} more than the fewest of {len(counts)} domains; "
                f"the skew is {constraint.max_skew} at most",
            )


def beyond_the_skew(scene: Scene) -> int:
    """Return tier ``topology-spread``: pods beyond what preferred constraints allow.

    Each constraint counts once for each domain where a new pod asks for it.
    """
    asking: dict[Spreading, set[str]] = {}
    for site, _, spreading in _asked(scene, required=False):
        if (here := spreading.domain(site.node)) is not None:
            asking.setdefault(spreading, set()).add(here)
    lost = 0
    for spreading, domains in asking.items():
        counts = _counts(scene, spreading)
        most = spreading.fewest([*counts.values()]) + spreading.constraint.max_skew
        lost += sum(max(0, counts[domain] - most) for domain in domains)
    return lost


def _asked(scene: Scene, *, required: bool) -> Iterator[tuple[Site, Tenant, Spreading]]:
    for site, tenant in scene.newcomers:
        for spreading in spreadings_of(tenant.pod.spec, tenant.pod.namespace):
            if spreading.constraint.required is required:
                yield site, tenant, spreading


def _counts(scene: Scene, spreading: Spreading) -> dict[str, int]:
    """Return domain -> how many of its pods the constraint counts."""
    counts: Counter[str] = Counter()
    for site in scene.everywhere():
        domain = spreading.domain(site.node)
        if domain is not None:
            pods = (tenant.pod for tenant in site.tenants)
            counts[domain] += sum(spreading.means(pod.spec, pod.namespace) for pod in pods)
    return dict(counts)


def _finding(site: Site, tenant: Tenant, what: str) -> Finding:
    return Finding(tenant.title, f"pod {tenant.title!r} on node {site.node.name!r} is {what}")
