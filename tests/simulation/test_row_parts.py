"""Parts of the first answers in a simulation: the same numbers as from all answers; options and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.aggregator.node_statistics.row_parts import PartCollection, part_triangles
from visibility_aware_edge_ldp.client.row_parts import FirstPart
from visibility_aware_edge_ldp.client.rows import TwoRoundClient
from visibility_aware_edge_ldp.counts import exact
from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter, BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.public.surveys.row_parts import part_survey
from visibility_aware_edge_ldp.simulation import row_parts, worlds
from visibility_aware_edge_ldp.simulation.rows import row_purse
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(300, 4500, seed=1)
WORLD = va.VisibilityAwareGraph(
    GRAPH, va.VisibilityPolicy(public_fraction=0.2, friend_visible_fraction=0.3, private_fraction=0.5)
)


def test_what_is_kept_while_rows_stream_by_gives_the_same_estimate_as_keeping_everything() -> None:
    survey = part_survey(WORLD.public, 1, 15, "coin")
    streamed = row_parts.collect_parts(WORLD, {"t": survey}, 3)["t"]
    whole, random_bytes = PartCollection(survey, WORLD.public), worlds.random_bytes_for(3)
    clients = []
    for view in worlds.cut_lists(WORLD.whole, 1024):
        clients.append((view.start, TwoRoundClient(view, WORLD.public, row_purse({"t": survey}))))
        whole.absorb_answers(clients[-1][1].answer(survey, 1, random_bytes("row answers", view.start)))
    first = FirstPart(survey, WORLD.public, whole.first_answers)
    for start, client in clients:
        whole.absorb(client.total(survey, first, random_bytes("t sums", start)))
    assert (streamed.totals == whole.totals).all()
    assert part_triangles(streamed).value == part_triangles(whole).value


def test_surveys_share_their_first_answers_and_pay_once() -> None:
    surveys = {str(groups): part_survey(WORLD.public, 1, groups) for groups in (15, 20)}
    # Both have the first round of the same epsilon, and the purse is for one first round and two sums.
    found = row_parts.collect_parts(WORLD, surveys, 1)
    assert found["15"].first is found["20"].first
    with pytest.raises(ProtocolViolation, match="share"):
        row_parts.collect_parts(WORLD, {"a": surveys["15"], "b": part_survey(WORLD.public, 2, 15)}, 1)


def test_estimate_takes_a_share_or_a_download_and_says_so() -> None:
    answers = va.estimate(WORLD, "user", 4, ["edges", "triangles"], share=0.1, seed=1)
    assert np.isfinite(answers["triangles"].standard_error)
    assert "downloaded 1/10 of the first answers" in str(answers.certificate)
    assert answers.certificate.spent["the lengths of lists"] > 0
    again = va.estimate(WORLD, "user", 4, ["triangles"], download="1kB", seed=1)
    assert "of the first answers" in str(again.certificate)
    # A download of all first answers is no limit.
    whole, all_of_it = (va.estimate(WORLD, "user", 4, ["triangles"], download=d, seed=1) for d in (None, "1MB"))
    assert whole["triangles"].value == all_of_it["triangles"].value


def test_those_who_are_away_are_estimated_for() -> None:
    answers = va.estimate(WORLD, "user", 4, ["triangles"], share=0.1, dropout=0.3, seed=1)
    assert 0.5 < answers.certificate.response["users"] < 0.9
    assert answers["triangles"].standard_error > 0


def test_by_default_what_needs_all_first_answers_is_left_out() -> None:
    assert "transitivity" not in va.estimate(WORLD, "user", 4, share=0.1, seed=1)
    for name, message in (("transitivity", "needs all first answers"), ("four_cycles", "in a call of its own")):
        with pytest.raises(BadStatistic, match=message):
            va.estimate(WORLD, "user", 4, ["triangles", name], share=0.1, seed=1)


def test_4_cycles_take_a_share_or_a_download_too() -> None:
    answers = va.estimate(WORLD, "user", 4, ["edges", "four_cycles"], share=0.3, seed=1)
    found = answers["four_cycles"]
    assert abs(found.value - exact.cycles(GRAPH)) < 5 * found.standard_error
    assert "downloaded 26.5 % of the first answers" in str(answers.certificate)
    assert answers.certificate.spent["the rows' four cycles"] > answers.certificate.spent["their standard errors"] > 0
    again = va.estimate(WORLD, "user", 4, ["four_cycles"], download="2kB", seed=1)
    assert "of the first answers, about 2 kB" in str(again.certificate)
    # A download of all first answers is no limit.
    whole, all_of_it = (va.estimate(WORLD, "user", 4, ["four_cycles"], download=d, seed=1) for d in (None, "1MB"))
    assert whole["four_cycles"].value == all_of_it["four_cycles"].value
    away = va.estimate(WORLD, "user", 4, ["four_cycles"], share=0.3, dropout=0.3, seed=1)
    assert 0.5 < away.certificate.response["users"] < 0.9
    assert away["four_cycles"].standard_error > found.standard_error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 0.1, "clip": "double", "delta": 1e-6}, "leave the others out"),
        ({"share": 0.1, "download": "1kB"}, "leave the others out"),
        ({"share": 0.1, "engine": "threads"}, "leave the others out"),
    ],
)
def test_other_ways_of_summing_are_refused(options: dict, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        va.estimate(WORLD, "user", 1, ["triangles"], **options)


def test_other_trust_models_and_impossible_shares_are_refused() -> None:
    with pytest.raises(BadInput, match="user model"):
        va.estimate(WORLD, "position", 1, ["triangles"], share=0.1)
    with pytest.raises(BadInput, match="user model"):
        va.estimate(WORLD, "curator", 1, ["triangles"], download="1MB")
    with pytest.raises(BadPrivacyParameter, match="at most 1/15"):
        va.estimate(WORLD, "user", 1, ["triangles"], share=0.5)
    with pytest.raises(BadPrivacyParameter, match="such as 10MB"):
        va.estimate(WORLD, "user", 1, ["triangles"], download="much")


def test_rows_out_of_order_in_part_or_looked_up_in_vain_are_refused() -> None:
    nothing = va.VisibilityAwareGraph(erdos_renyi(150, 1500, seed=1))
    survey = part_survey(nothing.public, 1, 15)
    kept = row_parts.KeptAnswers(survey.first, nothing.public, np.array([0, 3]))
    part = PositionReport(survey.first.identity, 1, 0, 149, b"\x01" + bytes(18), bytes(19))
    with pytest.raises(ProtocolViolation, match="as a whole"):
        kept.absorb(part)
    later = PositionReport(survey.first.identity, 1, 149, 148, bytes(19), bytes(19))
    with pytest.raises(ProtocolViolation, match="row after row"):
        kept.absorb(later)
    with pytest.raises(ProtocolViolation, match="not kept"):
        kept.ones(np.array([0]), np.array([5]))
