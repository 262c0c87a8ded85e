"""Every mechanism alone keeps its promise and uses it up; its twins are found broken.  [AUDIT.3], [AUDIT.7-9]"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Sampler
from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.protocols import mechanisms
from visibility_aware_edge_ldp.audit.protocols import mechanisms as smooth_noise
from visibility_aware_edge_ldp.audit.protocols.mechanisms import (
    WorstPair,
    audit_discrete_laplace,
    last_turn,
    pure_loss,
    response_loss,
    tail_power,
)
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse

REAL = (*mechanisms.AUDITS, *smooth_noise.AUDITS)
MUTANTS = (*mechanisms.MUTANTS, *smooth_noise.MUTANTS)
# Student-t and Cauchy noise keep more than they promise to friend-visible edges, by [SN.4]; a bound is rounded too.
LEAST = {"Student-t noise": 0.96, "Cauchy noise": 0.9}


@pytest.mark.parametrize("audit", REAL, ids=lambda audit: audit.name)
def test_the_promise_is_kept_and_used_up(audit: Audit) -> None:
    finding = audit.run()
    assert not audit.broken
    assert (finding.name, finding.way) == (audit.name, "exact")
    assert finding.holds, finding
    assert finding.cases > 10
    for loss in finding.losses:
        assert loss.found >= LEAST.get(audit.name, 0.999) * loss.claimed
        assert loss.found_delta >= 0.99 * loss.claimed_delta


@pytest.mark.parametrize("audit", MUTANTS, ids=lambda audit: audit.name)
def test_every_twin_is_caught(audit: Audit) -> None:
    finding = audit.run()
    assert audit.broken
    assert not finding.holds


def test_a_threshold_two_percent_off_costs_what_it_must() -> None:
    twin = mechanisms.LowThreshold(Fraction(1))
    q = Fraction(twin.threshold, 1 << 64)
    assert q / RandomizedResponse(Fraction(1)).flip == pytest.approx(0.98)
    assert response_loss(twin) == pytest.approx(math.log((1 - q) / q))
    assert response_loss(twin) > 1.02


def clipped(mechanism: DiscreteLaplace) -> Sampler:
    """A twin that is right wherever the window looks: only rare noises are cut off."""
    return lambda coins: max(-200, min(mechanism.sample(coins), 200))


def test_a_tail_that_is_not_drawn_as_stated_is_told_as_delta() -> None:
    finding = audit_discrete_laplace("clipped", clipped, "")
    assert not finding.holds
    for loss in finding.losses:
        assert loss.found <= loss.claimed * (1 + 1e-9)
        assert 0 < loss.found_delta < 1e-5


def log_ratio(pair: WorstPair, output: int) -> float:
    """Of the two masses at one output, far out."""
    with localcontext(prec=60):
        narrow, wide = (pair.noise.law(bound) for bound in pair.bounds)
        (p, q) = (
            law.cdf(-abs(y), 50) - law.cdf(-abs(y) - 1, 50)
            for law, y in ((narrow, output), (wide, output - pair.shift))
        )
        return float((p / q).ln())


@pytest.mark.parametrize("noise", [smooth_noise.STUDENTS[0], smooth_noise.CAUCHYS[1], smooth_noise.POWERS[0]], ids=str)
@pytest.mark.parametrize("part", ["0", "1"])
def test_beyond_the_last_turn_the_ratio_only_moves_to_its_limit(noise: smooth_noise.Pure, part: str) -> None:
    """[AUDIT.7], on both sides and far out."""
    pair = WorstPair(noise, 1, 16, Decimal(part))
    start = last_turn(pair) + 2
    limit = -tail_power(noise) * float(Decimal(part) * noise.beta)
    for side in (-1, 1):
        outputs = [side * round(start * 1.5**step) for step in range(25)]
        ratios = [log_ratio(pair, output) for output in outputs]
        rising = [b - a for a, b in pairwise(ratios)]
        assert all(step >= -1e-12 for step in rising) or all(step <= 1e-12 for step in rising)
        assert ratios[-1] == pytest.approx(limit, abs=1e-2)
        assert max(map(abs, ratios)) <= pure_loss(pair) + 1e-12
