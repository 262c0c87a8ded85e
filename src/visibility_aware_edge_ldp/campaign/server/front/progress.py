"""What is asked, of whom, by whom, what it may cost, and how far each round is."""

from __future__ import annotations

from fractions import Fraction

from visibility_aware_edge_ldp.campaign.server.estimating import ASSUMPTIONS, TRUST_WORDS
from visibility_aware_edge_ldp.campaign.server.front import words
from visibility_aware_edge_ldp.campaign.server.front.curve import curve
from visibility_aware_edge_ldp.campaign.server.front.markup import BREAK, Markup, tag, together
from visibility_aware_edge_ldp.campaign.server.front.moment import Moment
from visibility_aware_edge_ldp.campaign.server.store import State
from visibility_aware_edge_ldp.public.visibility import Visibility

_STATES = {
    State.WAITING: ("Waiting", "Opens when round {before} has closed with enough reports."),
    State.OPEN: ("Open", "Reports are taken."),
    State.CLOSING: ("Closing", "No more reports are taken; those that came in are being frozen."),
    State.CLOSED: ("Closed", "No more reports are taken; those that came in are frozen."),
    State.ESTIMATED: ("Estimated", "The answers were made from exactly the reports that were frozen."),
}
_TOO_FEW = ("Too few reports", "Closed below the least number of reports: nothing is estimated from them.")
# What is asked of each, as each is asked it.
ASKS = {
    "position": "for each of the others that it answers for, whether they are friends: one randomized bit each",
    "degrees": "how many friends it has, with noise added",
    "triangles": "for each of the others that it answers for, whether they are friends: one randomized bit each; "
    "then one sum over its friend list, with noise added",
    "hubs": "how many triangles there are among the people it sees, with noise added",
}


def lead(moment: Moment) -> Markup:
    """What the campaign is, in two sentences."""
    charter, asked = moment.charter, moment.asked[0]
    names = [words.statistic(name) for name in charter.statistics]
    wanted = words.listed([name if name[0].isdigit() else name[0].lower() + name[1:] for name in names])
    who = words.plural(charter.nodes, "participant")
    of_them = "" if asked == charter.nodes else f", of whom {asked:,} are asked,"
    return tag(
        "p",
        f"A private survey among {who}{of_them} to estimate {wanted}. Every answer is randomized on the "
        "participant’s own device before it is sent; no friend list is ever collected.",
        class_="lead",
    )


def standing(moment: Moment) -> Markup:
    """Where the campaign is, in one sentence that screen readers tell when it changes."""
    return tag("p", _standing(moment), class_="standing", role="status", data_state=_colour(moment))


def _standing(moment: Moment) -> Markup:
    if moment.answers is not None:
        return together(tag("strong", "The answers are published."), " They stand below and do not change any more.")
    if moment.failed:
        return together(tag("strong", "Too few reports came in."), " Nothing is estimated from them.")
    for stage, each in zip(moment.stages, moment.charter.rounds, strict=True):
        which = f"Round {stage.round} of {len(moment.stages)}" if len(moment.stages) > 1 else "The survey"
        if stage.state is State.OPEN:
            return together(tag("strong", f"{which} is open"), " until ", words.date(each.closes), ".")
        if stage.state is State.CLOSING:
            return together(tag("strong", f"{which} is being closed."))
    return together(tag("strong", "No more reports are taken."), " The answers have not been made yet.")


def _colour(moment: Moment) -> str:
    return "done" if moment.answers is not None else "bad" if moment.failed else "now"


def about(moment: Moment) -> Markup:
    """Who asks whom what."""
    charter = moment.charter
    asked = tag("ul", [_wanted(name) for name in charter.statistics], class_="plain")
    return words.section(
        "about",
        "What is asked",
        words.facts(
            ("To be estimated", asked),
            ("Each is asked", f"{ASKS[charter.question]}."),
            ("Of whom", f"{moment.asked[0]:,} of {words.plural(charter.nodes, 'participant')}"),
            ("About", f"friendships as they were in “{charter.epoch}”"),
            (
                "By whom",
                together(
                    "the holder of the key ",
                    words.digest(charter.issuer, "issuer"),
                    tag("small", "Compare it with the key that you were given by other means than this page."),
                ),
            ),
            ("Campaign", words.digest(charter.identity, "campaign")),
        ),
    )


def _wanted(name: str) -> Markup:
    return tag("li", tag("strong", words.statistic(name)), ": ", words.meaning(name))


def progress(moment: Moment) -> Markup:
    """One card a round."""
    cards = [_card(moment, stage.round) for stage in moment.stages]
    note = "How many reports came in, and in which span of time, is counted here; who sent one when is not."
    return words.section("progress", "Progress", tag("div", cards, class_="rounds"), tag("p", note, class_="soft"))


