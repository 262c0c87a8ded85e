"""The estimates, how sure they are, what could have moved them, and the certificate.

Pictures are SVG: places across are percentages, so that the same drawing fits a phone and a desk.
"""

import math
from collections.abc import Sequence
from typing import Any

from visibility_aware_edge_ldp.aggregator.answers import noise_hides
from visibility_aware_edge_ldp.campaign.server import page_labels as labels
from visibility_aware_edge_ldp.campaign.server.estimate_json import ONE_IN
from visibility_aware_edge_ldp.campaign.server.page_labels import Markup, tag, together
from visibility_aware_edge_ldp.campaign.server.stages import PageState
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.tabular import ShadedCell, shaded_matrix

Found = dict[str, Any]
_SHARE = f"one in {ONE_IN} of those who answered, rounded up"
# Bars that still can be told apart on a phone.
MOST_BARS = 60
_MARGIN = 5.0
# The statistics that are shown as a matrix, and what its rows and columns are.
MATRICES = {
    "mixing": "Friendships between the groups of row and column.",
    "contacts": "Mean number of friends in the column’s group of one member of the row’s.",
}
_SHADED = "The darker, the more; below each value its 95 % interval."


def ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Round numbers between two ends, at most so many: steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(step for factor in (1, 2, 5, 10, 20) if (high - low) / (step := factor * power) <= most)
    first = math.ceil(low / step)
    return [float(f"{(first + i) * step:.12g}") for i in range(most + 1) if (first + i) * step <= high]


def strip(name: str, value: float, ends: tuple[float, float], dropout: tuple[float, float] | None) -> Markup:
    """An estimate with its interval and, below, what selective dropout could make of it."""
    known = [value, *ends, *(dropout or ())]
    low, high = min(known), max(known)
    room = (high - low) / 20 or abs(value) / 10 or 1.0
    low, high = low - room, high + room

    def at(amount: float) -> str:
        return f"{_MARGIN + (100 - 2 * _MARGIN) * (amount - low) / (high - low):.2f}%"

    said = f"{labels.statistic(name)}: {labels.value(value)}, 95 % interval {labels.interval(ends)}"
    shown = f"; by selective dropout {labels.value(dropout[0])} to {labels.value(dropout[1])}" if dropout else ""
    return labels.picture(
        said + shown,
        66,
        "strip",
        [_tick(at(each), labels.value(each)) for each in ticks(low, high)],
        tag("line", x1=at(ends[0]), x2=at(ends[1]), y1=16, y2=16, class_="interval"),
        [tag("line", x1=at(end), x2=at(end), y1=9, y2=23, class_="end") for end in ends],
        tag("circle", cx=at(value), cy=16, r=5, class_="dot"),
        tag("line", x1=at(dropout[0]), x2=at(dropout[1]), y1=34, y2=34, class_="away") if dropout else None,
    )


def _tick(place: str, text: str) -> Markup:
    line = tag("line", x1=place, x2=place, y1=2, y2=46, class_="grid")
    return tag("g", line, tag("text", text, x=place, y=62, text_anchor="middle"))


def bars(
    names: Sequence[str], values: Sequence[float], lows: Sequence[float], highs: Sequence[float], said: str
) -> Markup:
    """Bars with their intervals, drawn from 0 up; as many of them are named as have room."""
    width, height, top = 100 / len(values), 150.0, max(1.0, *values, *highs)

    def up(amount: float) -> float:
        return round(height * (1 - max(amount, 0.0) / top) + 18, 2)

    def middle(place: int) -> str:
        return f"{(place + 0.5) * width:.2f}%"

    def bar(place: int, amount: float) -> Markup:
        across = {"x": f"{(place + 0.1) * width:.2f}%", "width": f"{0.8 * width:.2f}%"}
        return tag("rect", **across, y=up(amount), height=floor - up(amount), class_="fill")

    def whisker(place: int, low: float, high: float) -> Markup:
        return tag("line", x1=middle(place), x2=middle(place), y1=up(high), y2=up(low), class_="whisker")

    step, floor = math.ceil(len(values) / 8), up(0)
    return labels.picture(
        said,
        height + 42,
        "bars",
        [_level(up(each), labels.value(each)) for each in ticks(0, top, 3)],
        [bar(i, amount) for i, amount in enumerate(values)],
        [whisker(i, low, high) for i, (low, high) in enumerate(zip(lows, highs, strict=True))],
        [tag("text", names[i], x=middle(i), y=floor + 18, text_anchor="middle") for i in range(0, len(names), step)],
    )


def _level(place: float, text: str) -> Markup:
    line = tag("line", x1=0, x2="100%", y1=place, y2=place, class_="grid")
    return tag("g", line, tag("text", text, x=0, y=place - 4))


