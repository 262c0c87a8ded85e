"""Views: what one reporter may hold. The type of a view is its trust model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class PositionBits:
    """POSITION: the bits of the positions numbered ``start`` and on, each held by a reporter of its own.

    A real reporter holds one; a simulation lets many answer in one call, each with coins of its own.
    """

    start: int
    bits: npt.NDArray[np.bool_] = field(repr=False)
