"""What an operator chooses for a study, as forms send it."""

import csv
import io
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.console.people import People
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS, question_named
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.groups import Groups, group_by
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility

# What a person can answer in a browser or with the participants' program from a list of friends.
ASKED = tuple(name for name, each in QUESTIONS.items() if not each.sees_edges)
NOTHING, BOTH, ANY = "nothing", "both", "any"
MOST_EDGES = 1_000_000


@dataclass(frozen=True)
class Choices:
    """What the form of a draft holds, as texts; ``closes`` are dates of UTC, one for each round.

    ``meaning`` is whom people tick, and ``sender`` who asks and whom to ask: both stand in the letters alone.
    ``chosen`` says whether the form was ever sent; until then these are the defaults.
    """

    title: str
    epoch: str
    question: str = "triangles"
    epsilon: str = "1"
    statistics: str = ""
    closes: tuple[str, ...] = ()
    fewest: str = "2"
    retention: str = "0"
    policy: str = NOTHING
    edges: str = ""
    address: str = ""
    page: str = ""
    meaning: str = ""
    sender: str = ""
    chosen: bool = False

    @property
    def content(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> "Choices":
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in content.items() if name in known} | {"closes": _dates(content)})

    @property
    def rounds(self) -> int:
        """How many rounds are asked: where there may be one or two, as many as there are dates."""
        possible = question_named(self.question).rounds
        given = sum(map(bool, self.closes))
        return given if given in possible else possible[0]

    def given(self, form: Mapping[str, str]) -> "Choices":
        """With what a form says; refuses what cannot be, in a sentence."""
        names = [each.name for each in fields(self) if each.name in form]
        # An empty field keeps the edges that there are, unless it is said that there are none.
        edges = form.get("edges", "").strip() or ("" if form.get("no_edges") and "edges" in form else self.edges)
        closes = tuple(form.get(f"closes_{number}", "").strip() for number in (1, 2))
        told: dict[str, Any] = {name: form[name].strip() for name in names}
        found = replace(self, **told | {"edges": edges, "closes": closes, "chosen": True})
        if found.question not in ASKED:
            raise BadInput(f"A question is one of {', '.join(ASKED)}.")
        if found.policy not in (NOTHING, BOTH, ANY):
            raise BadInput("Choose which pairs of people are public.")
        return replace(found, page=found.page or (f"{found.address.rstrip('/')}/take-part/" if found.address else ""))


@dataclass(frozen=True)
class Prepared:
    """Everything that a charter needs, checked; and what an edge of each class that there is would lose."""

    arguments: Mapping[str, Any]
    charter: Charter
    losses: Mapping[Visibility, Fraction]


def policy_of(choices: Choices, people: People) -> VisibilityPolicy:
    """Which positions are public: none, or by whose friend list is public, which the upload's column says."""
    if choices.policy == NOTHING:
        return VisibilityPolicy.nothing()
    if not people.has_lists:
        raise BadInput("Nobody's list is said to be public; upload the people with a column “list”: public or private.")
    lists: dict[Hashable, str | bool] = {
        label: each.list or "private" for label, each in zip(people.roster, people.listed, strict=True)
    }
    return VisibilityPolicy.from_profiles(lists, choices.policy)


def groups_of(people: People) -> Groups:
    """Everybody's group, by the upload's column."""
    if not people.has_groups:
        raise BadInput("The question “groups” needs the people's groups; upload them with a column “group”.")
    groups: dict[Hashable, Hashable] = {
        label: each.group for label, each in zip(people.roster, people.listed, strict=True) if each.group
    }
    return group_by(people.roster, "group", groups)


def public_pairs(text: str, people: People) -> list[tuple[int, int]]:
    """Public edges as pairs of places in the list of people: two of the roster's names a line."""
    place = {label: number for number, label in enumerate(people.roster)}
    found = list[tuple[int, int]]()
    mark = next((mark for mark in "\t;," if mark in text.split("\n", 1)[0]), ",")
    for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=mark), 1):
        ends = [cell.strip() for cell in row if cell.strip()]
        if not ends or (number == 1 and not any(end in place for end in ends)):
            continue
        if len(ends) != 2 or not all(end in place for end in ends) or ends[0] == ends[1]:
            raise BadInput(f"Line {number} of the public edges is not two different people of the roster.")
        found.append((place[ends[0]], place[ends[1]]))
    if len(found) > MOST_EDGES:
        raise BadInput(f"There are more than {MOST_EDGES:,} public edges; use the command line for so many.")
    return found


def moment(text: str) -> int:
    """Unix time of a date and time of UTC, as a form sends it."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput(f"A date and time is written 2027-03-31T18:00; got {text!r}.") from error
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


def deadlines_of(choices: Choices) -> list[int]:
    """When each round closes, in seconds of Unix time."""
    given = [text for text in choices.closes[: choices.rounds] if text]
    if len(given) != choices.rounds:
        raise BadInput(f"This question has {choices.rounds} rounds; say when each of them closes.")
    return [moment(text) for text in given]


def _dates(content: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, content.get("closes", ())))


def whole_number(text: str, what: str) -> int:
    """A whole number that a form holds."""
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise BadInput(f"{what} is a whole number; got {text!r}.")
    return int(text)