def _card(moment: Moment, number: int) -> Markup:
    stage, each = moment.stages[number - 1], moment.charter.rounds[number - 1]
    asked, received = moment.asked[number - 1], moment.received[number - 1]
    label, sentence = _TOO_FEW if moment.lacks(number) else _STATES[stage.state]
    title = tag("h3", f"Round {number}", id=f"round-{number}")
    badge = tag("span", label, class_="badge", data_state="few" if moment.lacks(number) else str(stage.state))
    facts = [
        ("Response rate", words.percent(received / asked) if asked else words.DASH),
        ("Needed (mark)", _needed(each.fewest, received, stage.state)),
        ("Closes" if stage.state in (State.WAITING, State.OPEN) else "Deadline", _deadline(moment, number)),
    ]
    root = ("Merkle root", words.digest(stage.root)) if stage.root else None
    return tag(
        "article",
        tag("div", title, badge, class_="top"),
        _counted(asked, received, stage.state),
        _bar(asked, received, each.fewest),
        tag("p", sentence.format(before=number - 1), class_="soft"),
        curve(moment, number),
        words.facts(*facts, root),
        aria_labelledby=f"round-{number}",
        class_="card",
    )


def _counted(asked: int, received: int, state: State) -> Markup:
    if state is State.WAITING:
        return tag("p", "Those who answered in the round before will be asked", class_="counted soft")
    reports = "report" if asked == 1 else "reports"
    return tag("p", tag("strong", f"{received:,}"), f" of {asked:,} {reports} received", class_="counted")


def _needed(fewest: int, received: int, state: State) -> str:
    if received >= fewest:
        return f"at least {fewest:,}, which is reached"
    missing = f"; {fewest - received:,} more to come" if state is State.OPEN else ""
    return f"at least {fewest:,}{missing}"


def _deadline(moment: Moment, number: int) -> Markup:
    closes = moment.charter.rounds[number - 1].closes
    waits = moment.stages[number - 1].state in (State.WAITING, State.OPEN)
    left = tag("small", words.left(closes - moment.now), class_="left") if waits else None
    return together(words.date(closes), left)


def _bar(asked: int, received: int, fewest: int) -> Markup:
    """The share that answered, and a mark at the least number."""
    share, mark = (min(100 * amount / asked, 100) if asked else 0.0 for amount in (received, fewest))
    said = f"{received:,} of {asked:,} reports received; {fewest:,} are needed"
    line = tag("line", x1=f"{mark:.2f}%", x2=f"{mark:.2f}%", y1=0, y2=18, class_="mark") if asked else None
    return tag(
        "svg",
        tag("rect", x=0, y=4, width="100%", height=10, rx=5, class_="track"),
        tag("rect", x=0, y=4, width=f"{share:.2f}%", height=10, rx=5, class_="fill"),
        line,
        role="img",
        aria_label=said,
        width="100%",
        height=18,
        class_="bar",
    )


def promise(moment: Moment) -> Markup:
    """What an edge of each class loses by all reports together, and what is assumed."""
    charter, view = moment.charter, moment.dossier.view
    losses = moment.dossier.questions.losses
    rows = [_loss(kind, size, losses.get(kind)) for kind, size in view.class_sizes.items() if size]
    head: list[object] = ["Class", "Positions", "Loss ε, at most", "Odds of a guess"]
    assumed = (*ASSUMPTIONS, *view.policy.assumptions)
    explained = (
        "A position is a pair of participants: friends or not. For somebody who knows all the rest and guesses about "
        "one position, all reports of all rounds of all participants together multiply or divide the odds of that "
        "guess by no more than this factor, e to the power of ε. It holds against everybody who sees every report, "
        "this server included."
    )
    return words.section(
        "promise",
        "What is promised",
        words.table("What one edge loses by all reports together", head, rows),
        tag("p", explained),
        words.facts(
            ("Trust model", f"{charter.trust}: {TRUST_WORDS[charter.question]}; the aggregator is not trusted."),
            ("Policy", f"{view.policy}."),
            ("It is assumed", tag("ul", [tag("li", f"that {text};") for text in assumed], _coins(), class_="plain")),
        ),
    )


def _coins() -> Markup:
    return tag("li", "that each device’s coins are fair and used once.")


def _loss(kind: Visibility, size: int, epsilon: Fraction | None) -> list[object]:
    name = Markup(f"_{BREAK}".join(str(kind).split("_")))
    if kind is Visibility.PUBLIC:
        return [name, f"{size:,}", "not protected", "known to all"]
    lost = epsilon or Fraction(0)
    return [name, f"{size:,}", words.loss(lost), f"at most × {words.odds(lost)}"]
