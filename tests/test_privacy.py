"""Promises as values: they add on the same bits, join on disjoint bits, and refuse to mix."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, RelationMismatch
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge, OneListEntry, edge_from_lists

FIXED = settings(derandomize=True, deadline=None, max_examples=50)
FREE = Guarantee(OneEdge, Fraction(0))

losses = st.fractions(min_value=0, max_value=10, max_denominator=10**6)
slips = st.fractions(min_value=0, max_value=Fraction(1, 5), max_denominator=10**6)
guarantees = st.builds(Guarantee, st.just(OneEdge), losses, slips)


@FIXED
@given(guarantees, guarantees, guarantees)
def test_sums_are_exact_commutative_and_associative(
    a: Guarantee[OneEdge], b: Guarantee[OneEdge], c: Guarantee[OneEdge]
) -> None:
    assert (a + b).epsilon == a.epsilon + b.epsilon
    assert (a + b).delta == a.delta + b.delta
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + FREE == a


@FIXED
@given(guarantees, guarantees, guarantees)
def test_joins_are_a_semilattice(a: Guarantee[OneEdge], b: Guarantee[OneEdge], c: Guarantee[OneEdge]) -> None:
    assert (a | b).epsilon == max(a.epsilon, b.epsilon)
    assert (a | b).delta == max(a.delta, b.delta)
    assert a | b == b | a
    assert (a | b) | c == a | (b | c)
    assert a | a == a
    assert a | FREE == a


@FIXED
@given(guarantees, guarantees, guarantees)
def test_adding_distributes_over_joining(a: Guarantee[OneEdge], b: Guarantee[OneEdge], c: Guarantee[OneEdge]) -> None:
    assert a + (b | c) == (a + b) | (a + c)


def test_ten_tenths_are_one() -> None:
    total = FREE
    for _ in range(10):
        total = total + Guarantee(OneEdge, Fraction("0.1"), Fraction("1e-6"))
    assert total == Guarantee(OneEdge, Fraction(1), Fraction(1, 10**5))
    assert sum([0.1] * 10) != 1


@pytest.mark.parametrize("operation", ["__add__", "__or__"])
def test_unlike_relations_do_not_mix(operation: str) -> None:
    edge, entry = Guarantee(OneEdge, Fraction(1)), Guarantee(OneListEntry, Fraction(1))
    for first, second in ((edge, entry), (entry, edge)):
        with pytest.raises(RelationMismatch, match="edge_from_lists"):
            getattr(first, operation)(second)


def test_a_mismatch_is_a_type_error_too() -> None:
    with pytest.raises(TypeError, match="OneEdge cannot be combined with one OneListEntry"):
        Guarantee(OneEdge, Fraction(1)) + Guarantee(OneListEntry, Fraction(1))  # type: ignore[operator]


@FIXED
@given(st.builds(Guarantee, st.just(OneListEntry), losses, slips), st.integers(1, 4))
def test_an_edge_pays_for_every_list(entry: Guarantee[OneListEntry], lists: int) -> None:
    edge = edge_from_lists(entry, lists)
    assert edge.relation is OneEdge
    assert (edge.epsilon, edge.delta) == (lists * entry.epsilon, lists * entry.delta)


def test_an_edge_stands_in_two_lists_unless_said() -> None:
    assert edge_from_lists(Guarantee(OneListEntry, Fraction(1, 2))) == Guarantee(OneEdge, Fraction(1))


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (1, 1), (1, -1), (1, 2), (Fraction(-1, 10**9), 0)])
def test_impossible_promises_are_refused(epsilon: int, delta: int) -> None:
    with pytest.raises(BadPrivacyParameter, match="No guarantee has epsilon"):
        Guarantee(OneEdge, Fraction(epsilon), Fraction(delta))


def test_a_sum_whose_delta_reaches_one_is_no_promise() -> None:
    half = Guarantee(OneEdge, Fraction(1), Fraction(1, 2))
    with pytest.raises(BadPrivacyParameter, match="delta 1"):
        half + half
    assert (half | half).delta == Fraction(1, 2)


def test_it_prints_what_it_promises() -> None:
    assert str(Guarantee(OneEdge, Fraction(1, 2))) == "ε = 0.5"
    assert str(Guarantee(OneEdge, Fraction(2), Fraction(1, 10**6))) == "ε = 2, δ = 1e-06"


def test_it_is_a_value() -> None:
    promise = Guarantee(OneEdge, Fraction(1))
    assert {promise, Guarantee(OneEdge, Fraction(1))} == {promise}
    assert promise != Guarantee(OneListEntry, Fraction(1))
    with pytest.raises(FrozenInstanceError):
        promise.epsilon = Fraction(2)  # type: ignore[misc]
