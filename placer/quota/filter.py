"""Filter of nodes: enough devices with enough free quota (B10, B11), for a fleet at once.

A class of two dimensions needs ``count`` DEVICES with ``amount`` free each; what a node
has left on all of them together does not count. Three forms of the same free quotas give
the same answer at different speeds (`benchmarks/quota_filter.py`):

- `FieldByFieldFreeQuotas` takes each device's field out of its word, as seed 003 says it;
- `GuardBitFreeQuotas` compares all fields of a word in one subtraction. Each field has a guard bit
  above it: ``(quota | guard) - amount`` keeps the guard where quota >= amount;
- `SortedFreeQuotas` keeps each node's quotas in descending order, one array for each rank: enough
  devices have the amount free exactly if the device of rank ``count`` has.

All are made of ``free[node, device]``, -1 where a node has no such device.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from placer_models.quota import BitPackedQuotas, IllegalQuotaError, fields_per_word

NodeMask = NDArray[np.bool_]
Words = NDArray[np.uint64]
_Quotas = NDArray[np.int64]

MOST_BITS = 63
"""The widest fields: quotas are signed here, so that -1 can stand for a device not there."""


@dataclass(frozen=True, slots=True)
class ClassRequest:
    """What is asked of one class: ``count`` devices with ``amount`` free on each.

    Raises:
        IllegalQuotaError: The count or the amount is below 0.

    """

    count: int
    amount: int

    def __post_init__(self) -> None:
        if self.count < 0 or self.amount < 0:
            raise IllegalQuotaError(
                f"{self.count} devices of {self.amount} are asked for; both are 0 or more"
            )


class FreeQuotaNodeFilter(Protocol):
    """The free quotas of one class on a row of nodes."""

    def passing(self, want: ClassRequest) -> NodeMask:
        """Return for each node whether it has enough."""


def decode_class_quotas(nodes: Sequence[BitPackedQuotas]) -> tuple[_Quotas, int]:
    """Decode one class of all nodes: return free[node, device] and the bits of a field.

    Raises:
        IllegalQuotaError: Nodes encode the class with fields of different bits, or wider than 63.

    """
    widths = sorted({node.bits for node in nodes})
    if len(widths) > 1:
        raise IllegalQuotaError(
            f"nodes encode one class with fields of {', '.join(map(str, widths))} bits; "
            f"encode all with {widths[-1]}"
        )
    bits = widths[0] if widths else 1
    if bits > MOST_BITS:
        raise IllegalQuotaError(f"fields of {bits} bits; nodes are filtered by {MOST_BITS} at most")
    most = max((node.devices for node in nodes), default=0)
    free = np.full((len(nodes), most), -1, np.int64)
    for row, node in zip(free, nodes, strict=True):
        row[: node.devices] = node.quotas
    return free, bits


class FieldByFieldFreeQuotas:
    """Free quotas in words without guard bits, taken apart for comparison."""

    def __init__(self, free: _Quotas, bits: int) -> None:
        """Encode free[node, device] in fields of ``bits`` bits."""
        self._words = free_quotas_packed_in_words(free, bits, bits)
        self._devices = (free >= 0).sum(axis=1)
        self._bits, self._most = bits, free.shape[1]

    def passing(self, want: ClassRequest) -> NodeMask:
        """Return for each node whether it has enough."""
        per_word = fields_per_word(self._bits)
        mask = np.uint64((1 << self._bits) - 1)
        found = np.zeros(len(self._devices), np.int64)
        for device in range(self._most):
            row, field = divmod(device, per_word)
            quota = self._words[row] >> np.uint64(field * self._bits) & mask
            found += (quota >= want.amount) & (device < self._devices)
        return np.asarray(found >= want.count)


class GuardBitFreeQuotas:
    """Free quotas in words, a guard bit above each field, compared a word at a time."""

    def __init__(self, free: _Quotas, bits: int) -> None:
        """Encode free[node, device] in fields of ``bits`` bits, each with a guard bit."""
        self._bits = bits
        self._words = free_quotas_packed_in_words(free, bits, bits + 1)
        self._guards = free_quotas_packed_in_words(
            np.where(free >= 0, 1, -1), 1, bits + 1
        ) << np.uint64(bits)
        self._guarded = self._words | self._guards

    def passing(self, want: ClassRequest) -> NodeMask:
        """Return for each node whether it has enough."""
        nodes = self._words.shape[1]
        if want.amount >= 1 << self._bits:  # no field can hold that much
            return np.full(nodes, want.count == 0)
        field_bits = self._bits + 1
        everywhere = sum(
            want.amount << field * field_bits for field in range(fields_per_word(field_bits))
        )
        # Fields without a device are the highest ones: what they borrow affects no other field.
        kept = (self._guarded - np.uint64(everywhere)) & self._guards
        found = np.bitwise_count(kept).sum(axis=0, dtype=np.int64)
        return np.asarray(found >= want.count)


class SortedFreeQuotas:
    """Free quotas in descending order: one array for each rank."""

    def __init__(self, free: _Quotas, bits: int) -> None:
        """Sort free[node, device]; the bits limit how large a quota can be."""
        self._bits = bits
        self._ranks = np.ascontiguousarray(-np.sort(-free, axis=1).T)

    def passing(self, want: ClassRequest) -> NodeMask:
        """Return for each node whether it has enough."""
        most, nodes = self._ranks.shape
        if want.count == 0:
            return np.ones(nodes, np.bool_)
        if want.count > most or want.amount >= 1 << self._bits:
            return np.zeros(nodes, np.bool_)
        return np.asarray(self._ranks[want.count - 1] >= want.amount)


def free_quotas_packed_in_words(free: _Quotas, bits: int, field_bits: int) -> Words:
    """Return words[word, node]: no field spans two words, and -1 becomes an empty field (B8).

    Args:
        free: free[node, device].
        bits: How many bits a quota may need.
        field_bits: Bits from the beginning of one field to the next; one more than ``bits``
            leaves a guard bit.

    Raises:
        IllegalQuotaError: A quota does not fit (B6), or not its field, or a field not a word.

    """
    if ((free < -1) | (free >> bits > 0)).any():
        raise IllegalQuotaError(
            f"a quota is outside 0 to {(1 << bits) - 1}, all that a {bits}-bit field can say"
        )
    if field_bits < bits:
        raise IllegalQuotaError(f"fields of {field_bits} bits cannot hold quotas of {bits}")
    per_word = fields_per_word(field_bits)
    nodes, devices = free.shape
    words = np.zeros((-(-devices // per_word), nodes), np.uint64)
    for device in range(devices):
        row, field = divmod(device, per_word)
        quota = np.maximum(free[:, device], 0).astype(np.uint64)
        words[row] |= quota << np.uint64(field * field_bits)
    return words
