"""A collection of degrees takes in what keeps to the protocol, and answers every question about degrees."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from support.unlike_graphs import hub_dominated
from visibility_aware_edge_ldp.aggregator import degrees
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.counts.degrees.degree_functions import NoisyDegrees
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.statistic import exact, tail_start
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeReport, degree_report, degree_survey
from visibility_aware_edge_ldp.simulation.simulate import collect, exact_purse
from visibility_aware_edge_ldp.simulation.worlds import cut_lists
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

WORLD = VisibilityAwareGraph(erdos_renyi(60, 300, 2), VisibilityPolicy("0.3", "0.3", "0.4"))
SURVEY = degree_survey(WORLD.public, 1)
N = WORLD.graph.n
COUNTS = ("edges", "stars:2", "stars:3", "stars:4")


def reports(size: int) -> list[DegreeReport]:
    found = []
    for view in cut_lists(WORLD.graph, size):
        coins = keyed_coins(seeded_key("reports", view.start))
        found.append(DegreeClient(view, WORLD.public, exact_purse(SURVEY)).answer(SURVEY, 1, coins))
    return found


def test_order_and_repetition_do_not_matter() -> None:
    one, other = (DegreeCollection(SURVEY, WORLD.public) for _ in range(2))
    sent = reports(7)
    for report in sent:
        one.absorb(report)
    for report in [*sent[::-1], *sent]:
        other.absorb(report)
    assert estimate(one, ["edges"])["edges"].value == estimate(other, ["edges"])["edges"].value
    assert one.releases == other.releases
    assert one.response_rate == 1


def test_two_collections_of_one_survey_are_paid_twice() -> None:
    first, second = (collect(WORLD, SURVEY, seed) for seed in (1, 2))
    bill = Bill((*first.releases, *second.releases))
    assert bill["PRIVATE"].epsilon == 2
    assert Bill((*first.releases, *first.releases))["PRIVATE"].epsilon == 1
    found = estimate(first, COUNTS)
    assert Bill(release for each in found.values() for release in each.releases)["FRIEND_VISIBLE"].epsilon == 2


def test_what_breaks_the_protocol_is_refused() -> None:
    (good,) = reports(N)
    bad = {
        "another survey": replace(good, survey="0" * 64),
        "beyond the last": replace(good, start=1),
        "second, different": degree_report(good.survey, 0, good.answered, good.values + 1),
        "second": degree_report(good.survey, 5, np.array([True]), np.array([[1], [2]])),
    }
    wrong_classes = degree_report(good.survey, 0, good.answered, good.values[:1])
    for words, report in [*bad.items(), ("another survey", wrong_classes)]:
        collection = DegreeCollection(SURVEY, WORLD.public)
        collection.absorb(good)
        before = collection.releases
        with pytest.raises(ProtocolViolation, match=words):
            collection.absorb(report)
        assert collection.releases == before
    other = VisibilityAwareGraph(WORLD.graph, VisibilityPolicy.nothing())
    with pytest.raises(ProtocolViolation, match="another"):
        DegreeCollection(SURVEY, other.public)
    with pytest.raises(ProtocolViolation, match="another"):
        DegreeCollection(replace(SURVEY, classes=SURVEY.classes[:1]), WORLD.public)


def test_the_absent_may_still_come() -> None:
    (whole,) = reports(N)
    first, second = np.arange(N) < 20, np.arange(N) >= 20
    collection = DegreeCollection(SURVEY, WORLD.public)
    collection.absorb(degree_report(whole.survey, 0, first, whole.values))
    assert collection.response_rate == pytest.approx(20 / N)
    collection.absorb(degree_report(whole.survey, 0, second, whole.values))
    together = DegreeCollection(SURVEY, WORLD.public)
    together.absorb(whole)
    assert collection.releases == together.releases
    assert estimate(collection, "all").keys() == estimate(together, "all").keys()


def test_nobody_answered() -> None:
    with pytest.raises(BadStatistic, match="Nobody"):
        estimate(DegreeCollection(SURVEY, WORLD.public), ["edges"])


@pytest.mark.parametrize("policy", ["0", "0.5", "1"])
def test_without_noise_everything_is_exact(policy: str) -> None:
    world = VisibilityAwareGraph(WORLD.graph, VisibilityPolicy(policy))
    found = estimate(collect(world, degree_survey(world.public, 500), 1), [*COUNTS, "degrees", "tail:10"])
    for name in COUNTS:
        assert found[name].value == pytest.approx(exact(WORLD.graph, name))
        assert found[name].standard_error == pytest.approx(0, abs=1e-3)
    assert found["degrees"].value == pytest.approx(WORLD.graph.degrees)
    assert found["tail:10"].value == pytest.approx((WORLD.graph.degrees >= 10).sum())


def test_everything_public_needs_no_answers_and_has_no_error() -> None:
    world = VisibilityAwareGraph(WORLD.graph, VisibilityPolicy(1))
    collection = DegreeCollection(degree_survey(world.public, 1), world.public)
    assert collection.response_rate == 1
    found = estimate(collection, "all")
    assert found["edges"].interval() == (300, 300)
    assert found["max_degree"].interval() == (WORLD.graph.degrees.max(),) * 2
    assert found["degree_histogram"].value == pytest.approx(np.bincount(WORLD.graph.degrees, minlength=N))
    assert not found["degrees"].variance.any()


def test_public_hubs_are_exact_though_they_report_noise() -> None:
    """[DEGREESUM.4]: with rule "any" a hub hides nothing; with "both" it has no PRIVATE positions."""
    for rule in ("any", "both"):
        world = VisibilityAwareGraph(WORLD.graph, VisibilityPolicy.public_hubs("0.1", rule=rule))
        hubs = np.argsort(-WORLD.graph.degrees, kind="stable")[:6]
        survey = degree_survey(world.public, 1)
        found = estimate(collect(world, survey, 3), ["degrees"])["degrees"]
        noise = {kind: survey.mechanism(kind).variance for kind in survey.classes}
        expected = np.full(N, sum(noise.values()))
        expected[hubs] = 0 if rule == "any" else noise[survey.classes[0]]
        assert found.variance == pytest.approx(expected)
        if rule == "any":
            assert (found.value[hubs] == WORLD.graph.degrees[hubs]).all()


def test_absent_users_are_given_what_is_public_plus_what_others_hide() -> None:
    collection = collect(WORLD, SURVEY, 1, dropout=0.4)
    found = estimate(collection, ["degrees", "edges"])["degrees"]
    absent = ~collection.answered
    assert 5 < absent.sum() < 50
    public = np.bincount(WORLD.public.edges.ravel(), minlength=N)
    hidden = (found.value - public)[~absent].mean()
    assert found.value[absent] == pytest.approx(public[absent] + hidden)
    assert not found.unbiased
    assert (found.variance[absent] > 0).all()
    assert tuple(found.labels or ()) == tuple(WORLD.public.names)


def test_one_answer_says_nothing_about_the_others() -> None:
    (whole,) = reports(N)
    collection = DegreeCollection(SURVEY, WORLD.public)
    collection.absorb(degree_report(whole.survey, 0, np.arange(N) == 3, whole.values))
    found = estimate(collection, [*COUNTS, "degrees", "max_degree", "degree_histogram", "tail:3"])
    assert found["stars:2"].variance == np.inf
    assert found["edges"].interval()[0] == -np.inf


def test_the_largest_degree_may_be_somebody_absent() -> None:
    """[DEGREESUM.5]"""
    all_here = estimate(collect(WORLD, SURVEY, 1), ["max_degree"])["max_degree"]
    some_gone = estimate(collect(WORLD, SURVEY, 1, dropout=0.2), ["max_degree"])["max_degree"]
    (whole,) = reports(N)
    few_gone = DegreeCollection(SURVEY, WORLD.public)
    few_gone.absorb(degree_report(whole.survey, 0, np.arange(N) != 7, whole.values))
    assert all_here.interval()[1] < N - 1
    assert some_gone.interval()[1] == N - 1
    cautious = estimate(few_gone, ["max_degree"])["max_degree"]
    assert cautious.interval(0.9)[1] < N - 1
    assert cautious.interval(0.99)[1] == N - 1


def test_the_histogram_sums_to_the_users_whoever_answers() -> None:
    for dropout in (0.0, 0.3):
        found = estimate(collect(WORLD, SURVEY, 1, dropout), ["degree_histogram"])["degree_histogram"]
        assert found.value.sum() == pytest.approx(N)
        assert found.value.min() >= 0
        low, high = found.interval()
        assert ((low <= found.value) & (found.value <= high)).all()
        assert found.labels[0][0] == 0
        assert found.labels[-1][1] == N - 1


def test_names_of_statistics() -> None:
    collection = DegreeCollection(degree_survey(WORLD.public, 1), WORLD.public)
    assert collection.wanted("all") == (
        "edges",
        "degrees",
        "max_degree",
        "degree_histogram",
        "stars:2",
        "stars:3",
    )
    three = VisibilityAwareGraph(erdos_renyi(3, 2, 1), VisibilityPolicy.nothing()).public
    assert DegreeCollection(degree_survey(three, 1), three).wanted("all")[-1] == "stars:2"
    assert collection.wanted(" edges, tail:5 ,edges") == ("edges", "tail:5")
    assert tail_start("tail:12") == 12
    assert tail_start("tail:") is tail_start("tail:-1") is tail_start("stars:2") is None
    for bad in (["triangles"], ["transitivity"], ["tail:x"], ["stars:60"], ["stars:1"], ["edge"], [], ""):
        with pytest.raises(BadStatistic):
            estimate(collection, bad)


def test_large_stars_on_few_users() -> None:
    found = estimate(collect(WORLD, degree_survey(WORLD.public, 500), 1), ["stars:12", "stars:59"])
    assert found["stars:12"].value == pytest.approx(exact(WORLD.graph, "stars:12"))
    assert found["stars:59"].value == pytest.approx(0, abs=1e-6)


def test_a_maximum_whose_doubt_is_all_used_up_by_one_absent_user_still_has_limits() -> None:
    """1 of 40 is absent: 1 − 0.95 − 2/40 is no chance at all but what rounding leaves of it."""
    world = VisibilityAwareGraph(erdos_renyi(40, 160, 2), VisibilityPolicy.nothing())
    survey = degree_survey(world.public, 1)
    collection = DegreeCollection(survey, world.public)
    for view in list(cut_lists(world.graph, 1))[1:]:
        coins = keyed_coins(seeded_key("absent", view.start))
        collection.absorb(DegreeClient(view, world.public, exact_purse(survey)).answer(survey, 1, coins))
    low, high = estimate(collection, ["max_degree"])["max_degree"].interval(0.95)
    assert low <= world.graph.degrees.max() <= high == 39


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_of_classes_do_not_wrap_around(sign: int) -> None:
    """2^62 in each of two classes would be 2^63, which is a negative number."""
    collection = DegreeCollection(SURVEY, WORLD.public)
    values = np.zeros((2, N), np.int64)
    values[:, 4] = sign * (1 << 62)
    collection.absorb(degree_report(SURVEY.identity, 0, np.ones(N, np.bool_), values))
    assert abs(collection.reported[4] - sign * (1 << 61)) < N
    found = estimate(collection, ["edges", "max_degree", "degree_histogram", "tail:3"])
    assert found["edges"].value * sign > 2.0**59
    assert 0 <= found["max_degree"].value <= N - 1


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("epsilon", [1, 4, 8])
def test_the_largest_degree_lies_in_its_interval_and_has_no_standard_error(epsilon: float, dropout: float) -> None:
    world = VisibilityAwareGraph(erdos_renyi(12, 0, seed=1), VisibilityPolicy.nothing())
    for seed in range(25):
        collection = collect(world, degree_survey(world.public, epsilon), seed=seed, dropout=dropout)
        found = estimate(collection, ["max_degree"])["max_degree"]
        for level in (0.5, 0.95, 0.99):
            low, high = found.interval(level)
            assert low <= found.value <= high
        assert not found.has_standard_error


def test_answers_that_agree_widen_the_interval_and_leave_the_standard_error() -> None:
    """[DEGREESUM.2] Nobody has 40 friends; who is absent might."""
    world = VisibilityAwareGraph(erdos_renyi(60, 200, 4), VisibilityPolicy.nothing())
    found = estimate(collect(world, degree_survey(world.public, 8), 1, 0.3), ["tail:40"])["tail:40"]
    assert not found.has_standard_error
    assert found.conservative
    assert found.interval()[1] > 1
    near = estimate(collect(world, degree_survey(world.public, 8), 1, 0.3), ["tail:7"])["tail:7"]
    assert not near.conservative
    assert near.interval()[1] == pytest.approx(near.value + 1.96 * near.standard_error, rel=0.2)


def _held_of_absent(runs: int) -> float:
    """Which share of the absent users' degrees their intervals hold, over so many collections with much noise."""
    world = VisibilityAwareGraph(erdos_renyi(100, 500, seed=1), VisibilityPolicy.nothing())
    survey, held = degree_survey(world.public, "1/2"), []
    for run in range(runs):
        collection = collect(world, survey, f"absent {run}", 0.3)
        low, high = estimate(collection, ["degrees"])["degrees"].interval()
        held.append(((low <= world.graph.degrees) & (world.graph.degrees <= high))[~collection.answered])
    return float(np.concatenate(held).mean())


