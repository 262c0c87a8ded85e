"""Which pairs of worlds are sent, and how often: the statistical audits of the real clients.  [SHOWN.2, SHOWN.5]

And how often the auditor rings on mechanisms that keep their promise.  [SHOWN.4]
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import fresh_coins
from visibility_aware_edge_ldp.audit.statistical import lower_bound, power, shipped_counts
from visibility_aware_edge_ldp.audit.statistical import shipped_lists as lists
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import KINDS, PRIVATE, Pairs, Positions, Shipment
from visibility_aware_edge_ldp.client.groups import GroupClient
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothCauchy, SmoothLaplace, SmoothNoise, SmoothStudentT
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN
from visibility_aware_edge_ldp.public.surveys.neighbourhood import BELIEVED, WEIGHTED
from visibility_aware_edge_ldp.public.visibility import Visibility


def mechanisms_alone() -> list[tuple[str, list[Shipment], lower_bound.Pace]]:
    """Every mechanism without a client around it."""
    one, tiny = Fraction(1), Fraction(1, 1000)
    noises: dict[str, SmoothNoise] = {
        "Student-t noise": SmoothStudentT(one),
        "Cauchy noise": SmoothCauchy(one),
        "power noise": SmoothPower(one),
        "smooth Laplace noise": SmoothLaplace(one, tiny),
    }
    makers: dict[str, Callable[[Visibility], Shipment]] = {
        "randomized response": shipped_counts.randomized_response,
        "discrete Laplace": shipped_counts.discrete_laplace,
        "many Laplace noises": shipped_counts.many_laplaces,
        **{name: partial(shipped_counts.smooth, noise) for name, noise in noises.items()},
        "many power noises": shipped_counts.many_powers,
    }
    alone: list[tuple[str, list[Shipment], lower_bound.Pace]] = [
        (name, [make(kind) for kind in KINDS], lower_bound.ALL) for name, make in makers.items()
    ]
    return [*alone, ("Hadamard response", [shipped_counts.hadamard_response(PRIVATE)], lower_bound.ALL)]


def subgraphs_of_a_centre(delta: Fraction, words: str) -> list[tuple[str, list[Shipment], lower_bound.Pace]]:
    """Counts whose noise follows a smooth bound."""
    shapes = {"triangles": shipped_counts.TRIANGLE, "stars:2": shipped_counts.STAR, "stars:3": shipped_counts.STAR}
    names = {"triangles": "triangles", "stars:2": "2-stars", "stars:3": "3-stars"}
    return [
        (
            f"curator {names[name]}{words}",
            [shipped_counts.Centres(name, epsilon=Fraction(4), delta=delta, drawn=shape)],
            lower_bound.SMOOTH,
        )
        for name, shape in shapes.items()
    ]


by_group = partial(lists.degrees, client=GroupClient)
"""Holders of friend lists who report how many friends they have in each group."""


def audits(runs: int) -> tuple[findings.Audit, ...]:
    """The audits with so many runs a side; slow clients run less often, as their findings say."""
    sent: list[tuple[str, list[Shipment], lower_bound.Pace]] = [
        *mechanisms_alone(),
        ("position, one round", [Positions(kind, lists.one_round) for kind in KINDS], lower_bound.ALL),
        ("position, two rounds", [Positions(kind, lists.two_rounds) for kind in KINDS], lower_bound.ALL),
        (
            "position, two users together",
            [Positions(kind, lists.one_round, users=2) for kind in KINDS],
            lower_bound.ALL,
        ),
        ("position, each of eight bits", lists.eight_bits(), lower_bound.BITS),
        ("position, asked twice", [Positions(kind, lists.two_rounds, times=2) for kind in KINDS], lower_bound.ALL),
        (
            "position, two surveys",
            [Positions(kind, lists.two_surveys, epsilon=lists.TWO) for kind in KINDS],
            lower_bound.ALL,
        ),
        ("user degrees", [Pairs(kind, lists.one_degree) for kind in KINDS], lower_bound.ALL),
        ("user degrees, asked twice", [Pairs(PRIVATE, lists.one_degree, times=2)], lower_bound.ALL),
        ("user degrees, two surveys", [Pairs(PRIVATE, lists.two_degrees, epsilon=lists.TWO)], lower_bound.ALL),
        (
            "user groups",
            [Pairs(kind, lists.one_grouped, by_group, groups=True) for kind in KINDS],
            lower_bound.ALL,
        ),
        ("user histogram, one edge", [Pairs(PRIVATE, lists.one_bin, lists.bins)], lower_bound.ALL),
        ("user triangles, two rounds", [lists.Rows(kind) for kind in KINDS], lower_bound.ROWS),
        ("neighbourhood (a), clipped", [shipped_counts.Owned(PRIVATE)], lower_bound.ALL),
        ("neighbourhood (a), weighted", [shipped_counts.Owned(PRIVATE, WEIGHTED)], lower_bound.ALL),
        (
            "neighbourhood (a), believed",
            [shipped_counts.Owned(PRIVATE, BELIEVED, delta=Fraction(1, 1000))],
            lower_bound.ALL,
        ),
        ("neighbourhood (b), shared", [shipped_counts.Hubs()], lower_bound.HUBS),
        ("neighbourhood (b), plain", [shipped_counts.Hubs(shares=PLAIN)], lower_bound.HUBS),
        ("curator edges", [shipped_counts.Centres("edges", kind) for kind in KINDS], lower_bound.EDGES),
        (
            "curator max degree",
            [shipped_counts.Centres("max_degree", kind, drawn=shipped_counts.STAR) for kind in KINDS],
            lower_bound.EDGES,
        ),
        *subgraphs_of_a_centre(Fraction(0), ""),
        *subgraphs_of_a_centre(Fraction("1e-6"), ", with delta"),
    ]
    return tuple(lower_bound.paced(name, shipments, runs, pace) for name, shipments, pace in sent)


AUDITS = audits(10**6)


@dataclass(frozen=True)
class FalseAlarms:
    """How often one auditor, which allows itself a chance of ``alpha``, rang on one correct mechanism.

    Of ``repeats`` audits, each with random bytes of its own, ``rang`` did; the chance of a ring is ``at_most`` this,
    with 99.9 % confidence.
    """

    mechanism: str
    alpha: float
    repeats: int
    rang: int
    at_most: float

    @property
    def rate(self) -> float:
        """The share of audits that rang."""
        return self.rang / self.repeats

    @property
    def holds(self) -> bool:
        """Whether so many rings are no surprise, at 99.9 %, for a chance of alpha."""
        return lower_bound.tail(self.rang, self.repeats, self.alpha) >= lower_bound.ALPHA

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "rate": self.rate, "holds": self.holds}


CORRECT: dict[str, Shipment] = {
    "randomized response": Positions(PRIVATE, lists.one_round),
    "discrete Laplace": Pairs(PRIVATE, lists.one_degree),
}


def false_alarms(repeats: int = 1000, runs: int = 2000, alpha: float = lower_bound.ALPHA) -> tuple[FalseAlarms, ...]:
    """Audit each correct mechanism so often, with so many runs a side and fresh coins each time."""
    return tuple(_count(name, shipment, repeats, runs, alpha) for name, shipment in CORRECT.items())


def _count(name: str, shipment: Shipment, repeats: int, runs: int, alpha: float) -> FalseAlarms:
    def once(repeat: int) -> findings.Finding:
        return lower_bound.audit(name, [shipment], runs, f"false alarms {repeat}", alpha)

    rang = sum(not once(repeat).holds for repeat in range(repeats))
    return FalseAlarms(name, alpha, repeats, rang, lower_bound.upper_limit(rang, repeats, lower_bound.ALPHA))


# ── one run, in which every world is a canary ──


@dataclass(frozen=True)
class Guesses:
    """How many canaries were guessed, how many of them rightly, and the loss that this shows."""

    made: int
    right: int
    epsilon: float


def guess(secrets: lists.Bits, sent: lists.Columns, alpha: float = lower_bound.ALPHA) -> Guesses:
    """Guess each bit from what was sent about it, or abstain; the first ones only teach how.  [SHOWN.3]"""
    taught = min(secrets.size // 4, lower_bound.MOST_TO_CHOOSE)
    grids, least = _learn(secrets[:taught], sent[:taught], alpha)
    scores, truth = lower_bound.total_score(grids, sent[taught:]), secrets[taught:]
    sure = np.abs(scores) >= least
    made, right = int(sure.sum()), int(((scores > 0) == truth)[sure].sum())
    return Guesses(made, right, _shown(right, made, alpha))


def audit_one_run(
    name: str, shipments: list[Shipment], canaries: int, seed: str = "one run", alpha: float = lower_bound.ALPHA
) -> findings.Finding:
    """One collection for each class, in which every world's bit is a canary, set by a coin."""
    losses, told = [], []
    for shipment in shipments:
        if shipment.claimed.delta:
            raise BadInput("Canaries are counted for pure promises only; this one has a delta. Use two worlds.")
        drawn = np.frombuffer(fresh_coins(seed, "canaries", str(shipment.kind))((canaries + 7) // 8), np.uint8)
        secrets = np.unpackbits(drawn, count=canaries).view(np.bool_)
        found = guess(secrets, shipment.send(secrets, seed), alpha / len(shipments))
        claimed = float(shipment.claimed.epsilon)
        visible = power.one_run(found.right, found.made, claimed, alpha / len(shipments))
        losses.append(findings.Loss(str(shipment.kind), claimed, found.epsilon, visible=visible))
        told.append(f"{found.right:,} of {found.made:,} guesses were right ({shipment.kind})")
    return findings.Finding(
        name, "one run", tuple(losses), canaries, f"{canaries:,} canaries in one run; {', '.join(told)}"
    )


def _learn(secrets: lists.Bits, sent: lists.Columns, alpha: float) -> tuple[tuple[lower_bound.Grid, ...], float]:
    """How to score, from one half of these canaries, and when to be sure, from the other."""
    half = secrets.size // 2
    there = secrets[:half]
    ways = [
        (_promised_rate(grids, secrets[half:], sent[half:], alpha), grids)
        for grids in lower_bound.candidates(sent[:half][~there], sent[:half][there])
    ]
    (_, least), grids = max(ways, key=lambda way: way[0][0])
    return grids, least


def _promised_rate(
    grids: tuple[lower_bound.Grid, ...], secrets: lists.Bits, sent: lists.Columns, alpha: float
) -> tuple[float, float]:
    """The largest bound that these canaries give, and from which score on one has to be sure for it."""
    scores = lower_bound.total_score(grids, sent)
    order = np.argsort(-np.abs(scores), kind="stable")
    sizes, right = np.abs(scores)[order], np.cumsum(((scores > 0) == secrets)[order])
    ends = np.flatnonzero(np.append(sizes[1:] != sizes[:-1], True))
    made = ends + 1
    # Hoeffding's bound is simple, and only the choice rests on it.
    rate = right[ends] / made - np.sqrt(-math.log(alpha) / (2 * made))
    best = int(np.argmax(rate))
    return float(rate[best]), float(sizes[ends[best]])


def _shown(right: int, made: int, alpha: float) -> float:
    """The loss of a channel that lets so many guesses be right."""
    rate = lower_bound.lower_limit(right, made, alpha) if made else 0.0
    return max(0.0, math.log(rate / (1 - rate))) if rate > 0 else 0.0


def one_run_audits(canaries: int) -> tuple[findings.Audit, ...]:
    """The audits with so many canaries."""
    crowds: dict[str, list[Shipment]] = {
        "position, one round": [Positions(kind, lists.one_round) for kind in KINDS],
        "position, two rounds": [Positions(kind, lists.two_rounds) for kind in KINDS],
        "user degrees": [Pairs(kind, lists.one_degree) for kind in KINDS],
    }
    return tuple(
        findings.Audit(name, "one run", partial(audit_one_run, name, crowd, canaries)) for name, crowd in crowds.items()
    )
