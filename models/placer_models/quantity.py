"""Amounts as Kubernetes writes them (``64Gi``, ``500m``, ``1.5``, ``2e3``), read exactly."""

import math
import re
from fractions import Fraction

MAX_AMOUNT = 2**60
"""Largest amount that is read, in bytes or milli; no machine comes near it."""

_SUFFIXES = {
    "": Fraction(1),
    **{name: Fraction(10) ** power for name, power in zip("num", (-9, -6, -3), strict=True)},
    **{name: Fraction(1000) ** power for power, name in enumerate("kMGTPE", start=1)},
    **{f"{name}i": Fraction(1024) ** power for power, name in enumerate("KMGTPE", start=1)},
}
# Digits are bounded, so that no text can make a number that takes long to compute.
_AMOUNT = re.compile(
    r"(?P<number>[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE]|)|[eE](?P<exponent>[+-]?[0-9]{1,3}))"
)

_MILLI = re.compile(r"(\d{1,6})m")
"""An amount in thousandths, as people write it who mean millions."""


def parse_bytes(amount: str | float) -> int:
    """Read an amount of memory as bytes.

    Raises:
        ValueError: The text is no amount, or it is negative, has a fraction of a byte, or is
            above 2**60.

    """
    try:
        return _whole(amount, 1, "bytes")
    except ValueError as error:
        match = isinstance(amount, str) and _MILLI.fullmatch(amount)
        if not match or "whole number" not in str(error):
            raise
        number = match[1]
        raise ValueError(
            f"{_shown(amount)} is not a whole number of bytes: m stands for a thousandth; "
            f"write {number}M or {number}Mi for megabytes or mebibytes"
        ) from None


def parse_milli(amount: str | float) -> int:
    """Read an amount, such as CPUs, as thousandths: ``1.5`` is 1500.

    Raises:
        ValueError: The text is no amount, or it is negative, finer than 0.001, or above 2**60
            milli.

    """
    return _whole(amount, 1000, "thousandths")


def parse_amount_rounding_up(amount: str | float, per_one: int = 1) -> int:
    """Read an amount as Kubernetes does, which rounds fractions of its unit up.

    Args:
        amount: The amount as it is written.
        per_one: How many units make one: 1 for bytes, 1000 for thousandths.

    Raises:
        ValueError: The text is no amount, or it is negative, or above 2**60.

    """
    return _whole(amount, per_one, "parts", up=True)


def format_bytes(size: int) -> str:
    """Write bytes exactly, in the largest binary unit that divides them: ``64Gi``."""
    for unit in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        factor = int(_SUFFIXES[unit])
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)


def format_milli(milli: int) -> str:
    """Write thousandths as people do: ``2``, ``1500m``."""
    return f"{milli}m" if milli % 1000 else str(milli // 1000)


def cpu_milli_text(milli: int) -> str:
    """Return thousandths of a CPU as CPUs, without the noun: ``1.5``."""
    return f"{milli / 1000:.3f}".rstrip("0").rstrip(".")


def cpu_count_with_noun(milli: int) -> str:
    """Return thousandths of a CPU as CPUs: ``1 CPU``, ``1.5 CPUs``."""
    return f"{cpu_milli_text(milli)} {'CPU' if milli == 1000 else 'CPUs'}"


def _whole(amount: str | float, per_one: int, unit: str, *, up: bool = False) -> int:
    value = _value(amount) * per_one
    if up and value > 0:
        value = Fraction(math.ceil(value))
    if value < 0:
        raise ValueError(f"{_shown(amount)} is negative; an amount is 0 or more")
    if value > MAX_AMOUNT:
        raise ValueError(f"{_shown(amount)} is more than any machine has; amounts end at 2**60")
    if value.denominator != 1:
        raise ValueError(f"{_shown(amount)} is not a whole number of {unit}; round it")
    return int(value)


def _value(amount: str | float) -> Fraction:
    if isinstance(amount, float):
        # repr is the shortest text that means this float: what a person wrote.
        amount = repr(amount) if math.isfinite(amount) else str(amount)
    elif isinstance(amount, int) and not isinstance(amount, bool):
        return Fraction(amount)
    match = _AMOUNT.fullmatch(amount) if isinstance(amount, str) else None
    if match is None:
        raise ValueError(
            f"{_shown(amount)} is no amount; write a number, with a unit if you like: "
            "64Gi, 512Mi, 500m, 1.5, 2e3"
        )
    if match["exponent"] is not None:
        return Fraction(match["number"]) * Fraction(10) ** int(match["exponent"])
    return Fraction(match["number"]) * _SUFFIXES[match["suffix"]]


def _shown(amount: object) -> str:
    """Return the value as a message shows it, cut short if it is long."""
    if isinstance(amount, int) and amount.bit_length() > 128:
        return f"an integer of {amount.bit_length()} bits"
    text = repr(amount)  # As `message_text` does, which numbers do not import.
    return text if len(text) <= 60 else f"{text[:57]}..."
