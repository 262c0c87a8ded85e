"""The bill: privacy is paid at release, once, however many estimates are made from it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import RelationMismatch
from visibility_aware_edge_ldp.privacy import Bill, Guarantee, OneEdge, OneListEntry, Release
from visibility_aware_edge_ldp.public.visibility import Visibility

FIXED = settings(derandomize=True, deadline=None, max_examples=50)
FRIEND_VISIBLE, PRIVATE = Visibility.FRIEND_VISIBLE, Visibility.PRIVATE


def release(epsilon: Fraction | int, survey: str = "s", number: int = 1) -> Release:
    price = Guarantee(OneEdge, Fraction(epsilon))
    return Release(survey, number, ((PRIVATE, price), (FRIEND_VISIBLE, price + price)))


def test_a_release_is_counted_once() -> None:
    once = Bill([release(1)])
    many = Bill([release(1)] * 7)
    assert once == many
    assert many["PRIVATE"].epsilon == 1


def test_the_twin_that_counts_every_estimate_would_say_seven() -> None:
    naive = sum(dict(r.prices)[PRIVATE].epsilon for r in [release(1)] * 7)
    assert naive == 7
    assert Bill([release(1)] * 7)["PRIVATE"].epsilon != naive


def test_rounds_and_surveys_are_different_releases() -> None:
    bill = Bill([release(1, number=1), release(1, number=2), release(1, "other"), release(1, number=1)])
    assert bill["PRIVATE"] == Guarantee(OneEdge, Fraction(3))
    assert bill["FRIEND_VISIBLE"] == Guarantee(OneEdge, Fraction(6))


@FIXED
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), max_size=20))
def test_the_total_is_the_sum_over_distinct_releases(asked: list[tuple[str, int]]) -> None:
    tenth = Fraction(1, 10)
    bill = Bill(release(tenth * number, survey, number) for survey, number in asked)
    expected = sum((tenth * number for _, number in set(asked)), Fraction(0))
    assert (bill["PRIVATE"].epsilon if asked else 0) == expected


def test_keys_are_classes_or_their_names() -> None:
    bill = Bill([release(1)])
    assert bill[PRIVATE] is bill["PRIVATE"]
    assert bill[FRIEND_VISIBLE].epsilon == 2
    assert list(bill) == ["PRIVATE", "FRIEND_VISIBLE"]
    assert len(bill) == 2
    assert PRIVATE in bill
    assert "PUBLIC" not in bill


def test_what_was_not_asked_has_no_price() -> None:
    with pytest.raises(KeyError):
        Bill([release(1)])[Visibility.PUBLIC]


def test_per_list_prices_do_not_slip_in() -> None:
    entry = Release("list", 1, ((PRIVATE, Guarantee(OneListEntry, Fraction(1))),))  # type: ignore[arg-type]
    with pytest.raises(RelationMismatch):
        Bill([release(1), entry])


def test_it_reads_aloud() -> None:
    assert str(Bill([])) == "nothing was asked"
    assert repr(Bill([release(Fraction(1, 2))])) == "Bill(PRIVATE: ε = 0.5, FRIEND_VISIBLE: ε = 1)"


def test_order_of_releases_does_not_matter() -> None:
    releases = [release(1), release(2, "b"), release(3, "c")]
    assert Bill(releases) == Bill(releases[::-1])
