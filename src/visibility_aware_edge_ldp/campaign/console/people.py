"""Who is asked, as the operator uploads them: names, codes, groups, public lists, and where letters go.

Only what stands in the roster leaves the console: a person's name, or a code in its place if the operator chooses so.
"""

import csv
import io
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from visibility_aware_edge_ldp.campaign.documents import checked_names
from visibility_aware_edge_ldp.campaign.invitations import refuse_formulas
from visibility_aware_edge_ldp.errors import BadInput

# How each column may be called.
_COLUMNS = {
    "name": ("name", "id", "node"),
    "code": ("code", "pseudonym"),
    "group": ("group",),
    "list": ("list", "profile"),
    "contact": ("contact", "email", "e-mail", "mail", "address"),
}
_LISTS = {"public": "public", "private": "private", "": "private"}
NAMES, CODES = "names", "codes"
# Letters and digits that are not taken for each other, and how many of them a code has.
_LETTERS, _LENGTH = "ABCDEFGHJKMNPQRSTVWXYZ23456789", 6


@dataclass(frozen=True)
class Person:
    """One line of the upload; empty where nothing was said."""

    name: str
    code: str = ""
    group: str = ""
    list: str = ""
    contact: str = ""


@dataclass(frozen=True)
class People:
    """Everybody who is asked, and by what the roster calls them: ``NAMES`` or ``CODES``."""

    listed: tuple[Person, ...]
    by: str = NAMES

    @property
    def roster(self) -> list[str]:
        """What participants and the server see."""
        return [each.code if self.by == CODES else each.name for each in self.listed]

    @cached_property
    def by_label(self) -> dict[str, Person]:
        """Everybody, by what the roster calls them."""
        return dict(zip(self.roster, self.listed, strict=True))

    @property
    def has_groups(self) -> bool:
        return any(each.group for each in self.listed)

    @property
    def has_lists(self) -> bool:
        return any(each.list == "public" for each in self.listed)

    @property
    def content(self) -> dict[str, Any]:
        return {"by": self.by, "listed": [list(asdict(each).values()) for each in self.listed]}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "People":
        return cls(tuple(Person(*each) for each in content["listed"]), content["by"])


def read_people(text: str, by: str = NAMES) -> People:
    """From one name a line, or a table with a head of columns; refuses what a roster cannot hold, and says the line."""
    listed = _listed(unicodedata.normalize("NFC", text.lstrip("\ufeff")))
    if not listed:
        raise BadInput("Nobody is in the list; write one name a line, or upload a CSV with a column “name”.")
    if by == CODES:
        listed = _coded(listed)
    people = People(tuple(listed), by)
    checked_names(people.roster)
    for each in people.listed:  # tables with them are opened in spreadsheets
        refuse_formulas([each.name, each.code, each.group, each.contact])
    return people


def _listed(text: str) -> list[Person]:
    head = text.split("\n", 1)[0]
    marks = [mark for mark in ",;\t" if mark in head]
    rows = [
        [cell.strip() for cell in row]
        for row in csv.reader(io.StringIO(text), delimiter=(marks or [","])[0], skipinitialspace=True)
    ]
    rows = [row for row in rows if any(row)]
    places = _places(rows[0]) if rows else {}
    if not places:
        if any(len(row) > 1 and any(row[1:]) for row in rows):
            raise BadInput("A list with several columns begins with their names: name, code, group, list, contact.")
        return [Person(row[0]) for row in rows]
    return [_person(number, row, places) for number, row in enumerate(rows[1:], 2)]


def _places(head: Sequence[str]) -> dict[str, int]:
    """Which column is which; nothing where the first line is a name."""
    known = {word: column for column, words in _COLUMNS.items() for word in words}
    found = [known.get(cell.lower()) for cell in head]
    if "name" not in found and "code" not in found:
        return {}
    named = [column for column in found if column]
    if len(set(named)) < len(named):
        raise BadInput("Two columns of the list have one meaning; keep one of them.")
    return {column: place for place, column in enumerate(found) if column}


def _person(number: int, row: Sequence[str], places: dict[str, int]) -> Person:
    said = {column: row[place] if place < len(row) else "" for column, place in places.items()}
    said.setdefault("name", said.get("code", ""))
    if not said["name"]:
        raise BadInput(f"Line {number} of the list has no name.")
    if said.get("list", "").lower() not in _LISTS:
        raise BadInput(f"Line {number} says {said['list']!r} for its list; write public or private.")
    said["list"] = _LISTS[said.get("list", "").lower()] if "list" in places else ""
    return Person(**said)


def _coded(listed: Sequence[Person]) -> list[Person]:
    """The same people, with a code for everybody who has none."""
    taken, found = {each.code for each in listed if each.code}, list[Person]()
    for each in listed:
        code = each.code
        while not code or (not each.code and code in taken):
            code = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
            code = f"{code[:3]}-{code[3:]}"
        taken.add(code)
        found.append(Person(each.name, code, each.group, each.list, each.contact))
    return found
