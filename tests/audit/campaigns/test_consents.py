"""The walk of consents finds what it should, and catches programs that do not look at the list.  [CONSENT.1]"""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.campaigns import consents
from visibility_aware_edge_ldp.audit.campaigns.consents import Stage, audit_consents, losses, sets_of


@pytest.mark.parametrize("people", sets_of(3), ids=str)
def test_a_position_with_an_end_that_did_not_consent_loses_nothing(people: tuple[int, ...]) -> None:
    found = list(losses(Stage(3, people)))
    assert {inside: max(loss for each, loss in found if each is inside) for inside, _ in found} == (
        {False: 0.0}
        if len(people) < 2
        else {True: pytest.approx(1)}
        if len(people) == 3
        else {True: pytest.approx(1), False: 0.0}
    )


def test_the_twins_are_caught_where_everybody_else_answers_as_before() -> None:
    for mutant in consents.MUTANTS:
        assert not mutant.run().holds
    assert audit_consents("all", [Stage(3, (0, 1, 2), consents.regardless)], "with everybody's consent").holds
