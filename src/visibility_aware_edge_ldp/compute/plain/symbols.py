"""Products with a matrix whose entries have few values, two columns of it at a time; they have compiled twins.

An entry's *symbol* says which value it has: the sum of ``steps`` of the planes that hold it, so that nested planes and
classes of planes number their outcomes. Two entries side by side have one of few pairs of symbols, and for every pair
the sum of the two products is made once and looked up by all rows.
"""

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain.bitset import Words, unpack_rows

Octets = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.float32]
# So many values at most: pairs of symbols are octets, and what is made for four pairs stays in the nearest cache.
VALUES = 8


def times(planes: Words, steps: Octets, values: Numbers, numbers: Numbers, first: int, last: int) -> Numbers:
    """Rows ``first`` to ``last`` of the matrix times ``numbers``, which have a row for each bit of a packed row.

    Two columns' products are rounded, then their sum, and then the sum with those of all columns before them.
    """
    symbols = np.zeros((last - first, len(numbers)), np.uint8)
    for plane, step in zip(planes, steps, strict=True):
        symbols += step * unpack_rows(plane[first:last], len(numbers)).astype(np.uint8)
    pairs = symbols[:, ::2].astype(np.intp) * len(values) + symbols[:, 1::2]
    total = np.zeros((last - first, numbers.shape[1]), np.float32)
    for place, (one, two) in enumerate(zip(numbers[::2], numbers[1::2], strict=True)):
        each = (values[:, None] * one)[:, None] + values[:, None] * two
        total += each.reshape(-1, numbers.shape[1])[pairs[:, place]]
    return total
