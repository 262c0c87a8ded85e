"""Whole estimates: what all their surveys cost together as they are really paid for; and clients inside a scope.

Every trust model estimates on a small graph, with the options that split ε. Purses are overheard: what the dearest one
paid is what was asked for, or less, and is what the bill says. Believed bounds spend the δ that they were given, by
sums that are written out here. Inside a scope clients answer as if nothing were outside: the same bytes from the same
coins. No two answers of one estimate begin with the same coins.  [COMPOSITION.1], [TRIANGLE.5], [OWNER.2], [SCOPE.2]
"""

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import fresh_coins
from visibility_aware_edge_ldp.audit.engine.findings import (
    Finding,
    Loss,
    as_asked,
    exact,
    exact_finding,
    exact_mutants,
    worst,
)
from visibility_aware_edge_ldp.audit.engine.overheard import first_coins, overheard
from visibility_aware_edge_ldp.audit.engine.small_worlds import DELTA, MIXED, RING, N
from visibility_aware_edge_ldp.audit.protocols import refusals
from visibility_aware_edge_ldp.campaign.participant.enrolment import Surroundings
from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.client.histogram import HistogramClient
from visibility_aware_edge_ldp.client.reporter import Client, Purse
from visibility_aware_edge_ldp.client.rows import FirstRound
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.scope import named_scope
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.histogram import HistogramSurvey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import believed_margin
from visibility_aware_edge_ldp.public.surveys.rows import STATISTICS, RowSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.trust import CURATOR, NEIGHBOURHOOD, POSITION, USER, Trust
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.worlds import random_bytes_for

