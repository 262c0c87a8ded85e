"""Rows so long that the bound of a sum is reached: the second round of one user, given all first answers.  [WALK.9]"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from visibility_aware_edge_ldp.evaluation.audit.finding import Finding
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding
from visibility_aware_edge_ldp.evaluation.audit.row_stage import Answers, Split, Stage
from visibility_aware_edge_ldp.evaluation.audit.row_walk import (
    KindLoss,
    Second,
    Walk,
    gathered,
    neighbouring_lists,
    real_client,
    second_losses,
)
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import Pattern, positions
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
N = 7
SECOND = (2,)
# β is nearly 2/5, so that smooth bounds grow slowly up to a reach of 5/2 M, which a few friends exceed.
LONG_TRIANGLES = Split("2", "1/100", "99/100", "2/5", 5)
LONG_CYCLES = Split("2", "1/100", "99/100", "2/5", 2, "four_cycles")


class LongRow(NamedTuple):
    """User 0 of seven, all lists that it may have, and one transcript."""

    stage: Stage
    answers: Answers


def long_rows(split: Split) -> list[LongRow]:
    """All said yes; or every third said no. One row has both classes."""
    at = positions(N)
    mixed: Pattern = tuple(FRIEND_VISIBLE if u == 0 and v % 3 == 0 else PRIVATE for u, v in at)
    yes, most = (1,) * len(at), tuple(int((u + v) % 3 > 0) for u, v in at)
    private = Stage((PRIVATE,) * len(at), N, split)
    return [LongRow(private, yes), LongRow(private, most), LongRow(Stage(mixed, N, split), yes)]


def losses_of_row(row: LongRow, second: Second = real_client) -> Iterator[KindLoss]:
    """The loss of the second round for every list of user 0 and every neighbour of it."""
    stage, first = row.stage, row.stage.first_round(row.answers)
    told = second_losses(stage.survey.total_noise, stage.survey.reach_noise)
    lists = stage.lists(0)
    numbers = {friends: second(stage, 0, friends, first) for friends in lists}
    for kind, joined, without in neighbouring_lists(stage.row(0), lists):
        yield kind, max(told(numbers[joined], numbers[without]))


def walked_rows(rows: list[LongRow], second: Second = real_client) -> Walk:
    """The largest losses of the second round beside its price, and how many were compared."""
    return gathered((row.stage, SECOND, losses_of_row(row, second)) for row in rows)


def audit_long_rows(name: str, rows: list[LongRow], second: Second = real_client) -> Finding:
    """The largest losses over several transcripts."""
    losses, cases = walked_rows(rows, second)
    return exact_finding(
        name, losses, cases, f"the second round of a row of {N - 1}, every list, {len(rows)} transcripts"
    )
