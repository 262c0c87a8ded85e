"""What a participant is shown before it agrees, and afterwards; all of it stays on its own screen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

from visibility_aware_edge_ldp.campaign.participant.answering import Quote, Task
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility

_ASKS = {
    "position": "for each person listed after you in the roster, whether you are friends: one randomized bit each",
    "degrees": "how many friends you have in each class, with noise",
    "triangles": "for each person listed after you in the roster, whether you are friends: one randomized bit each; "
    "then one noisy sum over your list",
    "hubs": "how many triangles there are among the people you see, with noise",
}
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
        f"For        {', '.join(charter.statistics)}",
        f"Public     {int((seat.classes == Visibility.PUBLIC).sum()) - 1:,} of your {charter.nodes - 1:,} positions, "
        "by the campaign's policy; nothing is asked about them",
        f"Closes     {_date(charter.rounds[task.round - 1].closes)}; reports are kept for "
        f"{charter.retention:,} seconds after the estimate",
    ]
    return [*lines, *_cost_lines(task, quote)]


def _cost_lines(task: Task, quote: Quote) -> list[str]:
    whole, hub = task.seat.questions.losses, isinstance(task.seat.questions.survey, HubSurvey)
    lines = []
    for kind, asked in quote.asked.items():
        where = "every position between two others" if hub else f"{asked:,} positions"
        lines.append(
            f"Costs      {kind} edge, {where}: ε = {number(quote.now[kind])} now "
            f"({number(whole.get(kind, Fraction(0)))} by all rounds of the campaign); "
            f"in this epoch {number(quote.before[kind])} so far, {number(quote.after[kind])} after, "
            f"{number(quote.caps[kind])} allowed"
        )
    return lines


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


def number(value: Fraction) -> str:
    """A loss as people write it, rounded up in the sixth decimal."""
    return f"{-int(-value * 10**6 // 1) / 10**6:g}"


def _date(moment: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))
