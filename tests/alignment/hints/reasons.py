"""Why Koordinator does not admit a pod, in its own words: people search logs for them."""

from collections.abc import Iterable, Iterator, Sequence

from alignment.hints.model import Hint, ProviderHints
from alignment.hints.wishes import mask_of


def not_to_be_had(provider_hints: Sequence[ProviderHints | None]) -> tuple[str, ...]:
    """Return a line for each resource that its provider has nowhere."""
    return tuple(
        f"Unsatisfied NUMA {resource}"
        for resource, hints in _resources(provider_hints)
        if hints is not None and not hints
    )


def unaligned(provider_hints: Sequence[ProviderHints | None], between: str) -> str:
    """Return what each resource prefers, and among what; resources by name."""
    wants = sorted(
        f"{resource} prefer [{_masks(hint for hint in hints if hint.preferred)}] "
        f"among [{_masks(hints)}]"
        for resource, hints in _resources(provider_hints)
        if hints
    )
    return f"Unaligned NUMA Hint cause {between.join(wants)}"


def _resources(
    provider_hints: Sequence[ProviderHints | None],
) -> Iterator[tuple[str, Sequence[Hint] | None]]:
    for provider in provider_hints:
        yield from (provider or {}).items()


def _masks(hints: Iterable[Hint]) -> str:
    return " ".join(_mask(hint.affinity) for hint in hints)


def _mask(affinity: frozenset[int] | None) -> str:
    """Write a mask as the peer does: NUMA node 0 last, the width rounded up to even.

    A single bit may make it one digit longer than that: NUMA node 2 alone is ``100``.
    """
    if affinity is None:
        return "<nil>"
    mask = mask_of(affinity)
    width = 2
    while mask > 1 << width:
        width += 2
    return f"{mask:0{width}b}"
