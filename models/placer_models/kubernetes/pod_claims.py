"""Claims of a pod, and the containers that use them."""

from dataclasses import dataclass

from placer_models.kubernetes.object_fields import KubeObjectFieldValue


@dataclass(frozen=True, slots=True)
class KubePodClaim:
    """A claim of a pod.

    Attributes:
        name: The pod's name for it; empty if it stands for extended resources.
        claim: Name of the ResourceClaim; empty if none is made from the template yet.
        template: Name of the template that it is made from; empty for a claim by name.
        containers: Names of the containers that use it.
        source: What it is made from, if that is neither a claim nor a template.

    """

    name: str
    claim: str = ""
    template: str = ""
    containers: tuple[str, ...] = ()
    source: str = ""


def pod_claims(
    spec: KubeObjectFieldValue, status: KubeObjectFieldValue
) -> tuple[KubePodClaim, ...]:
    """Return the claims of a pod.

    Raises:
        KubernetesObjectError: A container uses a claim that the pod does not have, or a claim has
            no source.

    """
    items = spec.get("resourceClaims").items()
    used: dict[str, list[str]] = {item.get("name").text(): [] for item in items}
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind).items():
            for one in container.get("resources", "claims").items():
                name = one.get("name").text()
                if name not in used:
                    one.get("name").refuse(
                        f"got '{name}'; spec.resourceClaims has {', '.join(used) or 'none'}"
                    )
                used[name].append(container.get("name").text())
    made = {
        item.get("name").text(): item.get("resourceClaimName").text("")
        for item in status.get("resourceClaimStatuses").items()
    }
    found = []
    for item in items:
        name = item.get("name").text()
        claim = item.get("resourceClaimName").text("")
        template = item.get("resourceClaimTemplateName").text("")
        if bool(claim) is bool(template) and (claim or len(item.members()) < 2):
            item.refuse("expected one of resourceClaimName and resourceClaimTemplateName")
        if not template and not claim:
            source = next(key for key in item.members() if key != "name")
            found.append(KubePodClaim(name, source=source))
        elif template and name in made and not made[name]:
            continue  # the cluster says that none is needed
        else:
            found.append(
                KubePodClaim(
                    name, claim or made.get(name, ""), template, tuple(dict.fromkeys(used[name]))
                )
            )
    by_resources = status.get("extendedResourceClaimStatus")
    if by_resources.there:
        found.append(KubePodClaim("", by_resources.get("resourceClaimName").text()))
    return tuple(found)


def claim_backed_extended_resources(status: KubeObjectFieldValue) -> frozenset[tuple[str, str]]:
    """Return (container, resource) of the plain amounts that a claim gave to a pod.

    A scheduler makes such a claim if a DeviceClass has the resource as its extended name.

    Raises:
        KubernetesObjectError: An entry lacks its container or resource.

    """
    mappings = status.get("extendedResourceClaimStatus", "requestMappings").items()
    return frozenset(
        (one.get("containerName").text(), one.get("resourceName").text()) for one in mappings
    )