def test_intervals_of_absent_users_hold_their_degrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """[DEGREESUM.2] Twin: the spread as it is measured, which noise often leaves at nothing."""
    runs = 60
    real = _held_of_absent(runs)
    monkeypatch.setattr(degrees, "_spread_of_hidden", lambda hidden, noise: max(float(hidden.var(ddof=1)) - noise, 0.0))
    twin = _held_of_absent(runs)
    assert 0.93 < real < 0.97
    assert twin < 0.9


def _chance_to_hold(degrees_near: tuple[int, ...], threshold: int, epsilon: int) -> float:
    """The exact chance that the interval of a tail count holds the truth, over all noises of these few users."""
    noise = DiscreteLaplace(Fraction(epsilon))
    constant, drawn = noise.second_difference_constant, range(-12, 13)
    truth, held = sum(d >= threshold for d in degrees_near), 0.0
    users, none = len(degrees_near), np.zeros(0, np.int64)
    for added in product(drawn, repeat=users):
        noisy = np.array(degrees_near) + np.array(added)
        zeros = np.zeros(users, np.int64)
        known = NoisyDegrees(30, none, noisy, zeros, np.full(users, constant), np.zeros(users), none)
        low, high = degrees._tail(known, threshold).interval()
        held += (low - 1e-9 <= truth <= high + 1e-9) * prod(noise.probability(each) for each in added)
    return held


