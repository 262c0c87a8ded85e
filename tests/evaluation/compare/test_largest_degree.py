"""The largest degree beside the largest noisy degree: its law is right, and errors are known from few trials."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.evaluation.compare import largest_degree
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare, degree_design
from visibility_aware_edge_ldp.evaluation.compare.design import Cell, Design, designed
from visibility_aware_edge_ldp.evaluation.compare.largest_degree import known_means, noise_of
from visibility_aware_edge_ldp.evaluation.compare.runner import run_cell
from visibility_aware_edge_ldp.evaluation.expected_errors import TRIALS, TRIALS_AND_LAW
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import MAX_DEGREE
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(150, 1200, 3)
TWO_CLASSES = VisibilityPolicy("0.2", "0.3", "0.5")
LARGEST = MAX_DEGREE.name


def asked(policy: VisibilityPolicy = TWO_CLASSES, graph: Graph = GRAPH, **changes: Any) -> Design:
    given = {"epsilons": (1,), "trials": 6, "statistics": (LARGEST,), "trust": ("position", "user"), "seed": 3}
    return designed(graph, policy, **{**given, **changes})


def by_enumeration(design: Design, policy: str, epsilon: Fraction, node: int) -> float:
    """E|noise| over every pattern of flips of one node's answers, one by one."""
    world = design.worlds[policy]
    around = [other for other in range(world.graph.n) if other != node]
    kinds = world.public.classes.of(np.full(len(around), node), np.array(around)).tolist()
    friends = {int(a + b - node) for a, b in world.graph.edges.astype(int).tolist() if node in (a, b)}
    loss = {
        kind: float(world.policy.multiplier(kind) * epsilon) for kind in (Visibility.FRIEND_VISIBLE, Visibility.PRIVATE)
    }
    hidden = [(loss[Visibility(kind)], other in friends) for kind, other in zip(kinds, around, strict=True) if kind]
    total = 0.0
    for flips in product((False, True), repeat=len(hidden)):
        chance, noise = 1.0, 0.0
        for (each, friend), flipped in zip(hidden, flips, strict=True):
            q = 1 / (1 + math.exp(each))
            chance *= q if flipped else 1 - q
            score = (int(friend != flipped) - q) / (1 - 2 * q)
            noise += score - int(friend)
        total += chance * abs(noise)
    return total


def mean_size(law: tuple[Any, Any]) -> float:
    values, chances = law
    assert chances.sum() == pytest.approx(1)
    assert (values * chances).sum() == pytest.approx(0, abs=1e-9 * (1 + np.abs(values).max()))
    return float((np.abs(values) * chances).sum())


@pytest.mark.parametrize("policy", [AWARE, UNIFORM])
@pytest.mark.parametrize("epsilon", ["0.3", "2"])
def test_the_noise_of_answers_has_the_law_of_every_pattern_of_flips(policy: str, epsilon: str) -> None:
    design = asked(graph=powerlaw(9, 16, 1))
    exact = by_enumeration(design, policy, Fraction(epsilon), 0)
    assert exact > 0
    assert mean_size(noise_of(design, "position", policy, Fraction(epsilon), 0)) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("policy", [AWARE, UNIFORM])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "8"])
def test_the_noise_of_a_reported_degree_has_the_law_of_one_or_two_laplace_draws(policy: str, epsilon: str) -> None:
    """E|X| = 1/sinh(rate); of two, E|X + Y| = E|Y| + tanh(y/2)·coth((x + y)/2)/sinh(x), x and y their rates."""
    loss, design = float(Fraction(epsilon)), asked()
    y, x = loss / 2, loss  # half of what an edge may lose by each of its two lists; twice that if friends see it
    exact = 1 / math.sinh(y)
    if policy == AWARE:
        exact += math.tanh(y / 2) / math.tanh((x + y) / 2) / math.sinh(x)
    found = mean_size(noise_of(design, "user", policy, Fraction(epsilon), int(np.argmax(GRAPH.degrees))))
    assert found == pytest.approx(exact, rel=1e-3)


def noisy_largest(design: Design, trust: str, policy: str, epsilon: Fraction, runs: int) -> tuple[bytes, np.ndarray]:
    world, off = design.worlds[policy], []
    for seed in range(runs):
        degrees = estimate(world, trust, epsilon, ["degrees"], seed=seed)["degrees"]
        off.append(float(np.max(degrees.value)) - float(design.truths[LARGEST]))
    return np.asarray(degrees.variance, dtype=np.float32).tobytes(), np.array(off)


