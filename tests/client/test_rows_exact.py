"""The whole protocol of USER triangles, every transcript walked: no edge loses more than promised.  [TRIANGLE.1-2]

The machinery is the audit's own (``audit/protocols/rows.py``): the real clients answer, hear the transcript and
sum, and their two second noises are put back as the exact laws that the samplers follow (``test_power_noise.py`` and
``test_randomness_exact_sampling.py`` prove that of them).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise
from visibility_aware_edge_ldp.audit.engine.noise_laws import Noised, laplace_losses, power_losses
from visibility_aware_edge_ldp.audit.engine.small_worlds import Guard, Pattern, patterns
from visibility_aware_edge_ldp.audit.protocols.rows import (
    FOUR,
    OPEN,
    SPENDING,
    THREE,
    USUAL,
    exact_if_public,
    forgetful,
    scaled_by_own_degree,
    scaled_by_own_reach,
)
from visibility_aware_edge_ldp.audit.protocols.rows_stage import Friends, Split, Stage
from visibility_aware_edge_ldp.audit.protocols.rows_walk import (
    Numbers,
    Second,
    client,
    losses_of,
    second_report,
)
from visibility_aware_edge_ldp.client import rows as user_triangles
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


def claim(stage: Stage, kind: Visibility) -> float:
    """What an edge of this class may lose by both rounds."""
    return float(stage.agreed(kind))


def largest_losses(stage: Stage, second: Second = second_report) -> dict[Visibility, float]:
    """The largest loss for each class of what differs."""
    largest: dict[Visibility, float] = {}
    for kind, loss in losses_of(stage, second):
        largest[kind] = max(largest.get(kind, 0.0), loss)
    return largest


def check(stage: Stage) -> dict[Visibility, float]:
    """The losses as parts of the claim, none above 1."""
    losses = largest_losses(stage)
    assert losses.keys() == set(stage.pattern) - {PUBLIC}
    parts = {kind: loss / claim(stage, kind) for kind, loss in losses.items()}
    assert all(part <= 1 + 1e-12 for part in parts.values())
    return parts


@pytest.mark.long
@pytest.mark.parametrize("split", [SPENDING, USUAL], ids=["spending", "usual"])
def test_three_users_every_graph_every_pattern(split: Split) -> None:
    """With whoever answered in round 1, and with public positions that hold edges and that do not."""
    assert len(patterns(3)) == 27
    found = [check(Stage(pattern, 3, split, bit, dropout=True)) for pattern in patterns(3) for bit in (0, 1)]
    for kind in NON_PUBLIC:
        assert max(parts.get(kind, 0.0) for parts in found) > 0.5


@pytest.mark.parametrize("name", FOUR)
def test_four_users_every_graph(name: str) -> None:
    parts = check(Stage(FOUR[name], 4, SPENDING))
    assert parts[PRIVATE] > 0.7


def test_four_users_of_whom_any_may_stay_away() -> None:
    parts = check(Stage(FOUR["all private"], 4, USUAL, dropout=True))
    assert parts[PRIVATE] > 0.95, "the promise is not spent: the sums could be more accurate"


@pytest.mark.parametrize(
    "pattern",
    [(PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC, PUBLIC, PUBLIC), (PRIVATE, PRIVATE, PRIVATE, PUBLIC, PUBLIC, PRIVATE)],
    ids=["one row", "two rows"],
)
def test_the_same_client_sums_over_4_cycles(pattern: Pattern) -> None:
    """Its sum depends on its own first answers too, which are part of the transcript."""
    parts = check(Stage(pattern, 4, SPENDING._replace(fineness=3, statistic="four_cycles")))
    assert parts[PRIVATE] > 0.5


@pytest.mark.long
@pytest.mark.parametrize("guard", [("3", "1"), ("5/2", "1/2"), ("1", "1")], ids=" and ".join)
def test_policies_that_guard_otherwise(guard: Guard) -> None:
    parts = check(Stage(FOUR["two classes"], 4, SPENDING, guard=guard))
    assert parts[PRIVATE] > 0.7
    assert parts[FRIEND_VISIBLE] > 0.4


def caught(stage: Stage, second: Second, kind: Visibility = PRIVATE) -> float:
    """By how much the twin's loss exceeds the claim, which the real client keeps on the same stage."""
    check(stage)
    return largest_losses(stage, second)[kind] - claim(stage, kind)


def test_the_twin_that_scales_by_its_own_sensitivity_is_caught() -> None:
    """The largest pull of its own list, without smoothing: an empty list shows by the lack of noise."""
    assert caught(Stage(THREE, 3, SPENDING), scaled_by_own_reach) > 1


def test_the_twin_that_scales_by_its_own_degree_is_caught() -> None:
    """As in the source document: enough noise for its own sum, and a scale that tells how long the list is."""
    assert caught(Stage(THREE, 3, SPENDING._replace(share="1/12")), scaled_by_own_degree) > 1


def test_the_twin_in_which_a_public_user_answers_exactly_is_caught() -> None:
    """User 0 has a public profile and adds no noise, but part of its row is not public."""
    stage = Stage((FRIEND_VISIBLE, FRIEND_VISIBLE, PRIVATE), 3, SPENDING)
    assert caught(stage, exact_if_public, FRIEND_VISIBLE) == math.inf
    assert largest_losses(stage, exact_if_public)[PRIVATE] <= claim(stage, PRIVATE)


@pytest.mark.long
def test_the_twin_whose_reach_forgets_friend_visible_positions_is_caught() -> None:
    assert caught(Stage(OPEN, 4, SPENDING._replace(reach="1/20", total="4")), forgetful, FRIEND_VISIBLE) > 0.1


def test_the_twin_in_which_both_ends_answer_at_full_price_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every user answers for, and sums over, its whole list: each edge is in two reports of each round."""
    stage = Stage(THREE, 3, SPENDING)
    check(stage)
    # All positions are private, and a user before the first has no row whose classes could be asked.
    everywhere = np.array([1.0]), pack_rows(np.ones((1, stage.n), np.bool_), stage.n)[None]
    monkeypatch.setattr(user_triangles, "_weights", lambda *_: everywhere)

    def whole_list(user: int, friends: Friends, first: FirstRound) -> Numbers:
        users = client(stage, user, (), TwoRoundClient)
        users._offsets, users._members = np.array([0, len(friends)]), np.array(friends, np.int32)
        users._view = FriendLists(-1, users._offsets, users._members)  # everybody comes after it
        measured = users._measure(stage.survey, first)
        report = user_triangles._noised(stage.survey, first, user, np.array([True]), *measured, no_noise)
        return Numbers(int(report.reaches[0]), Noised(int(report.totals[0]), stage.survey.total_noise.bounds[-1]))

    def one_end(user: int, friends: Friends, extra: int, first: FirstRound) -> float:
        one, other = (whole_list(user, some, first) for some in (tuple(sorted((*friends, extra))), friends))
        sums = power_losses(stage.survey.total_noise, one.total, other.total)
        noise = stage.survey.reach_noise
        reaches = laplace_losses((one.reach, noise), (other.reach, noise))
        return told + max(sums[0] + reaches[0], sums[1] + reaches[1])

    flip = stage.survey.first.mechanism(PRIVATE, 1).flip
    told = math.log((1 - flip) / flip)
    rounds = [stage.first_round(answers) for answers in stage.transcripts(0)]
    worst = max(one_end(0, (2,), 1, first) + one_end(1, (2,), 0, first) for first in rounds)
    assert worst > 1.2 * claim(stage, PRIVATE)
