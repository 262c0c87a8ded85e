"""An estimate: a value, how sure we are of it, and the releases it was made from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.privacy.composition import Release

Floats = npt.NDArray[np.float64]
Value = float | Floats
Interval = tuple[Value, Value]


@dataclass(frozen=True, eq=False)
class Estimate:
    """One statistic's estimate.

    Parameters
    ----------
    value, variance
        Numbers, or arrays with one entry per node or bin.
    labels
        What the entries of an array are: node names, or the bins' (first, last) degrees.
    unbiased
        Whether the estimator's mean is the truth.
    limits
        A function from a level to an interval, where the normal one would not do.
    """

    statistic: str
    value: Value
    variance: Value = field(repr=False)
    releases: tuple[Release, ...] = field(repr=False, default=())
    labels: Sequence[Hashable] | None = field(repr=False, default=None)
    unbiased: bool = True
    limits: Callable[[float], Interval] | None = field(repr=False, default=None)

    @property
    def standard_error(self) -> Value:
        """The square root of the estimated variance."""
        root = np.sqrt(np.maximum(self.variance, 0))
        return root if isinstance(self.variance, np.ndarray) else float(root)

    def interval(self, level: float = 0.95) -> Interval:
        """The interval that covers the truth with probability ``level``."""
        if not 0 < level < 1:
            raise BadInput(f"A level is between 0 and 1, such as 0.95; got {level}.")
        if self.limits is not None:
            return self.limits(level)
        reach = NormalDist().inv_cdf(0.5 + level / 2) * self.standard_error
        return self.value - reach, self.value + reach

    def as_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain values for JSON."""
        low, high = self.interval(level)
        result = {
            "value": _plain(self.value),
            "standard_error": _plain(self.standard_error),
            "interval": [_plain(low), _plain(high)],
            "level": level,
            "unbiased": self.unbiased,
        }
        return result if self.labels is None else {**result, "labels": [_label(label) for label in self.labels]}


def _plain(value: Value) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else float(value)


def _label(label: Hashable) -> Any:
    if isinstance(label, tuple):
        return [_label(part) for part in label]
    return label.item() if isinstance(label, np.generic) else label if isinstance(label, (int, str)) else str(label)
