"""An estimate's interval, and answers as a table, as JSON and in a notebook."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.estimate import (
    LINES,
    STEPS,
    Estimate,
    _first_below,
    estimate_of,
    inverted,
    skew_corrected,
    student,
    with_bias_bound,
    with_large_absent,
)
from visibility_aware_edge_ldp.counts.nonresponse import Spread, missing
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

NAMED = read_graph([("<ann>", "bob"), ("bob", "cem"), ("<ann>", "cem"), ("cem", "dua"), ("dua", "eva")])
WORLD = VisibilityAwareGraph(NAMED, VisibilityPolicy("0.2", "0.3", "0.5"))


def test_normal_interval() -> None:
    low, high = Estimate("edges", 100.0, 25.0).interval(0.95)
    assert (low, high) == pytest.approx((100 - 1.959964 * 5, 100 + 1.959964 * 5))
    assert Estimate("edges", 100.0, 25.0).standard_error == 5


def test_arrays_have_intervals_of_arrays() -> None:
    low, high = Estimate("degrees", np.array([1.0, 2.0]), np.array([0.0, 1.0])).interval(0.5)
    assert low[0] == high[0] == 1
    assert high[1] - low[1] == pytest.approx(2 * 0.6744898)


@pytest.mark.parametrize("freedom", [4, 5.5, 20, 1000, math.inf])
@pytest.mark.parametrize("chance", [0.6, 0.9, 0.975, 0.995])
def test_student_s_points(freedom: float, chance: float) -> None:
    """[STUDENT.2] against SciPy."""
    stats = pytest.importorskip("scipy.stats")
    assert student(chance, freedom) == pytest.approx(stats.t.ppf(chance, freedom), rel=0.003)


@pytest.mark.parametrize("skew", [-2.0, -0.1, 0.3, 5.0])
def test_bent_points_are_those_that_the_cubic_takes_back(skew: float) -> None:
    """[STUDENT.3]"""
    points = np.linspace(-4, 4, 33)
    t = np.array([skew_corrected(float(point), skew) for point in points])
    assert t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6 == pytest.approx(points)
    assert (np.diff(t) > 0).all()


def test_a_variance_read_off_few_answers_makes_the_interval_longer_and_lopsided() -> None:
    known, doubtful = estimate_of("edges", 100.0, Spread(25.0)), estimate_of("edges", 100.0, Spread(25.0, 10.0))
    assert known.interval() == Estimate("edges", 100.0, 25.0).interval()
    assert doubtful.freedom == pytest.approx(12.5)
    assert np.subtract(*doubtful.interval()) < np.subtract(*known.interval())
    low, high = estimate_of("edges", 100.0, Spread(25.0, 10.0, 40.0)).interval()
    assert high - 100 > 100 - low > 0
    assert estimate_of("edges", 100.0, Spread(math.inf, 1.0)).interval() == (-math.inf, math.inf)
    assert np.isfinite(estimate_of("edges", 100.0, Spread(1e-200, 5.0, 1.0)).interval()).all()


@pytest.mark.parametrize("level", [0.6, 0.95])
@pytest.mark.parametrize("most", [0.0, 0.01, 0.5, 2.0, 30.0])
def test_what_may_be_lost_leaves_each_truth_held_as_often_as_is_said(most: float, level: float) -> None:
    """[STUDENT.4] The normal law: Φ(c + most) − Φ(−c) is the level wherever the truth lies at an end."""
    low, high = with_bias_bound(Estimate("edges", 10.0, 1.0).interval, most, level)
    assert high - most - 10 == pytest.approx(10 - low)
    assert NormalDist().cdf(10 - low + most) - NormalDist().cdf(low - 10) == pytest.approx(level, abs=1e-6)


def test_a_raised_interval_without_a_limit_has_its_whole_doubt_below() -> None:
    low, high = with_bias_bound(Estimate("edges", 10.0, 1.0).interval, math.inf, 0.95)
    assert (10 - low, high) == (pytest.approx(1.644854, rel=1e-5), math.inf)


@pytest.mark.parametrize("most", [0.1, 1.0, 10.0])
def test_a_lopsided_interval_is_raised_by_the_end_that_needs_more(most: float) -> None:
    """[STUDENT.4] At neither end more is missed than is said, and at one of them as much."""
    found = estimate_of("edges", 10.0, Spread(1.0, 0.4, 0.3))
    low, high = with_bias_bound(found.interval, most, 0.95)
    levels = np.linspace(0.5, 0.99999, 4001)
    lows, highs = np.array([found.interval(float(level)) for level in levels]).T
    missed = [
        1 - np.interp(lost - low, -lows, levels) / 2 - np.interp(high - lost, highs, levels) / 2 for lost in (0.0, most)
    ]
    assert max(missed) == pytest.approx(0.05, abs=1e-3)


RATIO = (30.0, 100.0)


def ratio_error(truth: float, variances: tuple[float, float, float]) -> Estimate:
    """T/S less the truth, where T and S have these variances and this covariance."""
    own, other, both = variances
    spread = (own - 2 * truth * both + truth**2 * other) / RATIO[1] ** 2
    return Estimate("ratio", RATIO[0] / RATIO[1] - truth, spread)


@pytest.mark.parametrize("variances", [(25.0, 400.0, 0.0), (25.0, 900.0, 60.0)])
def test_a_ratio_is_held_as_fieller_says(variances: tuple[float, float, float]) -> None:
    """[STUDENT.5] The roots of (T − ρS)² = z²·Var(T − ρS)."""
    (t, s), (own, other, both), z = RATIO, variances, 1.959964
    roots = np.sort(np.roots([s**2 - z**2 * other, -2 * (t * s - z**2 * both), t**2 - z**2 * own]))
    found = inverted(ratio_error(0.0, variances), lambda truth: ratio_error(truth, variances), 0.95)
    assert found == pytest.approx(tuple(roots), rel=1e-5)


def test_a_ratio_whose_denominator_may_be_nought_is_unbounded() -> None:
    for own, expected in ((60.0**2, (-math.inf, math.inf)), (5.0**2, (pytest.approx(0.124156, rel=1e-5), math.inf))):
        variances = (own, 60.0**2, 0.0)
        found = inverted(ratio_error(0.0, variances), lambda truth, v=variances: ratio_error(truth, v), 0.95)
        assert found == expected
    certain = Estimate("ratio", 0.3, 0.0)
    assert inverted(certain, lambda truth: Estimate("ratio", 0.3 - truth, 0.0), 0.95) == (0.3, 0.3)


@pytest.mark.parametrize("level", [0, 1, -1, 95])
def test_levels_are_between_nought_and_one(level: float) -> None:
    with pytest.raises(BadInput, match=r"0\.95"):
        Estimate("edges", 1.0, 1.0).interval(level)


def test_answers_keep_the_user_s_names_and_tell_everything() -> None:
    answers = estimate(WORLD, epsilon=1, statistics="all", seed=1)
    assert list(answers["degrees"].labels or ()) == list(NAMED.names)
    content = json.loads(json.dumps(answers.as_dict()))
    assert content["estimates"]["degrees"]["labels"] == list(NAMED.names)
    assert content["certificate"]["loss_per_edge"]["FRIEND_VISIBLE"] == {"epsilon": 2.0, "delta": 0.0}
    assert content["certificate"]["simulation_not_private"] is True
    text = str(answers)
    assert "ε = 1" in text
    assert "not private" in text
    assert "triangles" in text
    page = answers._repr_html_()
    assert page.startswith("<table>")
    assert "<script" not in page


def test_one_collection_is_billed_once() -> None:
    one = estimate(WORLD, epsilon="0.5", statistics=["edges"], seed=1)
    many = estimate(WORLD, epsilon="0.5", statistics="all", seed=1)
    assert str(one.bill) == str(many.bill) == "PRIVATE: ε = 0.5, FRIEND_VISIBLE: ε = 1"


def test_two_rounds_are_billed_together() -> None:
    assert str(estimate(WORLD, epsilon=1, rounds=2, seed=1).bill) == "PRIVATE: ε = 1, FRIEND_VISIBLE: ε = 2"


def test_without_wedges_transitivity_is_unknown() -> None:
    world = VisibilityAwareGraph(read_graph([("a", "b")], nodes=["a", "b", "c"]), VisibilityPolicy(1))
    found = estimate(world, epsilon=1, statistics=["transitivity"], seed=1)["transitivity"]
    assert (found.value, found.interval()) == (0.0, (0.0, 1.0))
    assert math.isnan(float(found.standard_error)), "nothing is known of a ratio without wedges: no standard error"


def test_everything_public_is_exact() -> None:
    answers = estimate(VisibilityAwareGraph(NAMED, VisibilityPolicy(1)), epsilon=1, statistics="all", seed=1)
    for name, value in {"edges": 5, "triangles": 1, "stars:2": 6, "four_cycles": 0, "max_degree": 3}.items():
        assert answers[name].value == pytest.approx(value, abs=1e-9)
        assert answers[name].standard_error == pytest.approx(0, abs=1e-6)
    assert list(answers["degrees"].value) == pytest.approx(list(NAMED.degrees))


@pytest.mark.parametrize("trust", ["position", "curator"])
def test_two_collections_are_billed_twice_and_one_only_once(trust: str) -> None:
    one, other = (estimate(WORLD, trust, 1, ["edges"], seed=seed) for seed in (1, 2))
    again = estimate(WORLD, trust, 1, ["edges"], seed=1)
    releases = [answers["edges"].releases for answers in (one, again, other)]
    assert float(Bill([*releases[0], *releases[1]])["PRIVATE"].epsilon) == 1
    assert float(Bill([*releases[0], *releases[2]])["PRIVATE"].epsilon) == 2


@pytest.mark.parametrize(("statistic", "most"), [("triangles", 40.0), ("transitivity", 1.0), ("max_degree", 5.0)])
def test_cut_intervals_cover_whatever_uncut_ones_cover(statistic: str, most: float) -> None:
    random, covered, covered_cut, runs = np.random.default_rng(1), 0, 0, 4000
    for truth in random.uniform(0, most, runs):
        found = Estimate(statistic, random.normal(truth, most), most**2)
        (low, high), (cut_low, cut_high) = found.interval(), found.shown_interval()
        assert 0 <= cut_low <= cut_high
        assert cut_high <= (1 if statistic == "transitivity" else np.inf)
        covered += low <= truth <= high
        covered_cut += cut_low <= truth <= cut_high
    assert covered_cut == covered  # a truth strictly inside its bounds is held by both or by none
    assert covered_cut / runs == pytest.approx(0.95, abs=0.015)


def test_the_uncut_interval_is_kept_beside_a_cut_one() -> None:
    cut = Estimate("triangles", 1.0, 4.0).as_dict()
    assert cut["interval"][0] == 0 > cut["uncut_interval"][0]
    assert cut["interval"][1] == cut["uncut_interval"][1]
    assert "uncut_interval" not in Estimate("triangles", 100.0, 4.0).as_dict()
    assert "uncut_interval" not in Estimate("of somebody else", -1.0, 4.0).as_dict()
    bins = Estimate("degree_histogram", np.array([5.0, 0.1]), np.array([1.0, 1.0]))
    low, _ = bins.shown_interval()
    assert np.all(np.asarray(low) >= 0)
    assert bins.as_dict()["uncut_interval"][0][1] < 0


@pytest.mark.parametrize("away", [0.1, 0.3])
def test_one_absent_user_with_a_tenth_of_all_is_allowed_for_and_a_twin_misses_it(away: float) -> None:
    """[ABSENT.3]: 400 users who are alike, and one with a tenth of the sum; who answers is drawn."""
    rng, n, held, twin = np.random.default_rng(1), 401, 0, 0
    each = np.append(rng.gamma(2.0, 1.0, n - 1), 0.0)
    each[-1] = each.sum() / 9
    for _ in range(2000):
        some = rng.choice(each, round(n * (1 - away)), replace=False)
        plain = estimate_of("edges", n / some.size * float(some.sum()), missing(some, 0.0, n))
        found = with_large_absent(plain, 1 - some.size / n, float(some.max()), float(each.sum()))
        held += found.interval()[0] <= each.sum() <= found.interval()[1]
        twin += plain.interval()[0] <= each.sum() <= plain.interval()[1]
        assert found.holds_if
    assert held / 2000 > 0.94
    assert twin / 2000 < 0.93


def test_where_hardly_anybody_is_absent_no_large_user_is_allowed_for() -> None:
    plain = Estimate("edges", 100.0, 25.0)
    assert with_large_absent(plain, 0.02, 5.0, 50.0).interval() == plain.interval()
    low, high = with_large_absent(plain, 0.5, 5.0, 8.0).interval()
    assert low == plain.interval()[0]
    assert high == pytest.approx(100 + 1.6449 * 5 + 8, abs=1e-3)
    assert with_large_absent(plain, 0.5, 5.0, 8.0).as_dict()["holds_if"].endswith("more than 8 to it")
    assert "holds_if" not in plain.as_dict()


@pytest.mark.long
@pytest.mark.parametrize("statistic", ["edges", "stars:3", "triangles", "four_cycles"])
def test_counts_of_users_say_that_they_allow_for_a_large_absent_one(statistic: str) -> None:
    """[ABSENT.3] The upper end is above the normal one where somebody is absent, and the lower one stays."""
    world = VisibilityAwareGraph(erdos_renyi(40, 200, 3), VisibilityPolicy.nothing())
    with_all, with_some = (
        estimate(world, "user", 16, [statistic], seed=2, dropout=away)[statistic] for away in (0, 0.3)
    )
    assert (with_all.holds_if, with_all.conservative) == ("", False)
    assert "nobody who did not report adds more than" in with_some.holds_if
    plain = replace(with_some, limits=None)
    assert with_some.interval()[0] == plain.interval()[0]
    # Noise of 4-cycles reaches farther here than a tenth of them.
    farther = with_some.interval()[1] - plain.interval()[1]
    assert farther >= 0
    assert farther > 0 or statistic == "four_cycles"


def test_of_a_large_absent_user_only_that_part_is_added_that_others_do_not_tell() -> None:
    plain = Estimate("triangles", 1000.0, 1.0)
    ends = [with_large_absent(plain, 0.5, 0.0, part=part).interval()[1] for part in (0.0, 0.25, 1.0)]
    assert ends[0] == plain.interval()[1]
    assert (ends[1] - 1000) / (ends[2] - 1000) == pytest.approx(0.25, abs=0.02)


def halved(possible: Callable[[int], bool]) -> int:
    inner, outer = 0, 1 << STEPS
    while outer - inner > 1:
        middle = (inner + outer) // 2
        inner, outer = (middle, outer) if possible(middle) else (inner, middle)
    return outer


@pytest.mark.parametrize("shape", [0.3, 1.0, 3.0, math.nan, math.inf])
@pytest.mark.parametrize("root", [0.3, 1.0, 2.5, 1e3, 123456789.25, 2.0**29, 2.0**30 - 1, 2.0**30])
def test_an_end_is_where_halvings_find_it_and_after_fewer_looks(root: float, shape: float) -> None:
    """Falling functions: straight ones, flat ones and steep ones, one that ends, and one that jumps from infinity."""

    def falling(number: int) -> float:
        if not math.isfinite(shape):
            return math.inf if number < root else -shape
        return math.copysign(abs(root - number) ** shape, root - number) if number != root else -1e-9

    looks: list[int] = []
    found = _first_below(lambda number: looks.append(number) or falling(number), falling(0), falling(1 << STEPS))
    assert found == halved(lambda number: falling(number) >= 0)
    assert len(looks) <= (4 if shape == 1 else STEPS + LINES if math.isfinite(shape) else STEPS)
