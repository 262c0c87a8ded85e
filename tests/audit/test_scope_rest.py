"""A scope and a sample of the rest: who is asked loses its claim once, and nobody else loses anything."""

from __future__ import annotations

from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit, Spoken, gap_between
from visibility_aware_edge_ldp.audit.scope_rest import (
    AUDITS,
    HIDDEN,
    MUTANTS,
    RestCase,
    audit_rest,
    both_collections,
    law_of_both,
)
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, BadStatistic
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.scope import named_scope
from visibility_aware_edge_ldp.simulation.estimate import estimate

BOTH = RestCase(HIDDEN, 3, frozenset({0, 1}), "1")


@pytest.mark.long
@pytest.mark.parametrize("audit", AUDITS, ids=lambda audit: audit.name)
def test_who_is_asked_keeps_the_claim_and_others_lose_nothing(audit: Audit) -> None:
    finding = audit.run()
    assert finding.holds
    assert {loss.kind for loss in finding.losses} == {"PRIVATE", "FRIEND_VISIBLE"}
    assert all(loss.found > 0.7 * loss.claimed for loss in finding.losses)


@pytest.mark.parametrize("twin", MUTANTS, ids=lambda twin: f"{twin.name}: {twin.broken}")
def test_broken_combinations_are_caught(twin: Audit) -> None:
    assert twin.run().caught


def test_both_collections_are_those_that_estimate_asks() -> None:
    """Inside everybody, outside those that are drawn; together each position once.  [SCOPE.7]"""
    inner, outer = both_collections(BOTH, (1, 0, 1))
    assert (inner.places, outer.places) == ({0, 1}, {2})
    assert inner.survey.sample is None
    half = [both_collections(RestCase(HIDDEN, 3, frozenset(), "1/2", seed), (1, 0, 1))[1] for seed in range(4)]
    assert len({each.places for each in half}) > 1
    assert all(each.survey.sample is not None for each in half)


def test_all_reports_of_both_together_are_compared() -> None:
    asked = both_collections(BOTH, (0, 0, 0))
    laws = {world: law_of_both(asked, world) for world in ((0, 0, 0), (1, 0, 0), (0, 0, 1))}
    assert {sum(law.values()) for law in laws.values()} == {Fraction(1)}
    assert len(laws[0, 0, 0]) == 8
    for world in ((1, 0, 0), (0, 0, 1)):
        assert gap_between(Spoken(laws[0, 0, 0]), Spoken(laws[world])).epsilon == pytest.approx(1)


def test_what_nobody_asks_loses_nothing() -> None:
    finding = audit_rest("", [RestCase(HIDDEN, 3, frozenset({0}), "1e-6")], "")
    assert [(loss.kind, loss.claimed, round(loss.found, 9)) for loss in finding.losses] == [("PRIVATE", 1.0, 1.0)]
    alone = audit_rest("", [RestCase(HIDDEN, 3, frozenset(), "1e-6")], "")
    assert [loss.found for loss in alone.losses] == [0.0]


def test_what_goes_with_no_scope_or_no_rest_is_refused() -> None:
    world = VisibilityAwareGraph([(0, 1), (1, 2), (0, 2)], VisibilityPolicy.nothing())
    inside = world.inside(named_scope(range(3), [(0, 1), (0, 2)]))
    with pytest.raises(BadPolicy, match="nothing lies outside"):
        estimate(world, "position", 1, ["edges"], rest="sample:1/2")
    with pytest.raises(BadStatistic, match="not for stars:2"):
        estimate(inside, "position", 1, ["stars:2"], rest="sample:1/2")
    for trust in ("user", "neighbourhood", "curator"):
        with pytest.raises(BadInput, match="in the position model, not in"):
            estimate(inside, trust, 1, rest="sample:1/2")
    with pytest.raises(BadInput, match="leave the others out"):
        estimate(inside, "position", 1, ["edges"], rest="sample:1/2", sample_positions="1/2")
