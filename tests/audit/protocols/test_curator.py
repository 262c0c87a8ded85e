"""The audit of the trusted centre: every statistic, with and without delta, and the twins that it must catch."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, Loss
from visibility_aware_edge_ldp.audit.engine.small_worlds import neighbours, worlds
from visibility_aware_edge_ldp.audit.protocols.curator import (
    AUDITS,
    Question,
    audit_curator,
    centre_said,
    questions,
    small_policies,
)
from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import IntegerLaw
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge
from visibility_aware_edge_ldp.public.surveys.curator import QUERIES, CuratorQuery
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
QUICK = [audit for audit in AUDITS if audit.name in ("curator edges", "curator max degree") or "4-stars" in audit.name]
LARGE = ("triangles", "stars:2", "stars:3")


def test_every_statistic_is_audited() -> None:
    names = ["edges", "max degree", "triangles", "2-stars", "3-stars", "4-stars"]
    assert len(QUERIES) == len(names)
    assert [audit.name for audit in AUDITS[:6]] == [f"curator {name}" for name in names]
    assert [audit.name for audit in AUDITS[6:]] == [f"curator {name}, with delta" for name in names[2:]]


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_every_statistic_is_asked_under_every_policy_of_three_and_four_nodes(delta: str) -> None:
    """Three nodes hold no 3-star, and 4-stars need five."""
    assert len(small_policies()) == 26 + 65
    assert [len(questions(statistic, delta)) for statistic in QUERIES[2:]] == [91, 91, 65, 3]
    assert small_policies()[0] == (PRIVATE,) * 6


@pytest.mark.parametrize("statistic", ["triangles", "stars:2"])
def test_four_nodes_up_to_names_find_what_all_pairs_find(statistic: str) -> None:
    question = Question((PRIVATE, FRIEND_VISIBLE, PUBLIC, PRIVATE, PRIVATE, FRIEND_VISIBLE), 4, statistic)
    said = {world: centre_said(question, world) for world in worlds(question.pattern)}
    some, every = question.pairs, list(neighbours(question.pattern))
    assert len(list(some)) < len(every)
    for kind in (PRIVATE, FRIEND_VISIBLE):
        apart = [
            {(said[one], said[other]) for one, other, place in pairs if question.pattern[place] is kind}
            for pairs in (some, every)
        ]
        assert apart[0] == apart[1]


@pytest.mark.long
@pytest.mark.parametrize("audit", QUICK, ids=lambda audit: audit.name)
def test_the_centre_keeps_its_claim(audit: Audit) -> None:
    check(audit.run())


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("statistic", LARGE)
def test_the_centre_keeps_its_claim_under_some_policies(statistic: str, delta: str) -> None:
    check(audit_curator(statistic, questions(statistic, delta)[::9]))


def check(finding: Finding) -> None:
    assert finding.holds
    private = finding.losses[0]
    assert private.kind == "PRIVATE"
    if private.claimed_delta:
        assert 0 < private.found_delta < private.claimed_delta == 1e-6
        assert private.found >= 0.7
    else:
        assert all(loss.found == pytest.approx(loss.claimed, rel=1e-6) for loss in finding.losses)


def test_another_guard_of_friend_visible_edges_is_another_claim() -> None:
    question = Question((FRIEND_VISIBLE,) * 6, 4, "triangles")
    (loss,) = audit_curator("triangles", [question]).losses
    assert (loss.kind, loss.claimed) == ("FRIEND_VISIBLE", 2)
    assert loss.holds


# ── the real centre, broken ──

HIDDEN = (PRIVATE,) * 6


def fails(statistic: str, delta: str = "0", pattern: tuple[Visibility, ...] = HIDDEN) -> bool:
    """Whether an audit of the real centre does not pass."""
    try:
        return not audit_curator(statistic, [Question(pattern, 4, statistic, delta=delta)]).holds
    except (ProtocolViolation, Refused):
        return True


@pytest.mark.parametrize("statistic", ["edges", "triangles"])
def test_a_centre_that_halves_its_noise_stops_the_audit(monkeypatch: pytest.MonkeyPatch, statistic: str) -> None:
    """With coins that mean no noise it would look honest."""
    honest = Curator._noise
    monkeypatch.setattr(Curator, "_noise", lambda self, query, coins: honest(self, query, coins) // 2)
    with pytest.raises(ProtocolViolation, match="another noise"):
        audit_curator(statistic, [Question(HIDDEN, 4, statistic)])


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("statistic", ["triangles", "stars:2"])
def test_a_local_bound_fails(monkeypatch: pytest.MonkeyPatch, statistic: str, delta: str) -> None:
    assert not fails(statistic, delta)
    monkeypatch.setattr(
        Curator, "law", lambda self, query: query.smooth_noise.law(self.profile(query.statistic).local(0))
    )
    assert fails(statistic, delta)


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("statistic", ["edges", "max_degree", "triangles", "stars:2", "stars:3"])
def test_no_noise_on_the_empty_graph_fails(monkeypatch: pytest.MonkeyPatch, statistic: str, delta: str) -> None:
    honest = Curator._noise
    monkeypatch.setattr(
        Curator, "_noise", lambda self, query, coins: honest(self, query, coins) if len(self._view.edges) else 0
    )
    assert fails(statistic, delta)


def test_a_centre_whose_evidence_is_right_and_whose_noise_is_not_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for another bound than the one that was asked for."""

    def law(self: Curator, query: CuratorQuery) -> IntegerLaw:
        bound = self.profile(query.statistic).smooth(query.smooth_noise.beta)
        query.smooth_noise.law(bound)
        return SmoothPower(query.smooth_noise.epsilon, query.smooth_noise.share).law(bound / 2)

    monkeypatch.setattr(Curator, "law", law)
    assert fails("triangles")


# ── what was asked for ──


@pytest.mark.parametrize("statistic", ["edges", "triangles"])
def test_a_bill_above_what_was_asked_for_does_not_hold(monkeypatch: pytest.MonkeyPatch, statistic: str) -> None:
    honest = CuratorQuery.price

    def dearer(self: CuratorQuery, kind: Visibility) -> Guarantee[OneEdge]:
        price = honest(self, kind)
        return replace(price, epsilon=price.epsilon * 11 / 10)

    monkeypatch.setattr(CuratorQuery, "price", dearer)
    assert fails(statistic)
    loss = Question(HIDDEN, 4, statistic).beside_claim(PRIVATE, Loss("PRIVATE", 1.1, 0.5))
    assert (loss.claimed, loss.found) == (1.0, 1.1)


def test_a_delta_above_what_was_asked_for_does_not_hold() -> None:
    question = Question(HIDDEN, 4, "triangles", delta="1e-6")
    assert question.beside_claim(PRIVATE, Loss("PRIVATE", 1.0, 0.5, 1e-6, 1e-9)).holds
    question.__dict__.pop("bills")
    question.query.__dict__["price"] = lambda kind: Guarantee(OneEdge, Fraction(1), Fraction(2, 10**6))
    assert not question.beside_claim(PRIVATE, Loss("PRIVATE", 1.0, 0.5, 2e-6, 1e-9)).holds
