"""USER triangles and 4-cycles, both rounds: under which policies they are walked, and twins.  [WALK.1-3], [WALK.8-9]"""

from __future__ import annotations

from functools import partial

from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding
from visibility_aware_edge_ldp.evaluation.audit.row_bounds import (
    LONG_CYCLES,
    LONG_TRIANGLES,
    LongRow,
    audit_long_rows,
    long_rows,
    walked_rows,
)
from visibility_aware_edge_ldp.evaluation.audit.row_stage import Split, Stage
from visibility_aware_edge_ldp.evaluation.audit.row_twins import (
    exact_if_public,
    forgetful,
    half_the_bound,
    misled_by_half,
    scaled_by_own_degree,
    scaled_by_own_reach,
    sure_alone,
)
from visibility_aware_edge_ldp.evaluation.audit.row_walk import Second, audit_rows, recalled_stages, walked_stages
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import patterns
from visibility_aware_edge_ldp.public.visibility import Visibility

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


def every_policy(n: int, split: Split, everything: bool = True) -> list[Stage]:
    """Every policy that hides something; if ``everything``, with public edges and without, whoever answered."""
    hiding = [pattern for pattern in patterns(n) if set(pattern) != {PUBLIC}]
    bits = {pattern: (0, 1) if everything and PUBLIC in pattern else (1,) for pattern in hiding}
    return [Stage(pattern, n, split, bit, dropout=everything) for pattern in hiding for bit in bits[pattern]]


def cycle_stages(split: Split = CYCLES) -> list[Stage]:
    """Four users, the fewest that can have a 4-cycle; in one policy any of them may stay away."""
    names = ("all private", "three classes", "public among private friends")
    return [Stage(FOUR[name], 4, split, dropout=name == "three classes") for name in names]


def audit_everything(name: str, stages: list[Stage], four: list[Stage], rows: list[LongRow]) -> Finding:
    """Stages of which each case is worked out; policies of four users, where some is recalled; and long rows."""
    parts = walked_stages(stages), recalled_stages(four), walked_rows(rows)
    policies = len({(stage.n, stage.pattern) for stage in (*stages, *four)})
    about = f"every first transcript with every list of up to 4 users, {policies} policies, and long rows"
    return exact_finding(
        name, [loss for losses, _ in parts for loss in losses], sum(cases for _, cases in parts), about
    )


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
    ("no noise on the sum over an empty list", Stage(THREE, 3, USUAL), sure_alone),
    (
        "a reach that forgets friend-visible positions",
        Stage(OPEN, 4, SPENDING._replace(reach="1/20", total="4")),
        forgetful,
    ),
)
_LONG_TWINS: tuple[tuple[str, Second], ...] = (
    ("half the bound that the sum's noise needs", half_the_bound),
    ("half of what one friend moves a pull by, so that the noise's scale moves too fast", misled_by_half),
)


def twin_stages() -> list[Stage]:
    """Where twins are caught, the real code must hold."""
    return [stage for _, stage, _ in _TWINS]


def audit_triangles(everything: bool) -> Finding:
    """Of four users every policy: all of it, or with public edges and all answers."""
    three, four = ([stage for stage in twin_stages() if stage.n == n] for n in (3, 4))
    stages = [*every_policy(3, USUAL), *three], [*every_policy(4, USUAL, everything), *four]
    return audit_everything(TRIANGLES, *stages, long_rows(LONG_TRIANGLES))


def audit_cycles(everything: bool) -> Finding:
    """Some policies of four users, or every one."""
    four = every_policy(4, CYCLES) if everything else []
    return audit_everything(FOUR_CYCLES, [], [*cycle_stages(), *four], long_rows(LONG_CYCLES))


AUDITS: tuple[Audit, ...] = (
    Audit(TRIANGLES, "exact", partial(audit_triangles, everything=False)),
    Audit(FOUR_CYCLES, "exact", partial(audit_cycles, everything=False)),
)
# Minutes: each kind of case is worked out three times; and 4-cycles depend on every answer, so that little is recalled.
LONG: tuple[Audit, ...] = (
    Audit(TRIANGLES, "exact", partial(audit_triangles, everything=True)),
    Audit(FOUR_CYCLES, "exact", partial(audit_cycles, everything=True)),
)
TWINS: tuple[Audit, ...] = (
    *(
        Audit(TRIANGLES, "exact", partial(audit_rows, TRIANGLES, [stage], second), broken)
        for broken, stage, second in _TWINS
    ),
    *(
        Audit(name, "exact", partial(audit_long_rows, name, long_rows(split)[:1], second), broken)
        for name, split in ((TRIANGLES, LONG_TRIANGLES), (FOUR_CYCLES, LONG_CYCLES))
        for broken, second in _LONG_TWINS
    ),
)
