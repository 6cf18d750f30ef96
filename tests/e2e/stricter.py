"""What Placer refuses on purpose though kube-scheduler would take it, each with its reason."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Stricter:
    """One way in which Placer is stricter.

    Attributes:
        said: How Placer says it: a pattern that its reason, or its summary, has.
        why: Why it is so.

    """

    said: str
    why: str

    def explains(self, refusal: str) -> bool:
        """Return whether it is why Placer refuses a node."""
        return re.search(self.said, refusal) is not None


STRICTER: tuple[Stricter, ...] = ()
"""Beside what follows from words that are known to differ (`known_differences.WORDS`)."""