@pytest.mark.parametrize("near", [(7,), (9,), (10,), (12,), (9, 9), (9, 10), (10, 10), (8, 11)])
def test_a_count_of_one_or_two_users_near_its_threshold_is_held(near: tuple[int, ...]) -> None:
    """[DEGREESUM.7] over all noises, at ε = 1, 2 and 4."""
    assert min(_chance_to_hold(near, 10, epsilon) for epsilon in (1, 2, 4)) > 0.93


def test_without_a_least_noise_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(degrees.degree_functions, "least_tail_noise", lambda *_: 0.0)
    assert _chance_to_hold((9,), 10, 2) < 0.9
    assert _chance_to_hold((9, 9), 10, 1) < 0.9


def test_far_from_its_threshold_a_count_is_exact() -> None:
    """And where many are near, the least noise is below what the answers say."""
    none, noisy, zeros = np.zeros(0, np.int64), np.array([40, 41, 60]), np.zeros(3, np.int64)
    constant = DiscreteLaplace(Fraction(4)).second_difference_constant
    far = degrees._tail(NoisyDegrees(90, none, noisy, zeros, np.full(3, constant), np.zeros(3), none), 10)
    assert (float(far.variance), far.interval(), far.conservative) == (0.0, (3.0, 3.0), False)
    many = np.random.default_rng(1).integers(5, 15, 400)
    known = NoisyDegrees(
        900, none, many, np.zeros(400, np.int64), np.full(400, constant), np.zeros(400), none
    )  # fmt: skip
    assert degrees.degree_functions.least_tail_noise(known, 10) < float(degrees._tail(known, 10).variance)
    assert not degrees._tail(known, 10).conservative


