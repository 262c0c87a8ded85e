"""Whole estimates cost what was asked for; clients inside a scope say nothing of what lies outside."""

from __future__ import annotations

from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.audit import whole_estimates
from visibility_aware_edge_ldp.client.reporter import Client
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.surveys import neighbourhood, rows
from visibility_aware_edge_ldp.public.trust import TRUSTS


@pytest.mark.long
def test_every_trust_model_is_tried_and_uses_what_was_asked_for() -> None:
    assert {trust for trust, *_ in whole_estimates.WAYS} == set(TRUSTS.values())
    for way in whole_estimates.WAYS:
        losses = list(whole_estimates.estimate_losses(way))
        assert losses[0].found == pytest.approx(losses[0].claimed)


def test_every_protocol_answers_inside_a_scope() -> None:
    reports = whole_estimates.scoped_reports(whole_estimates.CLIENTS, crowded=True)
    assert reports.keys() == PROTOCOLS.keys()


def test_two_sums_that_each_take_all_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "REACH_SHARE", Fraction(-1, 10))
    with pytest.raises(Exception, match=r"\w"):
        assert whole_estimates.audit_estimates("whole", whole_estimates.WAYS[5:6], "-").holds


def test_a_bill_that_forgets_a_release_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Bill.__init__
    monkeypatch.setattr(Bill, "__init__", lambda bill, releases: real(bill, list(releases)[:1]))
    assert whole_estimates.audit_estimates("whole", whole_estimates.WAYS[:2], "-").caught


def test_clients_are_overheard_and_left_as_they_were() -> None:
    before = Client.answer
    with whole_estimates.overheard() as heard:
        assert Client.answer is not before
    assert Client.answer is before
    assert heard == {}


@pytest.mark.parametrize("twin", whole_estimates.MUTANTS, ids=lambda twin: twin.name)
def test_twins_are_caught(twin: whole_estimates.exact) -> None:  # type: ignore[valid-type]
    assert twin.run().caught


@pytest.mark.parametrize("rates", [(Fraction(1, 2),), (Fraction(1, 2), Fraction(1))])
def test_shortfalls_added_up_are_the_series_of_the_theorem(rates: tuple[Fraction, ...]) -> None:
    noises = tuple(map(DiscreteLaplace, rates))
    for margin in (0, 1, 5, 20):
        summed = whole_estimates.shortfall_delta([float(rate) for rate in rates], margin, 0.75)
        assert summed == pytest.approx(neighbourhood.paid_by_shortfalls(noises, margin, Fraction(3, 4)), rel=1e-6)
