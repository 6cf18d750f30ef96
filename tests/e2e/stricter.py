"""What Placer refuses on purpose though kube-scheduler would take it, each with its reason."""

import re
from collections.abc import Set
from dataclasses import dataclass


@dataclass(frozen=True)
class Stricter:
    """One way in which Placer is stricter.

    Attributes:
        word: The word that a world has to have for it (`world_words`).
        said: How Placer says it: a pattern that its reasons, or its summary, have.
        why: Why it is so.

    """

    word: str
    said: str
    why: str

    def explains(self, refusal: str, words: Set[str]) -> bool:
        """Return whether it is why Placer refuses a node in a world of these words."""
        return self.word in words and re.search(self.said, refusal) is not None


STRICTER: tuple[Stricter, ...] = (
    Stricter(
        "bad objects",
        r"[\[ ]closed\b",
        "What a node still has is not known where it, or a pod there, cannot be read.",
    ),
    Stricter(
        "namespaces that nobody tells of",
        r"anti-affinity",
        "A namespace whose labels are not in the dump may have those that anti-affinity selects.",
    ),
    Stricter(
        "nominated pods",
        r"shared-pool|memory|max-pods|extended|host-ports|anti-affinity|topology-spread",
        "A pod that is nominated to a node keeps its room there from more urgent pods, too.",
    ),
    Stricter(
        "nominated pods",
        r"nominated and not there yet",
        "kube-scheduler counts such a pod only while it looks at the pod's own node.",
    ),
    Stricter(
        "persistent volumes",
        r"extended placer/attach-",
        "A pod takes an attachment for each of its volumes, also where its node has one for it.",
    ),
)
