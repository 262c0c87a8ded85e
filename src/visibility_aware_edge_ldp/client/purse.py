"""The purse: what a client may still spend. It is on the payer's side.  [POSITION.3]"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.public.visibility import Visibility


class Purse:
    """A cap on what its holder answers, per edge of each class, and on the sum of all deltas; it never refills.

    Where several holders see the same edge, the edge loses the sum over the surveys that they answered.
    """

    def __init__(self, cap: Mapping[Visibility, Fraction], delta: Fraction = Fraction(0)) -> None:
        self._left, self._delta = dict(cap), delta

    def pay(self, price: Mapping[Visibility, Fraction], delta: Fraction = Fraction(0)) -> None:
        """Pay for one round, or refuse and pay nothing. Called before any bit is randomized.  [POSITION.3]"""
        if delta > self._delta:
            raise Refused(f"This costs δ = {float(delta):g} and {float(self._delta):g} is left; nothing was answered.")
        for visibility, loss in price.items():
            if loss > self._left.get(visibility, Fraction(0)):
                raise Refused(
                    f"This round costs ε = {float(loss):g} per {visibility} edge and "
                    f"{float(self._left.get(visibility, Fraction(0))):g} is left; nothing was answered."
                )
        for visibility, loss in price.items():
            self._left[visibility] -= loss
        self._delta -= delta
