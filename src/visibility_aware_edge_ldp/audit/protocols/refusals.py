"""What every client must refuse, or answer as before, tried on the real ones; and coins that never come again.

[POSITION.2-3], [TRIANGLE.1]

A survey of another roster or policy, or that asks more than the policy allows; a round that a survey does not have; a
price above what is left in the purse, for each class and for δ; a bound below a user's own report; a list that names a
friend twice; fewer coins than were asked for; a second round before the first, or on first answers that are another
survey's, lack the user's own, or are not those of before. What is counted is how many of these were answered: not ε,
and 0 is claimed. Asked again with other coins, also by a survey that shares its first round, a client must say the same
again; how many do not is counted too.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import fresh_coins, no_noise
from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss, exact, exact_mutants, replaced
from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.client.reporter import Client, Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import Edges, FriendLists, PositionBits, TwoHop, WholeGraph
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, secure_random_bytes
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import neighbourhood
from visibility_aware_edge_ldp.public.surveys.curator import CuratorSurvey, curator_survey
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import GroupSurvey, group_survey
from visibility_aware_edge_ldp.public.surveys.histogram import histogram_survey
from visibility_aware_edge_ldp.public.surveys.hubs import hub_survey
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.surveys.rows import STATISTICS, RowSurvey, row_surveys, triangle_survey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Multipliers

Clients = Mapping[str, type[Client[Any, Any, Any]]]
N, OTHER = 6, "0" * 64
# Node 0 is public and everybody's friend; the others have some private edges and a friend-visible one.
PUBLIC_EDGES = np.array([(0, other) for other in range(1, N)], np.int32)
EDGES = np.array(sorted([*map(tuple, PUBLIC_EDGES.tolist()), (1, 2), (2, 3), (1, 3), (4, 5)]), np.int32)
POLICY = VisibilityPolicy.from_profiles({0: "public"}, rule="any") | VisibilityPolicy.from_positions([], [(4, 5)])
GROUPS = Groups("number", ("even", "odd"), np.arange(N) % 2)
VIEW = PublicView(range(N), POLICY, PUBLIC_EDGES, GROUPS)
SMALL = Fraction(1, 10**9)
ENOUGH = dict.fromkeys(NON_PUBLIC, Fraction(1000))
DELTA = Fraction(1, 10**6)
# More than an encryption is given at once, and a little.
MANY = (1 << 20) + (1 << 16)


def _lists(edges: Edges = EDGES) -> FriendLists:
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    return FriendLists(0, np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=N))]), both[:, 1])


def _bits(edges: Edges = EDGES) -> PositionBits:
    drawn = {tuple(edge) for edge in edges.tolist()}
    return PositionBits(0, np.array([(u, v) in drawn for u in range(N) for v in range(u + 1, N)]))


@dataclass(frozen=True)
class Asked:
    """A lawful survey, what a client holds, and how the survey says that it is about something else."""

    survey: Any
    held: Callable[[], Any]
    first: int = 1

    def foreign(self) -> Iterator[Any]:
        """The same survey of another roster, another policy, of other groups, and at another price."""
        whose, multipliers = self.survey, Multipliers(Fraction(9), Fraction(3))
        if isinstance(whose, GroupSurvey):
            yield replace(whose, groups=replace(GROUPS, members=1 - GROUPS.members))
        for change in ({"roster": OTHER}, {"policy": OTHER}, {"multipliers": multipliers}):
            if hasattr(whose, "first"):
                yield replace(whose, first=replace(whose.first, **change))
            elif hasattr(whose, "queries") and "multipliers" in change:
                yield replace(whose, queries=tuple(replace(query, **change) for query in whose.queries))
            elif whose.multipliers is not None or "multipliers" not in change:
                yield replace(whose, **change)


def questions(view: PublicView, edges: Edges) -> dict[str, Asked]:
    """By protocol: a lawful survey of these six users, and what those hold who answer it."""
    asked = (
        Asked(position_survey(view, 1, rounds=2), partial(_bits, edges)),
        Asked(position_survey(view, 1, rounds=2, sample="1/2", coin="heads"), partial(_bits, edges)),
        Asked(degree_survey(view, 1), partial(_lists, edges)),
        Asked(group_survey(view, 1), partial(_lists, edges)),
        Asked(histogram_survey(view, 1), partial(_lists, edges)),
        Asked(triangle_survey(view, 1), partial(_lists, edges)),
        Asked(
            neighbourhood.neighbourhood_survey(view, 1, neighbourhood.clipped_plan(N, 3)), lambda: TwoHop(0, edges, N)
        ),
        Asked(hub_survey(view, 1), lambda: TwoHop(0, edges)),
        Asked(curator_survey(view, 1, statistics=("edges", "triangles")), lambda: WholeGraph(N, edges), 0),
    )
    return {each.survey.protocol: each for each in asked}


ASKED = questions(VIEW, EDGES)


def attempts(clients: Clients) -> Iterator[Callable[[], object]]:
    """Everything that must be refused; each is tried on a client of its own."""
    for name, asked in ASKED.items():
        kind, enough = clients[name], Purse(ENOUGH, DELTA)
        ask = partial(_ask, kind, asked.held)
        yield from (partial(ask, survey, asked.first, enough) for survey in asked.foreign())
        wrong = asked.first - 1, asked.first + asked.survey.rounds
        yield from (partial(ask, asked.survey, number, enough) for number in wrong)
        prices = kind(asked.held(), VIEW, enough).prices(asked.survey, asked.first)
        cost = {each: price.epsilon for each, price in prices.items()}
        less = ({**cost, each: cost[each] - SMALL} for each in cost)
        yield from (partial(ask, asked.survey, asked.first, Purse(caps, DELTA)) for caps in less)
        yield from [partial(_twice, kind, asked)] if cost else []
        yield partial(ask, asked.survey, asked.first, enough, _too_few)
    twice = FriendLists(1, np.array([0, 2]), np.array([2, 2], np.int32))
    yield partial(clients[DegreeSurvey.protocol], twice, VIEW, Purse(ENOUGH))
    yield partial(_delta_twice, clients[CuratorSurvey.protocol])
    yield partial(_lowered, clients[neighbourhood.NeighbourhoodSurvey.protocol])
    heard, rows = _heard(), clients[RowSurvey.protocol]
    yield partial(_totals, rows, heard, first=False)
    yield partial(_totals, rows, replace(heard, survey=OTHER))
    yield partial(_totals, rows, replace(heard, answered=0 * heard.answered, ones=0 * heard.ones))
    yield partial(_totals, rows, heard, replace(heard, ones=0 * heard.ones))


def _ask(
    kind: type[Client[Any, Any, Any]],
    held: Callable[[], Any],
    survey: Any,
    number: int,
    purse: Purse,
    coins: RandomBytes = no_noise,
) -> object:
    return kind(held(), VIEW, purse).answer(survey, number, coins)


def _too_few(count: int) -> bytes:
    """Half of the coins that are asked for."""
    return no_noise(count // 2)


def _twice(client: type[Client[Any, Any, Any]], asked: Asked) -> object:
    """The purse holds enough for one survey, and a second one is asked."""
    purse = Purse({kind: each.epsilon for kind, each in asked.survey.payment(1).items()}, DELTA)
    client(asked.held(), VIEW, purse).answer(asked.survey, asked.first, no_noise)
    return client(asked.held(), VIEW, purse).answer(asked.survey, asked.first, no_noise)


def _delta_twice(client: type[Client[Any, Any, Any]]) -> object:
    """The purse holds enough δ for one question, and two are asked."""
    survey = curator_survey(VIEW, 1, DELTA, statistics=("triangles", "stars:2"))
    worth = max(price.delta for price in survey.payment(1).values())
    purse = Purse(ENOUGH, worth * Fraction(3, 2))
    centre = client(WholeGraph(N, EDGES), VIEW, purse)
    centre.answer(survey, 0, no_noise)
    return centre.answer(survey, 1, no_noise)


def _lowered(client: Any) -> object:
    """An aggregator believes a bound that is below what the users themselves reported.  [OWNER.2]"""
    first, noisy = degree_survey(VIEW, 1), np.full(N, 1)
    plan = neighbourhood.believed_plan(first, noisy, np.ones(N, np.bool_), Fraction(1, 100), Fraction(1))
    lowered = replace(plan, bounds=np.full(N, 2))
    purse = Purse(ENOUGH, Fraction(1, 2))
    holder = client(TwoHop(0, EDGES, N), VIEW, purse, (first, noisy))
    return holder.answer(neighbourhood.neighbourhood_survey(VIEW, 1, lowered), 1, no_noise)


def _heard() -> Transcript:
    """First answers of everybody, all 1."""
    survey, both = triangle_survey(VIEW, 1), VIEW.class_bits
    answered = np.bitwise_or.reduce([both[kind] for kind in NON_PUBLIC])
    return Transcript(survey.first.identity, answered, answered.copy())


def _totals(kind: Any, *heard: Transcript, first: bool = True) -> object:
    """Second rounds on these first answers, one after the other."""
    survey = triangle_survey(VIEW, 1)
    users = kind(_lists(), VIEW, Purse(ENOUGH))
    said = [users.answer(survey, 1, no_noise)] if first else []
    return [*said, *(users.total(survey, FirstRound(survey, VIEW, each), no_noise) for each in heard)]


def asked_again(clients: Clients) -> Iterator[Callable[[RandomBytes, RandomBytes], tuple[object, object]]]:
    """Answers that must be the same, whatever the coins: of one question, and of two that share a first round."""
    for name, asked in ASKED.items():
        yield partial(_again, clients[name], asked, (asked.survey, asked.survey))
    both = tuple(row_surveys(VIEW, 1, STATISTICS).values())
    yield partial(_again, clients[RowSurvey.protocol], ASKED[RowSurvey.protocol], both)


def _again(
    kind: type[Client[Any, Any, Any]], asked: Asked, surveys: Sequence[Any], *coins: RandomBytes
) -> tuple[object, object]:
    client = kind(asked.held(), VIEW, Purse(ENOUGH, DELTA))
    one, other = (client.answer(each, asked.first, drawn) for each, drawn in zip(surveys, coins, strict=True))
    return one, other


def audit_refusals(name: str, clients: Clients, about: str) -> Finding:
    """How many of the questions that must be refused were answered."""
    tried, answered = 0, 0
    for attempt in attempts(clients):
        tried += 1
        try:
            attempt()
        except (Refused, ProtocolViolation, BadInput):
            continue
        answered += 1
    same = [again(fresh_coins(name, "one"), fresh_coins(name, "other")) for again in asked_again(clients)]
    changed = sum(not alike(one, other) for one, other in same)
    losses = Loss("answered", 0, answered), Loss("again", 0, changed)
    return Finding(name, "exact", losses, tried + len(same), about)


def alike(one: object, other: object) -> bool:
    """Whether two reports are the same in all their parts."""
    parts = ([getattr(each, part.name) for part in fields(each)] for each in (one, other))  # type: ignore[arg-type]
    return all(np.array_equal(here, there) for here, there in zip(*parts, strict=True))


def audit_coins(name: str, source: Callable[[], RandomBytes], about: str) -> Finding:
    """How many blocks of sixteen bytes came twice: from one source, from another, and from a child of this process."""
    coins = source()
    drawn = [coins(MANY), source()(MANY), _in_a_child(coins), coins(1 << 10)]
    blocks = np.frombuffer(b"".join(drawn), "V16")
    return Finding(name, "exact", (Loss("again", 0, blocks.size - np.unique(blocks).size),), blocks.size, about)


def _in_a_child(coins: RandomBytes) -> bytes:
    """What a forked process draws next; where processes cannot be forked, nothing."""
    if not hasattr(os, "fork"):
        return b""
    here, there = os.pipe()
    with warnings.catch_warnings():  # that other threads may wait for ever: this child draws, writes and ends
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        try:
            os.write(there, coins(1 << 10))
        finally:
            os._exit(0)
    os.close(there)
    with os.fdopen(here, "rb") as told:
        found = told.read()
    os.waitpid(child, 0)
    return found


Unquestioning = replaced(NeighbourhoodClient, verify=lambda client, survey, number: survey)


def _forgetful(client: Any, survey: Any, number: int, *given: Any) -> Any:
    client._row_bits._answers.clear()
    return TwoRoundClient.randomize(client, survey, number, *given)


DrawnAgain = replaced(TwoRoundClient, randomize=_forgetful)
AUDITS = (
    exact(
        "refusals",
        audit_refusals,
        CLIENTS,
        "questions, not ε: what every client must refuse, or answer as before, tried one by one",
    ),
    exact("coins", audit_coins, secure_random_bytes, "blocks, not ε: 2 MiB from two sources, and from a forked child"),
)
MUTANTS = (
    *exact_mutants(
        audit_refusals,
        [
            (
                "refusals, none",
                "The client believes every survey.",
                {**CLIENTS, neighbourhood.NeighbourhoodSurvey.protocol: Unquestioning},
            )
        ],
    ),
    *exact_mutants(
        audit_coins, [("coins, a known key", "All draw with the same key.", lambda: fresh_coins("known to all"))]
    ),
)
