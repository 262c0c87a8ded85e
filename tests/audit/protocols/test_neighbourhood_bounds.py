"""The audit of bounds that are made of reported degrees: chances, what is spent of a delta, and mutants.  [WALK.6]"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.protocols.neighbourhood_bounds import REAL, BelievedStage, audit_believed
from visibility_aware_edge_ldp.public.surveys.neighbourhood import believed_margin, believed_plan, tails


@pytest.mark.long
def test_believed_bounds_spend_a_good_part_of_their_delta() -> None:
    finding = audit_believed("believed", [REAL])
    (loss,) = finding.losses
    assert finding.holds
    assert 0.8 * loss.claimed_delta < loss.found_delta <= loss.claimed_delta
    assert loss.found == pytest.approx(loss.claimed)


def test_chances_of_bounds_are_those_of_the_real_plan() -> None:
    """All bounds and sides together are certain; a low bound has the chance that the theorem gives it."""
    stage = BelievedStage(first="2", delta="1e-3")
    margin = believed_margin(stage.degree_survey, Fraction("1e-3"), Fraction(1))
    for degree in range(5):
        assert sum(stage.chance(degree, bound) for bound in stage.ranges) == pytest.approx(1)
        parts = [stage.chance(degree, bound, side, 2) for bound in stage.ranges for side in (-1, 1)]
        assert sum(parts) == pytest.approx(1)
    assert stage.chance(3, 2) == pytest.approx(float(tails((stage.noise,), margin + 1)), rel=1e-6)
    heard = np.ones(5, np.bool_)
    reports = np.array([-50, 2 - margin, 3 - margin, 4, 50])
    made = believed_plan(stage.degree_survey, reports, heard, Fraction("1e-3"), Fraction(1))
    assert made.bounds.tolist() == [2, 2, 3, 3, 3]
