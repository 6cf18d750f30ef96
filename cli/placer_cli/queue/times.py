"""Times and shares as people read them."""

from fractions import Fraction

from placer.queue.explain import us_as_seconds_text_without_unit


def us_as_seconds_text(time_us: int | Fraction) -> str:
    """Write microseconds as seconds: ``1,020 s``, ``0.25 s``."""
    return f"{us_as_seconds_text_without_unit(time_us)} s"


def percent_text(share: Fraction) -> str:
    """Write a share as a whole percentage; only all is 100 %."""
    return f"{int(share * 100)} %"


def weight_text(milli: int) -> str:
    """Write thousandths as a weight: ``4``, ``0.5``."""
    return f"{milli / 1000:.3f}".rstrip("0").rstrip(".")
