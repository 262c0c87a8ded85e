"""Names as people type them, found in a roster: capitals, accents, blanks, marks and order of words are forgiven."""

import difflib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

Names = tuple[str, ...]
# So many unknown names are shown, each with so many of the roster that look like it.
SHOWN, SUGGESTED = 5, 2
_ALIKE = 0.7


@dataclass(frozen=True)
class Matched:
    """Which names were found, under which name of the roster others were, and which were not."""

    found: frozenset[str]
    read_as: tuple[tuple[str, str], ...]
    unknown: Names


def matched(given: Iterable[str], roster: Names) -> Matched:
    """Names that were typed, as the roster writes them; one that fits several names of it fits none."""
    exact, by_key = set(roster), _by_key(roster)
    typed = set(given)
    forgiven = {name: by_key[key(name)] for name in sorted(typed - exact) if len(by_key.get(key(name), ())) == 1}
    read_as = tuple((name, names[0]) for name, names in forgiven.items())
    found = (typed & exact) | {name for _, name in read_as}
    return Matched(frozenset(found), read_as, tuple(sorted(typed - exact - forgiven.keys())))


def key(name: str) -> str:
    """What is left of a name without capitals, accents, marks, double blanks and the order of its words."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    letters = "".join(
        each if each.isalnum() else " " for each in plain if not unicodedata.category(each).startswith("M")
    )
    return " ".join(sorted(letters.split())) or name


def suggestions(name: str, roster: Names) -> list[str]:
    """Names of the roster that look like this one, the most alike first."""
    by_key = _by_key(roster)
    if key(name) in by_key:
        return list(by_key[key(name)][:SUGGESTED])
    alike = difflib.get_close_matches(key(name), by_key, SUGGESTED, _ALIKE)
    return [by_key[each][0] for each in alike]


def unknown_lines(unknown: Names, roster: Names) -> list[str]:
    """A line for each name that the roster does not know, with those that may be meant."""
    lines = []
    for name in unknown[:SHOWN]:
        alike = " or ".join(map(repr, suggestions(name, roster)))
        lines.append(f"{name!r} is not in the roster{f'; did you mean {alike}?' if alike else '.'}")
    more = len(unknown) - SHOWN
    return [*lines, *([f"And {more:,} more names are not."] if more > 0 else [])]


def alike(roster: Names) -> list[tuple[str, ...]]:
    """Names of a roster that differ only in what is forgiven: perhaps one person twice."""
    return [names for names in _by_key(roster).values() if len(names) > 1]


@lru_cache(maxsize=4)
def _by_key(roster: Names) -> dict[str, tuple[str, ...]]:
    found = defaultdict[str, list[str]](list)
    for name in roster:
        found[key(name)].append(name)
    return {each: tuple(names) for each, names in found.items()}
