"""A centre that publishes: a budget that outlives the program, and a file that holds only what may leave.  [CURATOR.6]

The budget is a ledger, the same as a participant's ([LEDGER.1]): written before anything leaves, locked, and
recognised when it was damaged or an older copy was put back. Its entries:

budget   the total that an edge may ever lose, and which graph and policy it is about
charge   what a request has reserved, under the request's name, the ``key``; never taken back
memo     the finished release of a request: what is written again whenever it is asked for again
receipt  that the release of a request was written to a file
"""

import hashlib
import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger, Page, UnusableLedger, create_ledger
from visibility_aware_edge_ldp.campaign.signed_documents import Content, decode, digest, encode, write_over
from visibility_aware_edge_ldp.errors import BadInput, Refused
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Guarantee, Number, OneEdge, parse_delta, parse_epsilon
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.public.surveys.curator import CuratorSurvey, curator_survey
from visibility_aware_edge_ldp.public.trust import CURATOR
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.curator import CentralAnswer, Centre, ask_within, promised
from visibility_aware_edge_ldp.simulation.options import statistics_for
from visibility_aware_edge_ldp.simulation.worlds import assumptions_of, check_world

SCHEMA = "va-edge-ldp/release/1"
LEVEL = 0.95
_FORMAT = "va-edge-ldp budget 1"
SHARED = "ε is the loss per edge of multiplier 1, as PRIVATE ones are by default, by all of these statistics together."


@dataclass(frozen=True)
class Charge:
    """What one request has reserved, and how far it came."""

    request: str
    statistics: tuple[str, ...]
    epsilon: Fraction
    delta: Fraction
    released: bool
    settled: bool


@dataclass(frozen=True)
class Spending:
    """A budget as it stands: the total, and every reservation."""

    epsilon: Fraction
    delta: Fraction
    charges: tuple[Charge, ...] = ()

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """The ε and the δ that nobody has reserved yet."""
        spent = (sum((getattr(each, name) for each in self.charges), Fraction(0)) for name in ("epsilon", "delta"))
        return tuple(total - part for total, part in zip((self.epsilon, self.delta), spent, strict=True))  # type: ignore[return-value]

    def refuse_beyond(self, epsilon: Fraction, delta: Fraction) -> None:
        """Refuse a request that would exceed the total, before any bit is looked at."""
        for name, asked, left, total in zip("εδ", (epsilon, delta), self.left, (self.epsilon, self.delta), strict=True):
            if asked > left:
                raise Refused(
                    f"This release costs {name} = {_number(asked)} and {_number(left)} of {_number(total)} is left in "
                    f"the budget; nothing was computed or written. Ask for at most {name} = {_number(left)}."
                )


