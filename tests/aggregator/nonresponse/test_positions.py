"""Rows that stay away as a whole: exact means and noise variances over all answers and absences.  [HOLDERS.1-4]"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from support.row_worlds import RowWorld
from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_all
from visibility_aware_edge_ldp.aggregator.nonresponse import positions as nonresponse
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import Parts, reported_rows
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.counts.mixing import mixing_matrix
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.statistic import EVERYTHING, exact
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

STATISTICS = ("edges", "stars:2", "stars:3", "triangles")
MIXED = VisibilityPolicy("0.4", "0.2", "0.4")
TINY = {
    "nothing public": RowWorld(erdos_renyi(4, 4, seed=3), VisibilityPolicy.nothing(), 1),
    "three classes": RowWorld(erdos_renyi(5, 6, seed=3), MIXED, 1),
    "two rounds": RowWorld(erdos_renyi(4, 4, seed=1), VisibilityPolicy("0.5", "0.2", "0.3"), 1, rounds=2),
}
LARGER = RowWorld(powerlaw(70, 500, seed=2), MIXED, 2)


def moments(world: RowWorld, users: tuple[int, ...], found: Callable[[PositionCollection], Parts]) -> np.ndarray:
    """Mean, variance and mean estimated variance; and the same of all pulls together, noise alone."""
    total = np.zeros(4)
    pulls, squares = np.zeros((2, world.graph.n))
    for chance, outcomes in world.everything():
        parts = found(world.collection(outcomes, users))
        total += chance * np.array([parts.value, parts.value**2, parts.noise, parts.pull_noise])
        pulls += chance * parts.pulls
        squares += chance * parts.pulls**2
    return np.array([total[0], total[1] - total[0] ** 2, total[2], (squares - pulls**2).sum(), total[3]])


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("case", TINY)
def test_the_mean_over_all_answers_and_absences_is_the_truth(case: str, statistic: str) -> None:
    world = TINY[case]
    needed = {"edges": 1, "stars:2": 2, "stars:3": 3, "triangles": 2}[statistic]
    for heard in range(min(needed, world.asked.size), world.asked.size + 1):
        chosen = list(combinations(world.asked.tolist(), heard))
        each = [
            moments(world, users, lambda reports: nonresponse.parts_of(reported_rows(reports), statistic)[0])
            for users in chosen
        ]
        value, variance, noise, pull_variance, pull_noise = np.mean(each, axis=0)
        assert value == pytest.approx(exact(world.graph, statistic), abs=1e-9)
        assert noise == pytest.approx(variance, rel=1e-9, abs=1e-9)
        # Stars neglect one small term, and only ever take off too little.
        assert pull_noise <= pull_variance * (1 + 1e-9)
        assert pull_noise == pytest.approx(pull_variance, rel=0.1 if statistic.startswith("stars") else 1e-9, abs=1e-9)


@pytest.mark.long
def test_a_twin_that_takes_positions_for_independent_is_caught() -> None:
    """Dividing by the share of positions, as if each stayed away by itself, is far off for triangles."""
    world = TINY["nothing public"]

    def twin(reports: PositionCollection) -> Parts:
        found = estimate_all(reports, ("triangles",))["triangles"]
        return Parts(float(found.value), 0.0, 0.0, np.zeros(4), 0.0)

    chosen = list(combinations(world.asked.tolist(), 2))
    value = np.mean([moments(world, users, twin)[0] for users in chosen])
    assert abs(value - exact(world.graph, "triangles")) > 0.1


@pytest.mark.long
@pytest.mark.parametrize("rounds", [1, 2])
def test_with_everybody_present_the_estimates_are_those_of_position(rounds: int) -> None:
    world = RowWorld(LARGER.graph, MIXED, 2, rounds)
    collection = world.collection(world.drawn(np.random.default_rng(1)), world.asked)
    there, here = estimate_all(collection, EVERYTHING), nonresponse.estimate(collection, EVERYTHING)
    for name, one in there.items():
        np.testing.assert_equal(here[name].as_dict(), one.as_dict())
    for statistic in STATISTICS:
        parts = nonresponse.parts_of(reported_rows(collection), statistic)[0]
        assert parts.value == pytest.approx(there[statistic].value, rel=1e-9)
        assert max(parts.noise, parts.floor) == pytest.approx(there[statistic].variance, rel=1e-6)


@pytest.mark.parametrize(
    ("statistic", "why"),
    [
        ("max_degree", "one of them may have the most"),
        ("degrees", "known to nobody"),
        ("tail:3", "known to nobody"),
        ("degree_histogram", "how sure the others' histogram would be"),
    ],
)
def test_what_rows_cannot_tell_is_refused_when_somebody_is_absent(statistic: str, why: str) -> None:
    collection = LARGER.collection(LARGER.drawn(np.random.default_rng(1)), LARGER.asked[1:])
    with pytest.raises(BadStatistic, match=rf"absent: .*{why}.*Ask for edges, stars:K, triangles, four_cycles or"):
        nonresponse.estimate(collection, [statistic])


def test_too_few_answers_are_refused() -> None:
    outcomes = LARGER.drawn(np.random.default_rng(1))
    with pytest.raises(BadStatistic, match=r"Only 1 of .* at least 2 are needed"):
        nonresponse.estimate(LARGER.collection(outcomes, LARGER.asked[:1]), ["triangles"])
    assert nonresponse.estimate(LARGER.collection(outcomes, LARGER.asked[:1]), ["edges"])["edges"].variance == np.inf


def test_who_answered_the_first_round_only_is_absent() -> None:
    world = RowWorld(LARGER.graph, MIXED, 2, rounds=2)
    outcomes, present = world.drawn(np.random.default_rng(1)), world.asked[10:]
    alone = world.collection(outcomes, present)
    half = world.collection(outcomes, present, until_second=world.asked[:10])
    assert np.array_equal(reported_rows(half).users, present)
    for name, found in nonresponse.estimate(half, STATISTICS).items():
        assert found.as_dict() == nonresponse.estimate(alone, [name])[name].as_dict()


def test_a_row_in_part_is_refused() -> None:
    world, outcomes = LARGER, LARGER.drawn(np.random.default_rng(1))
    answered = np.isin(world.holder, world.asked) & (world.classes != 0)
    answered[world.hidden[3]] = False
    collection = PositionCollection(world.survey, world.view)
    ones = answered & (outcomes > 0)
    collection.absorb(PositionReport(world.survey.identity, 1, 0, outcomes.size, pack(answered), pack(ones)))
    with pytest.raises(ProtocolViolation, match="part of its row"):
        nonresponse.estimate(collection, ["edges"])


@pytest.mark.parametrize("case", TINY)
def test_cells_by_group_over_all_answers_and_absences_are_the_truth(case: str) -> None:
    """A weighted sum of cells: no bias, and the noise and the pulls' noise are theirs.  [MIXING.8]"""
    world, weights = TINY[case], np.array([[1.0, -2.0], [0.0, 0.5]])
    groups = Groups("number", ("a", "b"), np.arange(world.graph.n) % 3 % 2)
    true = mixing_matrix(groups.members, 2, world.graph.edges)

    def found(reports: PositionCollection) -> Parts:
        return nonresponse.RowCells.of(reported_rows(reports), groups).parts(weights)

    for heard in range(1, world.asked.size + 1):
        each = [moments(world, users, found) for users in combinations(world.asked.tolist(), heard)]
        value, variance, noise, pull_variance, pull_noise = np.mean(each, axis=0)
        assert value == pytest.approx(float((weights * true).sum()), abs=1e-9)
        assert noise == pytest.approx(variance, rel=1e-9, abs=1e-9)
        assert pull_noise == pytest.approx(pull_variance, rel=1e-9, abs=1e-9)
