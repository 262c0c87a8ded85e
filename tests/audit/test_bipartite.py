"""People and places: the claim is kept between them, nothing is told of two of one side, and twins are caught."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.bipartite import (
    AUDITS,
    MUTANTS,
    PRIVATE,
    VISITS,
    asked_classes,
    between,
    bits_stage,
    lists_stage,
)
from visibility_aware_edge_ldp.audit.catalogue import STAGES
from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC = Visibility.PUBLIC


@pytest.mark.long
@pytest.mark.parametrize("audit", AUDITS, ids=lambda audit: audit.name)
def test_the_claim_is_kept_and_reached(audit: Audit) -> None:
    finding = audit.run()
    assert finding.holds
    assert {loss.kind for loss in finding.losses} >= {"PRIVATE", "FRIEND_VISIBLE"}
    assert all(loss.found > 0.99 * loss.claimed for loss in finding.losses if loss.claimed > 0.1)


@pytest.mark.parametrize("twin", MUTANTS, ids=lambda twin: f"{twin.name}: {twin.broken}")
def test_broken_twins_are_caught(twin: Audit) -> None:
    assert twin.run().caught


def test_two_people_and_two_places_lose_what_is_claimed_and_of_one_side_nothing() -> None:
    stage = lists_stage((PRIVATE,) * 3, 2, 3)
    found = list(stage.losses())
    assert {round(loss, 6) for inside, _, loss in found if not inside} == {0.0}
    assert max(loss for inside, _, loss in found if inside) == pytest.approx(8)  # all of ε, and no more
    assert float(stage.survey.price(PRIVATE).epsilon) + float(stage.answers.epsilon) == 8


def test_the_worlds_are_those_of_people_and_places() -> None:
    assert between(2, 4) == {1, 2, 3, 4}
    assert asked_classes((PRIVATE,) * 6, 2, 4) == (PUBLIC, PRIVATE, PRIVATE, PRIVATE, PRIVATE, PUBLIC)
    assert bits_stage((PRIVATE,) * 6, 2, 4).view.people == 2
    assert VISITS.size == "8 people, 4 places"
    assert STAGES["bipartite"].audits == AUDITS
