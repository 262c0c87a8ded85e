"""Whose rows were reported, and what a subgraph that needs some of them weighs.  [HOLDERS.1]"""

from __future__ import annotations

import numpy as np
import pytest

from support.row_worlds import RowWorld
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import ReportedRows, reported_rows
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

LARGER = RowWorld(powerlaw(70, 500, seed=2), VisibilityPolicy("0.4", "0.2", "0.4"), 2)


def test_weights_are_one_over_the_chance_that_all_holders_were_heard() -> None:
    rows = reported_rows(LARGER.collection(LARGER.drawn(np.random.default_rng(1)), LARGER.asked[:20]))
    asked = rows.asked
    expected = [1, asked / 20, asked / 20 * (asked - 1) / 19, asked / 20 * (asked - 1) / 19 * (asked - 2) / 18]
    assert rows.weights(3) == pytest.approx(expected)
    nobody = ReportedRows(rows.scores, rows.public, 0, np.zeros(0, np.int64))
    assert nobody.weights(2).tolist() == [1, 0, 0]
    assert nobody.response_rate == 1
