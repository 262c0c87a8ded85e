"""Estimates from a sample: right on average over coin and answers, by lists as by planes.  [SAMPLE.3-5]"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_all
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.sample import SampledCollection, bytes_needed, hidden_positions
from visibility_aware_edge_ldp.compute.plain import common_neighbours as plain
from visibility_aware_edge_ldp.counts import stars
from visibility_aware_edge_ldp.counts import stars as edges
from visibility_aware_edge_ldp.counts.scores import spread
from visibility_aware_edge_ldp.counts.sparse_scores import ListedScores
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import parse_epsilon
from visibility_aware_edge_ldp.public.layout import pack, unpack
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, position_survey
from visibility_aware_edge_ldp.public.surveys.sample import SampledReport
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.simulate import collect, reports
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

PAIRS = list(combinations(range(4), 2))
RATE, CHANNEL = 0.4, RandomizedResponse(parse_epsilon("0.8")).channel
V = np.array([float(v) for v in CHANNEL.scores]) / RATE
OUTCOMES = list(product((None, 0, 1), repeat=6))


def listed(outcome: tuple[int | None, ...]) -> ListedScores:
    """The lists of four nodes whose positions were not drawn (None), or answered 0 or 1."""
    kept = [(pair, y) for pair, y in zip(PAIRS, outcome, strict=True) if y is not None]
    starts = np.searchsorted([u for (u, _), _ in kept], np.arange(5))
    targets, symbols = np.array([v for (_, v), _ in kept], np.int32), np.array([y for _, y in kept], np.uint8)
    return ListedScores(starts.astype(np.int64), targets, symbols, V)


def plain_triangles(scores: ListedScores) -> tuple[float, float]:
    sums = scores.triangle_sums()
    return sums["count"] / 3, sums["one noisy"] + sums["two noisy"] + sums["three noisy"] / 3


def plain_two_stars(scores: ListedScores) -> tuple[float, float]:
    """As ``stars.stars``, without the floor under the variance: only then is it right on average."""
    symmetric = stars.elementary(scores, 4)
    shared = sum(
        2 * float(spread(value)) * scores.symbol_form(i, stars._without(symmetric, value, 1))
        for i, value in enumerate(scores.values)
    )
    return float(symmetric[2].sum()), float(stars._centre_variance(symmetric, 2).sum()) + shared


SIDES = {
    "edges": [frozenset({pair}) for pair in PAIRS],
    "stars:2": [frozenset({a, b}) for a, b in combinations(PAIRS, 2) if len({*a, *b}) == 3],
    "triangles": [frozenset(combinations(three, 2)) for three in combinations(range(4), 3)],
}
FOUND = {"edges": edges.edges, "stars:2": plain_two_stars, "triangles": plain_triangles}
CACHED = {name: np.array([found(listed(outcome)) for outcome in OUTCOMES]) for name, found in FOUND.items()}


def exact_variance(name: str, bit: dict[tuple[int, int], int]) -> float:
    """Σ over sets S of positions of the product of σ²/p + x(1 − p)/p times (∂_S f)²."""
    own = {x: float(CHANNEL.variance(x)) / RATE + x * (1 - RATE) / RATE for x in (0, 1)}
    gain: dict[frozenset[tuple[int, int]], float] = {}
    for sides in SIDES[name]:
        for size in range(1, len(sides) + 1):
            for chosen in map(frozenset, combinations(sides, size)):
                gain[chosen] = gain.get(chosen, 0.0) + float(all(bit[side] for side in sides - chosen))
    return sum(float(np.prod([own[bit[side]] for side in chosen])) * g**2 for chosen, g in gain.items())


@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize("world", [(0,) * 6, (1,) * 6, (1, 1, 0, 1, 0, 0), (1, 0, 0, 0, 1, 1)], ids=str)
def test_every_coin_and_every_answer_together(name: str, world: tuple[int, ...]) -> None:
    """Unbiased, with the stated variance, and with variance estimates that are unbiased too."""
    bit = dict(zip(PAIRS, world, strict=True))
    laws = [
        {None: 1 - RATE, **{y: RATE * float((CHANNEL.given_zero, CHANNEL.given_one)[x][y]) for y in (0, 1)}}
        for x in world
    ]
    chances = np.array([np.prod([law[y] for law, y in zip(laws, outcome, strict=True)]) for outcome in OUTCOMES])
    value, claimed = CACHED[name].T
    truth = sum(all(bit[side] for side in sides) for sides in SIDES[name])
    variance = exact_variance(name, bit)
    assert chances.sum() == pytest.approx(1)
    assert chances @ value == pytest.approx(truth, abs=1e-9)
    assert chances @ (value - truth) ** 2 == pytest.approx(variance)
    assert chances @ claimed == pytest.approx(variance)


POLICIES = {
    "drawn positions": VisibilityPolicy("0.2", "0.3", "0.5"),
    "profiles": VisibilityPolicy.public_profiles("0.3"),
    "nothing": VisibilityPolicy.nothing(),
}
STATISTICS = ("edges", "degrees", "stars:2", "stars:3", "triangles", "transitivity")


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_lists_find_what_planes_find(policy: str, rounds: int, dropout: float) -> None:
    world = VisibilityAwareGraph(powerlaw(90, 900, 3), POLICIES[policy])
    survey = position_survey(world.public, 1, rounds, sample="0.3", coin="same")
    lists, planes = collect(world, survey, 5, dropout), collect(world, survey, 5, dropout, into=PositionCollection)
    assert lists.response_rates() == planes.response_rates()
    assert lists.asked_sizes == {kind: planes.asked_sizes[kind] for kind in lists.asked_sizes}
    wanted = STATISTICS if policy == "drawn positions" else (*STATISTICS, "max_degree", "degree_histogram")
    one, other = estimate_all(lists, wanted), estimate_all(planes, wanted)
    for name in wanted:
        np.testing.assert_allclose(one[name].value, other[name].value, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(one[name].variance, other[name].variance, rtol=1e-6, atol=1e-6)


def test_the_compiled_kernel_is_its_plain_twin() -> None:
    compiled = pytest.importorskip("visibility_aware_edge_ldp.compute.compiled.common_neighbours")
    world = VisibilityAwareGraph(powerlaw(60, 500, 3), POLICIES["drawn positions"])
    scores = collect(world, position_survey(world.public, 1, sample="0.6"), 1).best_scores()
    given = scores.starts, scores.targets, scores.symbols, scores.values, spread(scores.values), np.arange(60.0)
    for one, other in zip(compiled.listed_triangle_sums(*given), plain.listed_triangle_sums(*given), strict=True):
        assert one.tobytes() == other.tobytes()


WORLD = VisibilityAwareGraph(powerlaw(40, 200, 3), POLICIES["drawn positions"])
SURVEY = position_survey(WORLD.public, 1, 2, sample="0.5", coin="x")
FIRST, SECOND = reports(WORLD, SURVEY, 3)


def collections() -> list[PositionCollection | SampledCollection]:
    return [SampledCollection(SURVEY, WORLD.public), PositionCollection(SURVEY, WORLD.public)]


def piece(report: SampledReport, start: int, count: int) -> SampledReport:
    """The part of a report that is about fewer positions."""
    rank, size = SURVEY.drawn.rank(start), SURVEY.drawn.between(start, count).size
    bits = (pack(unpack(b, report.drawn)[rank : rank + size]) for b in (report.answered, report.ones))
    return SampledReport(report.survey, report.round, start, count, size, *bits)


def test_pieces_in_any_order_and_again_are_the_whole() -> None:
    cuts = [0, 1, 9, 200, 201, 777, 780]
    parts = [piece(r, a, b - a) for r in (FIRST, SECOND) for a, b in pairwise(cuts)]
    for whole, pieces in zip(collections(), collections(), strict=True):
        for report in (FIRST, SECOND):
            whole.absorb(report)
        for report in [*parts[5::-1], *parts, *parts[6:]]:
            pieces.absorb(report)
        assert whole.releases == pieces.releases


@pytest.mark.parametrize("kind", [0, 1], ids=["lists", "planes"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: replace(r, survey="00" * 32), "another survey"),
        (lambda r: replace(r, round=3), "another survey or another round"),
        (lambda r: replace(r, start=r.start + 1), "There are positions|beyond the last"),
        (lambda r: replace(r, count=r.count - 300), "The coin draws"),
        (lambda r: replace(r, answered=pack(np.ones(r.drawn, np.bool_))), "public positions"),
    ],
)
def test_what_breaks_the_protocol_is_refused(kind: int, change: object, words: str) -> None:
    with pytest.raises(ProtocolViolation, match=words):
        collections()[kind].absorb(change(FIRST))


@pytest.mark.parametrize("kind", [0, 1], ids=["lists", "planes"])
def test_second_answers_are_refused(kind: int) -> None:
    collection = collections()[kind]
    collection.absorb(FIRST)
    with pytest.raises(ProtocolViolation, match="second, different answer"):
        collection.absorb(replace(FIRST, ones=bytes(len(FIRST.ones))))
    with pytest.raises(ProtocolViolation, match="did not answer 1"):
        collection.absorb(replace(SECOND, ones=SECOND.answered))


def test_each_kind_of_survey_takes_its_own_reports() -> None:
    plain = PositionReport(SURVEY.identity, 1, 0, WORLD.public.positions, *[bytes(98)] * 2)
    with pytest.raises(ProtocolViolation, match="takes reports of its sample"):
        PositionCollection(SURVEY, WORLD.public).absorb(plain)
    with pytest.raises(ProtocolViolation, match="takes reports of its sample"):
        PositionCollection(position_survey(WORLD.public, 1), WORLD.public).absorb(FIRST)


def test_four_cycles_need_planes_and_silence_tells_nothing() -> None:
    lists, _ = collections()
    with pytest.raises(BadStatistic, match="4-cycles need pairs"):
        estimate_all(lists, ["four_cycles"])
    with pytest.raises(BadStatistic, match="has answered in every round"):
        estimate_all(lists, ["edges"])
    found = estimate_all(collect(WORLD, SURVEY, 3, into=PositionCollection), ["four_cycles"])
    assert found["four_cycles"].standard_error > 0


@pytest.mark.parametrize("policy", ["profiles", "nothing"])
def test_hidden_positions_are_counted_by_kind(policy: str) -> None:
    view = VisibilityAwareGraph(powerlaw(40, 200, 3), POLICIES[policy]).public
    classes = view.classes.rows(0, 40)
    there = np.triu(classes != Visibility.PUBLIC, 1)
    assert (hidden_positions(view) == there.sum(axis=0) + there.sum(axis=1)).all()


def test_memory_is_that_of_the_sample() -> None:
    assert bytes_needed(10**6, 0.001) < 10e9 < 1000 * bytes_needed(10**6, 0.0001)
