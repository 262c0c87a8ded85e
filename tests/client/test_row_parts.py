"""A client that reads one part: bounds that hold for every friend more or less, and what is refused.  [PARTS.0-3]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.row_parts import CycleParts, FirstPart, list_pairs, noise_bounds
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.compute.list_groups import pairs_in_groups, short_weights
from visibility_aware_edge_ldp.counts.row_cycles import EVERYBODY
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.row_parts import PartSurvey, cycle_part_survey, part_survey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.transcript_parts import AllAnswers, cut_part, read_part
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.worlds import cut_lists
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(80, 632, seed=3), VisibilityPolicy.nothing())
VIEW = WORLD.public
SURVEY = part_survey(VIEW, 1, 15)


def first_answers() -> AllAnswers:
    octets = (VIEW.positions + 7) // 8
    everybody = np.full(octets, 255, np.uint8)
    said = np.random.default_rng(4).integers(0, 256, octets).astype(np.uint8)
    return AllAnswers(Transcript(SURVEY.first.identity, everybody, said), VIEW)


def measured(survey: PartSurvey, groups: np.ndarray, scores: np.ndarray, friends: list[int], short: bool) -> tuple:
    """A list's sum and its bound, by the client's own functions; M is 1."""
    lengths = np.array([len(friends)])
    pairs = pairs_in_groups(np.array([0, len(friends)]), np.array(friends, np.int32), groups[friends])
    used = (pairs.load == 2) | (not short)
    total = np.array([scores[pairs.u[used], pairs.v[used]].sum()])
    weight = float(short_weights(lengths, survey.groups, survey.last_weight)[0]) if short else survey.groups
    bound = noise_bounds(survey, 1.0, np.array([short]), lengths, total, pairs.loads)
    return float(total[0]) * weight, float(bound[0])


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("groups", [15, 100])
def test_bounds_hold_and_move_no_faster_than_the_noise_allows(groups: int, short: bool) -> None:
    survey, rng = part_survey(VIEW, 1, groups), np.random.default_rng(groups)
    beta, near = float((survey.pair_noise if short else survey.total_noise).beta), 0.0
    for _ in range(60):
        members = rng.integers(0, rng.integers(1, 9), 30)  # few groups, so that friends meet
        scores = rng.choice([-1.0, 1.0, 1.0], (30, 30))
        friends = np.flatnonzero(rng.random(30) < rng.random()).tolist()
        one, bound = measured(survey, members, scores, friends, short)
        for x in set(range(30)) - set(friends):
            other, bound_too = measured(survey, members, scores, sorted([*friends, x]), short)
            assert abs(one - other) <= min(bound, bound_too) * (1 + 1e-9)
            assert abs(np.log(bound_too / bound)) <= beta
            near = max(near, abs(one - other) / min(bound, bound_too))
    assert near > (0.75 if short else 0.6)  # a bound of half the size would not hold


def report(survey: PartSurvey, user: int, first: FirstPart, key: int = 0) -> object:
    view = list(cut_lists(WORLD.whole, 1))[user]
    client = TwoRoundClient(view, VIEW, Purse({kind: Fraction(2) for kind in NON_PUBLIC}))
    client.answer(survey, 1, keyed_random_bytes(bytes([key] * 32)))
    return client.total(survey, first, keyed_random_bytes(bytes([key + 1] * 32)))


def test_one_downloaded_part_is_enough() -> None:
    """The same report from a part's bytes as from all answers: nothing else is looked at."""
    whole = first_answers()
    for user in (0, 7, 33):
        number = int(SURVEY.part_of(np.array([user]))[0])
        part = read_part(SURVEY, number, cut_part(SURVEY, number, whole).encode(), whole.digest)
        one, other = (report(SURVEY, user, FirstPart(SURVEY, VIEW, each)) for each in (part, whole))
        assert one == other


def test_short_and_long_lists_count_other_pairs() -> None:
    whole, view = first_answers(), next(iter(cut_lists(WORLD.whole, 80)))
    client = TwoRoundClient(view, VIEW, Purse({kind: Fraction(2) for kind in NON_PUBLIC}))
    pairs, first = client.pairs(SURVEY), FirstPart(SURVEY, VIEW, whole)
    assert (pairs.load > 2).any()
    everybody, alone = (first.sums(80, pairs, used) for used in (pairs.load > 0, pairs.load == 2))
    assert (everybody != alone).any()
    assert (pairs.u < pairs.v).all()
    assert list_pairs(SURVEY, 0, client._offsets, client._members).u.tolist() == pairs.u.tolist()


