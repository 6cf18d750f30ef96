"""The managed memory of one slot: quotas from fractions, and nobody beyond his own."""

from dataclasses import dataclass
from decimal import Decimal

PAGE_BYTES = 32 * 2**10

MAX_SLOT_BYTES = 2**50
"""Largest slot. Up to here the doubles of a runtime cannot make quotas exceed the slot:
the error of a product stays below one byte."""


@dataclass(frozen=True, slots=True)
class OperatorMemoryQuota:
    """What an operator may use (F11)."""

    size_bytes: int
    pages: int


class SlotMemoryExceededError(Exception):
    """Memory that was asked for beyond a quota. It is refused, never lent (F12, F26)."""


class SlotManagedMemory:
    """The managed memory of one kind in one slot.

    Operators register their fraction before they use any; then they reserve and release.
    """

    def __init__(self, size_bytes: int, page_bytes: int = PAGE_BYTES) -> None:
        if not 0 <= size_bytes <= MAX_SLOT_BYTES:
            raise ValueError(f"the slot has {size_bytes} bytes; expected 0 to 2**50")
        if page_bytes < 1:
            raise ValueError(f"a page has {page_bytes} bytes; expected 1 or more")
        self.size_bytes = size_bytes
        self.pages = size_bytes // page_bytes
        self._quotas: dict[str, OperatorMemoryQuota] = {}
        self._used_bytes: dict[str, int] = {}

    @property
    def free_bytes(self) -> int:
        """What nobody has reserved."""
        return self.size_bytes - sum(self._used_bytes.values())

    def quota(self, fraction: Decimal | float) -> OperatorMemoryQuota:
        """Return what a fraction comes to, rounded down (F11).

        It is computed in doubles, as a runtime does, so that both agree to the byte.

        Raises:
            ValueError: The fraction is not above 0 and at most 1.

        """
        if not 0 < fraction <= 1:
            raise ValueError(
                f"the fraction is {fraction}; expected more than 0 and at most 1. "
                "0 means no managed memory: give the operator a weight, or its use case "
                "one in consumerWeights"
            )
        return OperatorMemoryQuota(
            int(self.size_bytes * float(fraction)), int(self.pages * float(fraction))
        )

    def register(self, owner: str, fraction: Decimal | float) -> OperatorMemoryQuota:
        """Give an owner its quota; an owner is an operator, or a pool that several share.

        Raises:
            ValueError: The owner has one already, or quotas would exceed the slot.

        """
        quota = self.quota(fraction)
        if owner in self._quotas:
            raise ValueError(f"'{owner}' is registered already; unregister it first")
        left = self.size_bytes - sum(other.size_bytes for other in self._quotas.values())
        if quota.size_bytes > left:
            raise ValueError(
                f"'{owner}' asks for {fraction} of the slot, {quota.size_bytes} bytes, "
                f"of which {left} are nobody's quota; fractions of a slot come to 1 at most"
            )
        self._quotas[owner] = quota
        self._used_bytes[owner] = 0
        return quota

    def unregister(self, owner: str) -> None:
        """Take an owner's quota back, with whatever it still holds.

        Raises:
            ValueError: The owner is not registered.

        """
        self._quota_of(owner, 0)
        del self._quotas[owner], self._used_bytes[owner]

    def reserve(self, owner: str, size_bytes: int) -> None:
        """Take memory out of an owner's quota.

        Raises:
            ValueError: The amount is negative, or the owner is not registered.
            IllegalQuotaError: The quota does not hold it; nothing is taken.

        """
        quota = self._quota_of(owner, size_bytes)
        used = self._used_bytes[owner]
        if used + size_bytes > quota.size_bytes:
            raise SlotMemoryExceededError(
                f"'{owner}' asks for {size_bytes} bytes and has "
                f"{quota.size_bytes - used} of its quota of {quota.size_bytes} left"
            )
        self._used_bytes[owner] = used + size_bytes

    def release(self, owner: str, size_bytes: int) -> None:
        """Give memory back. More than was taken gives back what was taken.

        Raises:
            ValueError: The amount is negative, or the owner is not registered.

        """
        self._quota_of(owner, size_bytes)
        self._used_bytes[owner] = max(0, self._used_bytes[owner] - size_bytes)

    def _quota_of(self, owner: str, size_bytes: int) -> OperatorMemoryQuota:
        if size_bytes < 0:
            raise ValueError(f"'{owner}': {size_bytes} bytes; expected 0 or more")
        if owner not in self._quotas:
            raise ValueError(f"'{owner}' is not registered; register its fraction first")
        return self._quotas[owner]