def answers(state: PageState) -> Markup:
    """The table and its picture; before there are any, when there will be."""
    if state.answers is None:
        return labels.section("answers", "Answers", tag("p", _not_yet(state)))
    found = _found(state)
    refused: dict[str, str] = state.content.get("refused", {})
    head = ["Statistic", "Estimate", "± s.e.", "95 % interval"]
    inside = " inside the scope" if "scope" in state.content.get("certificate", {}) else ""
    table = (
        labels.table(f"Estimates{inside}", head, [_row(name, each) for name, each in found.items()]) if found else None
    )
    return labels.section(
        "answers",
        "Answers",
        tag("p", "Made ", labels.date(state.made), ".", class_="soft") if state.made is not None else None,
        table,
        _strips(state, found),
        [_histogram(each) for name, each in found.items() if name == "degree_histogram"],
        [_matrix(name, each) for name, each in found.items() if name in MATRICES],
        [tag("p", tag("strong", labels.statistic(name)), f": not estimated; {why}") for name, why in refused.items()],
        _notes(found),
    )


def _found(state: PageState) -> dict[str, Found]:
    """The estimates, in the order in which they were asked for."""
    found: dict[str, Found] = state.content.get("estimates", {})
    return {name: found[name] for name in state.charter.statistics if name in found}


def _not_yet(state: PageState) -> str:
    if state.failed:
        return "There are none: too few reports came in, and what few people said is not published."
    return "There are none yet. They are made when all rounds are closed, and published here with their uncertainty."


def _notes(found: dict[str, Found]) -> list[Markup]:
    said = []
    biased = [name for name, each in found.items() if each.get("unbiased") is False]
    if biased:
        said.append(f"Not unbiased: {_named(biased)}.")
    hidden = [name for name, each in found.items() if noise_hides(each.get("value"), each.get("standard_error"))]
    if hidden:
        said.append(f"Cannot be told from nothing, so large is the noise: {_named(hidden)}.")
    if "degrees" in found:
        said.append(
            "The raw answers hold the degrees of all who answered or were not asked, with their noise: in whole "
            "numbers, the smallest first, without names, and with nothing beside a number that would tell whose it is."
        )
    return [tag("p", text, class_="soft") for text in said]


def _named(names: list[str]) -> str:
    return labels.listed([labels.statistic(name) for name in names])


def _row(name: str, each: Found) -> list[object]:
    title = together(labels.statistic(name), tag("small", labels.meaning(name)))
    if not _is_number(each):
        return [title, labels.plural(len(each["value"]), "value"), labels.DASH, labels.DASH]
    return [
        title,
        labels.value(each["value"]),
        labels.value(each["standard_error"]),
        labels.interval(_ends(each)),
    ]


def _is_number(each: Found) -> bool:
    return not isinstance(each["value"], list)


def _ends(each: Found) -> tuple[Any, Any]:
    return each["interval"][0], each["interval"][1]


def _strips(state: PageState, found: dict[str, Found]) -> Markup | None:
    """Each statistic on a scale of its own."""
    dropout = state.content.get("dropout", {}).get("estimates", {})
    drawn = [
        tag(
            "li",
            tag("h3", labels.statistic(name)),
            strip(name, each["value"], _ends(each), _range(dropout.get(name))),
        )
        for name, each in found.items()
        if _is_number(each) and None not in (each["value"], *_ends(each))
    ]
    if not drawn:
        return None
    legend = tag(
        "figcaption",
        "Dot: the estimate. Bar: its 95 % interval. ",
        "Dashes: between half and twice as much with those who stayed away. " if any(dropout.values()) else None,
        "Each statistic has a scale of its own.",
    )
    return tag("figure", tag("ul", drawn, class_="strips"), legend)


def _range(dropout: list[float] | None) -> tuple[float, float] | None:
    return None if dropout is None or dropout[0] == dropout[1] else (dropout[0], dropout[1])


def _histogram(each: Found) -> Markup:
    """Up to the last degrees that somebody surely has, and a few more; the others are in the raw answers."""
    values, (lows, highs), kinds = each["value"], each["interval"], [_degrees(label) for label in each["labels"]]
    sure = [place for place, low in enumerate(lows) if low]
    count = min(len(values), MOST_BARS, max(sure, default=0) + 4)
    shown, low, high = ([part or 0.0 for part in numbers[:count]] for numbers in (values, lows, highs))
    text = "How many participants have how many friends, with 95 % intervals"
    more = f" Up to {kinds[-1]} friends: in the raw answers." if count < len(values) else ""
    drawn = bars(kinds[:count], shown, low, high, f"Degree histogram. {text}")
    return tag("figure", tag("h3", labels.statistic("degree_histogram")), drawn, tag("figcaption", f"{text}.{more}"))