@pytest.mark.long
def test_a_hub_that_stays_away_is_allowed_for_in_the_degree_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    """[ABSENT.3] by the stars that it has; a twin goes by its part of a sum whose parts cancel."""
    graph = hub_dominated()
    world, truth, runs = VisibilityAwareGraph(graph), exact(graph, "degree_variance"), 120
    survey = degree_survey(world.public, 4)

    def held() -> float:
        found = [estimate(collect(world, survey, f"hub {run}", 0.6), ["degree_variance"]) for run in range(runs)]
        ends = [each["degree_variance"].interval() for each in found]
        return float(np.mean([low <= truth <= high for low, high in ends]))

    assert held() >= 0.9
    monkeypatch.setattr(degrees, "_degree_of_large", lambda *_: 0)
    assert held() < 0.8


def _answered_by_group(world: VisibilityAwareGraph, seed: int, chances: tuple[float, float]) -> DegreeCollection:
    """A collection of which the members of each of two groups answer with a chance of their own."""
    stays = np.random.default_rng(seed).random(world.graph.n) < np.take(chances, world.graph.groups.members)
    (whole,) = (
        DegreeClient(view, world.public, exact_purse(ALIKE)).answer(ALIKE, 1, keyed_coins(seeded_key("kinds", seed)))
        for view in cut_lists(world.graph, world.graph.n)
    )
    collection = DegreeCollection(ALIKE, world.public)
    collection.absorb(degree_report(whole.survey, 0, stays, whole.values * stays))
    return collection


