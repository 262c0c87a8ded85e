"""A study's answers as files: the server's JSON as it is, a table, and a page to print."""

import io
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from visibility_aware_edge_ldp.aggregator.answers import noise_hides, number
from visibility_aware_edge_ldp.campaign.charter import Charter, date
from visibility_aware_edge_ldp.campaign.console.letters import table
from visibility_aware_edge_ldp.campaign.http_client import json_object
from visibility_aware_edge_ldp.campaign.invitations import begins_formula
from visibility_aware_edge_ldp.errors import MissingPart, ProtocolViolation
from visibility_aware_edge_ldp.public.statistic import statistic

HEAD = ("statistic", "entry", "value", "standard_error", "low", "high")
# So many rows stand in the page to print; all of them are in the table.
_MOST_ROWS, _LONGEST = 24, 34
_WIDTH = 96
# An A4 page and its margin, in points.
_PAGE, _MARGIN = (595, 842), 56
_TITLES = ("statistic", "estimate", "± s.e.", "95 % interval")
_SETTINGS = {"text.parse_math": False, "font.size": 9, "pdf.fonttype": 42}


def answers_of(data: bytes, charter: Charter) -> dict[str, Any]:
    """The answers that a server made, if they name this campaign."""
    found = json_object(data)
    if found.get("campaign") != charter.identity or not isinstance(found.get("estimates"), dict):
        raise ProtocolViolation("The server's answers are not of this campaign.")
    return found


def result_rows(answers: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """One row for each number that was estimated, in the order of ``HEAD``."""
    for name, found in answers["estimates"].items():
        values = found["value"] if isinstance(found["value"], list) else [found["value"]]
        alone = not isinstance(found["value"], list)
        errors = [found["standard_error"]] if alone else _listed(found["standard_error"], len(values))
        ends = [found["interval"]] if alone else _listed(found["interval"], len(values))
        labels = found.get("labels") or [""] * len(values)
        for label, value, error, interval in zip_longest(labels, values, errors, ends, fillvalue=None):
            low, high = interval or (None, None)
            entry = " – ".join(map(str, label)) if isinstance(label, list) else str(label or "")
            yield name, entry, *(_plain(each) for each in (value, error, low, high))


def results_csv(answers: Mapping[str, Any]) -> bytes:
    """The answers as CSV, one row for each number; refuses words of the server that a spreadsheet would run."""
    rows = list(result_rows(answers))
    if any(begins_formula(word) for name, entry, *_ in rows for word in (name, entry)):
        raise ProtocolViolation("The server's answers have names that a spreadsheet would run; take them as JSON.")
    return table(HEAD, rows)


def results_pdf(answers: Mapping[str, Any], charter: Charter) -> bytes:
    """What was asked, promised and found, on a page; the same answers give the same bytes."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_pdf import PdfPages
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingPart("matplotlib", "plot", "A PDF") from missing
    out = io.BytesIO()
    with rc_context(_SETTINGS), PdfPages(out, metadata={"CreationDate": None, "Title": charter.title}) as pages:
        sheet = Figure(figsize=(_PAGE[0] / 72, _PAGE[1] / 72))
        _drawn(sheet, answers, charter)
        pages.savefig(sheet)
    return out.getvalue()


def _drawn(sheet: Any, answers: Mapping[str, Any], charter: Charter) -> None:
    """One line below the other: title, facts, the table, what was promised."""
    rows, at = list(result_rows(answers)), _PAGE[1] - _MARGIN

    def write(text: str, size: float = 9, left: float = 0, right: bool = False, weight: str = "normal") -> None:
        place = ((_MARGIN + left) / _PAGE[0], at / _PAGE[1])
        sheet.text(*place, text, fontsize=size, va="top", ha="right" if right else "left", weight=weight)

    for line in _cut(charter.title, 50):
        write(line, 15, weight="bold")
        at -= 22
    for line in ("", *_facts(answers, charter), ""):
        write(line)
        at -= 14
    for number_of_row, cells in enumerate([_TITLES, *map(_shown, rows[:_MOST_ROWS])]):
        weight = "normal" if number_of_row else "bold"
        write(cells[0], weight=weight)
        for cell, left in zip(cells[1:], (270, 350, 480), strict=True):
            write(cell, left=left, right=True, weight=weight)
        at -= 15
    more = [f"And {len(rows) - _MOST_ROWS:,} more numbers, in the table of results."] if len(rows) > _MOST_ROWS else []
    for line in (*more, "", *_promise(answers)):
        write(line, 8)
        at -= 12


def _shown(row: tuple[str, ...]) -> tuple[str, str, str, str]:
    name, entry, value, error, low, high = row
    said = f"{statistic(name).label}{f': {entry}' if entry else ''}"
    ends = f"[{_short(low)}, {_short(high)}]" if low or high else "none"
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…", _short(value), _short(error) or "none", ends


def _facts(answers: Mapping[str, Any], charter: Charter) -> list[str]:
    turnout = (
        f"Round {place}: {each['answered']:,} of {each['asked']:,} who were asked answered; root {each['root'][:32]}"
        for place, each in enumerate(answers["rounds"], 1)
    )
    return [
        f"Campaign {charter.identity}",
        f"{charter.nodes:,} people, about “{charter.epoch}”, ε = {charter.epsilon} for everything together",
        *(f"Round {place} was to close by {date(each.closes)}" for place, each in enumerate(charter.rounds, 1)),
        *turnout,
    ]


def _promise(answers: Mapping[str, Any]) -> list[str]:
    said = answers["certificate"]
    losses = [
        f"An edge at a {kind} position loses at most ε = {each['epsilon']:.6g} against everybody who sees all reports."
        for kind, each in said["loss_per_edge"].items()
        if not said["positions"] or kind in said["positions"]
    ]
    flagged = answers["flagged"]["reports"]
    doubts = [f"{flagged:,} reports are such as hardly any honest participant sends."] if flagged else []
    refused = [f"Not estimated: {name}. {why}" for name, why in answers["refused"].items()]
    assumed = [f"Assumes that {text}." for text in said["assumptions"]]
    errors = {name: (each["value"], each["standard_error"]) for name, each in answers["estimates"].items()}
    hidden = [name for name, (value, error) in errors.items() if noise_hides(value, error)]
    doubts += [f"Noise: {', '.join(hidden)} cannot be told from nothing."] if hidden else []
    lines = [*losses, f"Policy: {said['policy']}.", *assumed, *doubts, *refused]
    return [part for line in lines for part in _cut(line, _WIDTH)]


def _cut(text: str, width: int) -> list[str]:
    """A text in lines of about so many characters."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{word}"
    return lines


def _listed(found: Any, count: int) -> list[Any]:
    """Errors or intervals, one for each value; none where a server tells fewer."""
    return list(found) if isinstance(found, list) and len(found) == count else [None] * count


def _plain(value: float | None) -> str:
    return "" if value is None else repr(value)


def _short(text: str) -> str:
    return number(float(text)) if text else ""
