"""The estimates, how sure they are, what could have moved them, and the certificate."""

from __future__ import annotations

from typing import Any

from visibility_aware_edge_ldp.aggregator.answers import noise_hides
from visibility_aware_edge_ldp.campaign.server.estimating import ONE_IN
from visibility_aware_edge_ldp.campaign.server.front import words
from visibility_aware_edge_ldp.campaign.server.front.markup import Markup, tag, together
from visibility_aware_edge_ldp.campaign.server.front.moment import Moment
from visibility_aware_edge_ldp.campaign.server.front.strips import MOST_BARS, bars, strip
from visibility_aware_edge_ldp.public.visibility import Visibility

Found = dict[str, Any]
_SHARE = f"one in {ONE_IN} of those who answered, rounded up"


def answers(moment: Moment) -> Markup:
    """The table and its picture; before there are any, when there will be."""
    if moment.answers is None:
        return words.section("answers", "Answers", tag("p", _not_yet(moment)))
    found = _found(moment)
    refused: dict[str, str] = moment.content.get("refused", {})
    head: list[object] = ["Statistic", "Estimate", "± s.e.", "95 % interval"]
    table = words.table("Estimates", head, [_row(name, each) for name, each in found.items()]) if found else None
    return words.section(
        "answers",
        "Answers",
        tag("p", "Made ", words.date(moment.made), ".", class_="soft") if moment.made is not None else None,
        table,
        _strips(moment, found),
        [_histogram(each) for name, each in found.items() if name == "degree_histogram"],
        [tag("p", tag("strong", words.statistic(name)), f": not estimated; {why}") for name, why in refused.items()],
        _notes(found),
    )


def _found(moment: Moment) -> dict[str, Found]:
    """The estimates, in the order in which they were asked for."""
    found: dict[str, Found] = moment.content.get("estimates", {})
    return {name: found[name] for name in moment.charter.statistics if name in found}


def _not_yet(moment: Moment) -> str:
    if moment.failed:
        return "There are none: too few reports came in, and what few people said is not published."
    return "There are none yet. They are made when all rounds are closed, and published here with their uncertainty."


def _notes(found: dict[str, Found]) -> list[Markup]:
    biased = [words.statistic(name) for name, each in found.items() if each.get("unbiased") is False]
    said = [f"Not unbiased: {words.listed(biased)}."] if biased else []
    hidden = [
        words.statistic(name)
        for name, each in found.items()
        if noise_hides(each.get("value"), each.get("standard_error"))
    ]
    if hidden:
        said.append(f"Cannot be told from nothing, so large is the noise: {words.listed(hidden)}.")
    if "degrees" in found:
        said.append(
            "The raw answers hold the degrees of all who answered or were not asked, with their noise: in whole "
            "numbers, the smallest first, without names, and with nothing beside a number that would tell whose it is."
        )
    return [tag("p", text, class_="soft") for text in said]


def _row(name: str, each: Found) -> list[object]:
    title = together(words.statistic(name), tag("small", words.meaning(name)))
    if not _is_number(each):
        return [title, words.plural(len(each["value"]), "value"), words.DASH, words.DASH]
    return [title, words.value(each["value"]), words.value(each["standard_error"]), words.interval(_ends(each))]


def _is_number(each: Found) -> bool:
    return not isinstance(each["value"], list)


def _ends(each: Found) -> tuple[Any, Any]:
    return each["interval"][0], each["interval"][1]


def _strips(moment: Moment, found: dict[str, Found]) -> Markup | None:
    """Each statistic on a scale of its own."""
    away = moment.content.get("dropout", {}).get("estimates", {})
    drawn = [
        tag("li", tag("h3", words.statistic(name)), strip(name, each["value"], _ends(each), _range(away.get(name))))
        for name, each in found.items()
        if _is_number(each) and None not in (each["value"], *_ends(each))
    ]
    if not drawn:
        return None
    legend = tag(
        "figcaption",
        "Dot: the estimate. Bar: its 95 % interval. ",
        "Dashes: between half and twice as much with those who stayed away. " if any(away.values()) else None,
        "Each statistic has a scale of its own.",
    )
    return tag("figure", tag("ul", drawn, class_="strips"), legend)


def _range(away: list[float] | None) -> tuple[float, float] | None:
    return None if away is None or away[0] == away[1] else (away[0], away[1])


