"""Amounts and lists as people read them."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.cpuset import format_cpu_list
from placer_models.defaults import Defaults
from placer_models.device import GPU
from placer_models.kubernetes.names import REQUESTED_CPU
from placer_models.policy import AlignmentPolicy, BindPolicy, ExclusivePolicy

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_IN_BYTES = ("ephemeral-storage", "-memory")
"""How names of resources end that clusters count in bytes."""

MOST_SERIES = 4
"""Names of more series than these show their ends only."""

_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})")
"""What comes before a number, and the number: as many digits as host lists may have."""


def memory_text(amount_bytes: int) -> str:
    """Write bytes in the largest unit, to three digits: ``64Gi``, ``1.97Ti``."""
    amount, unit = float(amount_bytes), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{_plain(amount)}{_UNITS[unit]}"


def quantity_text(quantity: DeviceQuantity) -> str:
    """Write an amount of a quantity in its unit: ``5Gi``, ``30 %``, ``2,000``."""
    match quantity.unit:
        case DeviceQuantityUnit.BYTES:
            return memory_text(quantity.amount)
        case DeviceQuantityUnit.PERCENT:
            return f"{quantity.amount} %"
        case DeviceQuantityUnit.UNITS:
            return f"{quantity.amount:,}"


def amount_text(name: str, amount: int) -> str:
    """Write an amount of an extended resource; as memory where its name says that it is some."""
    return memory_text(amount) if name.endswith(_IN_BYTES) else f"{amount:,}"


def amounts_without_cpu_sum(amounts: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Yield plain amounts that people name, and not the sum that a dump's reader makes of CPUs."""
    return (amount for amount in amounts if amount[0] != REQUESTED_CPU)


def policy_defaults_in_words(defaults: Defaults) -> Iterator[str]:
    """Yield what holds where neither a pod nor its node says anything; nothing if that is none."""
    words = (
        ("CPU bind policy", defaults.bind, BindPolicy.DEFAULT),
        ("exclusive policy", defaults.exclusive, ExclusivePolicy.NONE),
        ("NUMA policy", defaults.alignment, AlignmentPolicy.NONE),
        ("NUMA strategy", defaults.numa_strategy, None),
    )
    if said := [f"{name} {word}" for name, word, unset in words if word is not unset]:
        yield f"by default {', '.join(said)}"


def gb_per_s_text(centi: int) -> str:
    """Write 0.01 GB/s as GB/s, without the unit: ``15.75``."""
    return f"{centi / 100:,.2f}".rstrip("0").rstrip(".")


def ids_text(ids: Collection[int], columns: int = 18) -> str:
    """Write ids as a CPU list if that fits, else as ``0,2..62`` or ``16 of 9-192``."""
    text = format_cpu_list(ids)
    if len(text) <= columns:
        return text
    first, second, *rest = ordered = sorted(ids)
    steps = {b - a for a, b in pairwise(ordered)}
    if len(steps) == 1:
        return f"{first},{second}..{rest[-1]}"
    return f"{len(ordered)} of {first}-{ordered[-1]}"


def names_as_host_lists(names: Sequence[str]) -> str:
    """Write names as host lists, and how many each is: ``a-[00-15] (16), b-[0-3] (4)``."""
    series: dict[tuple[str, int | None], list[str]] = {}
    names = list(dict.fromkeys(names))
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            series[name, None] = [""]
            continue
        before, digits = match.groups()
        # Numbers with leading zeros are all of one width; others count up freely.
        width = len(digits) if len(digits) > 1 and digits[0] == "0" else 0
        padded = (before, len(digits)) in series
        series.setdefault((before, len(digits) if padded else width), []).append(digits)
    if len(series) > MOST_SERIES:
        return f"{names[0]} .. {names[-1]} ({len(names):,})"
    return ", ".join(_host_list(before, found) for (before, _), found in series.items())


def _host_list(before: str, digits: Sequence[str]) -> str:
    if len(digits) == 1:
        return before + digits[0]
    width = max(len(d) for d in digits) if any(d[0] == "0" and len(d) > 1 for d in digits) else 1
    ranges = format_cpu_list(int(d) for d in digits).split(",")
    listed = ",".join("-".join(e.zfill(width) for e in r.split("-")) for r in ranges)
    return f"{before}[{listed}] ({len(digits):,})"


def device_type_title(kind: str) -> str:
    """Return how a type of devices is called in pictures."""
    return kind.upper() if kind == GPU else kind


def _plain(amount: float) -> str:
    text = f"{amount:.2f}" if amount < 10 else f"{amount:.1f}" if amount < 100 else f"{amount:.0f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
