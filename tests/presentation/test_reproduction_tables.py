"""Tables as text: claims as printed, measured figures with the digits that they are worth."""

from __future__ import annotations

import math

import pytest

from visibility_aware_edge_ldp.evaluation.reproduction_measurement import (
    CLAIMED,
    HONEST,
    OURS,
    Figure,
    Reproduction,
    Row,
    Table,
)
from visibility_aware_edge_ldp.presentation import reproduction_tables as tables


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.244, "24.4 %"),
        (0.00036, "0.036 %"),
        (183.0, "18,300 %"),
        (0.0024, "0.24 %"),
        (math.nan, "-"),
        (-0.5, "-50.0 %"),
    ],
)
def test_percent(value: float, text: str) -> None:
    assert tables.percent(value) == text


def test_claims_are_shown_as_printed() -> None:
    row = Row(1.0, 2.0, "stars:4", {CLAIMED: Figure(0.0175), OURS: Figure(0.0035)})
    shown = tables.shown(Table("t", (CLAIMED, HONEST, OURS), (row,)))
    assert shown.head == ("what", "ε there", "loss here", CLAIMED, HONEST, OURS, "claimed / ours")
    assert shown.rows == (("stars:4", "1", "2", "1.75 %", "-", "0.35 %", "5.0×"),)


def test_few_trials_show_what_their_standard_errors_mean() -> None:
    few, enough, biased = (Figure(0.3, 0.1, 2, 0.1), Figure(0.3, 0.1, 5, 0.1), Figure(0.3, 0.1, 2))
    assert few.shown == pytest.approx(0.0798, abs=1e-4)
    assert (enough.shown, biased.shown, Figure(0.3).shown) == (0.3, 0.3, 0.3)
    assert Figure(0.3, 0.1, 2, 0.1, unbiased=False).shown == 0.3
    row = Row(1.0, 1.0, "edges", {CLAIMED: Figure(0.3), HONEST: biased, OURS: few})
    table = Table("t", (CLAIMED, HONEST, OURS), (row,))
    assert tables.shown(table).rows == (("edges", "1", "30 %", "30.0 %", "≈ 8.0 %", "3.8×"),)
    told = tables.trials_of(Reproduction("003", "", "", "", (table,), ()))
    assert told.startswith(f"Trials: {HONEST} 2; {OURS} 2. ≈")
