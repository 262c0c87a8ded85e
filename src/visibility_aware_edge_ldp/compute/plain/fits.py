"""Steps of a fit: few numbers, many times over. Their compiled twins give the same numbers to the last bit."""

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import Rows, exp, log

Floats = npt.NDArray[np.float64]


def exponentials(rows: Rows, vector: Floats, offsets: Floats) -> Floats:
    """e to the power of rows @ vector + offsets, divided by the largest of them."""
    logs = offsets + rows.times(vector[:, None])[:, 0]
    return exp(logs - logs.max())


def logarithms(rows: Rows, vector: Floats) -> tuple[Floats, Floats]:
    """rows @ vector, and the logarithm of each; 0 or more."""
    found = rows.times(vector[:, None])[:, 0]
    return found, log(found)
