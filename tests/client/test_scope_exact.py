"""Outside the scope a bit changes nothing that leaves any client; inside, the loss is what it was.  [SCOPE.2]"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.client import reporter
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.scope import Outside, group_scope
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.histogram import histogram_survey
from visibility_aware_edge_ldp.public.surveys.hubs import hub_survey
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, position_survey
from visibility_aware_edge_ldp.public.surveys.rows import row_surveys
from visibility_aware_edge_ldp.public.transcript import Transcript, broadcast_size, read_broadcast
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.rows import collect_rows
from visibility_aware_edge_ldp.simulation.simulate import collect_assigned_triangles, collect_hubs, reports
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 24
GRAPH = erdos_renyi(N, 120, seed=2)
POLICY = VisibilityPolicy.from_profiles({0: True, 5: True}, "any")
SCOPE = group_scope(range(N), "half", {name: name % 2 for name in range(N)})
Sent = Callable[[VisibilityAwareGraph], Any]


def flipped(graph: Graph, u: int, v: int) -> Graph:
    edges = {(int(a), int(b)) for a, b in graph.edges} ^ {(u, v)}
    return replace(graph, edges=np.array(sorted(edges), np.int32))


def encoded(world: VisibilityAwareGraph, survey: Any) -> list[bytes]:
    found = []
    for number, report in enumerate(reports(world, survey, seed=3)):
        layout = PROTOCOLS[survey.protocol].layout(1 + number % survey.rounds)
        found.append(layout.encode(report))
    return found


def rows(world: VisibilityAwareGraph) -> list[Any]:
    surveys = row_surveys(world.public, 2, ["triangles", "four_cycles"])
    found = collect_rows(world, surveys, seed=3)
    return [(each.first.transcript.ones.tobytes(), each.numbers.tolist()) for each in (found[name] for name in surveys)]


def neighbourhood(world: VisibilityAwareGraph) -> list[Any]:
    found = collect_assigned_triangles(world, 2, seed=3)
    return [found.degrees.reported.tolist(), found.numbers.tolist()]


def hubs(world: VisibilityAwareGraph) -> list[Any]:
    return list(collect_hubs(world, hub_survey(world.public, 2, "shared"), seed=3)._reports.values())


SENT: dict[str, Sent] = {
    "position": lambda world: encoded(world, position_survey(world.public, 1, 2)),
    "sample": lambda world: encoded(world, position_survey(world.public, 1, sample="0.5", coin="lot")),
    "degrees": lambda world: encoded(world, degree_survey(world.public, 1)),
    "histogram": lambda world: encoded(world, histogram_survey(world.public, 1)),
    "rows": rows,
    "neighbourhood": neighbourhood,
    "hubs": hubs,
}


def world_of(graph: Graph, scope: Any = SCOPE) -> VisibilityAwareGraph:
    return VisibilityAwareGraph(graph, POLICY).inside(scope)


@pytest.mark.parametrize("name", SENT)
def test_with_the_same_coins_a_bit_outside_changes_no_byte(name: str) -> None:
    sent = SENT[name](world_of(GRAPH))
    for u, v in ((1, 2), (3, 8), (11, 20), (6, 23)):
        assert SENT[name](world_of(flipped(GRAPH, u, v))) == sent


@pytest.mark.parametrize("name", SENT)
def test_the_check_above_can_fail_inside_the_scope(name: str) -> None:
    sent = SENT[name](world_of(GRAPH))
    pairs = [(u, v) for u in range(1, N) for v in range(u + 2, N, 2) if 5 not in (u, v)]
    assert any(SENT[name](world_of(flipped(GRAPH, u, v))) != sent for u, v in pairs[::9])


@pytest.mark.parametrize("name", ["histogram", "rows", "neighbourhood"])
def test_a_client_that_forgets_the_cut_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "inside_scope", lambda view, public: view)
    sent = SENT[name](world_of(GRAPH))
    pairs = [(u, v) for u in range(1, N) for v in range(u + 1, N, 2) if 5 not in (u, v)]
    assert any(SENT[name](world_of(flipped(GRAPH, u, v))) != sent for u, v in pairs[::5])


def test_the_complement_of_a_scope_is_a_scope_too() -> None:
    inside, outside = world_of(GRAPH), world_of(GRAPH, Outside(SCOPE))
    assert inside.graph.m + outside.graph.m == GRAPH.m
    assert inside.public.outside + outside.public.outside == inside.public.positions


@pytest.mark.parametrize("statistic", ["triangles", "four_cycles"])
def test_sums_on_the_small_broadcast_are_those_on_all_first_answers(statistic: str) -> None:
    world = world_of(GRAPH)
    survey = row_surveys(world.public, 2, [statistic])[statistic]
    found = collect_rows(world, {statistic: survey}, seed=3, dropout=0.2)[statistic]
    heard = found.first.transcript
    octets = heard.broadcast(world.public)
    everybody = VisibilityAwareGraph(GRAPH, POLICY).public
    assert len(octets) == broadcast_size(world.public) < 0.3 * broadcast_size(everybody)
    again = read_broadcast(heard.survey, octets, world.public)
    planes = heard.answered.tobytes(), heard.ones.tobytes()
    lists = FriendLists(0, GRAPH.neighbours[0], GRAPH.neighbours[1].astype(np.int32))

    def sums(transcript: Transcript) -> list[int]:
        client = TwoRoundClient(lists, world.public, Purse(dict.fromkeys(Visibility, Fraction(9))))
        client.recall(survey, PositionReport(heard.survey, 1, 0, world.public.positions, *planes))
        report = client.total(survey, FirstRound(survey, world.public, transcript), keyed_random_bytes(bytes(32)))
        return [*report.reaches.tolist(), *report.totals.tolist()]

    assert sums(again) == sums(heard)
