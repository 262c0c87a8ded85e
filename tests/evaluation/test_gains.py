"""What visibility buys: verdicts, words, and the epsilon that reaches a target."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from visibility_aware_edge_ldp.evaluation import gains
from visibility_aware_edge_ldp.evaluation.expected_errors import STANDARD_ERROR, Expected
from visibility_aware_edge_ldp.evaluation.gains import Gain
from visibility_aware_edge_ldp.evaluation.results import TrialRow


def row(error: float, uncertainty: float = 0.01, epsilon: float = 1.0, trust: str = "position") -> TrialRow:
    return TrialRow(epsilon, "triangles", 10.0, 10.5, 1.0, error, uncertainty, 0.95, 3, 0.1, trust)


@pytest.mark.parametrize(
    ("aware", "uniform", "verdict", "words"),
    [
        (0.1, 0.2, "better", "2.00×"),
        (0.2, 0.1, "worse", "0.50×"),
        (0.19, 0.2, "unclear", "1.05× ± 0.076"),
        (0.0, 0.2, "exact", "exact"),
        (0.2, 0.0, "worse", "0×"),
        (0.0, 0.0, "same", "no difference (1.00×)"),
        (math.inf, math.inf, "unclear", "-"),
    ],
)
def test_every_gain_has_a_verdict_and_words(aware: float, uniform: float, verdict: str, words: str) -> None:
    gain = Gain(row(aware), row(uniform))
    assert (gain.verdict, gain.words) == (verdict, words)
    assert gain.as_dict()["verdict"] == verdict


@pytest.mark.parametrize(
    ("factor", "doubt", "verdict"),
    [(1.0, 0.0, "same"), (1.015, 1e-6, "same"), (1.05, 0.001, "better"), (1.04, 0.02, "same"), (1.04, 0.1, "unclear")],
)
def test_small_gains_are_no_difference_where_that_is_known(factor: float, doubt: float, verdict: str) -> None:
    uniform = replace(row(0.1), expected=Expected(0.1 * factor, 0.1 * factor * doubt, STANDARD_ERROR), trials=40)
    aware = replace(row(0.1), expected=Expected(0.1, 0.0, STANDARD_ERROR), trials=40)
    assert Gain(aware, uniform).verdict == verdict


def test_an_infinite_gain_is_never_unclear() -> None:
    exact = replace(row(0.0, math.nan), trials=1)
    assert Gain(exact, row(0.2, math.nan)).verdict == "exact"
    assert gains.helps([Gain(exact, row(0.2))]) == "Does visibility help? Yes, in 1 of 1 cells: 1 becomes exact."


@pytest.mark.parametrize(("trials", "exact"), [(3, 2.776), (5, 2.306), (10, 2.101), (1000, 1.961)])
def test_the_bound_is_students(trials: int, exact: float) -> None:
    assert gains.bound(trials) == pytest.approx(exact, rel=0.02)


def test_the_verdict_is_swapped_with_the_policies() -> None:
    swapped = {"better": "worse", "worse": "better", "unclear": "unclear", "same": "same"}
    pairs = [(row(a / 50), row(b / 50)) for a in range(1, 12) for b in range(1, 12)]
    assert all(Gain(a, u).verdict == swapped[Gain(u, a).verdict] for a, u in pairs)


def test_all_verdicts_are_told() -> None:
    every = [Gain(row(a), row(u)) for a, u in ((0.1, 0.2), (0.1, 0.4), (0.2, 0.1), (0.19, 0.2), (0.0, 0.2), (0.0, 0.0))]
    assert gains.helps(every) == (
        "Does visibility help? Yes, in 3 of 6 cells: 2 errors are 2.00× to 4.00× smaller (median 3.00×), 1 becomes "
        "exact. No difference in 1. Larger errors in 1. More trials are needed for 1."
    )
    assert gains.helps([Gain(row(0.0), row(0.0))]) == "Does visibility help? No. No difference in 1."


@pytest.mark.parametrize(
    ("errors", "needed"),
    [
        ((0.1, 0.025), 2**0.5),  # half-way between logarithms
        ((0.04, 0.01), -math.inf),
        ((0.4, 0.1), math.inf),
        ((0.1, 0.0), 2.0),
        ((math.inf, 0.01), 2.0),
        ((0.04, 0.06), math.inf),
    ],
)
def test_the_epsilon_that_reaches_a_target_is_interpolated(errors: tuple[float, float], needed: float) -> None:
    assert gains.needed_epsilon(list(zip((1.0, 2.0), errors, strict=True)), 0.05) == pytest.approx(needed)


def test_each_trust_model_is_told_with_what_it_needs() -> None:
    aware = [row(0.1), row(0.025, epsilon=2.0), row(0.04, trust="user"), row(0.01, epsilon=2.0, trust="user")]
    uniform = [row(0.4), row(0.1, epsilon=2.0), row(0.1, trust="user"), row(0.025, epsilon=2.0, trust="user")]
    assert gains.reached_words(aware, uniform) == [
        "Triangles within 5%: POSITION at ε ≥ 1.5 (without visibility more than 2); USER at every ε from 1 on (without "
        "visibility 1.5)."
    ]
    assert gains.reached_words([], []) == []
    never = [replace(each, trust="curator") for each in uniform[:2]]
    assert gains.reached_words(uniform[:2] + never, uniform[:2] + never) == [
        "Triangles within 5%: POSITION and CURATOR not up to ε = 2."
    ]


def test_gains_between_errors_above_100_percent_are_called_noise() -> None:
    noisy, good = Gain(row(1.5), row(4.0)), Gain(row(0.1), row(0.4))
    assert gains.helps([noisy, good]).endswith("In 1 of these even the smaller error exceeds 100 %: nothing but noise.")
    assert "noise" not in gains.helps([good])
