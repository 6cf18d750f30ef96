"""Amounts and lists as people read them."""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from placer_models.cpuset import format_cpu_list

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_NUMBERED = re.compile(r"(.*?)(\d+)")


def memory(amount_bytes: int) -> str:
    """Write bytes in the largest unit, to three digits: ``64Gi``, ``1.97Ti``."""
    amount, unit = float(amount_bytes), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{_plain(amount)}{_UNITS[unit]}"


def cpus(milli: int) -> str:
    """Write thousandths of a CPU as CPUs: ``1.5``."""
    return f"{milli / 1000:.3f}".rstrip("0").rstrip(".")


def gb_per_s(centi: int) -> str:
    """Write 0.01 GB/s as GB/s, without the unit: ``15.75``."""
    return f"{centi / 100:,.2f}".rstrip("0").rstrip(".")


def count(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: ``1 pod``, ``1,024 pods``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def short_list(ids: Collection[int], columns: int = 18) -> str:
    """Write ids as a CPU list if that fits, else as ``0,2..62`` or ``16 of 9-192``."""
    text = format_cpu_list(ids)
    if len(text) <= columns:
        return text
    first, second, *rest = ordered = sorted(ids)
    steps = {b - a for a, b in pairwise(ordered)}
    if len(steps) == 1:
        return f"{first},{second}..{rest[-1]}"
    return f"{len(ordered)} of {first}-{ordered[-1]}"


def fold_names(names: Sequence[str]) -> str:
    """Write names as one host list where they are one series: ``node-[00-15]``."""
    if len(names) < 2:
        return "".join(names)
    matches = [match for name in names if (match := _NUMBERED.fullmatch(name))]
    digits = [match[2] for match in matches]
    width = len(digits[0]) if len({len(d) for d in digits}) == 1 else 1
    one_series = len(matches) == len(names) and len({match[1] for match in matches}) == 1
    if not one_series or (width == 1 and any(len(d) > 1 and d[0] == "0" for d in digits)):
        return f"{names[0]} .. {names[-1]}"
    ranges = format_cpu_list(int(d) for d in digits).split(",")
    padded = ("-".join(end.zfill(width) for end in part.split("-")) for part in ranges)
    return f"{matches[0][1]}[{','.join(padded)}]"


def stem(name: str) -> str:
    """Return the name without the number that a replica ends with."""
    return re.sub(r"-\d+$", "", name)


def joined(parts: Iterable[str], dot: str) -> str:
    """Join the parts that are not empty by a dot with room around it."""
    return f" {dot} ".join(part for part in parts if part)


def _plain(amount: float) -> str:
    text = f"{amount:.2f}" if amount < 10 else f"{amount:.1f}" if amount < 100 else f"{amount:.0f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
