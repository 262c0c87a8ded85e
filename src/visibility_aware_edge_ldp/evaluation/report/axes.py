"""Round numbers for logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percent_ticks(low: float, high: float) -> list[float]:
    """Round numbers, at most six of them: 1-2-5, else 1-3, else powers of ten."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= 6:
            return inside
    return inside[:: math.ceil(len(inside) / 6)]


def percent_label(share: float) -> str:
    """0.02 is "2%"; very large and very small ones are written as powers of ten."""
    percent = float(f"{share * 100:.6g}")
    if 1e-3 <= percent < 1e6:
        return f"{percent:,g}%" if percent < 1000 else f"{percent:,.0f}%"
    digit, _, power = f"{percent:.0e}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}%" if digit == "1" else f"{digit}·10{raised}%"


def apart(values: Sequence[float]) -> list[float]:
    """Those of the sorted values whose labels do not run into each other on a logarithmic axis."""
    least = math.log(values[-1] / values[0]) / 7
    kept = [values[0]]
    for value in values[1:]:
        if math.log(value / kept[-1]) >= least:
            kept.append(value)
    return kept


def plain_ticks(low: float, high: float) -> list[float]:
    """As ``percent_ticks``; where few round numbers fall between the limits, finer ones, and always 1."""
    ticks = percent_ticks(low, high)
    if len(ticks) < 3:
        ticks = sorted({tick for tick in (0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 3) if low <= tick <= high} | set(ticks))
    return ticks


def powers_of_ten(low: float, high: float) -> list[float]:
    """Those between the limits."""
    return [float(f"1e{power}") for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
