"""USER triangles, the aggregator's door: one answer a round of each user, in any order.  [TRIANGLE.3]"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.nonresponse.row_transitivity import transitivity
from visibility_aware_edge_ldp.aggregator.round_noise import CYCLE_PLACES, Counts, Owned, Places, nonresponse_spread
from visibility_aware_edge_ldp.aggregator.rows import RowCollection, cycles, triangles
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.counts.nonresponse import Spread, missing
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.layout import pack, unpack
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.public.surveys.rows import (
    RowReport,
    decode_rows,
    encode_rows,
    row_surveys,
    triangle_survey,
)
from visibility_aware_edge_ldp.public.transcript import holders
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.rows import collect_rows
from visibility_aware_edge_ldp.simulation.worlds import cut_lists
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 21
WORLD = VisibilityAwareGraph(erdos_renyi(N, 90, seed=4), VisibilityPolicy("0.2", "0.3", "0.5"))
VIEW = WORLD.public
SURVEY = triangle_survey(VIEW, 2)


def everybody(users_at_once: int = N) -> list[TwoRoundClient]:
    price = {kind: SURVEY.multipliers.of(kind) * SURVEY.epsilon for kind in NON_PUBLIC}
    return [TwoRoundClient(held, VIEW, Purse(price)) for held in cut_lists(WORLD.graph, users_at_once)]


def spoken(seed: int = 1, users_at_once: int = 5) -> tuple[RowCollection, list[RowReport]]:
    """A collection after its first round, and the second reports of runs of users."""
    collection, users = RowCollection(SURVEY, VIEW), everybody(users_at_once)
    for number, some in enumerate(users):
        collection.absorb_answers(some.answer(SURVEY, 1, keyed_coins(seeded_key(seed, "first", number))))
    first = FirstRound(SURVEY, VIEW, collection.close_first_round())
    return collection, [
        some.total(SURVEY, first, keyed_coins(seeded_key(seed, "second", i))) for i, some in enumerate(users)
    ]


def contents(collection: RowCollection) -> tuple[object, ...]:
    parts = (collection.answered, collection.reaches, collection.totals)
    return (*(tuple(part.tolist()) for part in parts), collection.releases)


def test_the_same_report_again_changes_nothing_and_order_does_not_matter() -> None:
    there, reports = spoken()
    back, _ = spoken()
    for report in reports:
        there.absorb(report)
        there.absorb(decode_rows(encode_rows(report)))
    for report in reversed(reports):
        back.absorb(report)
    assert contents(there) == contents(back)
    assert triangles(there).as_dict() == triangles(back).as_dict()


def test_a_second_answer_is_refused_and_the_first_one_stands() -> None:
    collection, reports = spoken()
    for report in reports:
        collection.absorb(report)
    before = contents(collection)
    again = replace(reports[0], totals=reports[0].totals + reports[0].answered)
    with pytest.raises(ProtocolViolation, match="first one stands"):
        collection.absorb(again)
    assert contents(collection) == before


def test_what_does_not_belong_here_is_refused() -> None:
    collection, reports = spoken()
    report = reports[0]
    nobody = np.flatnonzero(~holders(VIEW))
    assert N - 1 in nobody
    one = np.ones(1, bool), np.ones(1, np.int64), np.ones(1, np.int64)
    for wrong in (
        replace(report, survey="00" * 32),
        replace(report, transcript="00" * 32),
        replace(report, start=N - 1),
        replace(report, start=2**63),
        RowReport(SURVEY.identity, report.transcript, N - 1, *one),
    ):
        with pytest.raises(ProtocolViolation):
            collection.absorb(wrong)
    assert not collection.answered.any()


def test_users_who_were_silent_in_round_one_cannot_answer_in_round_two() -> None:
    (users,) = everybody()
    collection = RowCollection(SURVEY, VIEW)
    collection.absorb_answers(users.answer(SURVEY, 1, secure_coins(), np.arange(N) != 3))
    first = FirstRound(SURVEY, VIEW, collection.close_first_round())
    report = users.total(SURVEY, first, secure_coins())
    forged = replace(report, answered=report.answered | (np.arange(N) == 3))
    with pytest.raises(ProtocolViolation, match="did not answer in round 1"):
        collection.absorb(forged)
    collection.absorb(report)


def test_first_answers_come_before_the_transcript() -> None:
    collection, users = RowCollection(SURVEY, VIEW), everybody(users_at_once=5)
    collection.absorb_answers(users[0].answer(SURVEY, 1, secure_coins()))
    collection.close_first_round()
    with pytest.raises(ProtocolViolation, match="closed"):
        collection.absorb_answers(users[1].answer(SURVEY, 1, secure_coins()))
    with pytest.raises(BadStatistic, match="both rounds"):
        triangles(collection)


@pytest.mark.parametrize("part", ["half of its bits", "half of its positions", "from the middle of a row"])
def test_a_user_who_answers_for_a_part_of_its_row_is_refused_at_the_door(part: str) -> None:
    """Otherwise one user could spoil the transcript of all."""
    collection = RowCollection(SURVEY, VIEW)
    whole = everybody(users_at_once=1)[0].answer(SURVEY, 1, secure_coins())
    answered, ones = (unpack(bits, whole.count).copy() for bits in (whole.answered, whole.ones))
    first, last = {"half of its positions": (0, 10), "from the middle of a row": (10, 20)}.get(part, (0, 20))
    if part == "half of its bits":
        answered[:10] = ones[:10] = False
    cut = pack(answered[first:last]), pack(ones[first:last])
    report = PositionReport(whole.survey, 1, first, last - first, *cut)
    assert answered[first:last].any()
    with pytest.raises(ProtocolViolation, match="part of its row"):
        collection.absorb_answers(report)
    collection.absorb_answers(whole)
    assert collection.close_first_round().rows_answered(VIEW)[0]


def test_one_user_at_a_time_sends_reports_that_join_to_one_collection() -> None:
    collection, reports = spoken(users_at_once=1)
    for report in reports:
        collection.absorb(report)
    assert collection.counts == (int(holders(VIEW).sum()),) * 3
    assert collection.response_rate == 1
    found = triangles(collection)
    assert abs(found.value - exact(WORLD.graph, "triangles")) < 5 * found.standard_error


def test_nobody_asked_means_nothing_to_guess() -> None:
    """Everything is public: the count is exact, and costs nothing."""
    world = VisibilityAwareGraph(WORLD.graph, VisibilityPolicy("1"))
    collection = RowCollection(triangle_survey(world.public, 1), world.public)
    found = triangles(collection)
    assert found.value == exact(WORLD.graph, "triangles")
    assert found.variance == 0


def test_what_the_absent_add_is_unbiased_for_few_answers_and_unknown_for_one() -> None:
    """[TRIANGLE.4]: without anything held it is what [ABSENT.1] says, sample by sample."""
    random, nothing_held = np.random.default_rng(1), Places(0.0, 0.0, 0.0, 0.0)
    sums = random.exponential(size=30)
    for answers in (2, 5, 20):
        chosen = random.choice(sums, answers, replace=False)
        known, counts = Owned(float((chosen**2).sum()), 0.0), Counts(30, answers, answers)
        found = nonresponse_spread(chosen, known, counts, nothing_held)
        assert found == pytest.approx(missing(chosen, 0.0, 30))
        assert nonresponse_spread(chosen, known, counts, CYCLE_PLACES).variance >= found.variance
    whole = Owned(float((sums**2).sum()), 0.0)
    assert nonresponse_spread(sums[:1], whole, Counts(30, 1, 1), CYCLE_PLACES).variance == np.inf
    assert nonresponse_spread(sums, whole, Counts(30, 30, 30), CYCLE_PLACES) == Spread(0.0)


def test_fewer_answers_than_a_subgraph_has_holders_are_refused() -> None:
    """With two rows heard, no cycle with three holders has a chance to be counted.  [CYCLE.1]"""
    world = VisibilityAwareGraph(erdos_renyi(6, 12, seed=1), VisibilityPolicy.nothing())
    surveys = row_surveys(world.public, 40, ["triangles", "four_cycles"])
    seen = set()
    for seed in range(40):
        found = collect_rows(world, surveys, seed, dropout=0.6)
        _, first, _ = found["triangles"].counts
        for name, estimate, fewest in (("triangles", triangles, 2), ("four_cycles", cycles, 3)):
            seen.add((name, first < fewest))
            if first < fewest:
                with pytest.raises(BadStatistic, match="answered"):
                    estimate(found[name])
            else:
                assert estimate(found[name]).standard_error > 0
    assert len(seen) == 4


def test_a_ratio_of_what_nobody_knows_is_anything() -> None:
    found = transitivity(Estimate("triangles", 0.0, 1.0), Estimate("stars:2", 5.0, np.inf))
    assert found.interval() == (0.0, 1.0)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_shares_are_held_that_the_two_counts_may_have(level: float) -> None:
    """Fieller's limits, where nothing leans: (3T − κS)² = z²(9·Var T + κ²·Var S).  [RATIO.2]"""
    triangle, wedge = Estimate("triangles", 50.0, 400.0), Estimate("stars:2", 300.0, 80.0**2)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    curve = np.array([300.0**2 - z**2 * 80**2, -2 * 3 * 50 * 300, (3 * 50.0) ** 2 - 9 * z**2 * 400])
    found = transitivity(triangle, wedge)
    assert found.interval(level) == pytest.approx(sorted(np.roots(curve)))
    straight = replace(found, limits=None).interval(level)
    assert straight != pytest.approx(found.interval(level), rel=0.01)  # the twin, with the estimate for the truth


def test_where_only_triangles_vary_their_interval_is_the_shares() -> None:
    triangle = Estimate("triangles", 50.0, 400.0, freedom=9.0, skew=0.3)
    low, high = triangle.interval()
    assert transitivity(triangle, Estimate("stars:2", 300.0, 0.0)).interval() == pytest.approx((low / 100, high / 100))
    noisy = transitivity(triangle, Estimate("stars:2", 300.0, 300.0**2 / 16)).interval()
    assert noisy[1] - noisy[0] > (high - low) / 100
