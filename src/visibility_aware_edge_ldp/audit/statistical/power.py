"""How small a fault samples show: the least factor on ε that 99 of 100 audits would notice.  [SHOWN.6]"""

import math
from collections.abc import Callable
from statistics import NormalDist

MISSED = 0.01
"""How often a fault of that size may go unnoticed."""
_MOST = 1 << 10
_HALVINGS = 40


def two_worlds(likely: int, rare: int, trials: int, claimed: float, delta: float, alpha: float) -> float:
    """The factor, from how often an event happened in so many trials of either world; infinite where none is seen.

    A fault that loses x times as much makes the event's log-ratio x times as large. It is taken to make the event as
    much rarer in the world where it is rare, which is the harder case to see. Limits and counts are about normal.
    """
    if likely == 0 or likely / trials <= delta:
        return math.inf
    p, q = likely / trials, max(rare, 1) / trials
    # No claim is broken yet, so the event tells no more than is claimed; and by chance it may tell less than it showed.
    told = min(claimed, math.log((p - delta) / q)) - math.sqrt((1 - p) / (p * trials) + (1 - q) / (q * trials))
    apart, limit = _quantile(MISSED / 2) + _quantile(alpha / 2), _quantile(alpha / 2) ** 2 / trials
    low = p - apart * math.sqrt(p * (1 - p) / trials) - delta

    def shown(factor: float) -> bool:
        rarer = (p - delta) * math.exp(-factor * told)
        high = rarer + apart * math.sqrt(rarer * (1 - rarer) / trials) + limit
        return low > 0 and math.log(low / high) > claimed

    return _least(shown) if told > 0 else math.inf


def one_run(right: int, made: int, claimed: float, alpha: float) -> float:
    """The same, from how many of so many guesses were right."""
    if not made or 2 * right <= made or right == made:
        return math.inf
    told = min(claimed, math.log(right / (made - right))) - math.sqrt(made / (right * (made - right)))
    apart = _quantile(MISSED) + _quantile(alpha)
    wanted = 1 / (1 + math.exp(-claimed))

    def shown(factor: float) -> bool:
        rate = 1 / (1 + math.exp(-factor * told))
        return rate - apart * math.sqrt(rate * (1 - rate) / made) > wanted

    return _least(shown) if told > 0 else math.inf


def _least(shown: Callable[[float], bool]) -> float:
    """The least factor from 1 on that is shown, if larger ones are too."""
    if not shown(_MOST):
        return math.inf
    low, high = 0.0, float(_MOST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return max(1.0, high)


def _quantile(chance: float) -> float:
    return NormalDist().inv_cdf(1 - chance)
