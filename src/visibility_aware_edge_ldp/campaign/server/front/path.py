"""What a participant's data goes through, step by step, and how anybody finds the own report in it."""

from __future__ import annotations

from dataclasses import dataclass

from visibility_aware_edge_ldp.campaign.canonical import digest
from visibility_aware_edge_ldp.campaign.server.front import words
from visibility_aware_edge_ldp.campaign.server.front.markup import Markup, tag, together
from visibility_aware_edge_ldp.campaign.server.front.moment import Moment
from visibility_aware_edge_ldp.campaign.server.store import State

DONE, NOW, LATER, ALWAYS = "done", "now", "to come", ""
# Drawn in a box of 24 × 24.
_ICONS = {
    "list": "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
    "dice": "M4 4h16v16h-16zM8.5 8.5h.01M15.5 8.5h.01M12 12h.01M8.5 15.5h.01M15.5 15.5h.01",
    "book": "M5 4h11a3 3 0 0 1 3 3v13h-11a3 3 0 0 1 -3 -3zM5 17a3 3 0 0 1 3 -3h11M9 8h6",
    "send": "M12 20v-15M6 11l6 -6l6 6M4 20h16",
    "tree": "M12 4v4M6 12v-4h12v4M6 12h.01M18 12h.01M3 19v-3h6v3M15 19v-3h6v3M6 16v-4M18 16v-4",
    "chart": "M4 20h16M7 16v-4M12 16v-9M17 16v-6",
    "gone": "M6 7l1 13h10l1 -13M4 7h16M9 7v-3h6v3M10 11l4 5M14 11l-4 5",
}
_RANDOMIZED = {
    "position": ("Randomized bits", "Each bit, friends or not, is flipped by chance. Nobody can tell which were."),
    "degrees": ("Noisy numbers", "Noise is added to each number of friends. Nobody can tell how much."),
    "triangles": (
        "Randomized bits, then a noisy sum",
        "Each bit, friends or not, is flipped by chance; noise is added to the sum of round 2.",
    ),
    "hubs": ("Noisy counts", "Noise is added to each count of triangles. Nobody can tell how much."),
}
_LIST = ("Friend list", "It is read there, and never leaves the device.")
_SEEN = ("What a hub sees", "Its friends’ friendships are read there, and never leave the device.")
_LEDGER = (
    "The answer is written to the device’s own ledger before anything is sent. Asked again, it repeats itself, "
    "so that asking twice tells nothing more."
)


@dataclass(frozen=True)
class Step:
    """One station: its state is shown as a word and a colour."""

    icon: str
    title: str
    text: str
    state: str = ALWAYS
    proof: Markup | None = None


def path(moment: Moment) -> Markup:
    """The picture: two places, and the line between them that only randomized reports cross."""
    before, after = _on_the_device(moment), _on_the_server(moment)
    return words.section(
        "path",
        "What a participant’s data goes through",
        tag("h3", "On the participant’s device"),
        tag("ol", [_drawn(step, place) for place, step in enumerate(before, 1)], class_="path device"),
        tag("p", tag("span", "Only randomized reports cross this line"), class_="line"),
        tag("h3", "On this server"),
        tag(
            "ol",
            [_drawn(step, place) for place, step in enumerate(after, len(before) + 1)],
            class_="path",
            start=len(before) + 1,
        ),
        words.facts(("What stays", _stays(moment))),
    )


def _stays(moment: Moment) -> str:
    """All that the store has rows of when reports are gone."""
    return (
        "When reports are erased, this server keeps of each a salted digest, with the round and the number in the "
        "roster of who sent it; each round’s root and how many reports it has; the answers, and when they were "
        "made; when reports were erased; the campaign’s public documents, and the hashes of tokens."
    )


def _drawn(step: Step, place: int) -> Markup:
    lines = tag("path", d=_ICONS[step.icon])
    icon = tag("svg", lines, viewBox="0 0 24 24", width=28, height=28, aria_hidden="true", class_="icon")
    state = tag("span", step.state, class_="badge", data_state=step.state.split()[-1]) if step.state else None
    top = tag("div", icon, state, class_="top")
    return tag("li", top, tag("h4", f"{place}. {step.title}"), tag("p", step.text), step.proof, class_="card")


