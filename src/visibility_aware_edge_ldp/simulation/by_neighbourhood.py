"""NEIGHBOURHOOD in a simulation: triangles, counted by public hubs where there are any, and else by all users."""

from __future__ import annotations

from collections.abc import Sequence

from visibility_aware_edge_ldp.aggregator.answers import Answers, Certificate
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.hub import HubCollection
from visibility_aware_edge_ldp.aggregator.hub import estimate as estimate_hubs
from visibility_aware_edge_ldp.aggregator.neighbourhood import public_triangles
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.privacy.parameters import Number
from visibility_aware_edge_ldp.public.hub_plan import hubs_see_everybody
from visibility_aware_edge_ldp.public.hub_survey import PLAIN, SHARED, hub_survey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation.neighbourhoods import OwnedTriangles, collect_hubs, collect_owned_triangles
from visibility_aware_edge_ldp.simulation.worlds import assumptions_of, positions_per_class

TRUST_WORDS = (
    "one reporter sees its friends' friends too, counts, and adds noise before it sends; the aggregator is not trusted."
)
DEFAULT = ("triangles",)
BOARD_ASSUMPTION = "the bounds were computed from the degrees as they were reported, for everybody to check"
SIGHT_ASSUMPTION = "users see the edges within two steps of them anyway, by the platform's rules"


def by_neighbourhood(
    world: VisibilityAwareGraph,
    epsilon: Number,
    statistics: Sequence[str],
    delta: Number = 0,
    reporters: str = "auto",
    dropout: float = 0.0,
    seed: int | str | None = None,
) -> Answers:
    """Triangles from hubs ("hubs", "plain hubs"), from all users ("users"), or with document 004's cap ("cap:50")."""
    if tuple(statistics) != DEFAULT:
        raise BadStatistic("In the neighbourhood model triangles are counted; for the rest use --trust user.")
    chosen = _chosen(world, reporters)
    if not world.public.present & set(NON_PUBLIC):
        known = Estimate("triangles", float(public_triangles(world.public)), 0.0)
        return _answers(world, known, "everything is public, so nobody was asked", {}, seed)
    if chosen in (SHARED, PLAIN):
        if dropout:
            raise BadInput("A hub that stays away takes its triangles with it; leave dropout out.")
        hubs = collect_hubs(world, hub_survey(world.public, epsilon, chosen), seed)
        return _answers(world, estimate_hubs(hubs), _left_out(hubs), {}, seed)
    cap = int(chosen.removeprefix("cap:")) if chosen.startswith("cap:") else None
    users = collect_owned_triangles(world, epsilon, delta, cap, seed=seed, dropout=dropout)
    response = {"users": float((users.degrees.took_part & users.collection.answered).mean())}
    believed = (BOARD_ASSUMPTION,) if users.collection.survey.plan.delta else ()
    return _answers(world, users.estimate, _lost(users), response, seed, believed)


def _chosen(world: VisibilityAwareGraph, reporters: str) -> str:
    known = {"hubs": SHARED, "plain hubs": PLAIN, "users": "users"}
    if reporters == "auto":
        return SHARED if hubs_see_everybody(world.public) else "users"
    if reporters.startswith("cap:") and reporters[4:].isdecimal() and int(reporters[4:]) >= 2:
        return reporters
    if reporters not in known:
        raise BadInput(f"{reporters!r} cannot report; use auto, hubs, plain hubs, users, or cap:50 (from 2 on).")
    return known[reporters]


def _left_out(hubs: HubCollection) -> str:
    return f"at most {hubs.left_out():,.0f} triangles are left out (they are in the interval)"


def _lost(users: OwnedTriangles) -> str:
    lost = users.collection.survey.plan.lost
    return f"at most about {lost:,.0f} triangles are lost to bounds (they are in the interval)" if lost else ""


def _spending(found: Estimate) -> dict[str, float]:
    """On what the loss of an edge went, PRIVATE where there are any: hubs count at once, users tell degrees first."""
    names = ("the degrees", "the counts")[-len(found.releases) :] if found.releases else ()
    prices = (dict(release.prices) for release in found.releases)
    losses = (float((each.get(Visibility.PRIVATE) or next(iter(each.values()))).epsilon) for each in prices)
    return dict(zip(names, losses, strict=True))


def _answers(
    world: VisibilityAwareGraph,
    found: Estimate,
    note: str,
    response: dict[str, float],
    seed: int | str | None,
    assumed: tuple[str, ...] = (),
) -> Answers:
    certificate = Certificate(
        trust="NEIGHBOURHOOD",
        trust_words=TRUST_WORDS,
        bill=Bill((*world.policy.paid, *found.releases)),
        policy=str(world.policy),
        classes=positions_per_class(world),
        response=response,
        assumptions=(*assumptions_of(world), SIGHT_ASSUMPTION, *assumed),
        simulated=seed is not None,
        paid=world.policy.paid,
        notes=(note,) if note else (),
        spent=_spending(found),
    )
    return Answers({"triangles": found}, certificate)
