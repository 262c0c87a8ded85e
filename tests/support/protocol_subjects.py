"""One small world for every protocol: a survey, other values for each of its fields, and clients that answer it.

A new protocol adds one ``Subject`` to ``SUBJECTS``; everything in ``tests/conformance`` then tests it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.client.reporter import Client, Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits, TwoHop, WholeGraph
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.layout import Report
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import numbers, position_count
from visibility_aware_edge_ldp.public.surveys.base import Survey
from visibility_aware_edge_ldp.public.surveys.curator import BoundQuery, curator_survey
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import group_survey
from visibility_aware_edge_ldp.public.surveys.histogram import histogram_survey
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, hub_plan, hub_survey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import clipped_plan, neighbourhood_survey
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.surveys.rows import triangle_survey
from visibility_aware_edge_ldp.public.surveys.sample import PositionSample
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Multipliers, Visibility

N = 7
TYPES = {0: "hub", 1: "a", 2: "a", 3: "a", 4: "b", 5: "b", 6: "b"}
TABLE: dict[tuple[str, str], Visibility | str] = {
    ("hub", "hub"): "public",
    ("hub", "a"): "public",
    ("hub", "b"): "public",
    ("a", "a"): "private",
    ("b", "b"): "private",
    ("a", "b"): "friend_visible",
}
EDGES = np.array([[0, 1], [0, 2], [0, 4], [0, 5], [1, 2], [1, 4], [2, 3], [2, 4], [4, 5], [5, 6]], np.int32)
GROUPS = Groups("parity", ("even", "odd"), np.arange(N) % 2)
VIEW = PublicView(range(N), VisibilityPolicy.from_types(TYPES, TABLE, "a"), EDGES[:4], GROUPS)
DIGEST, OTHERS = "0" * 64, Multipliers(Fraction(7), Fraction(1))
ENOUGH = Purse(dict.fromkeys(NON_PUBLIC, Fraction(1000)), Fraction(1, 2))
Change = dict[str, Any]


def no_bytes(count: int) -> bytes:
    """Random bytes for those who must not draw any."""
    raise AssertionError(f"{count} random bytes were drawn by a client that must not answer")


def everything() -> FriendLists:
    """Everybody's friend list."""
    both = np.concatenate([EDGES, EDGES[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=N))])
    return FriendLists(0, offsets, both[:, 1].astype(np.int32))


def all_bits() -> PositionBits:
    """The bits of all positions."""
    bits = np.zeros(position_count(N), np.bool_)
    bits[numbers(N, EDGES[:, 0], EDGES[:, 1])] = True
    return PositionBits(0, bits)


def ask(client: Client[Any, Any, Any], survey: Any, round_number: int, random_bytes: RandomBytes) -> Report:
    """The report of one round."""
    return client.answer(survey, round_number, random_bytes)  # type: ignore[no-any-return]


def ask_rows(client: Client[Any, Any, Any], survey: Any, round_number: int, random_bytes: RandomBytes) -> Report:
    """The same, where the second round takes everybody's answers of the first."""
    assert isinstance(client, TwoRoundClient)
    if round_number == 1:
        return client.answer(survey, 1, random_bytes)  # type: ignore[no-any-return]
    sent = client.answer(survey, 1, no_bytes)
    told = Transcript(survey.first.identity, *(np.frombuffer(b, np.uint8) for b in (sent.answered, sent.ones)))
    return client.total(survey, FirstRound(survey, VIEW, told), random_bytes)


@dataclass(frozen=True)
class Subject:
    """What a protocol is tested with.

    Parameters
    ----------
    survey
        A survey of the world above.
    changes
        For each field of the survey: other fields' values with which its identity must be another.
    foreign
        For what a client must refuse: the fields that say so, and a part of its sentence.
    view
        What a client holds.
    asked
        The numbers of its rounds, as clients are asked for them.
    """

    survey: Any
    changes: dict[str, Change]
    view: Callable[[], Any]
    foreign: dict[str, Change] = field(default_factory=dict)
    asked: tuple[int, ...] = (1,)
    ask: Callable[[Any, Any, int, RandomBytes], Report] = ask

    def client(self, name: str, purse: Purse) -> Client[Any, Any, Any]:
        """A client with all bits of the world and this purse."""
        return CLIENTS[name](self.view(), VIEW, purse)

    def other(self, change: Change) -> Survey:
        """The survey with other fields."""
        return replace(self.survey, **change)


