"""Arrays of numbers, named by what is in them."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
"""Numbers that only propose."""

IntArray = NDArray[np.int64]
"""Whole numbers, from which something may follow."""
