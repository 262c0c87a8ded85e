"""The audit of those who hide their whole degree holds for the real client and for no twin.  [AUDIT.6], [AUDIT.9]"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.engine.small_worlds import patterns_up_to_names
from visibility_aware_edge_ldp.audit.protocols.histogram import (
    AUDITS,
    MUTANTS,
    Stage,
    audit_degrees,
    audit_edges,
    lists_of,
    report_law,
)
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse
from visibility_aware_edge_ldp.privacy import Guarantee, OneListEntry
from visibility_aware_edge_ldp.public.surveys.histogram import HistogramSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility

SECRET = (Visibility.PRIVATE,) * 3


def test_an_edge_loses_twice_what_a_degree_loses() -> None:
    edges = audit_edges("edges", [Stage(pattern, 3) for pattern in patterns_up_to_names(3)], "")
    degrees = audit_degrees("degrees", [Stage(SECRET, 3)], "")
    assert edges.holds
    assert degrees.holds
    for loss in edges.losses:
        assert loss.found >= 0.999 * loss.claimed
        assert loss.claimed == 2
    assert degrees.losses[0].found >= 0.999
    assert degrees.losses[0].claimed == 1


def test_what_is_told_apart_takes_more_than_one_bin() -> None:
    finding = audit_edges("one bin", [Stage(SECRET, 3, bins=(0, 3))], "")
    assert finding.losses[0].found == 0


def test_all_lists_are_there() -> None:
    assert sorted(map(len, lists_of(4, 2))) == [0, 1, 1, 1, 2, 2, 2, 3]
    assert all(2 not in held for held in lists_of(4, 2))


def test_the_absent_say_the_same_in_all_worlds() -> None:
    stage = Stage(SECRET, 3, nonresponse=frozenset({1}))
    assert report_law(stage, 1, ()) == report_law(stage, 1, (0, 2))
    assert len(report_law(stage, 1, ())) == 1
    assert report_law(stage, 0, ()) != report_law(stage, 0, (1, 2))


def test_the_audits_are_named() -> None:
    assert [audit.name for audit in AUDITS] == ["user histogram, one edge", "user histogram, whole degrees"]
    assert AUDITS[1].run().holds


@pytest.mark.parametrize("audit", MUTANTS, ids=lambda audit: audit.name)
def test_every_twin_is_caught(audit: Audit) -> None:
    assert audit.broken
    assert not audit.run().holds


def test_the_survey_broken_by_a_larger_price_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although no more is lost than before."""
    double = Guarantee(OneListEntry, Fraction(2))
    monkeypatch.setattr(HistogramSurvey, "list_price", property(lambda self: double))
    assert not audit_edges("dear", [Stage(SECRET, 3)], "").holds


def test_the_mechanism_broken_for_one_bin_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = HadamardResponse.randomize
    broken = lambda self, bins, coins: np.where(bins == 0, 1, honest(self, bins, coins))  # noqa: E731
    monkeypatch.setattr(HadamardResponse, "randomize", broken)
    assert not audit_degrees("broken", [Stage(SECRET, 3)], "").holds
    assert not audit_edges("broken", [Stage(SECRET, 3)], "").holds