POLICY = VisibilityPolicy.from_profiles({0: "public", 5: "public"}, rule="any")
HUBS = POLICY | VisibilityPolicy.from_positions([], [(1, 2), (3, 4)])
INSIDE = MIXED.within(named_scope(range(N), list(combinations(range(N // 2 + 2), 2))))
Way = tuple[Trust, VisibilityPolicy, Mapping[str, Any]]
WAYS: tuple[Way, ...] = (
    (POSITION, MIXED, {}),
    (POSITION, MIXED.guarded("3", "1/2"), {"rounds": 2}),
    (POSITION, MIXED, {"sample_positions": "1/2"}),
    (POSITION, INSIDE, {"rest": "sample:9/10", "statistics": ["edges"]}),
    (USER, MIXED, {}),
    (USER, INSIDE, {"statistics": ["edges", "triangles", "mixing"]}),
    (CURATOR, INSIDE, {}),
    (USER, MIXED.guarded("3", "1"), {"statistics": ["edges", *STATISTICS]}),
    (USER, MIXED, {"statistics": list(STATISTICS), "dropout": 0.2}),
    (USER, MIXED, {"statistics": ["triangles"], "degree_share": "1/8"}),
    (USER, MIXED, {"statistics": ["degree_histogram"], "hide": "degree"}),
    (USER, MIXED, {"statistics": ["mixing"]}),
    (USER, MIXED, {"statistics": ["edges", "triangles", "mixing"]}),
    (NEIGHBOURHOOD, HUBS, {"reporters": "hubs"}),
    (NEIGHBOURHOOD, HUBS, {"reporters": "plain hubs"}),
    (NEIGHBOURHOOD, MIXED, {"reporters": "users"}),
    (NEIGHBOURHOOD, MIXED, {"reporters": "users", "delta": DELTA}),
    (NEIGHBOURHOOD, MIXED, {"reporters": "cap:4"}),
    (CURATOR, MIXED, {}),
    (CURATOR, MIXED, {"delta": DELTA}),
)
# Both ends' degrees are hidden, each at ε.
BOTH_ENDS = 2
GROUPS = Groups("number", ("even", "odd"), np.arange(N) % 2)


# ── what an estimate costs ──


def estimate_losses(way: Way, graph: Any = RING) -> Iterator[Loss]:
    """What the rounds of one estimate cost an edge of each class, beside what was asked for and what is billed."""
    trust, policy, keywords = way
    world = VisibilityAwareGraph(graph, policy).grouped(GROUPS)
    with overheard() as heard:
        found = va.estimate(world, trust.name, 1, seed=1, **keywords)
    bill, delta = found.certificate.bill, float(Fraction(keywords.get("delta", 0)))
    for kind in world.public.non_public:
        prices = [survey.price(kind, number) for survey, number in heard.values()]
        asked = policy.multipliers.of(kind) if "hide" not in keywords else Fraction(BOTH_ENDS)
        # With a sample of the rest there are two surveys, and no position is asked in both: `audit.scope_rest`.
        epsilons = (max if "rest" in keywords else sum)(price.epsilon for price in prices)
        spent = float(epsilons), float(sum(price.delta for price in prices))
        loss = Loss(str(kind), float(asked), spent[0], min(delta, float(bill[kind].delta)), spent[1])
        yield as_asked(loss, asked, bill[kind].epsilon)


def audit_estimates(name: str, ways: tuple[Way, ...], about: str, graph: Any = RING) -> Finding:
    """All rounds of each estimate together; and how many of its answers begin with the same coins."""
    losses, again = list[Loss](), 0
    for way in ways:
        with first_coins() as drawn:
            losses += estimate_losses(way, graph)
        again += len(drawn) - len({*drawn})
    return Finding(name, "exact", (*worst(losses), Loss("again", 0, again)), len(losses), about)


# ── the δ of bounds that are believed ──

Margin = Callable[[DegreeSurvey, Fraction, Fraction], int]


def shortfall_delta(rates: list[float], margin: int, loss: float) -> float:
    """E(1 − e^(−loss·J/max(margin, 2))) for the smaller shortfall J of two degrees, added up one by one.  [OWNER.2]"""
    far = math.ceil(60 / min(rates)) + margin
    law = np.ones(1)
    for rate in rates:
        law = np.convolve(law, math.tanh(rate / 2) * np.exp(-rate * np.abs(np.arange(-far, far + 1))))
    below = np.cumsum(law)[: law.size // 2 + 1][::-1]  # the chance of at most −t, for t = 0, 1, …
    both = below[margin + 1 : far] ** 2
    steps = np.arange(both.size + 1) * loss / max(margin, 2)
    return float((np.exp(-steps[:-1]) - np.exp(-steps[1:])) @ both)


def audit_margins(name: str, margin_of: Margin, about: str) -> Finding:
    """What of δ is spent with the margins that the software chooses, for one class and two."""
    losses = []
    policies = (VisibilityPolicy.nothing(), MIXED, MIXED.guarded("3", "1"))
    for policy, first, second, delta in product(policies, ("1/4", "2"), ("3/4", "2"), ("1/10", "1/1000", "1e-6")):
        view = PublicView(range(N), policy, np.zeros((0, 2), np.int32))
        margin = margin_of(degree_survey(view, first), Fraction(delta), Fraction(second))
        rates = [float(policy.multipliers.of(kind) * Fraction(first)) / 2 for kind in view.non_public]
        spent = shortfall_delta(rates, margin, float(Fraction(second)))
        whole = float(Fraction(first) + Fraction(second))
        losses.append(Loss(str(Visibility.PRIVATE), whole, whole, float(Fraction(delta)), spent))
    return exact_finding(name, losses, len(losses), about)


# ── clients inside a scope ──

IN_SCOPE = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 5), (0, 4), (2, 4)]
Clients = Mapping[str, type[Client[Any, Any, Any]]]


def scoped_reports(clients: Clients, crowded: bool) -> dict[str, list[Any]]:
    """All reports of every protocol inside a scope; ``crowded``: there is an edge at every position outside."""
    inside = {*map(tuple, refusals.EDGES.tolist())} & {*IN_SCOPE}
    outside = {(u, v) for u in range(refusals.N) for v in range(u + 1, refusals.N)} - {*IN_SCOPE}
    edges = np.array(sorted(inside | outside if crowded else inside), np.int32)
    whole = refusals.EDGES[[tuple(edge) in inside for edge in refusals.EDGES.tolist()]]
    view = refusals.VIEW.within(named_scope(range(refusals.N), IN_SCOPE))
    found = {}
    for name, asked in refusals.questions(view, edges).items():
        # A centre refuses edges that nobody was told of: its graph is cut before it is given to it.
        held = asked.held() if name != CURATOR.name else refusals.questions(view, whole)[name].held()
        client = clients[name](held, view, Purse(refusals.ENOUGH, refusals.DELTA))
        coins = fresh_coins("inside", name)
        rounds = range(asked.first, asked.first + asked.survey.rounds)
        if name != RowSurvey.protocol:
            found[name] = [client.answer(asked.survey, number, coins) for number in rounds]
            continue
        first = client.answer(asked.survey, 1, coins)
        octets = (np.frombuffer(each, np.uint8) for each in (first.answered, first.ones))
        said = FirstRound(asked.survey, view, Transcript(asked.survey.first.identity, *octets))
        found[name] = [first, client.total(asked.survey, said, coins)]  # type: ignore[attr-defined]
    return found


def audit_scopes(name: str, clients: Clients, about: str) -> Finding:
    """How many reports change with what lies outside; and how many are about another number of positions."""
    reports = [scoped_reports(clients, crowded) for crowded in (False, True)]
    pairs = [pair for protocol in reports[0] for pair in zip(*(each[protocol] for each in reports), strict=True)]
    changed = sum(not refusals.alike(one, other) for one, other in pairs)
    return Finding(name, "exact", (Loss("otherwise", 0, changed),), len(pairs), about)


# ── coins as the programs take them ──

Source = Callable[[], RandomBytes]


def sources() -> list[Source]:
    """Where a participant's program and simulations take coins from: each of these must be unlike all others."""
    fresh: list[Source] = [Surroundings().random_bytes, lambda: random_bytes_for(None)("answers", 0)]
    seeded = [partial(random_bytes_for("a seed"), *labels) for labels in product(("first", "second"), (0, 8))]
    return [*fresh, *fresh, *seeded, partial(random_bytes_for("another"), "first", 0)]


def audit_sources(name: str, made: Callable[[], list[Source]], about: str) -> Finding:
    """How many blocks of sixteen bytes come twice, from all sources together."""
    blocks = np.frombuffer(b"".join(source()(1 << 12) for source in made()), "V16")
    return Finding(name, "exact", (Loss("again", 0, blocks.size - np.unique(blocks).size),), blocks.size, about)


# ── what is run ──


class Uncut(HistogramClient):
    """A mutant: the bin of the whole list's length."""

    def __init__(self, view: Any, public: PublicView, purse: Purse) -> None:
        super().__init__(view, public, purse)
        self._view = view


_SCOPED = "reports, not ε: every protocol inside a scope, with no edge outside and with all, from the same coins"
AUDITS = (
    exact(
        "whole estimates",
        audit_estimates,
        WAYS,
        f"all rounds that are paid for, of {len(WAYS)} ways to estimate, and bills; no two answers with the same coins",
    ),
    exact("believed margins", audit_margins, believed_margin, "36 plans: the δ of shortfalls, added up one by one"),
    exact("scopes", audit_scopes, CLIENTS, _SCOPED),
    exact("coins in use", audit_sources, sources, "blocks, not ε: of participants' programs and of simulations"),
)
MUTANTS = (
    *exact_mutants(
        audit_sources, [("coins in use, known", "All answer with one key.", lambda: [lambda: fresh_coins("known")] * 2)]
    ),
    *exact_mutants(
        audit_margins,
        [
            (
                "believed margins, one less",
                "The margin is one less than δ pays for.",
                lambda *given: max(believed_margin(*given) - 1, 0),
            )
        ],
    ),
    *exact_mutants(
        audit_scopes,
        [("scopes, not cut", "A histogram counts friends outside.", {**CLIENTS, HistogramSurvey.protocol: Uncut})],
    ),
)
