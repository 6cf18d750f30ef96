"""The granularity of cores: how finely a Problem tells the cores of a node apart."""

from enum import IntEnum


class CoreGranularity(IntEnum):
    """How finely the cores of a node are told apart, because it may matter who shares them (C9)."""

    ALIKE = 0
    """No waiting pod minds who shares a core."""

    HELD = 1
    """One waiting pod minds: cores that running pods keep are told apart from others."""

    PAIRS = 2
    """Several waiting pods mind: each core with more than two threads is a class of its own.
    For cores with two threads counts are enough: a pod that shares one has one of the two."""

    EACH = 3
    """Each core with more than one free thread is a class of its own."""

    WHO = 4
    """As EACH, and the other cores are told apart by who runs on them (C18)."""
