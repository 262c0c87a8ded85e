"""Who is drawn: the same for everybody, in order, each with its chance; and reports that can speak of nobody else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import endpoints, ends_of, position_count
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, decode, encode, position_survey
from visibility_aware_edge_ldp.public.surveys.sample import (
    DrawnPositions,
    SampledReport,
    _finder,
    _steps,
    decode_sampled,
    encode_sampled,
    position_sample,
)
from visibility_aware_edge_ldp.public.view import PublicView

VIEW = PublicView(range(9), VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
RATES = ["0.97", "0.5", "0.1", "1/3", "0.001"]


def drawn(rate: str, positions: int, survey: str = "ab" * 32) -> DrawnPositions:
    return DrawnPositions(position_sample(rate).rate, survey, positions)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(RATES), st.data())
def test_runs_join_in_order_whatever_the_cuts(rate: str, data: st.DataObject) -> None:
    found = drawn(rate, 3 * (1 << 19) + 77 if rate != "0.001" else (1 << 27) + 5)
    cuts = sorted(data.draw(st.lists(st.integers(0, found.positions), max_size=6)))
    bounds = [0, *cuts, found.positions]
    parts = [found.between(low, high - low) for low, high in pairwise(bounds)]
    whole = np.concatenate(parts)
    assert (np.diff(whole) > 0).all()
    assert whole.size == found.count
    assert [found.rank(cut) for cut in cuts] == np.searchsorted(whole, cuts).tolist()
    for low, part in zip(bounds, parts, strict=False):
        assert not part.size or part[0] >= low


@pytest.mark.parametrize("rate", RATES)
def test_who_is_drawn_does_not_hang_on_how_many_there_are(rate: str) -> None:
    assert (drawn(rate, 5000).between(0, 5000) == drawn(rate, 1 << 20).between(0, 5000)).all()


@pytest.mark.long
@pytest.mark.parametrize("rate", RATES)
def test_shares_and_neighbours_are_those_of_independent_draws(rate: str) -> None:
    found = drawn(rate, 1 << (21 if rate != "0.001" else 28))
    places, p, size = found.between(0, found.positions), float(found.rate), found.positions
    assert abs(places.size - p * size) < 4 * (size * p * (1 - p)) ** 0.5
    for lag in (1, 2, 7):
        both = np.isin(places + lag, places).sum()
        assert abs(both - p * p * size) < 5 * (size * p * p) ** 0.5
    assert abs(np.mean(places) / size - 0.5) < 5 / places.size**0.5


def test_gaps_have_the_stated_resolution() -> None:
    """Every conditional chance, from the table's own integers.  [SAMPLE.1]"""
    for rate in RATES:
        p, steps = position_sample(rate).rate, _steps(position_sample(rate).rate).tolist()[::-1]
        chances = [1 - Fraction(after, before) for before, after in zip([1 << 64, *steps], steps, strict=False)]
        assert max(abs(chance - p) for chance in chances) <= Fraction(1, 1 << 60)


def test_another_coin_draws_others_and_tiles_differ() -> None:
    one, other = drawn("0.5", 4000), drawn("0.5", 4000, "cd" * 32)
    assert (one.between(0, 4000)[:50] != other.between(0, 4000)[:50]).any()
    two = drawn("0.5", 1 << 20)
    assert (two.in_tile(0)[:50] != two.in_tile(1)[:50] - two.tile).any()


@pytest.mark.long
@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_ends_of_some_positions(n: int, random: object) -> None:
    every = np.arange(position_count(n))
    some = every[np.array([random.random() < 0.4 for _ in every], dtype=bool)]
    for found, expected in zip(ends_of(n, some), endpoints(n, 0, every.size), strict=True):
        assert (found == expected[some]).all()


def test_a_survey_without_a_sample_is_the_survey_that_it_was() -> None:
    plain = position_survey(VIEW, "1")
    assert plain == position_survey(VIEW, "1", sample=1, coin="anything")
    # Fixed once and for all: clients and aggregators of other versions know it by this name.
    assert plain.identity == "e6d6973da94cf5771b99fbf961e4f97d504a4fc91215d5aba48a01c268f9a74d"
    with pytest.raises(BadPrivacyParameter, match="no sample"):
        plain.drawn  # noqa: B018


def test_rate_and_coin_are_part_of_the_identity() -> None:
    surveys = [position_survey(VIEW, "1", sample=s, coin=c) for s in ("0.5", "0.25", 1) for c in ("a", "b")]
    assert len({survey.identity for survey in surveys}) == 5
    assert surveys[0].releases[0].prices == surveys[-1].releases[0].prices
    assert position_survey(VIEW, "1", sample="0.1").rate == Fraction(round(Fraction(1, 10) * 2**32), 2**32)


@pytest.mark.parametrize("rate", [0, "-0.5", "1.5", "1e-9", "much"])
def test_shares_that_cannot_be_drawn_are_refused(rate: object) -> None:
    with pytest.raises(BadPrivacyParameter):
        position_sample(rate)


def report(size: int = 5) -> SampledReport:
    answered = np.array([True, True, False, True, True])[:size]
    return SampledReport("ab" * 32, 1, 3, 20, size, pack(answered), pack(answered & (np.arange(size) % 2 == 0)))


def test_the_wire_gives_back_what_went_in_and_costs_two_bits_a_drawn_position() -> None:
    sent = encode_sampled(report())
    assert decode_sampled(sent) == report()
    assert len(encode_sampled(replace(report(), count=10**9))) == len(sent)
    with pytest.raises(ProtocolViolation, match="not a report of positions"):
        decode(sent)
    with pytest.raises(ProtocolViolation, match="not a report of a sample"):
        decode_sampled(encode(PositionReport("ab" * 32, 1, 0, 40, bytes(5), bytes(5))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"drawn": 21, "answered": bytes(3), "ones": bytes(3)}, "from 0 to all"),
        ({"drawn": -1}, "from 0 to all"),
        ({"start": -1}, "from 0 to all"),
        ({"answered": bytes(2)}, "must carry"),
        ({"ones": b"\x04"}, "did not answer"),
        ({"answered": b"\xff"}, "did not answer"),
    ],
)
def test_reports_that_no_client_sends_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ProtocolViolation, match=words):
        replace(report(), **change)


@pytest.mark.parametrize("cut", [lambda sent: sent[:-1], lambda sent: sent + b"\0", lambda sent: sent[:20]])
def test_bytes_too_many_or_too_few_are_refused(cut: object) -> None:
    with pytest.raises(ProtocolViolation):
        decode_sampled(cut(encode_sampled(report())))


def test_runs_beyond_the_last_position_are_refused() -> None:
    with pytest.raises(ProtocolViolation, match="There are positions"):
        drawn("0.5", 10).between(5, 6)


@pytest.mark.parametrize("rate", ["0.5", "0.125", "0.01", "0.001"])
def test_words_beside_a_step_are_told_apart(rate: str) -> None:
    """Steps are 64-bit numbers: as floats, words within hundreds of a step would be taken for it."""
    drawn = position_sample(rate).rate
    steps = _steps(drawn)
    words = np.concatenate([steps - np.uint64(300), steps - np.uint64(1), steps, steps + np.uint64(1)])
    assert (_finder(drawn)(words) == np.searchsorted(steps, words, side="right")).all()
