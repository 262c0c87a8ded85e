"""Numbers, times and statistics as people read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from fractions import Fraction

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.campaign.server.front.markup import Markup, tag, together
from visibility_aware_edge_ldp.subgraphs.statistic import star_size, tail_start

DASH = "–"
_NAMES = {
    "edges": "Edges",
    "degrees": "All degrees",
    "max_degree": "Largest degree",
    "degree_histogram": "Degree histogram",
    "triangles": "Triangles",
    "transitivity": "Transitivity",
    "four_cycles": "4-cycles",
}
_MEANINGS = {
    "edges": "pairs of participants who are friends",
    "degrees": "everybody’s number of friends, without names",
    "max_degree": "the most friends that anybody has",
    "degree_histogram": "how many participants have 0, 1, 2, … friends",
    "triangles": "threes of participants who are all friends of each other",
    "transitivity": "how often two friends of somebody are friends themselves",
    "four_cycles": "fours of participants who are friends in a ring",
}
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def statistic(name: str) -> str:
    """What a statistic is called: "stars:2" is "2-stars"."""
    k, start = star_size(name), tail_start(name)
    if k is not None:
        return f"{k}-stars"
    return f"{start} friends or more" if start is not None else _NAMES.get(name, name)


def meaning(name: str) -> str:
    """What it counts, in words that need no book."""
    k, start = star_size(name), tail_start(name)
    if k is not None:
        return f"choices of {k} friends of one participant"
    return "participants with at least so many friends" if start is not None else _MEANINGS.get(name, "")


def value(amount: float | None) -> str:
    """A number as the rest of the project writes it; a dash when there is none."""
    if amount is None or not math.isfinite(amount):
        return DASH
    return f"{amount:,.0f}".replace("-", "−") if float(amount).is_integer() else number(amount).replace("-", "−")


def interval(ends: tuple[float | None, float | None]) -> str:
    return DASH if None in ends else f"[{value(ends[0])}, {value(ends[1])}]"


def percent(share: float) -> str:
    """As in reports: 100%, 20.1%, 0.0023%."""
    if share >= 1 or share == 0:
        return f"{share:,.0%}"
    return f"{share:.1%}" if share >= 0.01 else f"{share * 100:.2g}%"


def loss(epsilon: Fraction) -> str:
    """A loss, rounded up in the sixth decimal."""
    return f"{float(Fraction(math.ceil(epsilon * 10**6), 10**6)):.6f}".rstrip("0").rstrip(".")


def odds(epsilon: Fraction) -> str:
    """By what factor the odds of a guess change at most, rounded up."""
    if epsilon > 20:
        return f"e^{loss(epsilon)}"
    factor = math.exp(epsilon)
    step = 10 ** (2 - math.floor(math.log10(factor)))
    # A billionth is given away, so that e^0 is 1 and no other rounding shows.
    return f"{math.ceil(factor * step - 1e-9) / step:,g}"


def date(seconds: int) -> Markup:
    """A second of Unix time as everybody reads it, and as programs do."""
    found = datetime.fromtimestamp(seconds, UTC)
    return tag("time", f"{found.day} {found:%B} {found.year}, {found:%H:%M} UTC", datetime=found.isoformat())


def duration(seconds: int) -> str:
    """The two largest units that are not zero: "2 days 3 hours"."""
    parts, rest = [], seconds
    for name, size in _UNITS:
        amount, rest = divmod(rest, size)
        if amount:
            parts.append(f"{amount:,} {name}{'' if amount == 1 else 's'}")
    return " ".join(parts[:2]) or ("less than a minute" if seconds else "no time")


def left(seconds: int) -> str:
    return f"{duration(seconds)} left" if seconds > 0 else "the time is over"


def plural(amount: int, one: str, several: str = "") -> str:
    return f"{amount:,} {one if amount == 1 else several or one + 's'}"


def listed(names: list[str]) -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def digest(text: str, id_: str | None = None) -> Markup:
    """A digest in groups of eight, which are copied as one word."""
    return tag("code", [tag("span", text[i : i + 8]) for i in range(0, len(text), 8)], class_="digest", id=id_)


def facts(*pairs: tuple[object, object] | None) -> Markup:
    """A list of names and what they stand for."""
    return tag("dl", [together(tag("dt", pair[0]), tag("dd", pair[1])) for pair in pairs if pair])


def table(caption: str, head: list[object], rows: list[list[object]], **attributes: str) -> Markup:
    """A table whose first column names its rows; it scrolls by itself where it is too wide."""
    top = tag("thead", tag("tr", [tag("th", cell, scope="col") for cell in head]))
    body = [tag("tr", tag("th", row[0], scope="row"), [tag("td", cell) for cell in row[1:]]) for row in rows]
    whole = tag("table", tag("caption", caption), top, tag("tbody", body), **attributes)
    return tag("div", whole, class_="wide", role="region", aria_label=caption, tabindex=0)


def section(id_: str, title: str, *children: object) -> Markup:
    return tag("section", tag("h2", title, id=id_), *children, aria_labelledby=id_)
