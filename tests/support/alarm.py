"""When a statistical test rings.

Seeds are fixed, so a test that passes once passes always; the limit is chosen so that a correct
program would have failed on the first run with a chance below one in 100,000 per check.
"""

from __future__ import annotations

import numpy as np

Z_LIMIT = 4.5


def z_of(values: object, truth: float) -> float:
    """How many standard errors the mean of the values is away from the truth."""
    array = np.asarray(values, dtype=np.float64)
    return float((array.mean() - truth) / (array.std(ddof=1) / np.sqrt(array.size)))
