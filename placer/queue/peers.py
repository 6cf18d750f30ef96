"""Figures that other queues go by, for comparison: they decide nothing here.

Our queue goes by service with a proven bound (Q9). Kueue's fair sharing ranks by what is
borrowed now, its admission fair sharing by usage that fades with a half-life.
"""

import math
from fractions import Fraction


def kueue_borrowed_share_permille(
    usage: int, nominal: int, lendable: int, weight: Fraction = Fraction(1)
) -> int:
    """Return Kueue's share: what is borrowed of what the cohort lends, over the weight."""
    borrowed = max(usage - nominal, 0)
    return math.ceil(Fraction(1000 * borrowed, lendable) / weight)


def kueue_decayed_usage(before: float, usage: float, elapsed_s: float, half_life_s: float) -> float:
    """Return Kueue's usage after a time of constant usage: each half-life halves the gap."""
    kept = 0.5 ** (elapsed_s / half_life_s)
    return float(before * kept + usage * (1 - kept))
