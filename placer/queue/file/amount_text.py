"""Times, weights and factors as people write them, read exactly."""

import re
from fractions import Fraction

from placer.queue.model import MAX_WEIGHT_MILLI, ONE_MILLI, US_PER_S
from placer_models.message_text import in_quotes

MAX_DURATION_US = 10**8 * US_PER_S
"""Three years: no thread of work takes longer."""

MAX_FACTOR_MILLI = 1000 * ONE_MILLI

MAX_SIGMA = 5.0

_UNITS_US = {
    "us": 1,
    "ms": 1000,
    "s": US_PER_S,
    "m": 60 * US_PER_S,
    "h": 3600 * US_PER_S,
    "d": 86400 * US_PER_S,
}
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_DURATION = re.compile(rf"(?:{_NUMBER}(?:us|ms|[smhd]))+")
_PART = re.compile(rf"({_NUMBER})(us|ms|[smhd])")
_PLAIN = re.compile(_NUMBER)


def parse_duration_us(text: str) -> int:
    """Read ``90s``, ``1h30m``, ``250ms``, or a plain number of seconds.

    Raises:
        ValueError: It is none, is negative, finer than a microsecond, or above three years.

    """
    if _PLAIN.fullmatch(text):
        amount = Fraction(text) * US_PER_S
    elif _DURATION.fullmatch(text):
        parts = _PART.findall(text)
        amount = sum((Fraction(number) * _UNITS_US[unit] for number, unit in parts), Fraction(0))
    else:
        raise _unexpected(text, "a time of 0 or more, such as 90s, 1h30m or 250ms")
    if amount.denominator != 1:
        raise _unexpected(text, "a whole number of microseconds")
    if amount > MAX_DURATION_US:
        raise _unexpected(text, f"{MAX_DURATION_US // US_PER_S} s at most")
    return int(amount)


def parse_positive_duration_us(text: str) -> int:
    """Read a time above 0."""
    length_us = parse_duration_us(text)
    if length_us < 1:
        raise _unexpected(text, "more than 0")
    return length_us


def parse_weight_milli(text: str) -> int:
    """Read a weight, such as ``4`` or ``0.5``, as thousandths."""
    return _milli(text, MAX_WEIGHT_MILLI, "a weight")


def parse_factor_milli(text: str) -> int:
    """Read how many times as long something takes, such as ``2`` or ``1.25``."""
    return _milli(text, MAX_FACTOR_MILLI, "a factor")


def parse_permille(text: str) -> int:
    """Read a share, such as ``90%`` or ``0.9``, as thousandths; more than 0, at most 1."""
    number, percent = (text[:-1], 100) if text.endswith("%") else (text, 1)
    share = Fraction(number) * ONE_MILLI / percent if _PLAIN.fullmatch(number) else Fraction(0)
    if share.denominator != 1 or not 0 < share <= ONE_MILLI:
        raise _unexpected(text, "a share above 0 and at most 1, such as 90% or 0.9")
    return int(share)


def parse_sigma(text: str) -> float:
    """Read the spread of a lognormal distribution."""
    try:
        sigma = float(text)
    except ValueError:
        sigma = -1.0
    if not 0 < sigma <= MAX_SIGMA:
        raise _unexpected(text, f"a number above 0, at most {MAX_SIGMA:g}")
    return sigma


def _milli(text: str, most: int, what: str) -> int:
    amount = Fraction(text) * ONE_MILLI if _PLAIN.fullmatch(text) else Fraction(0)
    if amount.denominator != 1 or not 0 < amount <= most:
        raise _unexpected(
            text,
            f"{what} above 0, at most {most / ONE_MILLI:.15g}, with three decimals or fewer",
        )
    return int(amount)


def _unexpected(text: str, expected: str) -> ValueError:
    return ValueError(f"got {in_quotes(text)}; expected {expected}")
