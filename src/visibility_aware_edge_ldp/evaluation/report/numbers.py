"""Numbers as people read them."""

from __future__ import annotations

import math

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.aggregator.estimate import FEWEST, student

DASH = "–"
# Where the series for Student's t is not good enough: his 97.5 % points for 1, 2 and 3 degrees of freedom.
FEW = (12.706, 4.303, 3.182)


def percent(share: float) -> str:
    """A share as people read it: 1,375%, 20.1%, 0.0023%; a dash when there is none."""
    if not math.isfinite(share):
        return "∞" if share > 0 else DASH
    if share >= 1 or share == 0:
        return f"{share:,.0%}"
    return f"{share:.1%}" if share >= 0.01 else f"{share * 100:.2g}%"


def value(amount: float) -> str:
    """A number as people read it; a dash when there is none."""
    if not math.isfinite(amount):
        return DASH
    return f"{amount:,.0f}" if amount.is_integer() else number(amount).replace("-", "−")


def spread(amount: float) -> str:
    """A standard deviation: three digits of it say enough."""
    return value(amount) if amount >= 1000 else f"{amount:.3g}"


def factor(amount: float, beside: float) -> str:
    """A gain or its uncertainty, with as many decimals as a gain of that size deserves."""
    if not math.isfinite(amount):
        return "∞" if amount > 0 else DASH
    return f"{amount:,.{2 if beside < 10 else 1 if beside < 100 else 0}f}"


def clear(freedom: int) -> float:
    """How many standard errors are clear: Student's 97.5 % point."""
    return student(0.975, freedom) if freedom >= FEWEST else FEW[freedom - 1]
