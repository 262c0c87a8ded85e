"""The choice of an event: it finds what tells worlds apart, and does not fall for chance."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.statistical.lower_bound import Event, candidates, choose_event
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import Columns

RUNS = 20_000


def drawn(seed: int, *makers: object) -> Columns:
    rng = np.random.default_rng(seed)
    return np.stack([make(rng) for make in makers], axis=1)  # type: ignore[operator]


def share(event: Event, sent: Columns) -> float:
    return event.happened(sent) / len(sent)


def bit(chance: float) -> object:
    return lambda rng: rng.binomial(1, chance, RUNS)


@pytest.mark.parametrize(("without", "with_edge", "reverse"), [(0.05, 0.5, False), (0.5, 0.99, True)])
def test_the_better_direction_is_taken(without: float, with_edge: float, reverse: bool) -> None:
    """Of a bit that is 1 with chance 0.5 or 0.99, a 0 without the edge tells more."""
    event = choose_event(drawn(1, bit(without)), drawn(2, bit(with_edge)), 0.0, 0.001)
    assert event.reverse is reverse
    likely, rare = (without, with_edge) if reverse else (with_edge, without)
    chances = (1 - likely, 1 - rare) if reverse else (likely, rare)
    assert share(event, drawn(3, bit(likely))) == pytest.approx(chances[0], abs=0.02)
    assert share(event, drawn(4, bit(rare))) == pytest.approx(chances[1], abs=0.02)


def test_what_only_columns_together_tell_is_found() -> None:
    """Two fair bits, equal in one world and different in the other: each alone says nothing."""
    first = np.random.default_rng(5).integers(0, 2, RUNS)
    event = choose_event(np.stack([first, first], 1), np.stack([first, 1 - first], 1), 0.0, 0.001)
    assert share(event, np.array([[0, 1], [1, 0]])) == (0.0 if event.reverse else 1.0)
    assert share(event, np.array([[0, 0], [1, 1]])) == (1.0 if event.reverse else 0.0)


def test_the_tails_of_a_wide_column_are_found() -> None:
    def wide(scale: float) -> object:
        return lambda rng: np.rint(rng.laplace(0, scale, RUNS)).astype(np.int64)

    event = choose_event(drawn(6, wide(1000)), drawn(7, wide(1500)), 0.0, 0.001)
    assert not event.reverse
    assert event.happened(np.array([[0], [500], [-500]])) == 0
    assert event.happened(np.array([[9000], [-9000]])) == 2


def test_noise_beside_a_telling_bit_does_not_drown_it() -> None:
    def noise(rng: np.random.Generator) -> Columns:
        return rng.integers(-(10**6), 10**6, RUNS)

    event = choose_event(drawn(8, bit(0.3), noise, noise), drawn(9, bit(0.7), noise, noise), 0.0, 0.001)
    fresh = share(event, drawn(10, bit(0.7), noise, noise)), share(event, drawn(11, bit(0.3), noise, noise))
    ratio = max(fresh) / min(fresh)
    assert ratio > 0.9 * 7 / 3


def test_a_small_event_is_chosen_only_where_delta_leaves_something_of_it() -> None:
    """A bare value with chance 0.01 tells most for delta 0 and nothing for delta 0.02."""
    rng = np.random.default_rng(12)
    without = rng.binomial(1, 0.4, (RUNS, 1))
    with_edge = np.where(rng.random((RUNS, 1)) < 0.01, 9, rng.binomial(1, 0.6, (RUNS, 1)))
    nine = np.array([[9]])
    pure = choose_event(without, with_edge, 0.0, 0.001)
    assert (pure.happened(nine), pure.happened(np.array([[1]]))) == (1, 0)
    loose = choose_event(without, with_edge, 0.02, 0.001)
    assert loose.happened(np.array([[0 if loose.reverse else 1]])) == 1


def test_one_column_is_not_tried_twice_as_a_grid() -> None:
    sent = drawn(13, bit(0.5))
    assert all(len(grids) == 1 for grids in candidates(sent, sent))
    assert len(candidates(sent, sent)) < len(candidates(np.hstack([sent, sent]), np.hstack([sent, sent])))
