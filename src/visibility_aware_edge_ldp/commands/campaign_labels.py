"""What the campaign commands read and print: names, dates, places, and answers in words."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

if TYPE_CHECKING:
    from fractions import Fraction

    from visibility_aware_edge_ldp.campaign.charter import Charter
    from visibility_aware_edge_ldp.campaign.http_client import Operator
    from visibility_aware_edge_ldp.public.view import PublicView

DirectoryArgument = Annotated[Path, typer.Argument(help="The campaign's directory.", show_default=False)]
PlaceArgument = Annotated[
    str, typer.Argument(help="The server's address, or the directory that it serves.", show_default=False)
]
TokenOption = Annotated[
    Path | None, typer.Option("--token-file", help="The operator's token; by default the directory's operator.token.")
]
QuestionOption = Annotated[str, typer.Option(help="position, degrees, groups, triangles or hubs.")]
EpsilonOption = Annotated[str, typer.Option(help="Loss per private edge, against all reports together.")]
RoundsOption = Annotated[int | None, typer.Option(help="1, or 2. Default: what the question needs.")]
ADDRESS = "server.address"
DAY = 86_400
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": DAY, "w": 7 * DAY}
_SPAN = re.compile(r"(\d{1,9})\s*([smhdw])")
_HEADINGS = {"name", "id", "node"}
_MORE = "more people or a larger ε would help, and `va-edge-ldp plan` says how much"


def span(text: str) -> int:
    """Seconds in a span of time such as 90m, 36h, 14d or 2w; plain digits are seconds."""
    found = _SPAN.fullmatch(text.strip())
    if found is not None:
        return int(found[1]) * _UNITS[found[2]]
    if text.isascii() and text.isdecimal():
        return int(text)
    raise BadInput(f"A span of time is a number and s, m, h, d or w, such as 14d; got {text!r}.")


def moment(text: str, now: float) -> int:
    """Unix time of a date (UTC where no zone is said), or of a span from now."""
    if _SPAN.fullmatch(text.strip()):
        return int(now) + span(text)
    try:
        date = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput(
            f"A date is written 2027-03-31 or 2027-03-31T18:00+01:00, a span from now 14d; got {text!r}."
        ) from error
    found = int((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())
    if found <= now:
        raise BadInput(f"A round cannot close in the past; {text} has gone by.")
    return found


def names_in(path: Path) -> list[str | int]:
    """A roster: one name a line, the first column of a .csv, or a JSON list; whole numbers if all are."""
    text = read_text(path, "roster")
    if path.suffix.lower() == ".json":
        try:
            listed = json.loads(text)
        except ValueError as error:
            raise BadInput(f"The roster {path} is not JSON: {error}.") from error
        if not isinstance(listed, list) or not all(type(name) in (str, int) for name in listed):
            raise BadInput(f"The roster {path} must be a JSON list of names.")
        return listed
    if path.suffix.lower() == ".csv":
        found = [row[0].strip() for row in csv.reader(text.splitlines()) if row and row[0].strip()]
        found = found[1:] if found and found[0].lower() in _HEADINGS else found
    else:
        found = [line.strip() for line in text.splitlines() if line.strip()]
    numbers = [int(name) for name in found if name.isascii() and name.isdecimal() and str(int(name)) == name]
    return list(numbers) if len(numbers) == len(found) else list(found)


def read_text(path: Path, what: str) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The {what} {path} cannot be read: {error}.") from error


def alike_lines(names: Sequence[str | int]) -> list[str]:
    """A line if names of a roster may be one person twice."""
    from visibility_aware_edge_ldp.name_matching import alike

    pairs = alike(tuple(map(str, names)))
    if not pairs:
        return []
    more = f", and {len(pairs) - 1:,} more such names" if len(pairs) > 1 else ""
    return [f"Note: {' and '.join(map(repr, pairs[0][:2]))} may be one person{more}; people are told apart by them."]


def issuer_key(path: Path) -> bytes:
    """The private key in a file."""
    text = read_text(path, "key").strip()
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise BadInput(f"{path} is not an issuer's key: it has 64 hexadecimal digits.") from error


def public_pairs(path: Path, names: Sequence[str | int]) -> list[tuple[int, int]]:
    """Public edges as pairs of places in the roster."""
    from visibility_aware_edge_ldp.truth.readers import read_graph

    listed, place = read_graph(path), {str(name): number for number, name in enumerate(names)}
    strangers = [name for name in listed.names if str(name) not in place]
    if strangers:
        raise BadInput(f"{path} has an edge of {strangers[0]!r}, who is not in the roster; check both files.")
    ends = [place[str(name)] for name in listed.names]
    return [(ends[u], ends[v]) for u, v in listed.edges.tolist()]


def operator_at(place: str, token_file: Path | None) -> Operator:
    """A campaign's server, by its address or by the directory that it serves."""
    from visibility_aware_edge_ldp.campaign.directory import CHARTER, OPERATOR
    from visibility_aware_edge_ldp.campaign.http_client import NotReached, Operator

    if "://" in place:
        return Operator(place, read_text(token_file, "token").strip() if token_file else "")
    folder = Path(place)
    if not (folder / CHARTER).is_file():
        raise BadInput(f"{place} is neither a server's address nor a campaign's directory.")
    address = ""
    with suppress(OSError):
        address = (folder / ADDRESS).read_text().strip()
    if not address:
        raise NotReached(f"No server serves {place} from here. Start one: va-edge-ldp campaign serve {place}")
    own = token_file or folder / OPERATOR
    return Operator(address, read_text(own, "token").strip() if token_file or own.is_file() else "")


