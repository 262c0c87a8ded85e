"""What is asked, of whom, by whom, what it may cost, and how far each round is, with curves of arrivals as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

from visibility_aware_edge_ldp.campaign.server import page_labels as labels
from visibility_aware_edge_ldp.campaign.server.estimate_json import ASSUMPTIONS
from visibility_aware_edge_ldp.campaign.server.page_labels import BREAK, Markup, tag, together
from visibility_aware_edge_ldp.campaign.server.stages import MOST_SLOTS, WEEK, Arrived, PageState, State
from visibility_aware_edge_ldp.public.visibility import Visibility

_STATES = {
    State.WAITING: ("Waiting", "Opens when round {before} has closed with enough reports."),
    State.OPEN: ("Open", "Reports are taken."),
    State.CLOSING: ("Closing", "No more reports are taken; those that came in are being frozen."),
    State.CLOSED: ("Closed", "No more reports are taken; those that came in are frozen."),
    State.ESTIMATED: ("Estimated", "The answers were made from exactly the reports that were frozen."),
}
_TOO_FEW = ("Too few reports", "Closed below the least number of reports: nothing is estimated from them.")
# Slots begin at full minutes, hours or days, so that one more than fits may be begun, and one more be ended.
_DRAWN = MOST_SLOTS + 2
_HEIGHT, _TOP = 72.0, 16.0
_LENGTHS = {60: "minute", 3_600: "hour", 86_400: "day", WEEK: "week"}


def lead(state: PageState) -> Markup:
    """What the campaign is, in two sentences."""
    charter, asked = state.charter, state.asked[0]
    names = [labels.statistic(name) for name in charter.statistics]
    wanted = labels.listed([name if name[0].isdigit() else name[0].lower() + name[1:] for name in names])
    who = labels.plural(charter.nodes, "participant")
    of_them = "" if asked == charter.nodes else f", of whom {asked:,} are asked,"
    return tag(
        "p",
        f"A private survey among {who}{of_them} to estimate {wanted}. Every answer is randomized on the "
        "participant’s own device before it is sent; no friend list is ever collected.",
        class_="lead",
    )


def status(state: PageState) -> Markup:
    """Where the campaign is, in one sentence that screen readers tell when it changes."""
    colour = "done" if state.answers is not None else "bad" if state.failed else "now"
    return tag("p", _status(state), class_="standing", role="status", data_state=colour)


def _status(state: PageState) -> Markup:
    if state.answers is not None:
        return together(tag("strong", "The answers are published."), " They stand below and do not change any more.")
    if state.failed:
        return together(tag("strong", "Too few reports came in."), " Nothing is estimated from them.")
    if state.stages[0].state is State.WAITING:
        until = labels.date(state.charter.consent)
        return together(tag("strong", "People say whether they consent"), " until ", until, ".")
    for stage, each in zip(state.stages, state.rounds, strict=True):
        which = f"Round {stage.round} of {len(state.stages)}" if len(state.stages) > 1 else "The survey"
        if stage.state is State.OPEN:
            return together(tag("strong", f"{which} is open"), " until ", labels.date(each.closes), ".")
        if stage.state is State.CLOSING:
            return tag("strong", f"{which} is being closed.")
    return together(tag("strong", "No more reports are taken."), " The answers have not been made yet.")


def about(state: PageState) -> Markup:
    """Who asks whom what."""
    charter = state.charter
    wanted = [
        tag("li", tag("strong", labels.statistic(name)), ": ", labels.meaning(name)) for name in charter.statistics
    ]
    key = "Compare it with the key that you were given by other means than this page."
    return labels.section(
        "about",
        "What is asked",
        labels.facts(
            ("To be estimated", tag("ul", wanted, class_="plain")),
            ("Each is asked", f"{state.question.labels.asks}."),
            ("Of whom", f"{state.asked[0]:,} of {labels.plural(charter.nodes, 'participant')}"),
            ("About", f"friendships as they were in “{charter.epoch}”"),
            ("By whom", ["the holder of the key ", labels.digest(charter.issuer, "issuer"), tag("small", key)]),
            ("Campaign", labels.digest(charter.identity, "campaign")),
        ),
    )


def progress(state: PageState) -> Markup:
    """One card a round."""
    cards = [_card(state, stage.round) for stage in state.stages]
    note = "How many reports came in, and in which span of time, is counted here; who sent one when is not."
    return labels.section(
        "progress",
        "Progress",
        tag("div", cards, class_="rounds"),
        _amended(state),
        tag("p", note, class_="soft"),
    )


def _amended(state: PageState) -> Markup | None:
    """What the issuer has amended, in numbers; nothing where it has not."""
    if state.amended is None or not state.amended.signed:
        return None
    gone, later = state.amended.withdrawals, state.rounds != state.charter.rounds
    texts = [
        f"The issuer has signed {labels.plural(len(state.amended.signed), 'amendment')}.",
        f"{labels.plural(gone, 'person', 'people')} withdrew: what was not frozen by then is not counted."
        if gone
        else "",
        "A deadline was extended; those above hold." if later else "",
    ]
    return tag("p", " ".join(filter(None, texts)), class_="amended")


def _card(state: PageState, number: int) -> Markup:
    stage, each = state.stages[number - 1], state.charter.rounds[number - 1]
    asked, received = state.asked[number - 1], state.received[number - 1]
    label, sentence = _TOO_FEW if state.lacks(number) else _STATES[stage.state]
    waits = number == 1 and stage.state is State.WAITING  # for the list of those who consent
    title = tag("h3", f"Round {number}", id=f"round-{number}")
    badge = tag("span", label, class_="badge", data_state="few" if state.lacks(number) else str(stage.state))
    facts = [
        ("Response rate", labels.percent(received / asked) if asked else labels.DASH),
        ("Needed (mark)", _needed(each.fewest, received, stage.state)),
        ("Closes" if stage.state in (State.WAITING, State.OPEN) else "Deadline", _deadline(state, number)),
    ]
    root = ("Merkle root", labels.digest(stage.root)) if stage.root else None
    return tag(
        "article",
        tag("div", title, badge, class_="top"),
        tag("p", "Those who consent will be asked", class_="counted soft")
        if waits
        else _counted(asked, received, stage.state),
        _bar(asked, received, each.fewest),
        tag("p", _consent(state) if waits else sentence.format(before=number - 1), class_="soft"),
        curve(state, number),
        labels.facts(*facts, root),
        aria_labelledby=f"round-{number}",
        class_="card",
    )


def _consent(state: PageState) -> Markup:
    """When the first round opens, where it is asked only about two people who both consent."""
    until = labels.date(state.charter.consent)
    return together("Asks only about two people who both consent. They may say so until ", until, "; then it opens.")


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


def _deadline(state: PageState, number: int) -> Markup:
    closes = state.rounds[number - 1].closes
    waits = state.stages[number - 1].state in (State.WAITING, State.OPEN)
    left = tag("small", labels.left(closes - state.now), class_="left") if waits else None
    return together(labels.date(closes), left)


def _bar(asked: int, received: int, fewest: int) -> Markup:
    """The share that answered, and a mark at the least number."""
    share, mark = (min(100 * amount / asked, 100) if asked else 0.0 for amount in (received, fewest))
    said = f"{received:,} of {asked:,} reports received; {fewest:,} are needed"
    line = tag("line", x1=f"{mark:.2f}%", x2=f"{mark:.2f}%", y1=0, y2=18, class_="mark") if asked else None
    return labels.picture(
        said,
        18,
        "bar",
        tag("rect", x=0, y=4, width="100%", height=10, rx=5, class_="track"),
        tag("rect", x=0, y=4, width=f"{share:.2f}%", height=10, rx=5, class_="fill"),
        line,
    )


def promise(state: PageState) -> Markup:
    """What an edge of each class loses by all reports together, and what is assumed."""
    charter, view = state.charter, state.served.view
    losses = state.served.terms.losses
    rows = [_loss(kind, size, losses.get(kind)) for kind, size in view.class_sizes.items() if size]
    head = ["Class", "Positions", "Loss ε, at most", "Odds of a guess"]
    assumed = [f"that {text};" for text in (*ASSUMPTIONS, *view.policy.assumptions)]
    assumed.append("that each device’s coins are fair and used once.")
    explained = (
        "A position is a pair of participants: friends or not. For somebody who knows all the rest and guesses about "
        "one position, all reports of all rounds of all participants together multiply or divide the odds of that "
        "guess by no more than this factor, e to the power of ε. It holds against everybody who sees every report, "
        "this server included."
    )
    return labels.section(
        "promise",
        "What is promised",
        labels.table("What one edge loses by all reports together", head, rows),
        tag("p", explained),
        labels.facts(
            ("Trust model", f"{charter.trust}: {state.question.labels.trust}; the aggregator is not trusted."),
            ("Policy", f"{view.policy}."),
            ("It is assumed", tag("ul", [tag("li", text) for text in assumed], class_="plain")),
        ),
    )


def _loss(kind: Visibility, size: int, epsilon: Fraction | None) -> list[object]:
    name = Markup(f"_{BREAK}".join(str(kind).split("_")))
    if kind is Visibility.PUBLIC:
        return [name, f"{size:,}", "not protected", "known to all"]
    lost = epsilon or Fraction(0)
    return [name, f"{size:,}", labels.loss(lost), f"at most × {labels.odds(lost)}"]


def short(second: int, seconds: int) -> str:
    """When a slot begins; of days and weeks, the day alone."""
    found = datetime.fromtimestamp(second, UTC)
    return f"{found.day} {found:%b %Y}" if seconds >= 86_400 else f"{found.day} {found:%b %H:%M}"


def length(seconds: int) -> str:
    """What a slot of so many seconds is called."""
    return _LENGTHS.get(seconds) or labels.duration(seconds)


def _slot_bar(left: float, width: float, height: float, floor: float) -> Markup:
    """One slot; a single report is still seen."""
    tall = max(height, 2.0)
    place = {"x": f"{left + 0.1 * width:.2f}%", "width": f"{0.8 * width:.2f}%"}
    return tag("rect", **place, y=f"{floor - tall:.2f}", height=f"{tall:.2f}", class_="fill")


@dataclass(frozen=True)
class Curve:
    """Counts of slots of one length, one after the other, those without a report too."""

    first: int
    seconds: int
    counts: tuple[int, ...]

    @classmethod
    def of(cls, arrived: tuple[Arrived, ...], until: int) -> Curve:
        """From the first report to a time, or the last report if it is later; if that is long, the end of it."""
        seconds = arrived[0].slot.seconds
        found = {each.slot.since: each.reports for each in arrived}
        begin = min(found)
        last = max(*found, begin + (until - begin) // seconds * seconds)
        first = max(begin, last - (_DRAWN - 1) * seconds)
        return cls(first, seconds, tuple(found.get(at, 0) for at in range(first, last + 1, seconds)))

    @property
    def peak(self) -> int:
        """The slot in which most came."""
        return self.counts.index(max(self.counts))

    def begins(self, place: int) -> str:
        return short(self.first + place * self.seconds, self.seconds)


def _drawn(found: Curve, number: int) -> Markup:
    count, most = len(found.counts), max(found.counts)
    width, floor = 100 / max(count, 6), _TOP + _HEIGHT
    drawn = [
        _slot_bar(i * width, width, _HEIGHT * amount / most, floor) for i, amount in enumerate(found.counts) if amount
    ]
    said = (
        f"Reports of round {number} per {length(found.seconds)}, from {found.begins(0)} to {found.begins(count - 1)} "
        f"UTC: {sum(found.counts):,} in all, most from {found.begins(found.peak)}, {most:,}"
    )
    end = tag("text", found.begins(count - 1), x=f"{count * width:.2f}%", y=floor + 16, text_anchor="end")
    return labels.picture(
        said,
        floor + 20,
        "times",
        tag("line", x1=0, x2="100%", y1=_TOP, y2=_TOP, class_="grid"),
        tag("text", f"{most:,}", x=0, y=_TOP - 4),
        drawn,
        tag("line", x1=0, x2="100%", y1=floor, y2=floor, class_="grid"),
        tag("text", found.begins(0), x=0, y=floor + 16),
        end if count * width > 60 else None,
    )


def curve(state: PageState, number: int) -> Markup | None:
    """A round's reports over time; nothing where none was counted."""
    arrived, received = state.arrivals[number - 1], state.received[number - 1]
    if not arrived:
        return None
    is_open = state.stages[number - 1].state is State.OPEN
    found = Curve.of(arrived, state.now if is_open else 0)
    before = received - sum(each.reports for each in arrived)
    uncounted = f" {before:,} came before slots were counted." if before > 0 else ""
    title = f"Reports per {length(found.seconds)}, UTC.{uncounted}"
    rows = [[found.begins(i), f"{count:,}"] for i, count in enumerate(found.counts) if count]
    table = labels.table(f"Reports of round {number} per {length(found.seconds)}", ["From (UTC)", "Reports"], rows)
    return tag(
        "figure",
        _drawn(found, number),
        tag("figcaption", title),
        tag("details", tag("summary", "The same as a table"), table),
        class_="curve",
    )