def _matrix(name: str, each: Found) -> Markup:
    """Groups by groups: the darker a cell, the larger its value; below a value its interval."""
    groups, cells = shaded_matrix(each["labels"], each["value"], *each["interval"])

    def shown_cell(cell: ShadedCell) -> Markup:
        said = together(labels.value(cell.value), tag("small", labels.interval((cell.low, cell.high))))
        return tag("td", said, class_=f"shade{cell.shade}")

    head = tag("thead", tag("tr", tag("th"), [tag("th", group, scope="col") for group in groups]))
    rows = [
        tag("tr", tag("th", group, scope="row"), [shown_cell(cell) for cell in row])
        for group, row in zip(groups, cells, strict=True)
    ]
    table = tag("table", head, tag("tbody", rows), class_="matrix")
    shown = tag("div", table, class_="wide", role="region", aria_label=labels.statistic(name), tabindex=0)
    return tag("figure", tag("h3", labels.statistic(name)), shown, tag("figcaption", f"{MATRICES[name]} {_SHADED}"))


def _degrees(label: Any) -> str:
    """A degree, or the first and the last of several."""
    if not isinstance(label, list):
        return str(label)
    return str(label[0]) if label[0] == label[-1] else f"{label[0]}–{label[-1]}"


def doubts(state: PageState) -> Markup | None:
    """What those who stayed away, and those who lie, could have done to the estimates."""
    found, dropout = _found(state), state.content.get("dropout", {})
    lies = state.content.get("manipulation", {})
    if not found or not lies:
        return None
    liars, bounds = lies["liars"], lies["bounds"]
    head = ["Statistic", "If half as much", "If twice as much", f"Moved by {labels.plural(liars, 'liar')}"]
    rows = [
        [labels.statistic(name), *_ends_of(dropout["estimates"].get(name)), _bound(bounds.get(name))] for name in found
    ]
    return labels.section(
        "doubts",
        "What could have moved them",
        labels.table("Those who stay away, and those who lie", head, rows),
        labels.facts(
            ("Staying away", _stayed(state, dropout["words"])),
            ("Lying", f"{lies['words']} Here: {labels.plural(liars, 'participant')}, {_SHARE}."),
            ("Flagged", _flagged(state.content["flagged"])),
        ),
    )


def _ends_of(ends: list[float] | None) -> list[object]:
    return [labels.value(end) for end in ends] if ends else [labels.DASH, labels.DASH]


def _bound(bound: float | None) -> str:
    return "no bound" if bound is None else f"± {labels.value(bound)}"


def _stayed(state: PageState, said: str) -> str:
    rates = [received / asked if asked else 1.0 for received, asked in zip(state.received, state.asked, strict=True)]
    if min(rates) == 1:
        return "Everybody who was asked answered, so nobody’s absence could have."
    unsaid = " A dash: this cannot be said." if None in state.content["dropout"]["estimates"].values() else ""
    return said + unsaid


def _flagged(flags: Found) -> str:
    rare = "An honest report is flagged at most once in a thousand million times; against honest peers, about so."
    many = labels.plural(flags["reports"], "report")
    return f"{many}. {rare} Flagged reports are counted, not named and not dropped."


def certificate(state: PageState) -> Markup | None:
    """What the answers were made under and from."""
    said: Found = state.content.get("certificate", {})
    if not said:
        return None
    losses, kept = state.served.terms.losses, said["positions"]
    lost = [f"{kind} ε = {labels.loss(loss)}" for kind, loss in losses.items() if str(kind) in kept]
    if str(Visibility.PUBLIC) in kept:
        lost.append("PUBLIC not protected")
    charter = state.charter
    digests = {"roster": charter.roster, "policy": charter.policy, "public edges": charter.edges}
    return labels.section(
        "certificate",
        "Certificate",
        labels.facts(
            ("Trust model", said["trust"]),
            ("Loss per edge", f"{', '.join(lost)}; against all reports together"),
            _paid(said),
            ("Policy", f"{said['policy']}"),
            ("Scope", f"only where {said['scope']['inside']}; the rest lost nothing by it")
            if "scope" in said
            else None,
            ("Positions", ", ".join(f"{count:,} {name}" for name, count in kept.items())),
            ("Response", ", ".join(f"{name} {labels.percent(rate)}" for name, rate in said["response"].items())),
            ("Assumes", tag("ul", [tag("li", f"that {text}") for text in said["assumptions"]], class_="plain")),
            *((f"Digest of the {name}", labels.digest(text)) for name, text in digests.items()),
        ),
    )


def _paid(said: Found) -> tuple[object, object] | None:
    paid = said.get("paid_for_the_policy")
    if not paid:
        return None
    return "Of this for the policy", ", ".join(f"{name} ε = {price['epsilon']:g}" for name, price in paid.items())
