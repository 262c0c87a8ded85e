"""A collection takes in what keeps to the protocol, in any order and any pieces, and refuses the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.counts.scores import score
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.layout import pack, unpack
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation.worlds import cut
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(13, 30, 2), VisibilityPolicy("0.3", "0.3", "0.4"))
BITS = next(iter(cut(WORLD.graph))).bits


def reports(survey: PositionSurvey, sizes: list[int]) -> list[PositionReport]:
    """Respondents that hold so many positions each, all rounds; the same answers however they are cut."""
    found, start = [], 0
    for size in sizes:
        held = PositionBits(start, BITS[start : start + size])
        respondent = PositionClient(held, WORLD.public, Purse(dict.fromkeys(NON_PUBLIC, 2 * survey.epsilon)))
        found += [respondent.answer(survey, r, coins_at(start, r)) for r in range(1, survey.rounds + 1)]
        start += size
    assert start == len(BITS)
    return found


def coins_at(start: int, number: int) -> object:
    return keyed_coins(seeded_key(1, start, number))


def all_scores(collection: PositionCollection) -> np.ndarray:
    return collection.scores().rows(slice(None))


@pytest.mark.parametrize("rounds", [1, 2])
def test_order_and_repetition_do_not_matter(rounds: int) -> None:
    survey = position_survey(WORLD.public, "1", rounds)
    sent = reports(survey, [8, 16, 3, 1, 1, 7, 42])
    in_order, shuffled = PositionCollection(survey, WORLD.public), PositionCollection(survey, WORLD.public)
    for report in sent:
        in_order.absorb(report)
    by_round = sorted(sent, key=lambda report: (report.round, -report.start))
    for report in [*by_round, *by_round[::-1]]:
        shuffled.absorb(report)
    assert (all_scores(in_order) == all_scores(shuffled)).all()
    assert in_order.response_rates() == dict.fromkeys(NON_PUBLIC, 1.0)


def test_pieces_from_any_position_lie_where_they_belong() -> None:
    survey = position_survey(WORLD.public, "1")
    sent, whole = reports(survey, [5, 2, 1, 1, 9, 15, 30, 15]), PositionCollection(survey, WORLD.public)
    for report in sent:
        whole.absorb(report)
    for packed, held in (("answered", whole.transcript.answered), ("ones", whole.transcript.ones)):
        expected = np.concatenate([unpack(getattr(report, packed), report.count) for report in sent])
        assert held.tobytes() == pack(expected)


def test_scores_are_those_of_the_channel() -> None:
    survey = position_survey(WORLD.public, "1")
    collection = PositionCollection(survey, WORLD.public)
    (report,) = reports(survey, [len(BITS)])
    collection.absorb(report)
    found = all_scores(collection)
    ones, classes = unpack(report.ones, len(BITS)), WORLD.public.classes.range(0, len(BITS))
    expected = np.where(classes == Visibility.PUBLIC, BITS, 0).astype(float)
    for kind in NON_PUBLIC:
        zero, one = map(float, survey.channel(kind).scores)
        expected = np.where(classes == kind, np.where(ones, one, zero), expected)
    assert found[np.triu_indices(13, 1)] == pytest.approx(expected, rel=1e-6)
    assert (found == found.T).all()


def test_missing_positions_have_score_zero_and_the_others_more_weight() -> None:
    survey = position_survey(WORLD.public, "1")
    whole, half = (PositionCollection(survey, WORLD.public) for _ in range(2))
    first, second = reports(survey, [40, 38])
    for collection, sent in ((whole, [first, second]), (half, [first])):
        for report in sent:
            collection.absorb(report)
    rates = half.response_rates()
    assert all(0 < rate < 1 for rate in rates.values())
    pairs = np.triu_indices(13, 1)
    classes = WORLD.public.classes.range(0, len(BITS))
    for kind in NON_PUBLIC:
        mine = classes == kind
        late, early = mine & (np.arange(len(BITS)) >= 40), mine & (np.arange(len(BITS)) < 40)
        assert (all_scores(half)[pairs][late] == 0).all()
        assert all_scores(half)[pairs][early] == pytest.approx(all_scores(whole)[pairs][early] / rates[kind], rel=1e-5)
    assert half.rate_variance() > 0
    assert whole.rate_variance() == 0


def test_nobody_answered() -> None:
    collection = PositionCollection(position_survey(WORLD.public, "1"), WORLD.public)
    with pytest.raises(BadStatistic, match="answered"):
        collection.scores()


def test_everything_public_needs_no_answers() -> None:
    world = VisibilityAwareGraph(WORLD.graph, VisibilityPolicy(1))
    collection = PositionCollection(position_survey(world.public, "1"), world.public)
    assert collection.scores().node_sums(score) == pytest.approx(WORLD.graph.degrees)


def test_what_breaks_the_protocol_is_refused() -> None:
    survey = position_survey(WORLD.public, "1", 2)
    first, second = reports(survey, [len(BITS)])
    classes = WORLD.public.classes.range(0, len(BITS))
    everyone, public = np.ones(len(BITS), bool), classes == Visibility.PUBLIC
    other_answers = pack(~unpack(first.ones, len(BITS)) & ~public)
    bad = {
        "another survey": replace(first, survey="0" * 64),
        "another round": replace(first, round=3),
        "beyond the last": replace(first, start=1),
        "public positions": replace(first, answered=pack(everyone)),
        "second, different answer": replace(first, ones=other_answers),
        "did not answer 1": replace(second, ones=other_answers),
    }
    for words, report in bad.items():
        collection = PositionCollection(survey, WORLD.public)
        collection.absorb(first)
        before = collection.response_rates()
        with pytest.raises(ProtocolViolation, match=words.split(",")[0]):
            collection.absorb(report)
        assert collection.response_rates() == before
        collection.absorb(second)
        assert collection.response_rates() == dict.fromkeys(NON_PUBLIC, 1.0)


def test_a_survey_about_another_policy_is_refused() -> None:
    other = VisibilityAwareGraph(WORLD.graph, VisibilityPolicy.nothing())
    with pytest.raises(ProtocolViolation, match="another"):
        PositionCollection(position_survey(other.public, "1"), WORLD.public)
