"""A finding: what one rule finds wrong, before its name is put to it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from placer.judge.scene import Scene


class Finding(NamedTuple):
    """One fault: whom it concerns, and what is wrong, allowed and to be done."""

    subject: str
    message: str


Rule = Callable[[Scene], Iterator[Finding]]
"""A rule yields what breaks it; a placement that keeps it yields nothing."""
