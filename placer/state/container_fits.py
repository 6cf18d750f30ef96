"""What the containers of a pod mean on a kind of node where each is aligned for itself."""

from collections.abc import Sequence

from placer.counting.memory import asked_of
from placer.state.aligned import aligned, limit_of
from placer_models.alignment import effective_policy, effective_scope, fewest_cells
from placer_models.cluster import Node
from placer_models.container_fit import ContainerFit
from placer_models.dimensions import Dimension
from placer_models.pod import ContainerRole, PodSpec, Resources
from placer_models.policy import BINDING, AlignmentPolicy, AlignmentScope


def by_container(spec: PodSpec, node: Node) -> bool:
    """Return whether each container of the pod is aligned for itself on the node (C12)."""
    policy = effective_policy(spec.alignment, node.alignment)
    scope = effective_scope(spec.scope, node.scope)
    return policy not in (None, AlignmentPolicy.NONE) and scope is AlignmentScope.CONTAINER


def scopes_conflict(spec: PodSpec, node: Node) -> bool:
    """Return whether pod and node have a policy and do not agree on its scope."""
    policy = effective_policy(spec.alignment, node.alignment)
    scope = effective_scope(spec.scope, node.scope)
    return policy not in (None, AlignmentPolicy.NONE) and scope is None


def containers_fit(
    spec: PodSpec, node: Node, dimensions: Sequence[Dimension]
) -> tuple[ContainerFit, ...] | None:
    """Return the fits of the containers that hold something; None: one never fits.

    Args:
        spec: A pod whose containers are aligned each for itself on the node.
        node: Without its name.
        dimensions: Those of the Problem that cells have.

    """
    policy = effective_policy(spec.alignment, node.alignment)
    assert policy is not None
    owns, bound = spec.qos.owns_cpus, policy in BINDING
    types = [request.type for request in spec.requests.devices if request.count]
    fits: list[ContainerFit] = []
    sidecars: list[int] = []
    for index, container in enumerate(spec.containers):
        asked = container.requests
        need = (
            asked.cpu_milli // 1000 if owns else asked.cpu_milli if bound else 0,
            *(asked_of(asked, each) for each in dimensions),
            *(asked.count_of(kind) for kind in types),
        )
        if not any(need):
            continue
        limits = _limits(asked, node, policy, by_cpu=owns or bound)
        if limits is None:
            return None
        nothing = policy is AlignmentPolicy.RESTRICTED and limits[0] is None
        held = AlignmentPolicy.NONE if nothing else policy
        lasts = container.role is not ContainerRole.INIT
        fits.append(
            ContainerFit(
                index, need, held, *limits, lasts=lasts, beside=() if lasts else tuple(sidecars)
            )
        )
        if container.role is ContainerRole.RESTARTABLE_INIT:
            sidecars.append(len(fits) - 1)
    return tuple(fits)


def _limits(
    asked: Resources, node: Node, policy: AlignmentPolicy, *, by_cpu: bool
) -> tuple[int | None, int] | None:
    """Return the most cells and the fewest; None: the node never holds the container."""
    needs, cells, real = aligned(asked, node, by_cpu=by_cpu)
    limit, possible = limit_of(policy, real, needs)
    if not possible or any(sum(c[i] for c in cells) < need for i, need in enumerate(needs)):
        return None
    best_effort = policy is AlignmentPolicy.BEST_EFFORT
    return limit, (fewest_cells(cells, needs) or 0) if best_effort else 0
