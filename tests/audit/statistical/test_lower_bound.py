"""The bound from below: near the truth, never above it but by chance, and per class.  [SHOWN.2]"""

from __future__ import annotations

import math

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.statistical.lower_bound import ALPHA, audit, lower_bound
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import (
    KINDS,
    PRIVATE,
    Columns,
    Positions,
    one_round,
    two_rounds,
)

MILLION = 10**6


def exactly(ones: int, runs: int) -> Columns:
    """So many ones, spread evenly."""
    return (np.arange(runs) * ones // runs != np.arange(1, runs + 1) * ones // runs).astype(np.int8)[:, None]


def test_one_round_at_a_million_shows_nearly_all_of_epsilon() -> None:
    """The figure that is asked for: at least 0.97 ε for randomized response, and not above ε."""
    finding = audit("position, one round", [Positions(kind, one_round) for kind in KINDS], MILLION)
    assert finding.holds
    assert finding.cases == MILLION
    assert [loss.claimed for loss in finding.losses] == [1, 2]
    assert all(loss.found >= 0.97 * loss.claimed for loss in finding.losses)


def test_both_rounds_at_a_million_show_nearly_all_of_epsilon() -> None:
    finding = audit("position, two rounds", [Positions(PRIVATE, two_rounds)], MILLION)
    assert finding.holds
    assert finding.losses[0].found >= 0.97


def test_the_bound_is_what_the_limits_say() -> None:
    """731,059 of a million against 268,941: the limits of the counted runs, and their logarithm."""
    bound = lower_bound(exactly(268_941, MILLION), exactly(731_059, MILLION))
    assert bound.epsilon == pytest.approx(math.log(bound.low / bound.high))
    half_width = 3.29 * math.sqrt(0.731 * 0.269 / 800_000)
    assert bound.low == pytest.approx(0.731059 - half_width, abs=1e-5)
    assert bound.high == pytest.approx(0.268941 + half_width, abs=1e-5)


def test_delta_is_taken_off() -> None:
    without, with_edge = exactly(10_000, 100_000), exactly(50_000, 100_000)
    shown = [lower_bound(without, with_edge, delta).epsilon for delta in (0.0, 0.1, 0.3, 0.6)]
    assert shown[0] > shown[1] > shown[2] > shown[3] == 0.0


def test_what_one_world_never_says_is_bounded_by_the_number_of_runs() -> None:
    bound = lower_bound(exactly(0, 40_000), exactly(40_000, 40_000))
    assert bound.high == pytest.approx(-math.log(ALPHA / 2) / 30_000, rel=1e-3)
    assert bound.epsilon == pytest.approx(math.log(30_000 / -math.log(ALPHA / 2)), rel=1e-3)


def test_equal_worlds_show_nothing() -> None:
    sent = np.random.default_rng(3).integers(0, 50, (20_000, 3))
    assert lower_bound(sent[:10_000], sent[10_000:]).epsilon == 0.0


def test_the_runs_that_choose_are_not_counted() -> None:
    """The first quarter screams, the others say nothing: nothing is shown."""
    quiet = np.random.default_rng(4).integers(0, 2, (40_000, 1))
    screaming = quiet.copy()
    screaming[:10_000] = 9
    assert lower_bound(quiet, screaming).epsilon < 0.1
