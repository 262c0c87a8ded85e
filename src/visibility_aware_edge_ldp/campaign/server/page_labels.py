"""HTML that is safe, and numbers, times and statistics as people read them."""

import html
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import TypeAlias

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.public.statistic import statistic as known

DASH = "–"
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))
# What a wave tells of edges: what it is called, and what it counts.
_WAVES = {
    "edges_formed": ("Edges formed", "How many friendships began since the wave before."),
    "edges_ended": ("Edges ended", "How many friendships ended since the wave before."),
    "edges_change": ("Edges, net change", "By how many there are more friendships than at the wave before."),
}
Value: TypeAlias = str | int | float | bool | None


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


BREAK = Markup("<wbr>")
"""Where a long word may be broken."""


def tag(name: str, *children: object, **attributes: Value) -> Markup:
    """An element; ``class_`` and ``aria_label`` are written without and with a hyphen, and None is left out."""
    said = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Markup(f"<{name}{said}>{together(*children)}</{name}>")


def together(*parts: object) -> Markup:
    """Texts and elements, one after the other; None is nothing, and lists are opened."""
    return Markup("".join(_escaped(part) for part in _flat(parts)))


def _flat(parts: Iterable[object]) -> Iterable[object]:
    for part in parts:
        if isinstance(part, (list, tuple)):
            yield from _flat(part)
        elif part is not None:
            yield part


def _escaped(part: object) -> str:
    return part if isinstance(part, Markup) else html.escape(str(part))


def _attribute(key: str, value: Value) -> str:
    return f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'


def statistic(name: str) -> str:
    """What a statistic is called, with a capital letter: "stars:2" is "2-stars"."""
    if name in _WAVES:
        return _WAVES[name][0]
    label = known(name).label
    return label[0].upper() + label[1:]


def meaning(name: str) -> str:
    """What a statistic counts, in words that need no book."""
    return _WAVES[name][1] if name in _WAVES else known(name).meaning


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


def table(caption: str, head: Sequence[object], rows: Sequence[Sequence[object]]) -> Markup:
    """A table whose first column names its rows; it scrolls by itself where it is too wide."""
    top = tag("thead", tag("tr", [tag("th", cell, scope="col") for cell in head]))
    body = [tag("tr", tag("th", row[0], scope="row"), [tag("td", cell) for cell in row[1:]]) for row in rows]
    whole = tag("table", tag("caption", caption), top, tag("tbody", body))
    return tag("div", whole, class_="wide", role="region", aria_label=caption, tabindex=0)


def section(id_: str, title: str, *children: object) -> Markup:
    return tag("section", tag("h2", title, id=id_), *children, aria_labelledby=id_)


def picture(said: str, height: float, class_: str, *children: object) -> Markup:
    """A drawing as wide as there is room, and what it says for those who do not see it."""
    return tag("svg", *children, role="img", aria_label=said, width="100%", height=height, class_=class_)