WORLD: dict[str, Change] = {"another roster": {"roster": DIGEST}, "another policy": {"policy": DIGEST}}
ROSTER: dict[str, Change] = {
    "roster": {"roster": DIGEST},
    "nodes": {"nodes": N + 1},
    "policy": {"policy": DIGEST},
    "epsilon": {"epsilon": Fraction(3, 2)},
}
COSTS: dict[str, Change] = {"would cost": {"multipliers": OTHERS}}
ONE_CLASS: dict[str, Change] = {"other classes": {"classes": (Visibility.PRIVATE,)}}
# Of an edge that two people hold: the same survey for people and places would let it pay twice.
ONE_LIST: dict[str, Change] = {"stands in 1 lists": {"lists": 1}}
HALF = (Fraction(1, 2), Fraction(1, 2))
_position = position_survey(VIEW, 1, rounds=2)
_sample = position_survey(VIEW, 1, rounds=2, sample="1/2", coin="heads")
_degrees, _histogram, _rows = degree_survey(VIEW, 1), histogram_survey(VIEW, 1), triangle_survey(VIEW, 1)
_groups, _others = group_survey(VIEW, 1), {"groups": replace(GROUPS, labels=("odd", "even"))}
_neighbourhood, _hubs = neighbourhood_survey(VIEW, 1, clipped_plan(N, 3)), hub_survey(VIEW, 1)
_curator = curator_survey(VIEW, 1, statistics=("edges", "triangles"))
_by_position: dict[str, Change] = {
    **ROSTER,
    "shares": {"shares": (Fraction(1, 4), Fraction(3, 4))},
    "multipliers": {"multipliers": OTHERS},
}


def _first(**change: Any) -> Change:
    return {"first": replace(_rows.first, **change)}


def _queries(**change: Any) -> Change:
    return {"queries": tuple(replace(query, **change) for query in _curator.queries)}


SUBJECTS: dict[str, Subject] = {
    "position": Subject(
        _position,
        {**_by_position, "sample": {"sample": PositionSample(Fraction(1, 2))}},
        all_bits,
        {**WORLD, **COSTS},
        asked=(1, 2),
    ),
    "sample": Subject(
        _sample,
        {**_by_position, "sample": {"sample": PositionSample(Fraction(1, 2), "tails")}},
        all_bits,
        {**WORLD, **COSTS},
        asked=(1, 2),
    ),
    "degrees": Subject(
        _degrees,
        {
            **ROSTER,
            "classes": ONE_CLASS["other classes"],
            "multipliers": COSTS["would cost"],
            "lists": ONE_LIST["stands in 1 lists"],
        },
        everything,
        {**WORLD, **COSTS, **ONE_CLASS, **ONE_LIST},
    ),
    "groups": Subject(
        _groups,
        {
            **ROSTER,
            "nodes": {"nodes": N + 1, "groups": Groups("parity", ("even", "odd"), np.arange(N + 1) % 2)},
            "classes": ONE_CLASS["other classes"],
            "multipliers": COSTS["would cost"],
            "lists": ONE_LIST["stands in 1 lists"],
            "groups": _others,
        },
        everything,
        {**WORLD, **COSTS, **ONE_CLASS, **ONE_LIST, "other groups": _others},
    ),
    "histogram": Subject(
        _histogram,
        {**ROSTER, "nodes": {"nodes": N + 1, "edges": (0, 1, N + 1)}, "edges": {"edges": (0, 3, N)}},
        everything,
        WORLD,
    ),
    "rows": Subject(
        _rows,
        {
            "first": _first(epsilon=Fraction(1, 3)),
            "reach": {"reach": Fraction(1, 9)},
            "total": {"total": Fraction(1, 9)},
            "share": {"share": Fraction(1, 9)},
            "fineness": {"fineness": 3},
            "statistic": {"statistic": "four_cycles"},
        },
        everything,
        {
            "another roster": _first(roster=DIGEST),
            "another policy": _first(policy=DIGEST),
            "would cost": _first(multipliers=OTHERS),
        },
        asked=(1, 2),
        ask=ask_rows,
    ),
    "neighbourhood": Subject(
        _neighbourhood,
        {
            **ROSTER,
            "nodes": {"nodes": N + 1, "plan": clipped_plan(N + 1, 3)},
            "plan": {"plan": clipped_plan(N, 4)},
            "classes": {"classes": (Visibility.FRIEND_VISIBLE,)},
            "multipliers": COSTS["would cost"],
        },
        lambda: TwoHop(0, EDGES, N),
        {**WORLD, **COSTS, **ONE_CLASS},
    ),
    "hubs": Subject(
        _hubs,
        {
            **ROSTER,
            "plan": {"plan": hub_plan(VIEW, keep=1)},
            "kind": {"kind": PLAIN},
            "classes": {"classes": (Visibility.FRIEND_VISIBLE,)},
            "multipliers": COSTS["would cost"],
        },
        lambda: TwoHop(0, EDGES),
        {**WORLD, **COSTS, **ONE_CLASS},
    ),
    "curator": Subject(
        _curator,
        {
            "roster": {"roster": DIGEST},
            "policy": {"policy": DIGEST},
            "queries": _queries(epsilon=Fraction(1, 3)),
            "bounds": {"bounds": (BoundQuery(_curator.queries[1], Fraction(1, 4)),)},
        },
        lambda: WholeGraph(N, EDGES),
        {**WORLD, "would cost": _queries(multipliers=OTHERS)},
        asked=(0, 1),
    ),
}
