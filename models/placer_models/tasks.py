"""What gangs ask of the network, and pods of each other, in integers: parts of a Problem."""

from dataclasses import dataclass

from placer_models.network import Grouping


@dataclass(frozen=True, slots=True)
class LevelTask:
    """What a gang asks of one level of the network; as in ``LevelRule``.

    Attributes:
        level: Index into the Problem's domains.

    """

    level: int
    grouping: Grouping
    required: bool
    count: int


@dataclass(frozen=True, slots=True)
class GangTask:
    """One gang: its pods by index, and what it is worth.

    Attributes:
        pods: Indices into the Problem's pods, consecutive.
        level: Index of its priority in the Problem's priorities.
        group: Index of its gang group; None if it is in none.
        gathered: All placed members must be on one node.
        levels: What it asks of levels of the network.

    """

    pods: tuple[int, ...]
    minimum: int
    weight: int
    level: int
    group: int | None
    gathered: bool
    levels: tuple[LevelTask, ...] = ()


@dataclass(frozen=True, slots=True)
class AffinityTask:
    """What a shape asks of other pods; as in ``AffinityTerm``.

    Attributes:
        shape: Whose pods ask.
        matches: The shapes whose pods are meant.
        here: Nodes where a running pod is meant.

    """

    shape: int
    matches: frozenset[int]
    apart: bool
    required: bool
    here: frozenset[int]


@dataclass(frozen=True, slots=True)
class Affinities:
    """What all shapes ask of other pods on their node.

    Attributes:
        barred: For each shape the nodes that running pods keep it off; empty where no
            affinity is asked for.

    """

    tasks: tuple[AffinityTask, ...] = ()
    barred: tuple[frozenset[int], ...] = ()

    def bars(self, shape: int, node: int) -> bool:
        """Return whether running pods keep pods of the shape off the node."""
        return bool(self.barred) and node in self.barred[shape]


NO_AFFINITIES = Affinities()
"""Nothing is asked of other pods."""
