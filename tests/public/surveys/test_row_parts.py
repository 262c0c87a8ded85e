"""Surveys of parts: groups by a public coin, prices, and sizes.  [PARTS.0-3]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.row_parts import (
    MOST_GROUPS,
    PartRule,
    PartSurvey,
    cycle_part_survey,
    fewest_groups,
    groups_for,
    groups_for_download,
    groups_for_share,
    parse_size,
    part_share,
    part_size,
    part_survey,
    part_words,
)
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

VIEW = VisibilityAwareGraph(erdos_renyi(400, 4000, seed=1), VisibilityPolicy.nothing()).public


def survey(groups: int = 20, coin: str = "") -> PartSurvey:
    return part_survey(VIEW, 1, groups, coin)


def test_all_of_epsilon_is_spent_and_no_more() -> None:
    one = survey()
    assert one.epsilon == 1
    assert one.first.epsilon + one.reach + one.total == 1
    for kind in NON_PUBLIC:
        paid = sum((price.epsilon for price in (one.price(kind, 1), one.price(kind, 2))), Fraction(0))
        assert paid == VIEW.policy.multiplier(kind)


def test_groups_are_even_and_independent_between_parts_and_hang_on_the_survey() -> None:
    one, users = survey(), np.arange(100_000)
    first, second = (one.group_of(np.full(users.shape, part), users) for part in (0, 1))
    # 20 groups of 5,000: no size is off by more than six standard deviations of 69 (chance of a false alarm 1e-7).
    for groups in (first, second):
        assert np.abs(np.bincount(groups, minlength=20) - 5000).max() < 414
    assert abs((first == second).mean() - 0.05) < 6 * (0.05 * 0.95 / users.size) ** 0.5
    again = survey(coin="another").group_of(np.zeros(users.size, np.int64), users)
    assert abs((first == again).mean() - 0.05) < 6 * (0.05 * 0.95 / users.size) ** 0.5
    assert (first == survey().group_of(np.zeros(users.size, np.int64), users)).all()
    parts = one.part_of(users)
    assert np.abs(np.bincount(parts, minlength=20) - 5000).max() < 414


def test_what_decides_the_coin_is_in_the_identity() -> None:
    one = survey()
    assert len({each.identity for each in (one, survey(coin="x"), survey(21), replace(one, parts=19))}) == 4
    assert one.first.identity == survey(21).first.identity  # several surveys may share their first answers


@pytest.mark.parametrize(
    ("text", "octets"), [("10MB", 10**7), ("500 kB", 500_000), ("2000", 2000), ("1.5GB", 15 * 10**8)]
)
def test_sizes_are_read(text: str, octets: int) -> None:
    assert parse_size(text) == octets


@pytest.mark.parametrize("text", ["", "ten", "10XB", "0", "-1MB", "10 MB MB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(BadPrivacyParameter):
        parse_size(text)


def test_downloads_and_shares_become_groups() -> None:
    assert groups_for_share("0.01") == 100
    assert groups_for_share("1") == 1
    groups = groups_for_download(10**7, 216_665)
    assert 0.97e7 < part_size(216_665, groups) <= 1e7
    with pytest.raises(BadPrivacyParameter, match="allow more"):
        groups_for_download(10, 400)
    with pytest.raises(BadPrivacyParameter, match="above 0 and at most 1"):
        groups_for_share(2)


def test_who_may_download_everything_does() -> None:
    whole = 2 * ((VIEW.positions + 7) // 8)
    assert groups_for(VIEW, 1) is groups_for(VIEW, 1, 1) is groups_for(VIEW, 1, download=str(whole)) is None
    assert groups_for(VIEW, 1, "1/30") == 30
    assert groups_for(VIEW, 1, download=str(whole - 1)) == fewest_groups(VIEW, 1)
    assert groups_for(VIEW, 1, download="500") == groups_for_download(500, 400)


@pytest.mark.parametrize(
    ("nodes", "groups", "words"),
    [(400, 20, "1/20 of the first answers, about 1 kB"), (216_665, 298, "about 10 MB"), (216_665, 3, "about 1.0 GB")],
)
def test_a_download_is_said_in_words(nodes: int, groups: int, words: str) -> None:
    said = part_words(nodes, groups)
    assert words in said
    assert said.endswith(", that a public coin chose")


def test_a_rule_comes_back_and_another_is_refused() -> None:
    rule = PartRule(20, "5e" * 32)
    assert PartRule.of(rule.content) == rule
    wrong = [
        {"groups": 4}, {"groups": MOST_GROUPS + 1}, {"groups": "20"}, {"groups": True}, {"coin": "5E" * 32},
        {"coin": "5e"}, {"coin": 7}, {"more": 1},
    ]  # fmt: skip
    for each in ({**rule.content, **change} for change in wrong):
        with pytest.raises(ProtocolViolation, match=r"parts|Parts"):
            PartRule.of(each)
    for other in ({"groups": 20}, [], None):
        with pytest.raises(ProtocolViolation, match="a coin and a number of groups"):
            PartRule.of(other)
    with pytest.raises(ProtocolViolation, match="5 to 1,048,576 groups"):
        PartRule(MOST_GROUPS + 1, rule.coin)


def test_too_large_a_share_is_refused_with_the_largest_one() -> None:
    assert fewest_groups(VIEW, 1) == 15
    assert part_survey(VIEW, 1, 15).groups == 15
    with pytest.raises(BadPrivacyParameter, match="at most 1/15"):
        part_survey(VIEW, 1, 14)


def test_what_no_theorem_is_about_is_refused() -> None:
    with pytest.raises(BadPrivacyParameter, match="triangles alone"):
        replace(survey(), statistic="four_cycles")
    with pytest.raises(BadPrivacyParameter, match="at least 5 groups"):
        replace(survey(), groups=4)
    with pytest.raises(BadPrivacyParameter):
        replace(survey(), total=Fraction(1, 10))  # β = 2s would be all of it: noise without a variance


def test_friend_visible_edges_cost_their_multiplier() -> None:
    one = survey()
    assert one.second_price(Visibility.FRIEND_VISIBLE) == 2 * one.second_price(Visibility.PRIVATE)


def test_for_4_cycles_a_part_is_all_answers_about_one_group() -> None:
    asked = cycle_part_survey(VIEW, 1, 10, "coin")
    assert (asked.statistic, asked.groups, asked.parts, asked.total) == ("four_cycles", 10, 10, asked.total)
    members = [asked.members(part) for part in range(10)]
    assert sorted(np.concatenate(members).tolist()) == list(range(400))
    u, v = np.triu_indices(400, 1)
    shares = [float((np.isin(u, each) | np.isin(v, each)).mean()) for each in members]
    assert np.mean(shares) == pytest.approx(float(part_share(10, "four_cycles")), rel=0.01)
    assert asked.identity != cycle_part_survey(VIEW, 1, 10, "another").identity != survey(20).identity
    with pytest.raises(BadPrivacyParameter, match="four_cycles alone"):
        replace(asked, statistic="triangles")
    with pytest.raises(BadPrivacyParameter, match="at least 2 groups"):
        replace(asked, groups=1, parts=1)


def test_shares_and_downloads_of_4_cycles_are_those_of_all_about_a_group() -> None:
    for share, groups in (("0.75", 2), ("0.9", 2), ("0.5", 4), ("0.1", 20), ("1", 1)):
        assert groups_for_share(share, "four_cycles") == groups
        assert groups == 1 or part_share(groups, "four_cycles") <= Fraction(share) < part_share(
            groups - 1, "four_cycles"
        )
    groups = groups_for_download(10**7, 40_000, "four_cycles")
    assert 0.97e7 < part_size(40_000, groups, "four_cycles") <= 1e7
    assert groups_for(VIEW, 1, download="500", statistic="four_cycles") == groups_for_download(500, 400, "four_cycles")
    assert groups_for(VIEW, 1, 1, statistic="four_cycles") is None
    assert part_words(4039, 20, "four_cycles").startswith("9.75 % of the first answers, about 100 kB")
