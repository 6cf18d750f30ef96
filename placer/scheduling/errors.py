"""Calls that the Scheduler refuses, because they contradict themselves or the state.

After any of these nothing has changed.

* SchedulerError
    - UnknownNodeError
    - NodeExistsError
    - NodeInUseError
    - UnknownPodError
    - PodAlreadyRunningError
    - StaleDecisionError
    - ContradictionError
        - BadPodError, which is an IllegalPodError too
"""

from collections.abc import Iterable

from placer.scheduling.refusal import pod_titles_text
from placer_models.legal import IllegalPodError
from placer_models.message_text import in_quotes, spelling_suggestion
from placer_models.placement import NamespacedName


class SchedulerError(Exception):
    """A call that is refused; nothing has changed."""


class UnknownNodeError(SchedulerError):
    """No node has the name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = list(known)
        hint = spelling_suggestion(name, names) or f"; there are {len(names)} nodes of other names"
        super().__init__(f"no node is called {in_quotes(name)}{hint}")
        self.name = name


class NodeExistsError(SchedulerError):
    """A node of the name is there already."""

    def __init__(self, name: str) -> None:
        super().__init__(f"a node {in_quotes(name)} is there already; update it, or rename one")
        self.name = name


class NodeInUseError(SchedulerError):
    """Pods run on a node that is to be removed.

    Attributes:
        pods: Their keys.

    """

    def __init__(self, name: str, pods: tuple[NamespacedName, ...]) -> None:
        super().__init__(
            f"node {in_quotes(name)} runs pods {pod_titles_text(pods)}; release them first"
        )
        self.name = name
        self.pods = pods


class UnknownPodError(SchedulerError):
    """No such pods run.

    Attributes:
        pods: The keys that are not known.

    """

    def __init__(self, pods: tuple[NamespacedName, ...]) -> None:
        super().__init__(
            f"pods {pod_titles_text(pods)} do not run; name pods that do, as (namespace, name)"
        )
        self.pods = pods


class PodAlreadyRunningError(SchedulerError):
    """Pods that are to be placed run already.

    Attributes:
        pods: Their keys.

    """

    def __init__(self, pods: tuple[NamespacedName, ...]) -> None:
        super().__init__(
            f"pods {pod_titles_text(pods)} run already; release them first, or rename them"
        )
        self.pods = pods


class StaleDecisionError(SchedulerError):
    """A decision is to be explained, and the cluster is another one by now."""

    def __init__(self, decided: int, now: int) -> None:
        super().__init__(
            f"the decision was made on version {decided}, and the cluster is at version {now}; "
            "place the batch again, and explain that decision"
        )


class ContradictionError(SchedulerError):
    """Nodes, running pods or a batch contradict themselves; the message names the part."""


class BadPodError(ContradictionError, IllegalPodError):
    """A pod asks for what no pod may ask for (`placer_models.legal`)."""
