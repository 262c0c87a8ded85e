"""USER rows in parts in a simulation: every user answers for its whole row, and reads its own part of all answers.

All first answers of a large roster do not fit into memory: 2.9 GB at 216,665 users. They are made row after row, go
through their bytes, and of each report only those answers are kept that some user will look up in its part. Who looks
up what is private; a real aggregator keeps everything.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np

from visibility_aware_edge_ldp.aggregator.node_statistics.row_parts import KeptAnswers, PartCollection, public_pairs
from visibility_aware_edge_ldp.client.row_parts import FirstPart
from visibility_aware_edge_ldp.client.rows import TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.positions import Ints, numbers
from visibility_aware_edge_ldp.public.statistic import TRIANGLES
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, decode, encode
from visibility_aware_edge_ldp.public.surveys.row_parts import PartSurvey, part_size, part_survey
from visibility_aware_edge_ldp.public.surveys.rows import decode_rows, encode_rows
from visibility_aware_edge_ldp.public.transcript import holders
from visibility_aware_edge_ldp.simulation import memory, worlds
from visibility_aware_edge_ldp.simulation.execution import Request
from visibility_aware_edge_ldp.simulation.options import Plan
from visibility_aware_edge_ldp.simulation.rows import row_purse

# Users who answer together, more of them where there are few, and such clients at a time. (So many users draw their
# noise from tables.)
USERS_AT_ONCE, CLIENTS_AT_ONCE = (512, 1024), 4
MANY_USERS = 1 << 17


def part_surveys(request: Request, plan: Plan, groups: int) -> dict[str, PartSurvey]:
    """The survey of triangles by parts; refuses what needs all first answers, and what does not fit into memory."""
    others = [name for name in plan.by_rows if name != TRIANGLES.name]
    if others:
        raise BadStatistic(
            f"{others[0]} needs all first answers; with --share or --download users count triangles alone, beside what "
            "degrees tell."
        )
    world, seed = request.world, request.seed
    pairs = float((world.graph.degrees * (world.graph.degrees - 1.0)).sum()) / 6 / groups
    need = memory.by_parts(world.graph.n, world.graph.m, pairs)
    memory.refuse(world.graph.n, need, "Let users download less, or use an induced subgraph with --top N.")
    coin = os.urandom(16).hex() if seed is None else seeded_key(seed, "coin of parts").hex()
    return {TRIANGLES.name: part_survey(world.public, plan.row_epsilon, groups, coin)}


def spent_on(survey: PartSurvey) -> dict[str, float]:
    """On what the rows' epsilon goes."""
    return {
        "the first answers": float(survey.first.epsilon),
        "the rows' triangles": float(survey.total),
        "the lengths of lists": float(survey.reach),
    }


def note(survey: PartSurvey) -> str:
    """What the certificate says of it."""
    octets = part_size(survey.nodes, survey.groups)
    size = memory.size(octets) if octets > 1e6 else f"{octets / 1000:,.0f} kB"
    return (
        f"Everybody answered for all of its row, and downloaded 1/{survey.groups} of the first answers, about {size}, "
        "that a public coin chose. An edge loses no less for that"
    )


def collect_parts(
    world: VisibilityAwareGraph,
    surveys: Mapping[str, PartSurvey],
    seed: int | str | None = None,
    dropout: float = 0.0,
    phases: worlds.Phases = worlds.NOBODY_LISTENS,
) -> dict[str, PartCollection]:
    """Every user answers for its row once, and then every survey's sum from its own part; all through its bytes.

    The surveys share their first round. ``dropout`` is the chance that a user never takes part, whatever its list.
    """
    if len({survey.first.identity for survey in surveys.values()}) != 1:
        raise ProtocolViolation("Surveys that are asked together share their first round; ask these one by one.")
    random_bytes, n = worlds.random_bytes_for(seed), world.graph.n
    views = list(worlds.cut_lists(world.whole, USERS_AT_ONCE[n < MANY_USERS]))
    first = KeptAnswers(next(iter(surveys.values())).first, world.public, looked_up(world, surveys, views))
    clients = []
    steps = worlds.Steps(phases.of(worlds.ANSWERS), n)
    present = worlds.who_is_present(n, dropout, random_bytes("dropout", 0))

    def answer(view: FriendLists) -> tuple[TwoRoundClient, PositionReport]:
        client = TwoRoundClient(view, world.public, row_purse(surveys))
        here = None if present is None else present[view.start : view.start + view.count]
        sent = [client.answer(each, 1, random_bytes("row answers", view.start), here) for each in surveys.values()]
        report = decode(encode(sent[0]))
        _ = report.digest  # kept with the report, and worked out here on all cores
        client.forget_rows()
        return client, report

    for view, (client, report) in zip(views, _ahead(answer, iter(views)), strict=True):
        first.absorb(report)
        clients.append((view.start, client))
        steps(view.count)
    return {
        name: _second_round(world, name, survey, first, clients, random_bytes, phases)
        for name, survey in surveys.items()
    }


def looked_up(world: VisibilityAwareGraph, surveys: Mapping[str, PartSurvey], views: list[FriendLists]) -> Ints:
    """The numbers of the positions whose first answers somebody needs, sorted: users, and for public rows everybody."""
    purse = row_purse(surveys)
    found = [np.empty(0, np.int64)]
    for view in views:
        client = TwoRoundClient(view, world.public, purse)
        for survey in surveys.values():
            pairs = client.pairs(survey)
            found.append(numbers(world.graph.n, pairs.u, pairs.v))
    public = public_pairs(world.public, holders(world.public))
    found.append(numbers(world.graph.n, public.u, public.v))
    places = np.sort(np.concatenate(found))
    return places[np.diff(places, prepend=-1) > 0]


def _second_round(
    world: VisibilityAwareGraph,
    name: str,
    survey: PartSurvey,
    first: KeptAnswers,
    clients: list[tuple[int, TwoRoundClient]],
    random_bytes: worlds.RandomBytesFor,
    phases: worlds.Phases,
) -> PartCollection:
    collection = PartCollection(survey, world.public, first)
    read = FirstPart(survey, world.public, collection.first_answers)
    steps = worlds.Steps(phases.of(worlds.ROWS), len(clients))
    for start, client in clients:
        report = client.total(survey, read, random_bytes(f"{name} sums", start))
        collection.absorb(decode_rows(encode_rows(report)))
        steps()
    return collection


def _ahead(answer: object, views: Iterator[FriendLists]) -> Iterator[tuple[TwoRoundClient, PositionReport]]:
    """What each view answers, in order, some at a time."""
    while batch := list(islice(views, CLIENTS_AT_ONCE)):
        yield from on_cores(answer, batch)  # type: ignore[arg-type]
