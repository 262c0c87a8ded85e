"""USER triangles in a simulation: every user answers for its row, hears the transcript, and sums."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from visibility_aware_edge_ldp.aggregator.user_triangles import TriangleCollection
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_triangles import FirstRound, RowHolders
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.kernels.cores import on_cores
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.codec import decode, encode
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.row_report import decode_rows, encode_rows
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.list_holders import cut_lists
from visibility_aware_edge_ldp.simulation.population import CoinsFor, coins_for, who_is_present
from visibility_aware_edge_ldp.simulation.progress import ANSWERS, NOBODY_LISTENS, ROWS, Phases, Steps

USERS_AT_ONCE = 1024
Run = tuple[int, RowHolders]


def collect_rows(
    world: VisibilityAwareGraph,
    surveys: Mapping[str, TriangleSurvey],
    seed: int | str | None = None,
    dropout: float = 0.0,
    phases: Phases = NOBODY_LISTENS,
) -> dict[str, TriangleCollection]:
    """Every user answers for its row once and then every survey's sum; what is sent goes through the wire format.

    The surveys share their first round. ``dropout`` is the chance that a user never takes part, whatever its list.
    """
    coins = coins_for(seed)
    collections = {name: TriangleCollection(survey, world.public) for name, survey in surveys.items()}
    runs = _first_round(world, surveys, collections, coins, dropout, Steps(phases.of(ANSWERS), world.graph.n))
    steps = Steps(phases.of(ROWS), len(surveys) * len(runs))
    for name, survey in surveys.items():
        first = FirstRound(survey, world.public, collections[name].close_first_round())
        # The clients and the aggregator read the transcript at the same time, each for itself.
        list(on_cores(lambda read: read(), (first.prepared, collections[name].prepared)))

        def sent(run: Run, name: str = name, survey: TriangleSurvey = survey, first: FirstRound = first) -> bytes:
            start, users = run
            return encode_rows(users.total(survey, first, coins(f"{name} sums", start)))

        for octets in on_cores(sent, runs):
            collections[name].absorb(decode_rows(octets))
            steps()
    return collections


def _first_round(
    world: VisibilityAwareGraph,
    surveys: Mapping[str, TriangleSurvey],
    collections: Mapping[str, TriangleCollection],
    coins: CoinsFor,
    dropout: float,
    steps: Steps,
) -> list[Run]:
    present = who_is_present(world.graph.n, dropout, coins("dropout", 0))

    def answer(view: FriendLists) -> tuple[RowHolders, list[PositionReport]]:
        users = RowHolders(view, world.public, exact_purse(surveys))
        here = None if present is None else present[view.start : view.start + view.count]
        each = (users.answer(survey, coins("row answers", view.start), here) for survey in surveys.values())
        sent = [decode(encode(report)) for report in each]
        for report in sent:
            _ = report.digest  # kept with the report, and worked out here on all cores
        return users, sent

    runs, views = [], list(cut_lists(world.graph, USERS_AT_ONCE))
    for view, (users, sent) in zip(views, on_cores(answer, views), strict=True):
        for name, report in zip(surveys, sent, strict=True):
            collections[name].absorb_answers(report)
        runs.append((view.start, users))
        steps(view.count)
    return runs


def collect_triangles(
    world: VisibilityAwareGraph, survey: TriangleSurvey, seed: int | str | None = None, dropout: float = 0.0
) -> TriangleCollection:
    """Every user answers both rounds of one survey."""
    return collect_rows(world, {survey.statistic: survey}, seed, dropout)[survey.statistic]


def exact_purse(surveys: Mapping[str, TriangleSurvey]) -> Purse:
    """Enough for these surveys and nothing more."""
    one = next(iter(surveys.values()))
    whole = one.first.epsilon + sum((survey.reach + survey.total for survey in surveys.values()), Fraction(0))
    return Purse({kind: one.multipliers.of(kind) * whole for kind in NON_PUBLIC})
