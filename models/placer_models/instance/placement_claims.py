"""Claims of a placement's file about itself, held against what is measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placer_models.cluster import Instance
from placer_models.goals import Tier
from placer_models.moves import Mended, moves_in_answer
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Placement
from placer_models.pod import pods_of_gangs

CLAIMS = "claims"
"""The name of these findings: it stands where findings about rules have the rule's name."""


@dataclass(frozen=True, slots=True)
class TierInPlacementFile:
    """What a file says of one tier, as a `TierValue` would."""

    name: str
    value: int
    bound: int | None = None
    proven: bool = False


@dataclass(frozen=True, slots=True)
class MoveInPlacementFile:
    """What a file says of one running pod: from which node to which it goes.

    Attributes:
        mends: The rules that it broke where it was, or None if the file does not say.

    """

    pod: tuple[str, str]
    source: str
    target: str
    mends: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class OutcomeInPlacementFile:
    """What a file says of its own placement; anyone could have written it.

    Attributes:
        status: The file's word for the outcome, or None if it says nothing.
        strategy: What the last tier is, or None if it is as in the instance.
        tiers: In the file's order; may be empty.
        moves: In the file's order; may be empty.

    """

    status: str | None = None
    tiers: tuple[TierInPlacementFile, ...] = ()
    moves: tuple[MoveInPlacementFile, ...] = ()
    strategy: NodeStrategy | None = None


def answer_status_faults(
    claims: OutcomeInPlacementFile, instance: Instance, placement: Placement
) -> Iterator[str]:
    """Yield what is wrong with the claimed status; at most one message.

    With no pod placed, ``infeasible`` and ``gave-up`` are both possible, because only a
    solver could tell them apart.
    """
    waiting = {pod.key for pod in pods_of_gangs(instance.gangs)}
    total = len(waiting) + len(instance.left_out)
    placed = len(waiting & {pod.key for pod in placement.pods})
    allowed: tuple[str, ...] = ("infeasible", "gave-up")
    if placed == total:
        allowed = ("placed",)
    elif placed:
        allowed = ("partly-placed",)
    if claims.status is not None and claims.status not in allowed:
        yield (
            f"the file claims '{claims.status}', but {placed:,} of {total:,} pods are "
            f"placed; that is {' or '.join(repr(word) for word in allowed)}"
        )


def misstated_moves(
    claims: OutcomeInPlacementFile, instance: Instance, placement: Placement, mended: Mended
) -> Iterator[tuple[str, str]]:
    """Yield each running pod whose move is claimed wrongly or not at all: its name, and why.

    A file that claims nothing at all, neither status nor tiers, need not name moves.
    """
    moves = moves_in_answer(instance, placement)
    nodes = {move.place.key: (move.home.node, move.place.node) for move in moves}
    claimed = {move.pod: (move.source, move.target) for move in claims.moves}
    for move in claims.moves:
        broke = mended.get(move.pod, ())
        if move.mends is not None and set(move.mends) != set(broke) and move.pod in nodes:
            yield (
                move.pod[1],
                f"the file claims that the move mends {_listed(move.mends)}, but where the pod is "
                f"it breaks {_listed(broke)}",
            )
    for key, said in claimed.items():
        found = nodes.get(key)
        if found is None:
            yield key[1], "the file claims a move, but gives no running pod of this name a place"
        elif said != found:
            yield (
                key[1],
                f"the file claims a move from {said[0]!r} to {said[1]!r}, but the pod goes from "
                f"{found[0]!r} to {found[1]!r}",
            )
    silent = claims.status is None and not claims.tiers
    for key, found in nodes.items():
        if key not in claimed and not silent:
            yield (
                key[1],
                f"the pod moves from {found[0]!r} to {found[1]!r}, which 'moves' leaves out",
            )


def _listed(rules: Sequence[str]) -> str:
    return ", ".join(rules) or "no rule"


def misstated_tiers(
    claims: OutcomeInPlacementFile, measured: Sequence[tuple[Tier, int]]
) -> Iterator[tuple[str, str]]:
    """Yield the name of each tier that is claimed wrongly or left out, and what is wrong.

    A file without tiers claims nothing; one with tiers must name all of them. Only a solver
    could tell whether a bound holds, but a bound that the value itself beats does not. A
    tier is proven only if the value equals its bound in this tier and in all before it.
    """
    value_of = {tier.name: value for tier, value in measured}
    tier_of = {tier.name: tier for tier, _ in measured}
    proven = True
    for claim in claims.tiers:
        name, value, bound = claim.name, claim.value, claim.bound
        proven = proven and value == bound
        if name not in value_of:
            yield name, f"the instance has no such tier; it has {', '.join(value_of)}"
        elif value != value_of[name]:
            yield name, f"the file claims {value:,}, but {value_of[name]:,} is measured"
        elif bound is not None and tier_of[name].better(value, bound):
            yield name, f"the file claims that {bound:,} cannot be beaten, but {value:,} does"
        elif claim.proven and not proven:
            yield name, "the file claims a proof, but a value up to here is not its bound"
    claimed = {claim.name for claim in claims.tiers}
    for name, value in value_of.items() if claimed else ():
        if name not in claimed:
            yield name, f"the file claims no value; {value:,} is measured"