def printable(text: str) -> str:
    """What a stranger's server says, without what would move a terminal's cursor or change its title."""
    return text if text.isprintable() else ascii(text)


def promise_lines(losses: Mapping[Any, Fraction]) -> list[str]:
    from visibility_aware_edge_ldp.campaign.participant.accounts import number

    return [
        f"Promise    an edge at a {kind} position loses at most ε = {number(loss)} against all reports together"
        for kind, loss in losses.items()
    ]


def dear_lines(losses: Mapping[Any, Fraction]) -> list[str]:
    """That a campaign costs more than participants' programs allow by themselves."""
    from visibility_aware_edge_ldp.campaign.participant.accounts import DEFAULT_CAPS, number

    caps = [f"--cap {kind}={number(loss)}" for kind, loss in losses.items() if loss > DEFAULT_CAPS[kind]]
    note = "Note: this costs more than participants' programs allow by themselves; who agrees to it enrols with"
    return [f"{note} {' '.join(caps)}."] if caps else []


def too_dear_lines(losses: Mapping[Any, Fraction], caps: Mapping[Any, Fraction]) -> list[str]:
    """That an answer costs more than is allowed, and what to do where one agrees to it."""
    from visibility_aware_edge_ldp.campaign.participant.accounts import cap, number

    return [
        f"An answer costs a {kind} edge ε = {number(loss)}, more than the {cap(caps[kind])} that is allowed: it will "
        f"be declined. If you agree to it, enrol again with --cap {kind}={number(loss)}."
        for kind, loss in losses.items()
        if loss > caps[kind]
    ]


