"""How many reports came when, as bars and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from visibility_aware_edge_ldp.campaign.server.arrivals import MOST_SLOTS, WEEK, Arrived
from visibility_aware_edge_ldp.campaign.server.front import words
from visibility_aware_edge_ldp.campaign.server.front.markup import Markup, tag
from visibility_aware_edge_ldp.campaign.server.front.moment import Moment
from visibility_aware_edge_ldp.campaign.server.store import State

_LENGTHS = {60: "minute", 3_600: "hour", 86_400: "day", WEEK: "week"}
_HEIGHT, _TOP = 72.0, 16.0
# Slots begin at full minutes, hours or days, so that one more than fits may be begun, and one more be ended.
_DRAWN = MOST_SLOTS + 2


@dataclass(frozen=True)
class Curve:
    """Counts of slots of one length, one after the other, those without a report too."""

    first: int
    seconds: int
    counts: tuple[int, ...]

    @classmethod
    def of(cls, arrived: tuple[Arrived, ...], until: int) -> Curve:
        """From the first report to a moment, or the last report if it is later; if that is long, the end of it."""
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


def curve(moment: Moment, number: int) -> Markup | None:
    """A round's reports over time; nothing where none was counted."""
    arrived, received = moment.arrivals[number - 1], moment.received[number - 1]
    if not arrived:
        return None
    is_open = moment.stages[number - 1].state is State.OPEN
    found = Curve.of(arrived, moment.now if is_open else 0)
    before = received - sum(each.reports for each in arrived)
    uncounted = f" {before:,} came before slots were counted." if before > 0 else ""
    title = f"Reports per {length(found.seconds)}, UTC.{uncounted}"
    rows: list[list[object]] = [[found.begins(i), f"{count:,}"] for i, count in enumerate(found.counts) if count]
    table = words.table(f"Reports of round {number} per {length(found.seconds)}", ["From (UTC)", "Reports"], rows)
    return tag(
        "figure",
        _drawn(found, number),
        tag("figcaption", title),
        tag("details", tag("summary", "The same as a table"), table),
        class_="curve",
    )


def _drawn(found: Curve, number: int) -> Markup:
    count, most = len(found.counts), max(found.counts)
    width, floor = 100 / max(count, 6), _TOP + _HEIGHT
    drawn = [_bar(i * width, width, _HEIGHT * amount / most, floor) for i, amount in enumerate(found.counts) if amount]
    said = (
        f"Reports of round {number} per {length(found.seconds)}, from {found.begins(0)} to {found.begins(count - 1)} "
        f"UTC: {sum(found.counts):,} in all, most from {found.begins(found.peak)}, {most:,}"
    )
    end = tag("text", found.begins(count - 1), x=f"{count * width:.2f}%", y=floor + 16, text_anchor="end")
    return tag(
        "svg",
        tag("line", x1=0, x2="100%", y1=_TOP, y2=_TOP, class_="grid"),
        tag("text", f"{most:,}", x=0, y=_TOP - 4),
        drawn,
        tag("line", x1=0, x2="100%", y1=floor, y2=floor, class_="grid"),
        tag("text", found.begins(0), x=0, y=floor + 16),
        end if count * width > 60 else None,
        role="img",
        aria_label=said,
        width="100%",
        height=floor + 20,
        class_="times",
    )


def _bar(left: float, width: float, height: float, floor: float) -> Markup:
    """One slot; a single report is still seen."""
    tall = max(height, 2.0)
    place = {"x": f"{left + 0.1 * width:.2f}%", "width": f"{0.8 * width:.2f}%"}
    return tag("rect", **place, y=f"{floor - tall:.2f}", height=f"{tall:.2f}", class_="fill")


def length(seconds: int) -> str:
    """What a slot of so many seconds is called."""
    return _LENGTHS.get(seconds) or words.duration(seconds)


def short(second: int, seconds: int) -> str:
    """When a slot begins; of days and weeks, the day alone."""
    found = datetime.fromtimestamp(second, UTC)
    return f"{found.day} {found:%b %Y}" if seconds >= 86_400 else f"{found.day} {found:%b %H:%M}"