def test_round_two_needs_round_one_and_the_own_answers_in_the_part() -> None:
    view = next(iter(cut_lists(WORLD.whole, 1)))
    client = TwoRoundClient(view, VIEW, Purse({kind: Fraction(2) for kind in NON_PUBLIC}))
    first = FirstPart(SURVEY, VIEW, first_answers())
    with pytest.raises(ProtocolViolation, match="before round 1"):
        client.total(SURVEY, first, bytes)
    client.answer(SURVEY, 1, keyed_random_bytes(bytes(32)))
    nobody = AllAnswers(Transcript(SURVEY.first.identity, *np.zeros((2, (VIEW.positions + 7) // 8), np.uint8)), VIEW)
    with pytest.raises(ProtocolViolation, match="own first answers"):
        client.total(SURVEY, FirstPart(SURVEY, VIEW, nobody), bytes)


def test_what_was_forgotten_is_not_drawn_anew() -> None:
    client = TwoRoundClient(
        FriendLists(0, np.array([0, 2]), np.array([1, 2], np.int32)), VIEW, Purse({k: Fraction(2) for k in NON_PUBLIC})
    )
    client.answer(SURVEY, 1, keyed_random_bytes(bytes(32)))
    client.forget_rows()
    with pytest.raises(ProtocolViolation, match="not kept"):
        client.answer(SURVEY, 1, keyed_random_bytes(bytes(32)))
    with pytest.raises(ProtocolViolation, match="not kept"):  # another survey with the same first round
        client.answer(part_survey(VIEW, 1, 16), 1, keyed_random_bytes(bytes(32)))
    sent = client.total(SURVEY, FirstPart(SURVEY, VIEW, first_answers()), keyed_random_bytes(bytes(32)))
    assert sent.answered.all()


def test_a_purse_that_holds_too_little_is_not_opened() -> None:
    client = TwoRoundClient(
        FriendLists(0, np.array([0, 0]), np.empty(0, np.int32)), VIEW, Purse({k: Fraction(1, 2) for k in NON_PUBLIC})
    )
    with pytest.raises(Refused):
        client.answer(SURVEY, 1, bytes)


def test_scores_that_doubles_cannot_hold_are_refused_before_payment() -> None:
    tiny = replace(SURVEY, first=replace(SURVEY.first, epsilon=Fraction(1, 10**12)))
    with pytest.raises(ProtocolViolation, match="too large to be summed exactly"):
        FirstPart(tiny, VIEW, first_answers()).refuse_what_doubles_cannot_hold()


CYCLES = cycle_part_survey(VIEW, 2, 4, "coin")


def cycle_report(user: int, transcript: Transcript) -> tuple[list[int], list[int]]:
    view = list(cut_lists(WORLD.whole, 1))[user]
    client = TwoRoundClient(view, VIEW, Purse({kind: Fraction(4) for kind in NON_PUBLIC}))
    client.answer(CYCLES, 1, keyed_random_bytes(bytes(32)))
    sent = client.total(CYCLES, FirstRound(CYCLES, VIEW, transcript), keyed_random_bytes(bytes([1] * 32)))
    return sent.reaches.tolist(), sent.totals.tolist()


def test_of_4_cycles_answers_that_are_not_in_the_part_do_not_matter() -> None:
    """A part holds all answers about the users of one group, and no other is looked at.  [PARTS.9]"""
    said = first_answers().transcript
    u, v = np.triu_indices(VIEW.n, 1)
    mattered = False
    for user in (0, 7, 33):
        group = int(CYCLES.part_of(np.array([user]))[0])
        inside = np.isin(u, CYCLES.members(group)) | np.isin(v, CYCLES.members(group))
        assert 0.2 < inside.mean() < 0.7
        kept = np.frombuffer(np.packbits(inside, bitorder="little").tobytes(), np.uint8)
        without, lost = (Transcript(CYCLES.first.identity, said.answered, said.ones & part) for part in (kept, ~kept))
        assert cycle_report(user, without) == cycle_report(
            user, Transcript(CYCLES.first.identity, said.answered, said.ones)
        )
        mattered |= cycle_report(user, lost) != cycle_report(user, without)
    assert mattered


def test_of_4_cycles_one_friend_more_moves_the_sum_by_its_pull_and_pulls_by_m_at_most() -> None:
    """[PARTS.9]"""
    scores = FirstRound(
        CYCLES,
        VIEW,
        Transcript(CYCLES.first.identity, first_answers().transcript.answered, first_answers().transcript.ones),
    ).scores
    parts, masks = CycleParts(CYCLES, scores, EVERYBODY), np.full((1, 1, 2), ~np.uint64(0))
    rng = np.random.default_rng(5)
    for _ in range(20):
        friends = np.sort(rng.choice(np.arange(1, VIEW.n), 12, replace=False)).astype(np.int32)
        added, fewer = friends[4], np.delete(friends, 4)
        (more, sums, most), (less, sum_less, _) = (
            parts.pulls(masks, 0, np.array([0, each.size]), each) for each in (friends, fewer)
        )
        assert abs(more[0, 0] - less[0, 0]) <= most[0] * (1 + 1e-9)
        paths, largest = parts.paths(int(CYCLES.part_of(np.array([0]))[0]))
        assert largest == most[0] <= parts.largest
        pull = float(paths[added, fewer].astype(float).sum())
        inside = int(CYCLES.group_of_all[0]) == int(CYCLES.part_of(np.array([0]))[0])
        assert inside or sums[0] - sum_less[0] == pytest.approx(pull, rel=1e-5, abs=1e-3)


def test_of_4_cycles_sums_that_doubles_cannot_hold_are_refused_before_payment() -> None:
    tiny = replace(CYCLES, first=replace(CYCLES.first, epsilon=Fraction(1, 10**9)))
    said = first_answers().transcript
    with pytest.raises(ProtocolViolation, match="too large to be summed exactly"):
        FirstRound(
            tiny, VIEW, Transcript(tiny.first.identity, said.answered, said.ones)
        ).refuse_what_doubles_cannot_hold()
