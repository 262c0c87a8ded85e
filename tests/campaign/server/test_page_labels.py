"""What the page is made of: numbers and times in words, pictures, and HTML that is safe."""

from __future__ import annotations

from fractions import Fraction

import pytest

from support.campaign_onlooker import DAY
from visibility_aware_edge_ldp.campaign.server import page_labels as words
from visibility_aware_edge_ldp.campaign.server.page_labels import tag, together


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


def test_markup_escapes_what_was_not_made_by_it() -> None:
    assert tag("p", '<b>"', tag("i", "&"), None, [1, ["2"]], title='"<') == (
        '<p title="&quot;&lt;">&lt;b&gt;&quot;<i>&amp;</i>12</p>'
    )
    assert tag("p", class_="a", aria_label="b", id=None) == '<p class="a" aria-label="b"></p>'
    assert together("<", tag("br")) == "&lt;<br></br>"
