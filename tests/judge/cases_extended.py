"""The edges of the rule about extended resources."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, put, world
from placer_models.pod import Container, ContainerRole, Pod, PodSpec, Resources
from placer_models.policy import QosClass

FIVE = replace(node(), extended=(("licences", 5),))


def asking(name: str, *amounts: int) -> Pod:
    """Return a pod whose first amounts are those of init containers, the last the app's."""
    *before, last = amounts
    init = (Container(f"init-{i}", _licences(n), ContainerRole.INIT) for i, n in enumerate(before))
    parts = (*init, Container("app", _licences(last)))
    return Pod(name, "default", PodSpec(parts, qos=QosClass.LS))


def _licences(amount: int) -> Resources:
    return Resources(extended=(("licences", amount),))


EXTENDED_EDGES = {
    "extended: pods together ask for no more than the node has": Edge(
        world(asking("a", 3), asking("b", 2), asking("c", 3), nodes=[FIVE]),
        good=[put("a", ALL_CPUS), put("b", ALL_CPUS)],
        bad=[put("a", ALL_CPUS), put("c", ALL_CPUS)],
    ),
    "extended: running pods count": Edge(
        world(asking("a", 3), asking("b", 4), nodes=[FIVE], running=[(asking("r", 2), put("r"))]),
        good=put("a", ALL_CPUS),
        bad=put("b", ALL_CPUS),
    ),
    "extended: who adds nothing is not blamed for what runs": Edge(
        world(
            asking("a", 1),
            Pod("b", "default", PodSpec((Container("app", Resources()),))),
            nodes=[FIVE],
            running=[(asking("r", 6), put("r"))],
        ),
        good=put("b", ALL_CPUS),
        bad=put("a", ALL_CPUS),
    ),
    "extended: an init container's amount is used again": Edge(
        world(asking("a", 5, 4), asking("b", 6, 4), nodes=[FIVE]),
        good=put("a", parts={"init-0": ALL_CPUS, "app": ALL_CPUS}, cpus=ALL_CPUS),
        bad=put("b", parts={"init-0": ALL_CPUS, "app": ALL_CPUS}, cpus=ALL_CPUS),
    ),
}
