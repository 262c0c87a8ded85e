"""A study before its charter is signed: people, what to ask, what that can tell, and the signature."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from visibility_aware_edge_ldp.campaign.charter import date
from visibility_aware_edge_ldp.campaign.console import markup
from visibility_aware_edge_ldp.campaign.console.choices import ANY, ASKED, BOTH, NOTHING, Choices, Prepared
from visibility_aware_edge_ldp.campaign.console.people import CODES, NAMES, People
from visibility_aware_edge_ldp.campaign.console.sessions import Session
from visibility_aware_edge_ldp.campaign.questions import question_named
from visibility_aware_edge_ldp.campaign.server.page_labels import (
    Markup,
    facts,
    loss,
    odds,
    plural,
    section,
    table,
    tag,
    together,
)
from visibility_aware_edge_ldp.public.trust import Trust

_QUESTIONS = {
    "position": "position: a randomized yes or no for each other; friendships, triangles; one or two rounds",
    "degrees": "degrees: how many friends each has, with noise; one round",
    "groups": "groups: how many friends each has in each group, with noise; one round",
    "triangles": "triangles: how many triangles of friends; people answer twice",
}
_POLICIES = (
    (NOTHING, "nothing: every friendship is private"),
    (BOTH, "pairs of people whose lists are both public (column “list”)"),
    (ANY, "everything in a public person's list (column “list”)"),
)
# For which ε the review says what so many people can tell, beside the chosen one.
_EPSILONS = ("0.5", "1", "2", "4")
_SHOWN = 20


@dataclass(frozen=True)
class InjectedFunctions:
    """Functions that whoever starts the console hands in, so that it imports no planner and no participant.

    ``feasibility`` says what so many people can tell at an ε; ``alike`` finds names that may be one person; ``dear``
    says that participants' programs allow less than a campaign costs.
    """

    feasibility: Callable[[int, str, Trust], str]
    alike: Callable[[tuple[str, ...]], Sequence[tuple[str, ...]]]
    dear: Callable[[Mapping[Any, Fraction]], list[str]]


def people_fields(given: Mapping[str, str]) -> tuple[Markup, ...]:
    """The fields of an upload of people."""
    return (
        markup.field(
            "People, as a file",
            "file",
            kind="file",
            accept=".csv,.txt,text/csv,text/plain",
            hint="One name a line, or a CSV with a head: name, and if you like code, group, list (public or private), "
            "contact. Contacts stay in this console.",
        ),
        markup.area("Or write them here", "people", given.get("people", "")),
        markup.choice(
            "What the roster says",
            "by",
            ((NAMES, "names: people find each other by name"), (CODES, "codes: the server never learns a name")),
            given.get("by", NAMES),
            hint="Everybody who takes part, and the server, sees the roster. With codes, people need the list of codes "
            "from you, on paper, to know whom to tick. Codes that are missing are made.",
        ),
    )


def draft_page(
    session: Session, name: str, choices: Choices, people: People, found: Prepared | str, injected: InjectedFunctions
) -> bytes:
    """A study before it is signed; ``found`` is its charter, or why there cannot be one."""
    here, count = f"/studies/{name}", len(people.listed)
    return markup.page(
        choices.title,
        tag("h1", choices.title),
        tag("p", f"A draft about “{choices.epoch}”. Nothing is signed, and nobody was asked.", class_="standing"),
        section(
            "people",
            "1. People",
            *_people_part(people, injected),
            tag(
                "details",
                tag("summary", "Upload another list"),
                markup.form(
                    session,
                    f"{here}/people",
                    *people_fields({"by": people.by}),
                    markup.button("Read the people"),
                    enctype="multipart/form-data",
                ),
            ),
        ),
        section("ask", "2. What to ask", _choices_form(session, here, choices)),
        section("feasible", "3. What this can tell", *_feasible_part(choices, count, injected)),
        section("sign", "4. Sign", *_sign_part(session, here, choices, found, injected)),
        section(
            "discard", "Discard", markup.form(session, f"{here}/discard", markup.button("Discard this draft", "grave"))
        ),
        session=session,
    )


def _people_part(people: People, injected: InjectedFunctions) -> list[Markup]:
    count = len(people.listed)
    more = [plural(len({each.group for each in people.listed if each.group}), "group")] if people.has_groups else []
    lists = sum(each.list == "public" for each in people.listed)
    more += [f"{plural(lists, 'public list')}"] if lists else []
    said = ", ".join([f"{plural(count, 'person', 'people')}", f"by {people.by}", *more])
    pairs = injected.alike(tuple(each.name for each in people.listed))
    shown = [tag("li", " and ".join(f"“{each}”" for each in pair)) for pair in pairs[:_SHOWN]]
    left = [tag("li", f"and {len(pairs) - _SHOWN:,} more")] if len(pairs) > _SHOWN else []
    warned = (
        [
            tag(
                "p",
                "These names may be one person; participants tell people apart by them. Make them different, or keep "
                "them if they are right:",
                class_="standing",
                data_kind="bad",
            ),
            tag("ul", shown, left),
        ]
        if pairs
        else []
    )
    first = ", ".join(people.roster[:5])
    return [tag("p", f"{said}: {first}{' …' if count > 5 else ''}"), *warned]


def _choices_form(session: Session, here: str, choices: Choices) -> Markup:
    closes = (*choices.closes, "", "")
    return markup.form(
        session,
        f"{here}/choices",
        markup.choice("Question", "question", ((each, _QUESTIONS.get(each, each)) for each in ASKED), choices.question),
        markup.field(
            "ε: what a private friendship loses at most",
            "epsilon",
            choices.epsilon,
            inputmode="decimal",
            hint="Against all reports together. Smaller protects better, and errs more.",
        ),
        markup.field(
            "What is estimated",
            "statistics",
            choices.statistics,
            hint="Names such as edges,stars:2. Left empty: what the question is for.",
        ),
        markup.field("Round 1 closes (UTC)", "closes_1", closes[0], "datetime-local", required=True),
        markup.field(
            "Round 2 closes (UTC)",
            "closes_2",
            closes[1],
            "datetime-local",
            hint="For questions with two rounds; the second opens when the first closes.",
        ),
        markup.field(
            "Fewest answers",
            "fewest",
            choices.fewest,
            inputmode="numeric",
            hint="If fewer come in, nothing is estimated and reports are erased.",
        ),
        markup.field(
            "Days that reports are kept after the estimate", "retention", choices.retention, inputmode="numeric"
        ),
        *_public_and_letters(choices),
        markup.button("Look what this can tell"),
    )


def _public_and_letters(choices: Choices) -> tuple[Markup, ...]:
    """What is public, where people answer, and what stands in letters."""
    edges = choices.edges.count("\n") + 1 if choices.edges else 0
    kept = f"{plural(edges, 'line was', 'lines were')} uploaded." if edges else "None were uploaded."
    return (
        markup.choice("What is public", "policy", _POLICIES, choices.policy),
        markup.area(
            "Friendships that are public",
            "edges",
            "",
            rows=2,
            hint=f"Two of the roster's names a line, separated by a comma, if something is public. {kept}",
        ),
        markup.field(
            "Address that participants reach",
            "address",
            choices.address,
            "url",
            required=True,
            hint="https://survey.example.org: where the campaign's server is. It goes into the letters.",
        ),
        markup.field(
            "Address of the page that they answer with",
            "page",
            choices.page,
            "url",
            hint="Left empty: /take-part/ on that server. A host that the server's operator cannot change is better.",
        ),
        markup.area(
            "Whom people tick",
            "meaning",
            choices.meaning,
            rows=2,
            hint="For the letter: what counts as a friend here, in one or two sentences.",
        ),
        markup.area("Who asks, and whom to ask", "sender", choices.sender, rows=2, hint="For the letter."),
    )


def _feasible_part(choices: Choices, count: int, injected: InjectedFunctions) -> list[Markup]:
    trust, lines = question_named(choices.question).trust, list[tuple[str, str]]()
    for each in dict.fromkeys((choices.epsilon, *_EPSILONS)):
        try:
            lines.append((each, injected.feasibility(count, each, trust)))
        except (ValueError, ArithmeticError):
            continue  # the charter's own check says what is wrong with it
    rows = [(f"ε = {each}", text.partition(": ")[2]) for each, text in lines]
    chosen = [
        tag("p", text, class_="standing", data_kind="bad" if "nothing but" in text else None)
        for each, text in lines
        if each == choices.epsilon
    ]
    return [
        *chosen,
        table("What the number of friendships would be off by", ("", "friendships"), rows),
        tag(
            "p",
            "± is one standard error of the number of friendships when everybody answers and nothing is public. "
            "Triangles and stars err more: the planner of the command line has them.",
            class_="soft",
        ),
    ]


def _sign_part(
    session: Session, here: str, choices: Choices, found: Prepared | str, injected: InjectedFunctions
) -> list[Markup]:
    if not choices.chosen:
        return [tag("p", "Choose above first.")]
    if isinstance(found, str):
        return [tag("p", f"Not yet: {found}", class_="standing", data_kind="bad")]
    charter = found.charter
    promises = [
        f"a {kind} friendship loses at most ε = {loss(each)}: the odds of a guess change at most {odds(each)} times"
        for kind, each in found.losses.items()
    ]
    return [
        facts(
            ("Asks", f"{charter.question} of {charter.nodes:,} people, for {', '.join(charter.statistics)}"),
            ("Promise", tag("ul", [tag("li", each) for each in promises])),
            *((f"Round {number}", f"closes {date(each.closes)}") for number, each in enumerate(charter.rounds, 1)),
            ("Letters say", together(choices.address, "; page ", choices.page)),
        ),
        *(tag("p", line, class_="soft") for line in injected.dear(found.losses)),
        tag("p", "The charter cannot be changed once it is signed. Rounds can be closed early, and extended."),
        markup.form(session, f"{here}/sign", markup.passphrase("sign-passphrase"), markup.button("Sign the charter")),
    ]