UNEQUAL = powerlaw(200, 1200, 3)
BY_SIZE = VisibilityAwareGraph(UNEQUAL, VisibilityPolicy.nothing()).grouped(
    Groups("size", ("few", "many"), (np.median(UNEQUAL.degrees) < UNEQUAL.degrees).astype(np.int64))
)
ALIKE = degree_survey(BY_SIZE.public, 2)


@pytest.mark.parametrize("known", [True, False])
def test_groups_that_answer_unequally_are_weighed_by_group_and_a_twin_is_biased(known: bool) -> None:
    """[DEGREESUM.8]: who has many friends answers with chance 0.4, others with 0.9; the twin knows no groups."""
    runs, names = 120, ("edges", "stars:2", "stars:3", "tail:10")
    found = []
    for seed in range(runs):
        collection = _answered_by_group(BY_SIZE, seed, (0.9, 0.4))
        found.append(estimate(collection if known else collection.as_if_alike(), names))
    for name in names:
        truth = exact(UNEQUAL, name)
        errors = np.array([float(each[name].value) - truth for each in found])
        z = errors.mean() / errors.std() * runs**0.5
        held = np.mean([each[name].interval()[0] <= truth <= each[name].interval()[1] for each in found])
        assert (abs(z) < 4 and held > 0.89) if known else (z < -20 and held < 0.5), (name, z, held)


def test_kinds_of_which_few_answered_are_taken_together() -> None:
    """[DEGREESUM.8]: weights of few answers would be weights of very few people."""
    members = np.repeat([0, 1, 2], [192, 5, 3])
    world = VisibilityAwareGraph(UNEQUAL, VisibilityPolicy.nothing()).grouped(Groups("g", ("a", "b", "c"), members))
    survey = degree_survey(world.public, 2)
    collection = DegreeCollection(survey, world.public)
    (whole,) = (
        DegreeClient(view, world.public, exact_purse(survey)).answer(survey, 1, keyed_coins(seeded_key("few", 1)))
        for view in cut_lists(UNEQUAL, 200)
    )
    here = np.arange(200) >= 3
    collection.absorb(degree_report(whole.survey, 0, here, whole.values * here))
    assert len(set(collection.kinds.tolist())) == 1
    larger = world.grouped(Groups("g", ("a", "b", "c"), np.repeat([0, 1, 2], [150, 44, 6])))
    collection.view = larger.public
    kinds = collection.kinds
    assert len(set(kinds.tolist())) == 2
    assert kinds[-1] == kinds[0] != kinds[150]
    assert [each.asked for each in collection.noisy_degrees().strata] == [156, 44]


@pytest.mark.parametrize("foretold", [True, False])
def test_public_friends_foretell_a_large_absent_user_and_a_twin_misses_it(
    foretold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[ABSENT.3]: half of everybody's friends are public; the absent user has 60, the others 20."""
    if not foretold:
        monkeypatch.setattr(degrees, "_largest_known", lambda known: int(known.noisy.max()))
    rng = np.random.default_rng(4)
    answers = np.minimum(rng.binomial(200, 0.1, 150), 24)
    public, constants = rng.binomial(answers, 0.5), np.full(150, 0.01)
    known = NoisyDegrees(
        400, np.zeros(0, np.int64), answers, public, constants, 0 * constants, np.append(np.full(149, 10), 30)
    )
    found = degrees._sum("stars:3", known, lambda d: d * (d - 1.0) * (d - 2) / 6)
    more = found.interval(0.5)[1] - float(found.value)
    assert (more > 60 * 59 * 58 / 6 - 30 * 29 * 28 / 6) is foretold