def _histogram(each: Found) -> Markup:
    """Up to the last degrees that somebody surely has, and a few more; the others are in the raw answers."""
    values, (lows, highs), kinds = each["value"], each["interval"], [_degrees(label) for label in each["labels"]]
    sure = [place for place, low in enumerate(lows) if low]
    count = min(len(values), MOST_BARS, max(sure, default=0) + 4)
    shown, low, high = ([part or 0.0 for part in numbers[:count]] for numbers in (values, lows, highs))
    text = "How many participants have how many friends, with 95 % intervals"
    more = f" Up to {kinds[-1]} friends: in the raw answers." if count < len(values) else ""
    drawn = bars(kinds[:count], shown, low, high, f"Degree histogram. {text}")
    return tag("figure", tag("h3", words.statistic("degree_histogram")), drawn, tag("figcaption", f"{text}.{more}"))


def _degrees(label: Any) -> str:
    """A degree, or the first and the last of several."""
    if not isinstance(label, list):
        return str(label)
    return str(label[0]) if label[0] == label[-1] else f"{label[0]}–{label[-1]}"


def doubts(moment: Moment) -> Markup | None:
    """What those who stayed away, and those who lie, could have done to the estimates."""
    found, away = _found(moment), moment.content.get("dropout", {})
    lies = moment.content.get("manipulation", {})
    if not found or not lies:
        return None
    liars, bounds = lies["liars"], lies["bounds"]
    head: list[object] = ["Statistic", "If half as much", "If twice as much", f"Moved by {words.plural(liars, 'liar')}"]
    rows: list[list[object]] = [
        [words.statistic(name), *_ends_of(away["estimates"].get(name)), _bound(bounds.get(name))] for name in found
    ]
    return words.section(
        "doubts",
        "What could have moved them",
        words.table("Those who stay away, and those who lie", head, rows),
        words.facts(
            ("Staying away", _stayed(moment, away["words"])),
            ("Lying", f"{lies['words']} Here: {words.plural(liars, 'participant')}, {_SHARE}."),
            ("Flagged", _flagged(moment.content["flagged"])),
        ),
    )


def _ends_of(ends: list[float] | None) -> list[object]:
    return [words.value(end) for end in ends] if ends else [words.DASH, words.DASH]


def _bound(bound: float | None) -> str:
    return "no bound" if bound is None else f"± {words.value(bound)}"


def _stayed(moment: Moment, said: str) -> str:
    rates = [received / asked if asked else 1.0 for received, asked in zip(moment.received, moment.asked, strict=True)]
    if min(rates) == 1:
        return "Everybody who was asked answered, so nobody’s absence could have."
    unsaid = " A dash: this cannot be said." if None in moment.content["dropout"]["estimates"].values() else ""
    return said + unsaid


def _flagged(flags: Found) -> str:
    rare = "An honest report is flagged at most once in a thousand million times; against honest peers, about so."
    return f"{words.plural(flags['reports'], 'report')}. {rare} Flagged reports are counted, not named and not dropped."


def certificate(moment: Moment) -> Markup | None:
    """What the answers were made under and from."""
    said: Found = moment.content.get("certificate", {})
    if not said:
        return None
    losses, kept = moment.dossier.questions.losses, said["positions"]
    lost = [f"{kind} ε = {words.loss(loss)}" for kind, loss in losses.items() if str(kind) in kept]
    if str(Visibility.PUBLIC) in kept:
        lost.append("PUBLIC not protected")
    charter = moment.charter
    digests = {"roster": charter.roster, "policy": charter.policy, "public edges": charter.edges}
    return words.section(
        "certificate",
        "Certificate",
        words.facts(
            ("Trust model", said["trust"]),
            ("Loss per edge", f"{', '.join(lost)}; against all reports together"),
            _paid(said),
            ("Policy", f"{said['policy']}"),
            ("Positions", ", ".join(f"{count:,} {name}" for name, count in kept.items())),
            ("Response", ", ".join(f"{name} {words.percent(rate)}" for name, rate in said["response"].items())),
            ("Assumes", tag("ul", [tag("li", f"that {text}") for text in said["assumptions"]], class_="plain")),
            *((f"Digest of the {name}", words.digest(text)) for name, text in digests.items()),
        ),
    )


def _paid(said: Found) -> tuple[object, object] | None:
    paid = said.get("paid_for_the_policy")
    if not paid:
        return None
    return "Of this for the policy", ", ".join(f"{name} ε = {price['epsilon']:g}" for name, price in paid.items())
