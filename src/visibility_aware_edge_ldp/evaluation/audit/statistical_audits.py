"""Which pairs of worlds are sent, and how often: the statistical audits of the real clients.  [SHOWN.2, SHOWN.5]"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from visibility_aware_edge_ldp.evaluation.audit.finding import Audit
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import Pairs, Positions, Rows, Shipment, bins
from visibility_aware_edge_ldp.evaluation.audit.shipped_counts import STAR, TRIANGLE, Centres, Hubs, Owned
from visibility_aware_edge_ldp.evaluation.audit.shipped_noise import (
    discrete_laplace,
    hadamard_response,
    many_laplaces,
    many_powers,
    randomized_response,
    smooth,
)
from visibility_aware_edge_ldp.evaluation.audit.statistical import audit
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothCauchy, SmoothLaplace, SmoothNoise, SmoothStudentT
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.histogram_survey import HistogramSurvey, histogram_survey
from visibility_aware_edge_ldp.public.hub_survey import PLAIN
from visibility_aware_edge_ldp.public.owner_plan import BELIEVED, WEIGHTED
from visibility_aware_edge_ldp.public.survey import PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PRIVATE = Visibility.PRIVATE
KINDS = NON_PUBLIC[::-1]
WIDTH = 8
# What two surveys ask for together.
TWO = Fraction(5, 4)
# Fewer runs than these show nothing.
FEWEST = 400


@dataclass(frozen=True)
class Pace:
    """One run in so many, and why, where the time does not allow all of them."""

    factor: int = 1
    why: str = ""

    def of(self, runs: int) -> int:
        return max(runs // self.factor, FEWEST)


ALL = Pace()
BITS = Pace(WIDTH, "an eighth for each of eight bits")
ROWS = Pace(40, "everybody hears everybody")
HUBS = Pace(1000, "each run is a hub of its own")
EDGES = Pace(200, "the centre draws one number at a time")
SMOOTH = Pace(500, "the centre draws one number at a time")


def one_round(public: PublicView) -> Sequence[PositionSurvey]:
    return [position_survey(public, 1)]


def two_rounds(public: PublicView) -> Sequence[PositionSurvey]:
    return [position_survey(public, 1, rounds=2)]


def two_surveys(public: PublicView) -> Sequence[PositionSurvey]:
    return [position_survey(public, Fraction(1, 2)), position_survey(public, Fraction(3, 4))]


def one_degree(public: PublicView) -> Sequence[DegreeSurvey]:
    return [degree_survey(public, 1)]


def two_degrees(public: PublicView) -> Sequence[DegreeSurvey]:
    return [degree_survey(public, Fraction(1, 2)), degree_survey(public, Fraction(3, 4))]


def one_bin(public: PublicView) -> Sequence[HistogramSurvey]:
    return [histogram_survey(public, Fraction(1, 2), (0, 1, 2, public.n))]


def eight_bits(make: Callable[..., Positions] = Positions) -> list[Shipment]:
    """A client that holds eight bits, each of which changes in a pair of worlds of its own."""
    return [make(PRIVATE, one_round, width=WIDTH, changed=bit) for bit in range(WIDTH)]


def mechanisms_alone() -> list[tuple[str, list[Shipment], Pace]]:
    """Every mechanism without a client around it."""
    one, tiny = Fraction(1), Fraction(1, 1000)
    noises: dict[str, SmoothNoise] = {
        "Student-t noise": SmoothStudentT(one),
        "Cauchy noise": SmoothCauchy(one),
        "power noise": SmoothPower(one),
        "smooth Laplace noise": SmoothLaplace(one, tiny),
    }
    makers: dict[str, Callable[[Visibility], Shipment]] = {
        "randomized response": randomized_response,
        "discrete Laplace": discrete_laplace,
        "many Laplace noises": many_laplaces,
        **{name: partial(smooth, noise) for name, noise in noises.items()},
        "many power noises": many_powers,
    }
    alone: list[tuple[str, list[Shipment], Pace]] = [
        (name, [make(kind) for kind in KINDS], ALL) for name, make in makers.items()
    ]
    return [*alone, ("Hadamard response", [hadamard_response(PRIVATE)], ALL)]


def subgraphs_of_a_centre(delta: Fraction, words: str) -> list[tuple[str, list[Shipment], Pace]]:
    """Counts whose noise follows a smooth bound."""
    shapes = {"triangles": TRIANGLE, "stars:2": STAR, "stars:3": STAR}
    names = {"triangles": "triangles", "stars:2": "2-stars", "stars:3": "3-stars"}
    return [
        (f"curator {names[name]}{words}", [Centres(name, epsilon=Fraction(4), delta=delta, drawn=shape)], SMOOTH)
        for name, shape in shapes.items()
    ]


def audits(runs: int) -> tuple[Audit, ...]:
    """The audits with so many runs a side; slow clients run less often, as their findings say."""
    sent: list[tuple[str, list[Shipment], Pace]] = [
        *mechanisms_alone(),
        ("position, one round", [Positions(kind, one_round) for kind in KINDS], ALL),
        ("position, two rounds", [Positions(kind, two_rounds) for kind in KINDS], ALL),
        ("position, two users together", [Positions(kind, one_round, users=2) for kind in KINDS], ALL),
        ("position, each of eight bits", eight_bits(), BITS),
        ("position, asked twice", [Positions(kind, two_rounds, times=2) for kind in KINDS], ALL),
        ("position, two surveys", [Positions(kind, two_surveys, epsilon=TWO) for kind in KINDS], ALL),
        ("user degrees", [Pairs(kind, one_degree) for kind in KINDS], ALL),
        ("user degrees, asked twice", [Pairs(PRIVATE, one_degree, times=2)], ALL),
        ("user degrees, two surveys", [Pairs(PRIVATE, two_degrees, epsilon=TWO)], ALL),
        ("user histogram, one edge", [Pairs(PRIVATE, one_bin, bins)], ALL),
        ("user triangles, two rounds", [Rows(kind) for kind in KINDS], ROWS),
        ("neighbourhood (a), clipped", [Owned(PRIVATE)], ALL),
        ("neighbourhood (a), weighted", [Owned(PRIVATE, WEIGHTED)], ALL),
        ("neighbourhood (a), believed", [Owned(PRIVATE, BELIEVED, delta=Fraction(1, 1000))], ALL),
        ("neighbourhood (b), shared", [Hubs()], HUBS),
        ("neighbourhood (b), plain", [Hubs(shares=PLAIN)], HUBS),
        ("curator edges", [Centres("edges", kind) for kind in KINDS], EDGES),
        ("curator max degree", [Centres("max_degree", kind, drawn=STAR) for kind in KINDS], EDGES),
        *subgraphs_of_a_centre(Fraction(0), ""),
        *subgraphs_of_a_centre(Fraction("1e-6"), ", with delta"),
    ]
    return tuple(paced(name, shipments, runs, pace) for name, shipments, pace in sent)


def paced(name: str, shipments: Sequence[Shipment], runs: int, pace: Pace, broken: str = "") -> Audit:
    """An audit of as many runs as its pace allows."""
    return Audit(name, "statistical", partial(audit, name, shipments, pace.of(runs), why=pace.why), broken)


AUDITS = audits(10**6)
