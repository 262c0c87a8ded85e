"""What a participant is shown before it agrees, and afterwards; all of it stays on its own screen."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from fractions import Fraction

from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.participant.accounts import units, written
from visibility_aware_edge_ldp.campaign.participant.answering import Quote, Task
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.mechanisms.chain import DECIMALS
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility

DAY = 86_400
_ASKS = {
    "position": "for each person listed after you in the roster, whether you are friends: one randomized bit each",
    "degrees": "how many friends you have in each class, with noise",
    "triangles": "for each person listed after you in the roster, whether you are friends: one randomized bit each; "
    "then one noisy sum over your list",
    "hubs": "how many triangles there are among the people you see, with noise",
}
_UNNAMED = "; of degrees, the noisy numbers of all who answer are published, the smallest first and without names"
_SECOND = {
    "position": "once more, where your first answer was 1, whether you are friends: one randomized bit each",
    "triangles": "one sum over your friend list, computed from everybody's first answers, and its reach, with noise",
}


def question_lines(task: Task, quote: Quote) -> list[str]:
    """What is asked, of whom and by whom, and what it costs."""
    charter, seat = task.seat.charter, task.seat
    rounds, said = len(charter.rounds), _ASKS if task.round == 1 else _SECOND
    lines = [
        f"Campaign   {charter.title} ({charter.identity[:12]}), round {task.round} of {rounds}",
        f"Issuer     {charter.issuer}",
        f"About      your friendships in the data epoch {charter.epoch!r}; you are {seat.names[seat.number]!r}, "
        f"one of {charter.nodes:,}",
        f"Asks       {said[charter.question]}",
        f"For        {', '.join(charter.statistics)}{_UNNAMED if 'degrees' in charter.statistics else ''}",
        f"Public     {int((seat.classes == Visibility.PUBLIC).sum()) - 1:,} of your {charter.nodes - 1:,} positions, "
        "by the campaign's policy; nothing is asked about them",
        f"Closes     {_date(charter.rounds[task.round - 1].closes)}",
        f"Keeps      {kept_for(charter, task.round)}",
    ]
    return [*lines, *_other_lines(seat), *_cost_lines(task, quote)]


def _other_lines(seat: Seat) -> list[str]:
    """That an edge has two ends, where the other one answers for it."""
    held = sum(int(places.sum()) for places in seat.others(1).places.values())
    if not held:
        return []
    return [f"Others     {held:,} people answer for their edge with you; your ledger counts all rounds of that"]


def _cost_lines(task: Task, quote: Quote) -> list[str]:
    whole, hub = task.seat.questions.losses, isinstance(task.seat.questions.survey, HubSurvey)
    lines = []
    for kind, asked in quote.asked.items():
        where = "every position between two others" if hub else counted(asked, "position")
        in_all = (
            f"{number(whole[kind])} by all rounds of the campaign"
            if kind in whole
            else "no edge is such here; it is counted in case another campaign calls one so"
        )
        lines.append(
            f"Costs      {kind} edge, {where}: ε = {number(quote.now[kind])} now ({in_all}); "
            f"in this epoch {number(quote.before[kind])} so far, {number(quote.after[kind])} after, "
            f"{cap(quote.caps[kind])} allowed"
        )
        if quote.stricter[kind]:
            lines.append(
                f"           {quote.stricter[kind]:,} of these were of a stricter class before, and keep its cap"
            )
    return lines


def known_lines(count: int) -> list[str]:
    """How many friends a list names."""
    return [f"The list names {counted(count, 'friend')} in the roster."]


def seen_lines(count: int) -> list[str]:
    """How many edges a hub's list names."""
    return [f"The list names {counted(count, 'edge')} between people of the roster."]


def nobody_lines(count: int) -> list[str]:
    """That an answer was made from a list of nobody, which may be a mistake."""
    return [] if count else ["The list names nobody of the roster: the answer is that of somebody without friends."]


def counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def unknown_lines(names: Sequence[str]) -> list[str]:
    """Which names were left out."""
    if not names:
        return []
    shown = ", ".join(repr(name) for name in names[:5])
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return [f"Not in the roster, and left out: {shown}{more}."]


def changed_lines(count: int) -> list[str]:
    """That the list is not the one that the epoch began with."""
    if not count:
        return []
    return [
        f"{count:,} friendships differ from your list when this epoch was first asked about. "
        "The epoch's answers stay about that first list; a new list needs a new epoch."
    ]


def beyond_lines(lost: Mapping[Visibility, Fraction]) -> list[str]:
    """That others' answers may cost more than is allowed."""
    return [
        f"By what others answer, a {kind} edge of yours may have lost ε = {number(each)} in this epoch, more than you "
        "allowed. This cannot be stopped from here; your own answers about it end."
        for kind, each in lost.items()
    ]


def late_lines(pace: float, beats: int) -> list[str]:
    """That an answer was not made within its pace."""
    if beats <= 1:
        return []
    return [
        f"This answer took longer to make than its pace of {pace:g} s, and left after {beats:,} times as long: whoever "
        "saw when you were asked and when it left may guess how long your list is. A less busy device is in time."
    ]


def number(value: Fraction) -> str:
    """A loss as people write it, rounded up in the sixth decimal: never less than it is."""
    millionths = -int(-value * 10**6 // 1)
    return written(millionths * 10 ** (DECIMALS - 6))


def cap(value: Fraction) -> str:
    """A cap, with all its decimals: never more than it is."""
    return written(units(value))


def kept_for(charter: Charter, number: int = 1) -> str:
    """How long reports are kept: after the estimate, or after the deadline if there will be none; and what stays."""
    seconds, fewest = charter.retention, charter.rounds[number - 1].fewest
    few = f"if fewer than {fewest:,} answer in time, nothing is estimated and"
    stays = "who answered, and a salted digest of each report, stay"
    if not seconds:
        return f"reports until the estimate; {few} they go at the deadline; {stays}"
    days = f"{seconds / DAY:g} {'day' if seconds == DAY else 'days'}"
    return f"reports for {days} after the estimate; {few} they go {days} after the deadline; {stays}"


def _date(moment: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))
