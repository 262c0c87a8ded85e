"""``va.estimate``: simulate all clients on a graph we hold, and estimate."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from visibility_aware_edge_ldp.aggregator.answers import Answers, Certificate
from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.ipw import estimate_ipw_capped
from visibility_aware_edge_ldp.aggregator.position import estimate as estimate_position
from visibility_aware_edge_ldp.errors import BadInput, TooLarge
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_delta, exact_share
from visibility_aware_edge_ldp.public.survey import position_survey
from visibility_aware_edge_ldp.simulation.population import collect
from visibility_aware_edge_ldp.subgraphs.statistic import DEFAULT, check_statistics

TRUST_WORDS = {
    "position": "one reporter holds one bit and randomizes it before it is sent; the aggregator is not trusted.",
}
ESTIMATORS: dict[str, Callable[[PositionCollection, Sequence[str]], dict[str, Estimate]]] = {
    "unbiased": estimate_position,
    "ipw_capped": estimate_ipw_capped,
}


def estimate(
    world: VisibilityAwareGraph,
    trust: str = "position",
    epsilon: Number = 1,
    statistics: str | Sequence[str] = DEFAULT,
    *,
    rounds: int = 1,
    delta: Number = 0,
    dropout: float = 0.0,
    estimator: str = "unbiased",
    seed: int | str | None = None,
) -> Answers:
    """Let everybody answer once, and estimate all statistics from the same answers.

    Parameters
    ----------
    world
        The graph and its visibility policy.
    trust
        The trust model: "position".
    epsilon
        The loss per PRIVATE edge against all reports together, for all statistics; twice that per
        FRIEND_VISIBLE edge.
    statistics
        Names such as "edges", "triangles", "stars:3"; "all" for every one.
    rounds
        1, or 2 as in the source documents (one is better).
    delta
        Accepted for symmetry between trust models; randomized response is pure, so it stays unspent.
    dropout
        The share of positions that never take part.
    estimator
        "unbiased", or "ipw_capped" for the source documents' own.
    seed
        Makes the run repeatable, and therefore not private.

    Returns
    -------
    Answers
        Estimates by name, with standard errors, intervals, the bill and the certificate.
    """
    check_trust(trust)
    exact_delta(delta)
    if estimator not in ESTIMATORS:
        raise BadInput(f"{estimator!r} is not an estimator; use {' or '.join(ESTIMATORS)}.")
    if exact_share(dropout, "dropout") == 1:
        raise BadInput("With a dropout of 1 nobody answers; choose a smaller share.")
    wanted = check_statistics(statistics, world.graph.n)
    survey = position_survey(world.public, epsilon, rounds)
    refuse_too_large(world.graph.n, rounds)
    collection = collect(world, survey, seed, dropout)
    return Answers(ESTIMATORS[estimator](collection, wanted), certificate(collection, seed is not None))


def check_trust(trust: str) -> None:
    """Only trust models that this version has."""
    if trust not in TRUST_WORDS:
        raise BadInput(f"{trust!r} is not a trust model of this version; use {' or '.join(TRUST_WORDS)}.")


def certificate(collection: PositionCollection, simulated: bool) -> Certificate:
    """What this collection promises."""
    view = collection.view
    return Certificate(
        trust="POSITION",
        trust_words=TRUST_WORDS["position"],
        bill=Bill(collection.survey.releases),
        policy=str(view.policy),
        classes={str(kind): size for kind, size in view.class_sizes.items() if size},
        response={str(kind): rate for kind, rate in collection.response_rates().items()},
        assumptions=(
            "which positions are public follows from public knowledge alone",
            *view.policy.assumptions,
        ),
        simulated=simulated,
    )


def needed_bytes(n: int, rounds: int = 1) -> int:
    """Memory of one POSITION estimate, at most: planes of bits, packed answers, and blocks of rows."""
    planes = 1 + 2 * (rounds + 1)
    return 2 * planes * n * n // 8 + 6 * 1024 * n * 8 + 200_000_000


def refuse_too_large(n: int, rounds: int) -> None:
    """Say before the work starts that it does not fit."""
    needed, available = needed_bytes(n, rounds), available_bytes()
    if needed > available:
        raise TooLarge(
            f"{n:,} nodes have {n * (n - 1) // 2:,} positions, which need about {needed / 1e9:,.0f} GB of memory; "
            f"{available / 1e9:,.0f} GB are free. Use a smaller graph, such as an induced subgraph."
        )


def available_bytes() -> int:
    """Free memory of this machine."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = dict(line.split(":", 1) for line in lines)
        return int(found["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 1 << 62