@pytest.mark.parametrize("trust", ["position", "user"])
@pytest.mark.parametrize("policy", [AWARE, UNIFORM])
def test_the_largest_noisy_degree_has_the_known_means(trust: str, policy: str) -> None:
    design, epsilon = asked(), Fraction(1)
    variances, off = noisy_largest(design, trust, policy, epsilon, 300)
    size, side = known_means(design, trust, policy, epsilon, variances)
    assert size == pytest.approx(np.abs(off).mean(), abs=4 * np.abs(off).std() / math.sqrt(300))
    assert side == pytest.approx(np.sign(off).mean(), abs=4 * math.sqrt((1 - side**2) / 300))


def test_without_rivals_the_means_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: as if nobody else could show the largest noisy degree."""
    design, epsilon = asked(), Fraction(1)
    variances, off = noisy_largest(design, "position", UNIFORM, epsilon, 300)
    monkeypatch.setattr(largest_degree, "_below", lambda places, variance, density: np.ones(places.size))
    known_means.cache_clear()
    _, side = known_means(design, "position", UNIFORM, epsilon, variances)
    known_means.cache_clear()
    assert abs(side - np.sign(off).mean()) > 4 * math.sqrt((1 - side**2) / 300)


@pytest.mark.long
@pytest.mark.parametrize("trust", ["position", "user"])
def test_errors_are_what_long_runs_show_and_sharper_than_their_mean(trust: str) -> None:
    """The law tells R² = 0.65 of how positions' errors vary, and nearly all of users'.

    So figures from groups of g runs vary √((1 − R²)(g − 2)/(g − 4)) as much as their means if normal: 0.62 for 24.
    Measured are 0.67, and 0.74 for 12, where a group has too few of the smaller of two sides.
    """
    runs, design = 240, asked(trials=240, trust=trust, epsilons=(2,))
    cells = [Cell(trust, UNIFORM, Fraction(2), trial) for trial in range(runs)]
    found = [run_cell(design, cell).found[LARGEST] for cell in cells]
    errors = np.array([one.error for one in found])
    order = [np.random.default_rng(seed).permutation(runs) for seed in range(12)]
    groups = [each[start : start + 24] for each in order for start in range(0, runs, 24)]
    few = [largest_degree_figure([found[one] for one in group]) for group in groups]
    assert np.mean(few) == pytest.approx(errors.mean(), abs=4 * errors.std() / math.sqrt(runs))
    assert np.std(few) < 0.7 * np.std([errors[group].mean() for group in groups])


def largest_degree_figure(found: list[Any]) -> float:
    from visibility_aware_edge_ldp.evaluation.expected_errors import expected_error

    figure = expected_error(found, float(max(GRAPH.degrees)))
    assert figure.basis == TRIALS_AND_LAW
    return figure.error


@pytest.mark.parametrize("options", [{"rounds": 2}, {"dropout": 0.1}])
def test_where_the_law_is_another_errors_alone_are_taken(options: dict[str, Any]) -> None:
    found = compare(GRAPH, TWO_CLASSES, (1,), 6, (LARGEST, "edges"), trust="position", seed=1, **options)
    assert found.aware.row(1, LARGEST).figure.basis == TRIALS


@pytest.mark.long
def test_degrees_alone_are_asked_for_more_often_at_what_they_cost() -> None:
    wanted = (LARGEST, "triangles")
    design = asked(statistics=wanted, trials=6, most_trials=12)
    few = compare(GRAPH, TWO_CLASSES, (1,), 6, wanted, trust=("position", "user"), seed=3)
    changes, places = degree_design(design, few)
    assert set(changes["questions"].values()) == {(LARGEST,)}
    assert {(cell.trust, cell.epsilon) for cell in places} == {("position", Fraction(1)), ("user", Fraction(1, 4))}
    assert all(place.trial >= design.most and place.epsilon == 1 for place in places.values())
    more = compare(GRAPH, TWO_CLASSES, (1,), 6, wanted, trust=("position", "user"), seed=3, most_trials=12)
    assert more.aware.row(1, LARGEST, "position").trials > 12 >= more.aware.row(1, "triangles", "position").trials


def test_no_more_is_run_than_was_allowed() -> None:
    few = compare(GRAPH, TWO_CLASSES, (1,), 6, (LARGEST,), seed=3)
    assert {row.trials for row in few.aware} == {6}
