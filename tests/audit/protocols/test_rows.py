"""The audit of USER triangles and 4-cycles: what it finds, and the twins that it must catch.

``tests/client/test_rows_exact.py`` runs the same machinery on more surveys and policies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise
from visibility_aware_edge_ldp.audit.engine.findings import Finding, exact_finding
from visibility_aware_edge_ldp.audit.protocols.rows import (
    AUDITS,
    CYCLES,
    LONG,
    LONG_CYCLES,
    LONG_TRIANGLES,
    TRIANGLES,
    USUAL,
    audit_everything,
    audit_long_rows,
    cycle_stages,
    every_policy,
    long_rows,
    mutant_stages,
)
from visibility_aware_edge_ldp.audit.protocols.rows_stage import RecordingSurvey, Split, Stage
from visibility_aware_edge_ldp.audit.protocols.rows_walk import audit_rows, walked_stages
from visibility_aware_edge_ldp.client import rows as user_triangles
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.surveys.rows import row_surveys
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


def test_triangles_are_walked_under_every_policy_of_three_and_four_users() -> None:
    for n, hiding, open_ones in ((3, 26, 18), (4, 728, 664)):
        stages = every_policy(n, USUAL)
        assert len({stage.pattern for stage in stages}) == len(every_policy(n, USUAL, everything=False)) == hiding
        assert len(stages) == hiding + open_ones, "with public edges and without"
        assert all(stage.dropout for stage in stages)
    assert all(stage.survey.statistic == "four_cycles" for stage in cycle_stages())


def test_the_long_walks_have_the_names_of_the_short_ones() -> None:
    assert [audit.name for audit in LONG] == [audit.name for audit in AUDITS]


@pytest.mark.long
def test_every_policy_is_walked_with_what_is_the_same_recalled() -> None:
    three, four = every_policy(3, USUAL), every_policy(4, USUAL)
    finding = audit_everything(TRIANGLES, three[::9], four[100::600], [])
    assert finding.holds
    assert finding.about.endswith("up to 4 users, 8 policies, and long rows")
    losses, cases = walked_stages([*three[::9], *four[100::600]])
    assert finding.cases == cases
    apart = exact_finding("", losses, 0, "").losses
    assert [loss.found for loss in finding.losses] == pytest.approx([loss.found for loss in apart], rel=1e-9)


# ── the real client, broken ──


def fails(run: Callable[[], Finding]) -> bool:
    """Whether an audit of the real code does not pass."""
    try:
        return not run().holds
    except (ProtocolViolation, Refused):
        return True


def three_users() -> Finding:
    return audit_rows(TRIANGLES, [Stage((PRIVATE,) * 3, 3, USUAL)])


def the_long_row(split: Split) -> Callable[[], Finding]:
    return lambda: audit_long_rows("a long row", long_rows(split)[:1])


def test_a_client_that_halves_its_noise_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """With coins that mean no noise it would look honest."""
    noise = type(Stage((PRIVATE,) * 3, 3, USUAL).survey.total_noise)
    honest = noise.sample_each
    monkeypatch.setattr(noise, "sample_each", lambda self, bounds, coins: honest(self, bounds, coins) // 2)
    with pytest.raises(ProtocolViolation, match="another noise"):
        three_users()


@pytest.mark.parametrize("recalled", [False, True])
def test_no_noise_on_an_empty_list_fails(monkeypatch: pytest.MonkeyPatch, recalled: bool) -> None:
    honest = TwoRoundClient.total

    def total(self: TwoRoundClient, survey: Any, first: FirstRound, coins: Any, present: Any = None) -> Any:
        return honest(self, survey, first, coins if self._members.size else no_noise, present)

    monkeypatch.setattr(TwoRoundClient, "total", total)
    stages = [Stage((PRIVATE,) * 6, 4, USUAL)]
    assert fails(lambda: audit_everything(TRIANGLES, *(([], stages) if recalled else (stages, [])), []))


def test_friend_visible_positions_of_no_weight_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = user_triangles._weights
    monkeypatch.setattr(user_triangles, "_weights", lambda public, start, count, _: honest(public, start, count, 0.0))
    assert fails(lambda: audit_everything(TRIANGLES, [], [stage for stage in mutant_stages() if stage.n == 4], []))


@pytest.mark.long
@pytest.mark.parametrize("split", [LONG_TRIANGLES, LONG_CYCLES], ids=lambda split: split.statistic)
def test_long_rows_need_the_whole_smooth_bound(monkeypatch: pytest.MonkeyPatch, split: Split) -> None:
    audit, honest = the_long_row(split), user_triangles.smooth_bound
    found = audit()
    assert found.holds
    assert found.losses[0].found > 0.85, "the bound does not matter there"
    monkeypatch.setattr(user_triangles, "smooth_bound", lambda *given: honest(*given) / 2)
    assert fails(audit)


@pytest.mark.parametrize("split", [LONG_TRIANGLES, LONG_CYCLES], ids=lambda split: split.statistic)
def test_long_rows_need_the_whole_of_m(monkeypatch: pytest.MonkeyPatch, split: Split) -> None:
    honest = FirstRound.largest.func
    monkeypatch.setattr(FirstRound, "largest", property(lambda self: honest(self) / 2))
    assert fails(the_long_row(split))


def test_of_4_cycles_the_largest_score_is_no_m(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FirstRound, "largest", property(lambda self: float(np.abs(self.scores.values).max())))
    assert fails(the_long_row(LONG_CYCLES))


def test_both_classes_of_a_long_row_are_compared() -> None:
    compared = [{kind for _, _, kind in each.stage.row(0)} for each in long_rows(LONG_TRIANGLES)]
    assert {PRIVATE, FRIEND_VISIBLE} in compared


# ── what was asked for ──


def test_a_bill_above_what_was_asked_for_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """With noise that is in order, and with noise for the larger price."""
    assert three_users().holds
    honest = RecordingSurvey.second_price
    monkeypatch.setattr(RecordingSurvey, "second_price", lambda self, kind: honest(self, kind) * 11 / 10)
    assert fails(three_users)


def test_a_survey_that_makes_epsilon_larger_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Stage.survey.func
    more = lambda self: replace(honest(self), total=honest(self).total * 11 / 10)  # noqa: E731
    monkeypatch.setattr(Stage, "survey", property(more))
    assert fails(three_users)


@pytest.mark.parametrize("statistic", ["triangles", "four_cycles"])
def test_the_software_splits_one_as_the_audit_does_and_bills_all_of_it(statistic: str) -> None:
    stage = Stage((PRIVATE, FRIEND_VISIBLE, PRIVATE), 3, USUAL if statistic == "triangles" else CYCLES)
    survey = row_surveys(stage.view, 1, [statistic])[statistic]
    split = survey.first.epsilon, survey.reach, survey.total
    assert split == tuple(map(Fraction, (stage.split.first, stage.split.reach, stage.split.total)))
    bill = Bill(survey.releases)
    assert {kind: bill[kind].epsilon for kind in (PRIVATE, FRIEND_VISIBLE)} == {PRIVATE: 1, FRIEND_VISIBLE: 2}
