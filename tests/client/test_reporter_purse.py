"""The purse never refills and never goes below zero."""

from __future__ import annotations

from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.public.visibility import Visibility


def test_it_pays_up_to_the_cap_and_not_further() -> None:
    purse = Purse({Visibility.PRIVATE: Fraction(1)})
    for _ in range(10):
        purse.pay({Visibility.PRIVATE: Fraction(1, 10)})
    with pytest.raises(Refused, match="0 is left"):
        purse.pay({Visibility.PRIVATE: Fraction(1, 10**9)})


def test_a_class_without_a_cap_pays_nothing() -> None:
    with pytest.raises(Refused):
        Purse({Visibility.PRIVATE: Fraction(1)}).pay({Visibility.FRIEND_VISIBLE: Fraction(1)})
