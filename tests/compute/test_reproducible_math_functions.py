"""Functions of arrays: as precise as the mathematical library, to a few units of the last place."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute import reproducible_math

WIDE, POSITIVE = np.linspace(-30, 30, 501), np.geomspace(1e-300, 1e300, 501)


@pytest.mark.parametrize(
    ("ours", "known", "values"),
    [
        (reproducible_math.exp, math.exp, WIDE),
        (reproducible_math.expm1, math.expm1, np.concatenate([WIDE, WIDE * 1e-9])),
        (reproducible_math.log, math.log, POSITIVE),
        (reproducible_math.sinh, math.sinh, np.abs(WIDE)),
        (reproducible_math.arcsinh, math.asinh, np.abs(WIDE)),
        (reproducible_math.cos_pi, lambda x: math.cos(math.pi * x), np.linspace(0, 2, 17)),
    ],
)
def test_values(ours: Callable[..., np.ndarray], known: Callable[[float], float], values: np.ndarray) -> None:
    np.testing.assert_allclose(ours(values), [known(x) for x in values.tolist()], rtol=1e-14, atol=1e-15)


def test_ends_of_the_range() -> None:
    assert reproducible_math.exp([-1e4, 0.0]).tolist() == [0.0, 1.0]
    assert reproducible_math.log([0.0, 1.0, math.inf]).tolist() == [-math.inf, 0.0, math.inf]
    assert math.isnan(reproducible_math.log([-1.0])[0])
    assert [each.tolist() for each in reproducible_math.powers(np.array([2.0, 3.0]), 2)] == [[1, 1], [2, 3], [4, 9]]
