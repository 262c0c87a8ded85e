"""Comparisons made of a few rows, and the files that a report of one consists of."""

from __future__ import annotations

from collections.abc import Sequence

from visibility_aware_edge_ldp.evaluation.results import Comparison, Evaluation, TrialRow

NUMBERS = ["results.json", "results.csv"]
ALWAYS = ["report.html", *(f"{name}.{kind}" for name in ("error", "gain", "statistics") for kind in ("svg", "png"))]
FILES = [*NUMBERS, *ALWAYS, "degrees.svg", "degrees.png"]
COMMAND = "va-edge-ldp compare 'a <b>bold</b> & \"quoted\" graph' --trials 3"


def row(error: float, uncertainty: float = 0.01, epsilon: float = 1.0, truth: float = 10.0) -> TrialRow:
    """One statistic at one epsilon, with these errors."""
    return TrialRow(epsilon, "edges", truth, 10.5, 1.0, error, uncertainty, 0.95, 3, 0.1)


def made_of(aware: Sequence[TrialRow], uniform: Sequence[TrialRow]) -> Comparison:
    """A comparison of five nodes with these rows."""
    sizes = {"PUBLIC": 4, "FRIEND_VISIBLE": 0, "PRIVATE": 6}
    return Comparison("g.txt", 5, 3, "a policy", sizes, (), 1, 3, Evaluation(aware), Evaluation(uniform))


SMALL = made_of([row(0.1), row(0.05, epsilon=2.0)], [row(0.2), row(0.1, epsilon=2.0)])
