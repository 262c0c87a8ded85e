"""Who takes part in a rehearsal: everybody's home, token and friend list, and the process that acts for it."""

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.directory import TOKENS
from visibility_aware_edge_ldp.campaign.documents import Documents
from visibility_aware_edge_ldp.campaign.rehearsal_processes import Person, Plan
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.client.views import two_hop
from visibility_aware_edge_ldp.mechanisms.randomness import secure_coins
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.simulation.worlds import who_is_present
from visibility_aware_edge_ldp.truth.graph import Graph

PEOPLE = "people"
Ints = npt.NDArray[np.int64]
Announce = Callable[[float], None]  # is told once, early, how many seconds are left


def give_lists(world: VisibilityAwareGraph, documents: Documents, terms: Terms, place: Path) -> list[Person]:
    """Everybody of the roster, with a file of its own friends; a hub has one with the edges that it sees."""
    tokens, folder = read_tokens(place / "campaign" / TOKENS), place / PEOPLE
    folder.mkdir(mode=0o700)
    graph, names = in_roster_order(world.whole, documents), [str(name) for name in documents.roster]
    asked, sees_edges = terms.asked(1), terms.question.sees_edges
    people = []
    for number, name in enumerate(names):
        path = folder / f"{number}.csv"
        known = _seen(graph, number, bool(asked[number])) if sees_edges else _friends(graph, number)
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([names[place] for place in row] for row in known)
        people.append(Person(number, name, tokens[name], str(folder / str(number)), str(path)))
    return people


def plans(url: str, terms: Terms, people: list[Person], processes: int) -> list[Plan]:
    """Everybody in the hands of one process: person i in those of process i modulo their number."""
    # A loss as a cap can state it: rounded up.
    caps = {str(kind): str(Fraction(math.ceil(loss * 10**12), 10**12)) for kind, loss in terms.losses.items()}
    return [Plan(url, terms.charter.issuer, caps, people[start::processes]) for start in range(processes)]


def in_roster_order(graph: Graph, documents: Documents) -> Graph:
    """The graph with its nodes in the order of the roster."""
    place = {str(name): number for number, name in enumerate(graph.names)}
    return graph.induced([place[str(name)] for name in documents.roster])


def present_of(people: Ints, absent: float) -> Ints:
    """Those who do not stay away, each by a random choice of its own."""
    present = who_is_present(len(people), absent, secure_coins())
    return people if present is None else people[present]


def read_tokens(path: Path) -> dict[str, str]:
    """Everybody's token by name, as ``campaign new`` wrote them."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        next(rows)
        return dict(rows)


def _friends(graph: Graph, number: int) -> list[list[int]]:
    starts, targets = graph.neighbours
    found: list[list[int]] = targets[starts[number] : starts[number + 1], None].tolist()
    return found


def _seen(graph: Graph, number: int, asked: bool) -> list[list[int]]:
    """The edges within two steps of a hub; who is not one gives nothing."""
    edges: list[list[int]] = two_hop(graph.n, graph.edges, number).edges.tolist() if asked else []
    return edges


# Of each process one person finds out how it goes, and some more are timed; with fewer people it is over soon anyway.
_TIMED, _SHARE = 6, 4
# A second round takes longer than a first one: the transcript of the first is fetched and checked.
_SECOND = 1.3


@dataclass(frozen=True)
class Trial:
    """Those who go first, ``first`` of all one of each process, and then those who are ``timed``."""

    first: list[int]
    timed: list[int]

    @classmethod
    def of(cls, present: Ints, processes: int) -> "Trial":
        """From all over the roster, since whoever is listed early answers for more; nobody where few are there."""
        shares = [present[present % processes == place] for place in range(processes)]
        if min(share.size for share in shares) < _SHARE * (_TIMED + 1):
            return cls([], [])
        chosen = [share[np.linspace(0, share.size - 1, _TIMED + 1).astype(int)] for share in shares]
        middle = _TIMED // 2
        return cls(
            [int(people[middle]) for people in chosen],
            [int(person) for people in chosen for person in np.delete(people, middle)],
        )

    @property
    def people(self) -> list[int]:
        return [*self.first, *self.timed]


def seconds_left(enrolling: float, answering: float, people: int, answers: Sequence[float]) -> float:
    """With so many seconds a person, for those who are still to enrol, and to answer in each round."""
    later = sum(answers[1:]) * _SECOND
    return enrolling * people + answering * (answers[0] + later)
