"""USER triangles and 4-cycles, both rounds: under which policies they are walked, and twins.  [WALK.1-3], [WALK.8]"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from functools import partial

from visibility_aware_edge_ldp.client.user_triangles import FirstRound, RowHolders
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Noised
from visibility_aware_edge_ldp.evaluation.audit.row_stage import Friends, Split, Stage
from visibility_aware_edge_ldp.evaluation.audit.row_walk import (
    Numbers,
    Second,
    audit_every_policy,
    audit_rows,
    client,
    real_client,
    second_report,
)
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import patterns
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.subgraphs.scores import Floats

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
# As the software splits ε = 1; and one with much for the sum and a scale that may move fast.
USUAL = Split("58/100", "1/40", "79/200", "1/10", 0)
SPENDING = Split("2", "1", "9/2", "1/3", 5)
FOUR = {
    "all private": (PRIVATE,) * 6,
    "two classes": (PRIVATE, FRIEND_VISIBLE, PRIVATE, FRIEND_VISIBLE, PRIVATE, PRIVATE),
    "three classes": (PUBLIC, PRIVATE, FRIEND_VISIBLE, PRIVATE, PUBLIC, PRIVATE),
    "a public row": (PUBLIC, PUBLIC, PUBLIC, PRIVATE, PRIVATE, FRIEND_VISIBLE),
    "public among private friends": (PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC, PUBLIC, PUBLIC),
}
CYCLES = Split("13/20", "1/40", "13/40", "5/28", -4, "four_cycles")


def every_policy(n: int, split: Split) -> list[Stage]:
    """Every policy that hides something, with public edges and without, whoever answered."""
    hiding = [pattern for pattern in patterns(n) if set(pattern) != {PUBLIC}]
    bits = {pattern: (0, 1) if PUBLIC in pattern else (1,) for pattern in hiding}
    return [Stage(pattern, n, split, bit, dropout=True) for pattern in hiding for bit in bits[pattern]]


def cycle_stages(split: Split = CYCLES) -> list[Stage]:
    """Four users, the fewest that can have a 4-cycle; in one policy any of them may stay away."""
    names = ("all private", "three classes", "public among private friends")
    return [Stage(FOUR[name], 4, split, dropout=name == "three classes") for name in names]


TRIANGLES, FOUR_CYCLES = "user triangles, two rounds", "user 4-cycles, two rounds"
THREE, OPEN = (PRIVATE,) * 3, (FRIEND_VISIBLE,) * 6
_TWINS: tuple[tuple[str, Stage, Second], ...] = (
    (
        "noise scaled by the own degree (document 004)",
        Stage(THREE, 3, SPENDING._replace(share="1/12")),
        scaled_by_own_degree,
    ),
    (
        "a public user answers exactly, with friends' secrets in its row (document 004)",
        Stage((FRIEND_VISIBLE, FRIEND_VISIBLE, PRIVATE), 3, SPENDING),
        exact_if_public,
    ),
    ("noise scaled by the own sensitivity, without smoothing", Stage(THREE, 3, SPENDING), scaled_by_own_reach),
    (
        "a reach that forgets friend-visible positions",
        Stage(OPEN, 4, SPENDING._replace(reach="1/20", total="4")),
        forgetful,
    ),
)
AUDITS: tuple[Audit, ...] = (
    Audit(TRIANGLES, "exact", lambda: audit_every_policy(TRIANGLES, every_policy(3, USUAL), every_policy(4, USUAL))),
    Audit(FOUR_CYCLES, "exact", lambda: audit_rows(FOUR_CYCLES, cycle_stages())),
)
# A sum over 4-cycles depends on every answer, so that little can be recalled.
LONG: tuple[Audit, ...] = (
    Audit(FOUR_CYCLES, "exact", lambda: audit_every_policy(FOUR_CYCLES, [], every_policy(4, CYCLES))),
)
TWINS: tuple[Audit, ...] = tuple(
    Audit(TRIANGLES, "exact", partial(audit_rows, TRIANGLES, [stage], second), broken)
    for broken, stage, second in _TWINS
)
