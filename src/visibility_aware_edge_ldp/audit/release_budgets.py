"""Releases from one budget: what they have really cost, beside what the budget counts and allows.  [CURATOR.6]

Also when they are asked for again, when the program stops before a release is written, and beside older copies of the
budget, other graphs and other totals, which must be refused. And how several statistics share ε: by the noisy answers
of a pilot alone, the same for every graph.  [CURATOR.3]
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss, exact, exact_mutants, worst
from visibility_aware_edge_ldp.audit.engine.overheard import overheard
from visibility_aware_edge_ldp.audit.engine.small_worlds import DELTA, MIXED, RING, N
from visibility_aware_edge_ldp.audit.protocols.chain import folder
from visibility_aware_edge_ldp.campaign.participant.ledger import UnusableLedger
from visibility_aware_edge_ldp.errors import BadInput, Refused
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.surveys.curator import CuratorSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation import publishing
from visibility_aware_edge_ldp.simulation.curator import CentralAnswer, Centre, ask_within

TOTAL, TOTAL_DELTA = Fraction(9, 4), Fraction(1, 10)
# What is asked, of how much ε, with which δ; some come again, and some are too much. How several statistics share ε is
# decided by noise, and what a FRIEND_VISIBLE edge pays of δ hangs on it: they come without δ, so that findings repeat.
REQUESTS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("edges",), "1/2", "0"),
    (("triangles", "stars:2"), "1/2", "0"),
    (("edges",), "1/2", "0"),
    (("stars:2", "triangles"), "1/2", "0"),
    (("triangles",), "1/2", "1/1000"),
    (("triangles",), "1/4", DELTA),
    (("stars:2",), "1/4", "1/10"),
    (("stars:3", "edges"), "1/4", "0"),
    (("edges",), "3/4", "0"),
)
# Of these, beyond δ and beyond ε.
BEYOND = (6, 8)
Publish = Callable[..., Any]


def tried(publish: Publish, *given: Any, **more: Any) -> bool:
    """Whether a release was made, and not refused."""
    try:
        publish(*given, **more)
    except (Refused, BadInput, UnusableLedger):
        return False
    return True


def audit_budgets(name: str, publish: Publish, about: str) -> Finding:
    """What releases have really cost, beside what their budget counts and what it allows; and what must be refused."""
    world, other = (VisibilityAwareGraph(edges, MIXED) for edges in (RING, RING[1:]))
    lost, answered, losses = {kind: [Fraction(0), Fraction(0)] for kind in NON_PUBLIC}, 0, list[Loss]()
    with folder() as place:
        budget, first = place / "budget.ledger", {"total": str(TOTAL), "total_delta": str(TOTAL_DELTA)}
        for number, (names, epsilon, delta) in enumerate(REQUESTS):
            older, asked = budget.read_bytes() if budget.exists() else None, (epsilon, list(names))
            if number == 1:  # it stops before the release is written, and is asked again
                with suppress(OSError):
                    _heard(lost, publish, world, place / "nowhere" / "release", budget, *asked, delta=delta)
            made = _heard(lost, publish, world, place / f"{number}", budget, *asked, delta=delta, **first)
            answered += int(made == (number in BEYOND))
            spent, first = publishing.spending(budget), {}
            for kind in NON_PUBLIC:
                times = MIXED.multipliers.of(kind)
                counted = [times * (whole - left) for whole, left in zip((TOTAL, TOTAL_DELTA), spent.left, strict=True)]
                found = tuple(map(float, lost[kind]))
                losses.append(Loss(str(kind), float(counted[0]), found[0], float(counted[1]), found[1]))
            if older is not None and budget.read_bytes() != older:
                newest = budget.read_bytes()
                budget.write_bytes(older)
                answered += tried(publish, world, place / "older", budget, "1/8", ["edges"])
                budget.write_bytes(newest)
        for wrong, more in ((other, {}), (world, {"total": "3"}), (world, {"total_delta": "1/2"})):
            answered += tried(publish, wrong, place / "wrong", budget, "1/1000", ["edges"], **more)
    beyond = max(float(each[0] / MIXED.multipliers.of(kind) - TOTAL) for kind, each in lost.items())
    extra = Loss("beyond a cap", 0, max(beyond, 0.0)), Loss("answered", 0, answered)
    return Finding(name, "exact", (*worst(losses), *extra), len(losses), about)


def _heard(lost: dict[Visibility, list[Fraction]], publish: Publish, *given: Any, **more: Any) -> bool:
    """Whether a release was made; what its rounds cost is added, whether it is written or not."""
    with overheard() as heard:
        try:
            return tried(publish, *given, **more)
        finally:
            for (survey, number), kind in product(heard.values(), NON_PUBLIC):
                price = survey.price(kind, number)
                lost[kind][0] += price.epsilon
                lost[kind][1] += price.delta


def _drawn_again(world: Any, release: Path, budget: Path, epsilon: str, names: list[str], **more: Any) -> Any:
    """A mutant: a request that comes again is answered anew, and nothing is charged."""
    if not budget.exists() or not release.name.isdigit() or "total" in more:
        return publishing.publish(world, release, budget, epsilon, names, **more)
    centre = Centre(world, cap=epsilon, delta="1/2")
    return ask_within(centre, Fraction(epsilon), more.get("delta", 0), names, publish=True)


# ── how several statistics share ε ──

# So large that each decides its share: below their own noise all answers are alike.
TOLD = {"edges": 1e3, "triangles": 1e4, "stars:2": 1e5, "max_degree": 5.0}
# The ring again, and a star with a few friendships more: nothing is public in them.
UNLIKE = (RING, [*((0, other) for other in range(1, N)), (1, 2), (2, 3)])


class ToldCentre(Centre):
    """A centre whose answers are always the same numbers, whatever its graph."""

    def ask(self, survey: CuratorSurvey, seed: int | str | None = None) -> dict[str, CentralAnswer]:
        found = super().ask(survey, seed)
        return {name: replace(each, estimate=replace(each.estimate, value=TOLD[name])) for name, each in found.items()}


def by_the_graph(centre: Centre, *given: Any, **more: Any) -> Any:
    """A mutant: who has more edges gives the first statistic more of ε."""
    answers, (pilot, main) = ask_within(centre, *given, **more)
    first, *others = main.queries
    larger = replace(first, epsilon=first.epsilon * centre.world.graph.m)
    return answers, [pilot, replace(main, queries=(larger, *others))]


def audit_splits(name: str, ask: Publish, about: str) -> Finding:
    """How many questions get another ε on another graph, though the pilot's answers are the same."""
    different, looked = 0, 0
    for names, delta, publish in product(
        (("edges", "triangles"), ("triangles", "stars:2")), ("0", DELTA), (False, True)
    ):
        worlds = [VisibilityAwareGraph(edges, "nothing") for edges in UNLIKE]
        asked = [
            ask(ToldCentre(world, cap=2, delta="1/2"), Fraction(1), delta, names, seed=1, publish=publish)[1]
            for world in worlds
        ]
        prices = [
            [(each.statistic, each.epsilon, each.delta) for s in surveys for each in s.queries] for surveys in asked
        ]
        different += sum(one != other for one, other in zip(*prices, strict=True))
        looked += len(prices[0])
    return Finding(name, "exact", (Loss("otherwise", 0, different),), looked, about)


_RELEASES = "nine requests to one budget, some again, stopped, too much; older copies, another graph, another total"
AUDITS = (
    exact("release budgets", audit_budgets, publishing.publish, _RELEASES),
    exact("release splits", audit_splits, ask_within, "questions, not ε: two unlike graphs and the same noisy pilot"),
)
MUTANTS = (
    *exact_mutants(
        audit_budgets, [("release budgets, not charged", "What is asked again is drawn again.", _drawn_again)]
    ),
    *exact_mutants(
        audit_splits, [("release splits, by the graph", "Shares of ε hang on private edges.", by_the_graph)]
    ),
)
