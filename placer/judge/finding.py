"""A finding: what one rule finds wrong, before the rule's name is added."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from placer.judge.scene import Scene


class Finding(NamedTuple):
    """One fault: whom it concerns, and what is wrong, what is allowed and what to do."""

    subject: str
    message: str


Rule = Callable[[Scene], Iterator[Finding]]
"""A rule yields one finding per fault, and nothing for a placement that keeps it."""
