"""Who takes part in a rehearsal: everybody's home, token and friend list."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.documents import Documents
from visibility_aware_edge_ldp.campaign.new import TOKENS
from visibility_aware_edge_ldp.campaign.questions import Questions
from visibility_aware_edge_ldp.client.two_hop import two_hop
from visibility_aware_edge_ldp.mechanisms.entropy import secure_coins
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.simulation.population import who_is_present
from visibility_aware_edge_ldp.simulation.rehearsal_worker import Person
from visibility_aware_edge_ldp.truth.graph import Graph

PEOPLE = "people"


def give_lists(world: VisibilityAwareGraph, documents: Documents, questions: Questions, place: Path) -> list[Person]:
    """Everybody of the roster, with a file of its own friends; a hub has one with the edges that it sees."""
    tokens, folder = read_tokens(place / "campaign" / TOKENS), place / PEOPLE
    folder.mkdir(mode=0o700)
    graph, names = in_roster_order(world.graph, documents), [str(name) for name in documents.roster]
    asked = questions.asked(1)
    for number in range(graph.n):
        known = (
            _seen(graph, names, number, bool(asked[number]))
            if questions.charter.question == "hubs"
            else ([(names[friend],) for friend in _friends(graph, number)])
        )
        with (folder / f"{number}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(known)
    return [
        Person(number, name, tokens[name], str(folder / str(number)), str(folder / f"{number}.csv"))
        for number, name in enumerate(names)
    ]


def in_roster_order(graph: Graph, documents: Documents) -> Graph:
    """The graph with its nodes in the order of the roster."""
    place = {str(name): number for number, name in enumerate(graph.names)}
    return graph.induced([place[str(name)] for name in documents.roster])


def who_is_away(count: int, absent: float) -> npt.NDArray[np.bool_]:
    """Each by a coin of its own."""
    present = who_is_present(count, absent, secure_coins())
    return np.zeros(count, np.bool_) if present is None else ~present


def read_tokens(path: Path) -> dict[str, str]:
    """Everybody's token by name, as ``campaign new`` wrote them."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        next(rows)
        return dict(rows)


def _friends(graph: Graph, number: int) -> Sequence[int]:
    starts, targets = graph.neighbours
    found: list[int] = targets[starts[number] : starts[number + 1]].tolist()
    return found


def _seen(graph: Graph, names: Sequence[str], number: int, asked: bool) -> list[tuple[str, str]]:
    """The edges within two steps of a hub; who is not one gives nothing."""
    edges = two_hop(graph.n, graph.edges, number).edges.tolist() if asked else []
    return [(names[u], names[v]) for u, v in edges]
