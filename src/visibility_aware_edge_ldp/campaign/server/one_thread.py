"""One thread for matrix products, so that answers made again on this machine are the same to the last byte.

How a product is shared among threads decides in which order it is added up, and that its last digits. The libraries
read how many threads they may have when NumPy is loaded; so this is called before.
"""

from __future__ import annotations

import os

_NAMES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS")


def one_thread() -> None:
    """From now on: whatever the environment said, NumPy will have one. Numba's threads are as many as they were."""
    os.environ.update(dict.fromkeys(_NAMES, "1"))
