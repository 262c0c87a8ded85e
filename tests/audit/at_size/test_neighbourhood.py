"""Owned triangles at size: structured worlds lose what they should, and other counts are noticed."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.at_size import neighbourhood as at_size
from visibility_aware_edge_ldp.public.surveys import neighbourhood as surveys


def test_believed_bounds_are_used_up() -> None:
    case = at_size.case_of(at_size.book(surveys.BELIEVED, 10, 10, 20))
    assert case.found == pytest.approx(float(case.asked))


def test_clipped_lists_lose_two_of_the_three_changes_that_are_paid_for() -> None:
    world = at_size.forgetting(6, 20)
    scale = int(world.survey.plan.sensitivities[0])
    assert at_size.case_of(world).found == pytest.approx(2 * 5 / scale)


@pytest.mark.parametrize("guard", surveys.GUARDS)
def test_counts_are_the_graph_s(guard: str) -> None:
    world = at_size.book(guard, 8, 9, 15, policy=at_size.MIXED)
    at_size.refuse_other_counts(world, True)
    at_size.refuse_other_counts(at_size.clique(guard, 9, 9, 12), False)
