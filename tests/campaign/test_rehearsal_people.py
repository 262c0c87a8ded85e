"""Who takes part: in which order, who goes first, and who stays away."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np

from support.campaign_vectors import charter_for, documents_of
from visibility_aware_edge_ldp.campaign.rehearsal_people import (
    Trial,
    in_roster_order,
    plans,
    present_of,
    read_tokens,
    seconds_left,
)
from visibility_aware_edge_ldp.campaign.rehearsal_processes import Person
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.truth.graph import Graph


def test_edges_join_the_same_people_in_the_order_of_the_roster() -> None:
    documents = documents_of("degrees")
    names = sorted(documents.roster, key=str)
    graph = Graph(names, np.array([(place, place + 1) for place in range(len(names) - 1)], np.int32))
    found = in_roster_order(graph, documents)
    assert list(found.names) == list(documents.roster)
    joined = {frozenset((found.names[u], found.names[v])) for u, v in found.edges.tolist()}
    assert joined == {frozenset(pair) for pair in pairwise(names)}


def test_everybody_has_one_process_and_caps_that_its_losses_fit() -> None:
    documents = documents_of("degrees")
    terms = Terms(charter_for("degrees", documents), documents.view)
    people = [Person(number, str(number), "token", "home", "friends") for number in range(7)]
    found = plans("http://here", terms, people, 3)
    assert [[each.participant for each in plan.people] for plan in found] == [[0, 3, 6], [1, 4], [2, 5]]
    for kind, loss in terms.losses.items():
        cap = Fraction(found[0].caps[str(kind)])
        assert loss <= cap < loss + Fraction(1, 10**12)


def test_who_stays_away_is_drawn_anew() -> None:
    people = np.arange(2_000)
    assert present_of(people, 0.0).tolist() == people.tolist()
    assert present_of(people, 1.0).size == 0
    one, other = present_of(people, 0.5), present_of(people, 0.5)
    # Coins are real here: eight standard deviations, of which there are 22 each, never happen.
    assert all(abs(each.size - 1_000) < 180 for each in (one, other))
    assert one.tolist() != other.tolist()


def test_tokens_are_read_by_name(tmp_path: Path) -> None:
    file = tmp_path / "tokens.csv"
    file.write_text('name,token\nann,t1\n"b, c",t2\n', encoding="utf-8")
    assert read_tokens(file) == {"ann": "t1", "b, c": "t2"}


def test_a_few_of_each_process_go_first_from_all_over_the_roster() -> None:
    present = np.flatnonzero(np.arange(120) % 7 != 0)
    trial = Trial.of(present, 3)
    assert sorted(person % 3 for person in trial.first) == [0, 1, 2]
    assert [sum(person % 3 == place for person in trial.timed) for place in range(3)] == [6, 6, 6]
    assert len(set(trial.people)) == 21
    assert set(trial.people) <= set(present.tolist())
    assert min(trial.timed) < 10
    assert max(trial.timed) > 110


def test_few_people_have_no_trial() -> None:
    assert Trial.of(np.arange(55), 2).people == []
    assert Trial.of(np.arange(56), 2).people != []


def test_a_second_round_takes_longer() -> None:
    assert seconds_left(2, 3, 10, [5]) == 2 * 10 + 3 * 5
    assert seconds_left(2, 3, 10, [5, 4]) > 2 * 10 + 3 * (5 + 4)
