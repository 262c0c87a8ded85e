"""What the page is made of: numbers and times in words, pictures, and HTML that is safe."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from support.campaign_onlooker import DAY, Read
from visibility_aware_edge_ldp.campaign.server.page import labels as words
from visibility_aware_edge_ldp.campaign.server.page.estimates import _histogram, ticks
from visibility_aware_edge_ldp.campaign.server.page.labels import tag, together


@pytest.mark.parametrize(
    ("epsilon", "loss", "odds"),
    [
        (Fraction(2), "2", "7.39"),
        (Fraction(10**9 + 1, 10**9), "1.000001", "2.72"),
        (Fraction(1, 3), "0.333334", "1.4"),
        (Fraction(0), "0", "1"),
        (Fraction(100), "100", "e^100"),
        (Fraction(10), "10", "22,100"),
    ],
)
def test_losses_are_never_rounded_down(epsilon: Fraction, loss: str, odds: str) -> None:
    assert words.loss(epsilon) == loss
    assert words.odds(epsilon) == odds


def test_times_in_words() -> None:
    said = [words.left(seconds) for seconds in (-5, 0, 59, 60, 3_725, 90_061, 10_000 * DAY)]
    over, brief = "the time is over", "less than a minute left"
    assert said == [
        over,
        over,
        brief,
        "1 minute left",
        "1 hour 2 minutes left",
        "1 day 1 hour left",
        "10,000 days left",
    ]
    assert "31 December 9999, 23:59 UTC" in words.date(253_402_300_799)


def test_numbers_in_words() -> None:
    assert [words.value(each) for each in (-66.0, -1.5, 949.21, 30_110.4, None, float("nan"))] == [
        "−66",
        "−1.5",
        "949.2",
        "30,110",
        "–",
        "–",
    ]
    assert [words.percent(each) for each in (0, 0.0023, 0.864, 1)] == ["0%", "0.23%", "86.4%", "100%"]


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


def test_markup_escapes_what_was_not_made_by_it() -> None:
    assert tag("p", '<b>"', tag("i", "&"), None, [1, ["2"]], title='"<') == (
        '<p title="&quot;&lt;">&lt;b&gt;&quot;<i>&amp;</i>12</p>'
    )
    assert tag("p", class_="a", aria_label="b", id=None) == '<p class="a" aria-label="b"></p>'
    assert together("<", tag("br")) == "&lt;<br></br>"
