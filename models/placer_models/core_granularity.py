"""The granularity of cores: how finely a Problem tells the cores of a node apart."""

from enum import IntEnum


class CoreGranularity(IntEnum):
    """How finely the cores of a node are told apart, for who shares them (C9)."""

    ALIKE = 0
    """Who shares a core matters to nobody that waits."""

    HELD = 1
    """Cores that running pods keep are told from others: one pod that waits minds."""

    PAIRS = 2
    """Several pods mind: wide cores are classes of their own. Of cores with two threads
    counts say all, for whoever meets somebody there has one of the two."""

    EACH = 3
    """All cores with more than one free thread are classes of their own."""

    WHO = 4
    """So they are, and others are told apart by who runs on them (C18)."""
