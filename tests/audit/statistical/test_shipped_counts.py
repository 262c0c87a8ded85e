"""What counting users, hubs and the centre send: the right counts, and claims with their delta."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from visibility_aware_edge_ldp.audit.statistical.shipped_counts import Centres, Hubs, Owned
from visibility_aware_edge_ldp.public.surveys.neighbourhood import BELIEVED, WEIGHTED
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE = Visibility.PRIVATE


def test_the_delta_is_claimed_where_bounds_are_believed() -> None:
    assert Owned(PRIVATE, BELIEVED, delta=Fraction(1, 100)).claimed.delta == Fraction(1, 100)
    assert Owned(PRIVATE, WEIGHTED).claimed.delta == 0
    assert Centres("triangles", delta=Fraction("1e-6")).claimed.delta == Fraction("1e-6")


def test_counts_see_the_triangle() -> None:
    clipped = Owned(PRIVATE, epsilon=Fraction(200))
    assert clipped.send(np.array([False, True]), "test").sum(axis=1).tolist() == [0, 1]
    hub = Hubs(epsilon=Fraction(400))
    assert hub.send(np.array([False, True]), "test").ravel().tolist() == [2, 4]
    centre = Centres("triangles", epsilon=Fraction(400))
    assert centre.send(np.array([True, False, True]), "test").ravel().tolist() == [1, 0, 1]


def test_bought_degrees_are_sent_before_the_counts() -> None:
    """With hardly any noise the first three columns are the degrees: a path, or a triangle."""
    sent = Owned(PRIVATE, WEIGHTED, epsilon=Fraction(200)).send(np.array([False, True]), "test")
    assert sent[:, :3].tolist() == [[1, 1, 2], [2, 2, 2]]


def test_worlds_do_not_meet() -> None:
    """Many worlds in one call: with hardly any noise, every world with its edge counts its own triangle."""
    edges = np.arange(500) % 3 == 0
    sent = Owned(PRIVATE, epsilon=Fraction(200)).send(edges, "test")
    assert np.array_equal(sent.sum(axis=1), edges)
