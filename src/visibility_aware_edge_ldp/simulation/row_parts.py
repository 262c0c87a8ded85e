"""USER rows in parts in a simulation: every user answers for its whole row, and reads its own part of all answers.

All first answers of a large roster do not fit into memory: 2.9 GB at 216,665 users. They are made row after row, go
through their bytes, and of each report only those answers are kept that some user will look up in its part. Who looks
up what is private; a real aggregator keeps everything.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import cast

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import Bits, InOrder
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.node_statistics.row_parts import (
    PartCollection,
    part_triangles,
    public_pairs,
)
from visibility_aware_edge_ldp.aggregator.rows import cycles
from visibility_aware_edge_ldp.client.row_parts import FirstPart
from visibility_aware_edge_ldp.client.rows import TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.positions import Ints, numbers, row_of, row_start
from visibility_aware_edge_ldp.public.statistic import FOUR_CYCLES, TRIANGLES
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey, decode, encode
from visibility_aware_edge_ldp.public.surveys.row_parts import (
    CoinSurvey,
    CyclePartSurvey,
    PartSurvey,
    cycle_part_survey,
    part_survey,
    part_words,
)
from visibility_aware_edge_ldp.public.surveys.rows import decode_rows, encode_rows
from visibility_aware_edge_ldp.public.transcript import asked_in_rows, holders, ones_between
from visibility_aware_edge_ldp.public.transcript_parts import bits_at
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.simulation import memory, worlds
from visibility_aware_edge_ldp.simulation.execution import Request
from visibility_aware_edge_ldp.simulation.options import Plan
from visibility_aware_edge_ldp.simulation.rows import collect_rows, row_purse

# Users who answer together, more of them where there are few, and such clients at a time. (So many users draw their
# noise from tables.)
USERS_AT_ONCE, CLIENTS_AT_ONCE = (512, 1024), 4
MANY_USERS = 1 << 17


class KeptAnswers(InOrder):
    """First answers of whole rows, in order, of which only those at some positions are kept.

    ``places`` are the numbers of the positions that somebody looks up, sorted. They are private: a real aggregator
    does not know them, and keeps all answers.
    """

    def __init__(self, survey: PositionSurvey, view: PublicView, places: Ints) -> None:
        super().__init__(survey, view)
        self._places, self._said = places, np.zeros(places.size, np.bool_)
        self.answered: Bits = np.zeros(view.n, np.bool_)
        self._asked = asked_in_rows(view)

    def add(self, report: PositionReport) -> None:
        """Look up what is kept of the next rows; refuse a part of a row, and rows out of order."""
        super().add(report)
        if report.start != self._next:
            raise ProtocolViolation(f"Reports come row after row: the one from position {self._next} is next.")
        self._digest.update(report.digest.encode())
        stop = report.start + report.count
        if not report.count:
            return
        rows = slice(row_of(self.view.n, report.start), row_of(self.view.n, stop - 1) + 1)
        starts = row_start(self.view.n, np.arange(rows.start, rows.stop + 1)) - report.start
        heard = ones_between(np.frombuffer(report.answered, np.uint8), starts)
        if starts[0] or starts[-1] != report.count or ((heard != 0) & (heard != self._asked[rows])).any():
            raise ProtocolViolation("A user answered for a part of its row; a row answers as a whole.")
        self.answered[rows] = heard > 0
        first, last = np.searchsorted(self._places, [report.start, stop])
        here = self._places[first:last] - report.start
        self._said[first:last] = bits_at(np.frombuffer(report.ones, np.uint8), here)
        self._next = stop

    def ones(self, u: Ints, v: Ints) -> Bits:
        """What was said at these positions, which are all kept."""
        wanted, found = numbers(self.view.n, u, v), np.zeros(u.shape, np.bool_)
        order = np.argsort(wanted)  # in their order they are looked up near each other, which is many times faster
        wanted = wanted[order]
        place = np.searchsorted(self._places, wanted)
        if wanted.size and (place[-1] >= self._places.size or (self._places[place] != wanted).any()):
            raise ProtocolViolation("First answers were looked up that were not kept.")
        found[order] = self._said[place]
        return found


def statistic_of(plan: Plan) -> str:
    """What is summed by parts: triangles, unless 4-cycles alone are asked for."""
    return FOUR_CYCLES.name if plan.by_rows == (FOUR_CYCLES.name,) else TRIANGLES.name


def part_surveys(request: Request, plan: Plan, groups: int) -> dict[str, CoinSurvey]:
    """The survey by parts; refuses what needs all first answers, and what does not fit into memory."""
    world, seed, name = request.world, request.seed, statistic_of(plan)
    if {*plan.by_rows} == {TRIANGLES.name, FOUR_CYCLES.name}:
        raise BadStatistic(
            "Triangles and 4-cycles by parts have first rounds of their own; with --share or --download ask for each "
            "in a call of its own."
        )
    if others := [each for each in plan.by_rows if each != name]:
        raise BadStatistic(
            f"{others[0]} needs all first answers; with --share or --download users count triangles alone or 4-cycles "
            "alone, beside what degrees tell."
        )
    coin = os.urandom(16).hex() if seed is None else seeded_key(seed, "coin of parts").hex()
    if name == FOUR_CYCLES.name:
        request.run.refuse_too_large()
        return {name: cycle_part_survey(world.public, plan.row_epsilon, groups, coin)}
    pairs = float((world.graph.degrees * (world.graph.degrees - 1.0)).sum()) / 6 / groups
    need = memory.by_parts(world.graph.n, world.graph.m, pairs)
    memory.refuse(world.graph.n, need, "Let users download less, or use an induced subgraph with --top N.")
    return {name: part_survey(world.public, plan.row_epsilon, groups, coin)}


def estimate_parts(request: Request, surveys: dict[str, CoinSurvey], phases: worlds.Phases) -> tuple[Estimate, float]:
    """The estimate of what is summed by parts, and the share of the users who took part."""
    ((name, survey),) = surveys.items()
    world, seed, dropout = request.world, request.seed, request.dropout
    if isinstance(survey, CyclePartSurvey):
        rows = collect_rows(world, {name: survey}, seed, dropout, phases)[name]
        return cycles(rows, worlds.Steps(phases.of(worlds.PATHS), 1)), rows.response_rate
    parts = collect_parts(world, {name: cast(PartSurvey, survey)}, seed, dropout, phases)[name]
    return part_triangles(parts), parts.response_rate


def spent_on(survey: CoinSurvey) -> dict[str, float]:
    """On what the rows' epsilon goes."""
    lengths = "the lengths of lists" if isinstance(survey, PartSurvey) else "their standard errors"
    return {
        "the first answers": float(survey.first.epsilon),
        f"the rows' {survey.statistic.replace('_', ' ')}": float(survey.total),
        lengths: float(survey.reach),
    }


def note(survey: CoinSurvey) -> str:
    """What the certificate says of it."""
    words = part_words(survey.nodes, survey.groups, survey.statistic)
    return f"Everybody answered for all of its row, and downloaded {words}. An edge loses no less for that"


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
