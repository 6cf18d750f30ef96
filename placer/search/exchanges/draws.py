"""Draws that are the same whoever makes them: all at once by NumPy, or one by one when compiled.

They are those of `placer_models.splitmix`, in arrays.
"""

import numpy as np
from numpy.typing import NDArray

from placer_models.splitmix import FIRST_FACTOR, GOLDEN, SECOND_FACTOR

GUMBEL_BITS = 12
GUMBEL: NDArray[np.float64] = -np.log(
    -np.log((np.arange(2**GUMBEL_BITS, dtype=np.float64) + 0.5) / 2**GUMBEL_BITS)
)
"""Gumbel's distribution by its quantiles: the first bits of a draw say which one."""

Draws = NDArray[np.uint64]


def random_numbers_at(stream: Draws, numbers: Draws) -> Draws:
    """Return the draws with these numbers in these streams; the arrays are broadcast."""
    z = stream + (numbers + np.uint64(1)) * np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST_FACTOR)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND_FACTOR)
    drawn: Draws = z ^ (z >> np.uint64(31))
    return drawn


def gumbel_of(drawn: Draws) -> NDArray[np.float64]:
    """Return numbers of Gumbel's distribution."""
    return GUMBEL[(drawn >> np.uint64(64 - GUMBEL_BITS)).astype(np.intp)]
