"""The purse: what a client may still spend. It is on the payer's side."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.public.visibility import Visibility


class Purse:
    """A cap on the loss per edge of each class; it never refills."""

    def __init__(self, cap: Mapping[Visibility, Fraction]) -> None:
        self._left = dict(cap)

    def pay(self, price: Mapping[Visibility, Fraction]) -> None:
        """Pay for one round, or refuse and pay nothing. Called before any bit is randomized.  [POSITION.3]"""
        for visibility, loss in price.items():
            if loss > self._left.get(visibility, Fraction(0)):
                raise Refused(
                    f"This round costs ε = {float(loss):g} per {visibility} edge and "
                    f"{float(self._left.get(visibility, Fraction(0))):g} is left; nothing was answered."
                )
        for visibility, loss in price.items():
            self._left[visibility] -= loss