def _on_the_device(moment: Moment) -> list[Step]:
    question = moment.charter.question
    held = _SEEN if question == "hubs" else _LIST
    return [Step("list", *held), Step("dice", *_RANDOMIZED[question]), Step("book", "Ledger", _LEDGER)]


def _on_the_server(moment: Moment) -> list[Step]:
    return [_uploaded(moment), _frozen(moment), _estimated(moment), _forgotten(moment)]


def _uploaded(moment: Moment) -> Step:
    total, states = sum(moment.received), [stage.state for stage in moment.stages]
    state = NOW if State.OPEN in states else DONE
    text = (
        "Each report is checked and stored. Its sender gets a receipt with the SHA-256 of its salt and the report; "
        "the first one stands."
    )
    return Step("send", "Upload", text, state, tag("p", words.plural(total, "report"), " stored", class_="live"))


def _frozen(moment: Moment) -> Step:
    roots = [
        together(tag("dt", f"Root of round {stage.round}"), tag("dd", words.digest(stage.root)))
        for stage in moment.stages
        if stage.root
    ]
    state = DONE if len(roots) == len(moment.stages) else NOW if roots else LATER
    text = "When a round closes, its set of reports is frozen under one Merkle root: none is added, none is dropped."
    if moment.charter.question == "triangles":
        text += " For round 2, everybody may read the first answers of all, randomized as they are."
    return Step("tree", "Frozen set", text, state, tag("dl", roots) if roots else None)


def _estimated(moment: Moment) -> Step:
    text = "The answers are computed from the frozen set alone. Computed again, they are the same to the last byte."
    if moment.answers is None:
        return Step("chart", "Estimate", text, LATER)
    proof = tag("dl", tag("dt", "SHA-256 of the answers"), tag("dd", words.digest(digest(moment.answers))))
    return Step("chart", "Estimate", text, DONE, proof)


def _forgotten(moment: Moment) -> Step:
    """What is said of the reports is what the store says, not what the charter promises."""
    retention, title = moment.charter.retention, "Reports erased"
    when = f"{words.duration(retention)} after the estimate" if retention else "As soon as there is an estimate"
    heard = " and the transcript of round 1" if len(moment.stages) > 1 else ""
    text = (
        f"{when}, reports{heard} are erased, and with them when reports came and in which order. If too few come in, "
        "the time runs from the deadline. Receipts and proofs stay valid."
    )
    if not moment.ended or moment.kept is None:
        return Step("gone", title, text, LATER)
    if not moment.kept:
        left = f"{words.plural(sum(moment.received), 'salted digest')} left, no report"
        return Step("gone", title, text, DONE, tag("p", left, class_="live"))
    due = tag("p", "Due ", words.date(moment.kept_until), class_="live")
    return Step("gone", title, text, NOW if moment.settles else LATER, due)


COMMAND = "va-edge-ldp campaign check"
_COMMAND_DOES = (
    "It reads from your own ledger what you sent, fetches the proof, and lets it lead to the root by itself. It says "
    "in one sentence whether your report is in the set unchanged, and ends with exit code 3 if one that was "
    "acknowledged is not."
)


_BY_ITSELF = (
    "Between two rounds the participant’s program sees to this by itself: it does not answer round 2 unless the server "
    "holds its first report as it was sent."
)


def check(moment: Moment) -> Markup:
    """How a participant finds its own report in the frozen set."""
    closed = any(stage.root for stage in moment.stages)
    ready = "" if closed else " There are proofs as soon as the first round is closed."
    return words.section(
        "check",
        "Check your own report",
        tag(
            "p",
            "A Merkle root names every report of a round. With a short proof, which is made of hashes and shows "
            f"nobody’s report, you see that yours is among them, unchanged.{ready}",
        ),
        tag("p", "On the device that you answered from, type:"),
        tag("pre", tag("code", COMMAND), tabindex=0),
        tag("p", _COMMAND_DOES),
        tag("p", "Then compare the root that it prints with the one on this page, and with what others see."),
        tag("p", _BY_ITSELF, class_="soft") if len(moment.stages) > 1 else None,
    )
