"""Notes on bounds: where each comes from, and what binds it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from placer_models.placement import TierBottleneck, TierBoundSource

Bounds = list[int | None]
"""One bound per tier, None where none is known."""


@dataclass(slots=True)
class TierBoundOrigins:
    """Where the bounds of a search come from, tier by tier.

    Bounds change in many places; whoever changes some says so, and all others come from a model.

    Attributes:
        sources: None where there is no bound.
        binds: What binds each bound; empty where that is not known.

    """

    sources: list[TierBoundSource | None]
    binds: list[tuple[TierBottleneck, ...]]
    _seen: Bounds = field(default_factory=list)

    @classmethod
    def of_limits(cls, limits: Bounds) -> "TierBoundOrigins":
        """Begin with what nothing beats, as far as that needs no solving."""
        sources = [None if limit is None else TierBoundSource.LIMIT for limit in limits]
        return cls(sources, [()] * len(limits), list(limits))

    def note(self, bounds: Bounds, source: TierBoundSource) -> None:
        """Note where all bounds come from that have changed since the last note."""
        for index, (bound, before) in enumerate(zip(bounds, self._seen, strict=True)):
            if bound != before:
                self.sources[index] = None if bound is None else source
                self.binds[index] = ()  # It was true of the wider bound.
        self._seen = list(bounds)

    @contextmanager
    def by(self, bounds: Bounds, source: TierBoundSource) -> Iterator[None]:
        """Note that bounds which change inside come from the source."""
        self.note(bounds, TierBoundSource.MODEL)
        yield
        self.note(bounds, source)

    def bind(self, source: TierBoundSource, binds: Iterable[tuple[TierBottleneck, ...]]) -> None:
        """Note what binds bounds that come from the source, tier by tier; empty: not known."""
        for index, found in enumerate(binds):
            if found and self.sources[index] is source:
                self.binds[index] = found