@dataclass(frozen=True, eq=False)
class Published:
    """A release as it was written, whether it had been made before, and the budget after it."""

    document: Mapping[str, Any]
    path: Path
    repeated: bool
    spending: Spending = field(repr=False)

    def __getitem__(self, statistic: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.document["estimates"][statistic]
        return found


def publish(
    world: Any,
    release: Path | str,
    budget: Path | str,
    epsilon: Number = 1,
    statistics: str | Sequence[str] | None = None,
    *,
    delta: Number = 0,
    total: Number | None = None,
    total_delta: Number | None = None,
    policy: AnyPolicy | str | None = None,
) -> Published:
    """Let a trusted centre answer, charge its budget, and write a file that holds only what may leave.  [CURATOR.6]

    The same request again, after a crash too, writes the same release again and costs nothing more.

    Parameters
    ----------
    world
        The graph and its visibility policy; or anything that ``read_graph`` takes, with ``policy``.
    release
        The file to write: estimates, intervals, what is promised, and nothing else.
    budget
        The centre's ledger, a file of its own for each graph. It is private, and must never be put back from an older
        backup.
    epsilon, delta
        The loss per PRIVATE edge by all statistics of this release together.
    statistics
        Names such as "edges", "triangles", "stars:3". Default: those of a curator.
    total, total_delta
        For a new budget: what an edge of multiplier 1 may ever lose by all releases from it.
    """
    world = VisibilityAwareGraph.of(world, policy)
    check_world(world)
    if world.policy.paid:
        raise Refused("This policy was chosen by looking at the graph, which no budget here counts; use another.")
    if world.policy.scope is not None:
        raise Refused("A budget counts what is published of the whole graph; publish without a scope.")
    names = statistics_for(world, CURATOR.name, statistics)
    loss = promised(world.policy, parse_epsilon(epsilon), parse_delta(delta))
    asked = parse_epsilon(epsilon), max(price.delta for price in loss.values())
    curator_survey(world.public, epsilon, delta, names)  # what a centre does not answer is refused before it costs
    ledger = _open(Path(budget), world, total, total_delta)
    request = _request(ledger, world, names, asked[0], parse_delta(delta))
    repeated = _reserve(ledger, request, names, asked, Path(release))
    if not repeated:
        centre = Centre(world, cap=asked[0], delta=asked[1])
        answers, surveys = ask_within(centre, asked[0], delta, names, publish=True)
        made = (json.dumps(_document(world, answers, surveys, loss), indent=2, ensure_ascii=False) + "\n").encode()
        _store(ledger, request, made)
    written = _emit(ledger, request, Path(release))
    return Published(json.loads(written), Path(release), repeated, spending(budget))


def spending(budget: Path | str) -> Spending:
    """A budget as it stands."""
    with Ledger(Path(budget)).reading() as page:
        return _spending(page)


def _open(path: Path, world: VisibilityAwareGraph, total: Number | None, total_delta: Number | None) -> Ledger:
    """The ledger at this path, for this graph; a new one where a total is given and there is none."""
    if path.exists():
        ledger = Ledger(path)
        with ledger.reading() as page:
            _refuse_another(page, world, total, total_delta)
        return ledger
    if total is None:
        raise BadInput(
            f"There is no budget at {path}. If there was one, bring it back; for a new one say how much ε an edge may "
            "ever lose, such as --total 5."
        )
    salt = secrets.token_hex(16)
    about: dict[str, Content] = {
        "format": _FORMAT,
        "epsilon": str(parse_epsilon(total, "total")),
        "delta": str(parse_delta(total_delta or 0)),
        "salt": salt,
        "graph": _fingerprint(salt, world),
    }
    return create_ledger(path, Entry("budget", content=encode(about)))


def _refuse_another(page: Page, world: VisibilityAwareGraph, total: Number | None, total_delta: Number | None) -> None:
    """Refuse a budget of another graph or policy, and another total than it was made with."""
    about = _about(page)
    if about["graph"] != _fingerprint(about["salt"], world):
        raise Refused("This budget is about another graph or another policy; each has a budget of its own.")
    for what, given, fixed in (("ε", total, about["epsilon"]), ("δ", total_delta, about["delta"])):
        if given is not None and Fraction(str(given)) != Fraction(fixed):
            raise Refused(
                f"This budget was made with {what} = {_number(Fraction(fixed))} in total, which never changes; leave "
                "the total out."
            )


def _about(page: Page) -> dict[str, str]:
    content = page.one("budget")
    about = None if content is None else decode(content)
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise UnusableLedger("This file is not a centre's budget; give the one that was made by publish.")
    return {name: str(value) for name, value in about.items()}


def _fingerprint(salt: str, world: VisibilityAwareGraph) -> str:
    """Names the graph and its policy to this ledger alone; private, and never sent."""
    view = world.public
    words = (salt, view.roster_digest, view.policy.digest, hashlib.sha256(world.graph.edges.tobytes()).hexdigest())
    return digest("\n".join(words).encode())


def _request(
    ledger: Ledger, world: VisibilityAwareGraph, names: Sequence[str], epsilon: Fraction, delta: Fraction
) -> str:
    """The name of a request: who asks for the same again is given the same again."""
    with ledger.reading() as page:
        graph = _about(page)["graph"]
    asked: list[Content] = [*sorted(names)]
    return digest(encode({"graph": graph, "asked": asked, "epsilon": str(epsilon), "delta": str(delta)}))


def _reserve(ledger: Ledger, request: str, names: Sequence[str], asked: tuple[Fraction, Fraction], path: Path) -> bool:
    """Step 1: reserve what the request costs, once, if its file can be new; whether its release was stored before."""
    with ledger.writing() as page:
        if page.one("memo", key=request) is not None:
            return True
        if page.one("charge", key=request) is None:
            _spending(page).refuse_beyond(*asked)
            if path.exists():
                raise BadInput(f"{path} holds something else; choose another name for the release. Nothing was spent.")
            words: dict[str, Content] = {"epsilon": str(asked[0]), "delta": str(asked[1]), "asked": list(names)}
            page.append(Entry("charge", key=request, content=encode(words)))
    return False


def _store(ledger: Ledger, request: str, made: bytes) -> None:
    """Step 3: store the release, unless another process was quicker; from here on it is the only one."""
    with ledger.writing() as page:
        if page.one("memo", key=request) is None:
            page.append(Entry("memo", key=request, content=made))


def _emit(ledger: Ledger, request: str, path: Path) -> bytes:
    """Steps 4 and 5: write the stored release, and note that it was written."""
    with ledger.reading() as page:
        stored = page.one("memo", key=request)
    if stored is None:
        raise UnusableLedger("The release was stored and is gone; bring back the newest copy of the budget.")
    if path.exists() and path.read_bytes() != stored:
        raise BadInput(f"{path} holds something else; choose another name for the release. What was spent is kept.")
    write_over(path, stored)
    with ledger.writing() as page:
        if page.one("receipt", key=request) is None:
            page.append(Entry("receipt", key=request, content=digest(stored).encode()))
    return stored


def _spending(page: Page) -> Spending:
    about, charges = _about(page), []
    released, settled = ({each.key for each in page.entries(kind)} for kind in ("memo", "receipt"))
    for entry in page.entries("charge"):
        words: Any = decode(entry.content)
        cost = Fraction(words["epsilon"]), Fraction(words["delta"])
        done = entry.key in released, entry.key in settled
        charges.append(Charge(entry.key, tuple(words["asked"]), *cost, *done))
    return Spending(Fraction(about["epsilon"]), Fraction(about["delta"]), tuple(charges))


def _document(
    world: VisibilityAwareGraph,
    answers: Mapping[str, CentralAnswer],
    surveys: Sequence[CuratorSurvey],
    loss: Mapping[Visibility, Guarantee[OneEdge]],
) -> dict[str, Any]:
    """All that leaves: computed from released numbers and public knowledge alone.  [CURATOR.4-5]"""
    return {
        "schema": SCHEMA,
        "nodes": world.graph.n,
        "policy": str(world.policy),
        "promise": {
            "trust": CURATOR.title,
            "relation": OneEdge.__name__,
            "meaning": SHARED,
            "loss_per_edge": {
                str(kind): {"epsilon": float(price.epsilon), "delta": float(price.delta)}
                for kind, price in loss.items()
                if kind in world.public.present
            },
            "assumptions": [*assumptions_of(world), "nobody but the centre sees the graph"],
        },
        "level": LEVEL,
        "estimates": {name: _estimate(answer, surveys[-1]) for name, answer in answers.items()},
        "survey": surveys[-1].identity,
    }


def _estimate(answer: CentralAnswer, survey: CuratorSurvey) -> dict[str, Any]:
    (low, high), error = answer.estimate.interval(LEVEL), float(answer.estimate.standard_error)
    return {
        "value": int(float(answer.estimate.value)),
        "standard_error": error if math.isfinite(error) else None,
        "low": float(low),
        "high": float(high),
        "epsilon": float(answer.query.epsilon + sum(each.epsilon for each in survey.bounds if each.of == answer.query)),
        "noise": "discrete_laplace" if answer.query.has_constant_sensitivity else answer.query.noise,
    }


def _number(value: Fraction) -> str:
    return f"{float(value):.6g}"
