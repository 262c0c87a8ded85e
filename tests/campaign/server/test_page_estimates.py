"""The pictures of estimates: scales and histograms."""

from __future__ import annotations

import numpy as np

from support.campaign_onlooker import Read
from visibility_aware_edge_ldp.campaign.server.page_estimates import _histogram, ticks


def test_ticks_are_round_few_and_inside() -> None:
    coins = np.random.default_rng(3)
    for low, size in zip(coins.normal(0, 1e4, 200), 10 ** coins.uniform(-6, 9, 200), strict=True):
        found = ticks(low, low + size)
        assert 1 <= len(found) <= 5
        slack = 1e-9 * max(abs(low), size)
        assert all(low - slack <= each <= low + size + slack for each in found)
        assert found == sorted(set(found))


def test_histograms_of_ranges_and_of_single_degrees() -> None:
    ends = [[0.0, 2.0, None], [1.0, 9.0, 3.0]]
    single = {"value": [0.5, 4.0, 0.0], "interval": ends, "labels": [0, 1, 2]}
    for labels, last in (([0, 1, 2], "2"), ([[0, 2], [3, 3], [4, 6]], "4–6")):
        seen = Read(_histogram(single | {"labels": labels}).encode())
        assert len(seen.all("rect")) == 3
        assert last in seen.words
