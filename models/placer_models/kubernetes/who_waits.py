"""Who of the pods that wait in a cluster is to be placed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WhoWaits:
    """Which pods of a dump are to be placed.

    Attributes:
        schedulers: Names of schedulers, as pods give them in `schedulerName`: only their pods are
            to be placed. Empty: whoever waits.
        gated: Whether pods with scheduling gates are to be placed, too.

    """

    schedulers: frozenset[str] = frozenset()
    gated: bool = False


ALL = WhoWaits()
"""Whoever waits and is not gated."""