def answer_row(name: str, found: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """One line of the table of estimates: the statistic, its value, its standard error and its interval."""
    from visibility_aware_edge_ldp.aggregator.answers import number

    value, error = found["value"], found["standard_error"]
    if isinstance(value, list):
        known = [each for each in error if each is not None] if isinstance(error, list) else []
        errors = f"{number(min(known))} to {number(max(known))}" if known else "none"
        return name, f"{len(value):,} values", errors, "see --json"
    said = "none" if error is None else number(error)
    ends = found["interval"] or (None, None)
    if error is None and None in ends:
        return name, number(value), said, "none"
    low, high = ("…" if end is None else number(end) for end in ends)
    return name, number(value), said, f"[{low}, {high}]"


def certificate_lines(content: Mapping[str, Any], charter: Charter) -> list[str]:
    """Who answered, what was promised, and what those who stayed away or lied could have done."""
    from visibility_aware_edge_ldp.campaign.questions import QUESTIONS

    said = content["certificate"]
    losses = [
        f"  an edge at a {kind} position loses at most ε = {loss['epsilon']:.6g}"
        for kind, loss in said["loss_per_edge"].items()
        if not said["positions"] or kind in said["positions"]
    ]
    turnout = [
        f"Round {number}: {each['answered']:,} of {each['asked']:,} answered ({each['response_rate']:.1%}); "
        f"root {each['root'][:16]}"
        for number, each in enumerate(content["rounds"], 1)
    ]
    return [
        *turnout,
        f"Trust model {said['trust']}: {QUESTIONS[charter.question].labels.trust}; the aggregator is not trusted.",
        "Promise, per edge, against everybody who sees all reports:",
        *losses,
        "  an edge at a PUBLIC position is not protected: everybody knows it",
        f"Policy: {said['policy']}.",
        *([f"Scope: every number is of the graph inside, where {said['scope']['inside']}."] if "scope" in said else []),
        *(f"Assumes that {text}." for text in said["assumptions"]),
        *_doubts(content),
        *(f"Not estimated: {name}. {why}" for name, why in content["refused"].items()),
    ]


def scope_lines(view: PublicView) -> list[str]:
    """Where a campaign asks, and how much that is; nothing where it asks everywhere."""
    if view.policy.scope is None:
        return []
    return [
        f"Scope      {view.policy.scope}: {1 - view.outside / view.positions:.1%} of the positions; the others are not "
        "asked and lose nothing by this campaign"
    ]


def scope_facts(view: PublicView) -> dict[str, Any]:
    """The same as JSON."""
    scope = view.policy.scope
    return {} if scope is None else {"scope": {"inside": str(scope), "positions_outside": view.outside}}


def noise_lines(errors: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """Which statistics say little by their value and standard error, and what to do about it."""
    from visibility_aware_edge_ldp.aggregator.answers import noise_hides

    names = [name for name, (value, error) in errors.items() if noise_hides(value, error)]
    return [f"Noise: {', '.join(names)} cannot be told from nothing; {_MORE}."] if names else []


def _doubts(content: Mapping[str, Any]) -> list[str]:
    from visibility_aware_edge_ldp.aggregator.answers import number

    errors = {name: (each["value"], each["standard_error"]) for name, each in content["estimates"].items()}
    lines, lies = noise_lines(errors), content["manipulation"]
    for name, ends in content["dropout"]["estimates"].items():
        if ends is not None and ends[0] != ends[1]:
            lines.append(
                f"Dropout: if those who stayed away had half or twice as much, {name} would be near "
                f"{number(ends[0])} or {number(ends[1])}."
            )
    for name, bound in lies["bounds"].items():
        most = "without bound" if bound is None or not math.isfinite(bound) else f"by {number(bound)} at most"
        lines.append(
            f"Manipulation: if {lies['liars']:,} of those who answered lied at their worst, {name} moved {most}."
        )
    flagged = content["flagged"]["reports"]
    if flagged:
        lines.append(f"Implausible: {flagged:,} reports are such as hardly any honest participant sends.")
    return lines


def campaign_facts(charter: Charter) -> dict[str, Any]:
    """A charter as the JSON that commands print."""
    return {
        "campaign": charter.identity,
        **{name: getattr(charter, name) for name in ("issuer", "title", "epoch", "question", "trust")},
        "statistics": list(charter.statistics),
        "participants": charter.nodes,
        "epsilon": str(charter.epsilon),
        "closes": [each.closes for each in charter.rounds],
        "retention": charter.retention,
        **({"page": charter.page.content} if charter.page else {}),
        **({"parts": charter.parts.groups} if charter.parts else {}),
    }


def head_lines(charter: Charter) -> list[str]:
    """A charter as the lines that commands print."""
    from visibility_aware_edge_ldp.campaign.charter import date, kept_for
    from visibility_aware_edge_ldp.public.surveys.row_parts import part_words

    closing = "; ".join(f"round {number} on {moment}" for number, moment in enumerate(charter.closing, 1))
    return [
        f"Campaign   {charter.identity}",
        f"Issuer     {charter.issuer}",
        f"Title      {charter.title}",
        f"Asks       {charter.question} ({charter.trust}) of {charter.nodes:,} participants, about {charter.epoch!r}, "
        f"for {', '.join(charter.statistics)}",
        *([f"Consent    of both ends, until {date(charter.consent)}; then round 1 opens"] if charter.consent else []),
        *([f"Downloads  {part_words(charter.nodes, charter.parts.groups)}"] if charter.parts else []),
        f"Closes     {closing}",
        f"Keeps      {kept_for(charter)}",
        *([f"Page       SHA-256 {charter.page.digest}"] if charter.page else []),
    ]


def round_line(found: dict[str, Any]) -> str:
    """A round's state, as the server gave it, as one line."""
    try:
        if found["state"] == "waiting":
            return printable(f"Round {found['round']}    waits for the round before it")
        root = f"; root {found['root'][:16]}" if found.get("root") else ""
        answered = f"{found['received']:,} of {found['asked']:,} have answered{root}"
        return printable(f"Round {found['round']}    {found['state']}: {answered}")
    except (LookupError, TypeError, ValueError) as error:
        raise ProtocolViolation("The server does not say how the round stands.") from error
