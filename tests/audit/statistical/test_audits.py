"""The statistical audits of the real clients: every one holds, and says what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.statistical.audits import AUDITS, audits
from visibility_aware_edge_ldp.audit.statistical.lower_bound import FEWEST, Pace, audit
from visibility_aware_edge_ldp.audit.statistical.shipped_counts import (
    Drawn,
    discrete_laplace,
    hadamard_response,
    many_laplaces,
    many_powers,
    randomized_response,
    smooth,
)
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothCauchy, SmoothLaplace, SmoothNoise, SmoothStudentT
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge
from visibility_aware_edge_ldp.public.visibility import Visibility

RUNS = 40_000
ONE = Fraction(1)


@pytest.mark.long
@pytest.mark.parametrize("each", audits(RUNS), ids=[each.name for each in AUDITS])
def test_every_real_client_keeps_its_claim(each: Audit) -> None:
    finding = each.run()
    assert finding.holds
    assert finding.way == "statistical"
    assert f"{finding.cases:,} runs a side" in finding.about
    # Fewer runs than were asked for are explained.
    assert (finding.cases < RUNS) == ("runs a side (" in finding.about)


def test_the_audits_differ_in_name() -> None:
    assert len({each.name for each in AUDITS}) == len(AUDITS)
    assert not any(each.broken for each in AUDITS)


def test_a_pace_never_leaves_too_few_runs() -> None:
    assert Pace(1000).of(10**6) == 1000
    assert Pace(1000).of(1000) == FEWEST


@pytest.mark.parametrize("make", [randomized_response, discrete_laplace, many_laplaces, hadamard_response])
def test_a_mechanism_that_loses_more_than_it_claims_is_caught(make: Callable[[Visibility], Drawn]) -> None:
    """Drawn for a loss of 1, billed as four fifths of it."""
    drawn = make(Visibility.PRIVATE)
    cheap = replace(drawn, claimed=Guarantee(OneEdge, drawn.claimed.epsilon * Fraction(4, 5)))
    assert audit("drawn", [drawn], RUNS).holds
    assert audit("billed too low", [cheap], RUNS).caught


@pytest.mark.parametrize(
    "noise",
    [SmoothStudentT(ONE), SmoothCauchy(ONE), SmoothPower(ONE), SmoothLaplace(ONE, Fraction(1, 1000))],
    ids=lambda noise: type(noise).__name__,
)
def test_noise_on_a_smooth_bound_that_is_billed_far_too_low_is_caught(noise: SmoothNoise) -> None:
    """A quarter: with so few runs a smooth noise shows less than half of what it loses."""
    drawn = smooth(noise, Visibility.PRIVATE)
    cheap = replace(drawn, claimed=Guarantee(OneEdge, Fraction(1, 4), drawn.claimed.delta))
    assert audit("drawn", [drawn], RUNS).holds
    assert audit("billed too low", [cheap], RUNS).caught


def test_many_power_noises_with_a_bound_that_is_too_small_are_caught() -> None:
    narrow = many_powers(Visibility.PRIVATE, narrower=4.0)
    assert audit("as made", [many_powers(Visibility.PRIVATE)], RUNS).holds
    assert audit("a quarter of the bound", [narrow], RUNS).caught
