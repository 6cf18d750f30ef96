"""Hints as masks: one list of options a resource, and what all of them prefer.

Bit i of a mask stands for NUMA node i, so that masks of one width compare as the peers
compare them: by the value of the mask, hence by the highest NUMA node that differs.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from alignment.hints.model import Hint, ProviderHints
from placer_models.cpuset import format_cpu_list


class Option(NamedTuple):
    """One hint; the mask is None where the resource may be anywhere."""

    mask: int | None
    preferred: bool
    score: int = 0
    to_be_had: bool = True


Wish = tuple[Option, ...]
"""The options of one resource, in the provider's order and each once."""

NO_WISH: Wish = (Option(None, preferred=True),)
"""Of a resource that may be anywhere."""

NOT_TO_BE_HAD: Wish = (Option(None, preferred=False, to_be_had=False),)
"""Of a resource that fits nowhere: it rules no NUMA node out, yet prefers none."""


def mask_of(numa_nodes: Iterable[int]) -> int:
    """Return the mask with the bits of the NUMA nodes."""
    mask = 0
    for numa_node in numa_nodes:
        mask |= 1 << numa_node
    return mask


def affinity_of(mask: int) -> frozenset[int]:
    """Return the NUMA nodes of the mask."""
    return frozenset(bit for bit in range(mask.bit_length()) if mask >> bit & 1)


def wishes_of(
    provider_hints: Sequence[ProviderHints | None], numa_nodes: Iterable[int]
) -> list[Wish]:
    """Return one wish a resource, providers in order; who says nothing has no wish.

    Raises:
        ValueError: A hint names a NUMA node that is not among the given.

    """
    known = frozenset(numa_nodes)
    wishes: list[Wish] = []
    for provider in provider_hints:
        if not provider:
            wishes.append(NO_WISH)
            continue
        for resource, hints in provider.items():
            if hints is None:
                wishes.append(NO_WISH)
            elif not hints:
                wishes.append(NOT_TO_BE_HAD)
            else:
                wishes.append(_options(resource, hints, known))
    return wishes


def _options(resource: str, hints: Sequence[Hint], known: frozenset[int]) -> Wish:
    options: dict[Option, None] = {}
    for hint in hints:
        if hint.affinity is None:
            options[Option(None, hint.preferred, hint.score)] = None
        elif hint.affinity <= known:
            options[Option(mask_of(hint.affinity), hint.preferred, hint.score)] = None
        else:
            raise ValueError(
                f"a hint for {resource!r} names NUMA nodes {format_cpu_list(hint.affinity)}; "
                f"the node has {format_cpu_list(known)}"
            )
    return tuple(options)


def on_one_numa_node(wishes: Iterable[Wish]) -> list[Wish]:
    """Keep the preferred options that are one NUMA node, or wherever."""
    return [
        tuple(o for o in wish if o.preferred and (o.mask is None or o.mask.bit_count() == 1))
        for wish in wishes
    ]


def preferred_by_all(wishes: Sequence[Wish], everywhere: int) -> dict[int, int]:
    """Return each mask that is preferred as a whole, with its score.

    The peers ask that all hints of a combination be preferred and name one mask. So each
    resource prefers this very mask, or prefers wherever: no combination has to be tried.
    """
    scores: list[dict[int | None, int]] = []
    for wish in wishes:
        best: dict[int | None, int] = {}
        for option in wish:
            if option.preferred:
                best[option.mask] = max(option.score, best.get(option.mask, 0))
        scores.append(best)
    named = {mask for best in scores for mask in best if mask}
    found = {
        mask: sum(best.get(mask, 0) for best in scores)
        for mask in named
        if all(mask in best or None in best for best in scores)
    }
    if all(None in best for best in scores):
        found.setdefault(everywhere, 0)
    return found
