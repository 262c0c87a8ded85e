"""From the frozen reports of a campaign to its answers, as bytes: the same bytes whenever they are made again.

Everything here is made of the charter, the public documents and the reports alone, by the code that simulations use.
"""

import json
import math
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, TypeAlias

import numpy as np

from visibility_aware_edge_ldp.aggregator.answers import Answers, Certificate
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.report_screening import Flag
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.server.question_estimates import Bodies, QuestionEstimates, question_estimates
from visibility_aware_edge_ldp.campaign.server.stages import EstimateFailed, Stopped
from visibility_aware_edge_ldp.campaign.server.telemetry import event, failed, log_to_stderr
from visibility_aware_edge_ldp.campaign.signed_documents import digest
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.wire_format import leaf, root
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.scope import consenting_in
from visibility_aware_edge_ldp.public.view import PublicView

Uploads: TypeAlias = Mapping[int, bytes] | Iterable[tuple[int, bytes]]

FORMAT = "va-edge-ldp estimates 2"
LEVEL = 0.95
# One in so many of those who answered is supposed to lie.
ONE_IN = 100
ASSUMPTIONS = (
    "which positions are public follows from public knowledge alone",
    "the list of participants is public knowledge",
    "who stays away does so whatever its friend list",
)
DROPOUT = (
    "If those who stayed away had, one with another, half or twice as much of what is counted as those who answered, "
    "the estimate would be near the first or the second number."
)
# What is said of a statistic that these reports break the arithmetic of; the others are answered.
BEYOND = "These reports hold numbers that this statistic cannot be calculated from; look at those that are flagged."


def estimate_bytes(charter: Charter, view: PublicView, reports: Mapping[int, Uploads]) -> bytes:
    """The answers of a campaign as JSON: sorted keys, no spaces, UTF-8.

    ``reports`` has each round's uploads by participant, in any order, which changes no byte; nor does the number of
    threads.

    Estimates, standard errors and 95 % intervals; the loss per edge of each class against all reports; the certificate;
    who answered, and what it means that others did not; how many reports are implausible; what liars could do; and the
    digests of all that this was made from.
    """
    terms = Terms(charter, view)
    numbers = range(1, len(charter.rounds) + 1)
    rounds = {number: dict(sorted(dict(reports.get(number, {})).items())) for number in numbers}
    found = question_estimates(terms, rounds)
    estimates, refused = _estimates(found, charter.statistics)
    answers = Answers(estimates, _certificate(terms, found, rounds)).as_dict(LEVEL)
    liars = -(-len(rounds[1]) // ONE_IN)
    known = ~terms.asked(1) | np.isin(np.arange(view.n), list(rounds[1]))
    content = {
        "format": FORMAT,
        "campaign": charter.identity,
        "documents": {"roster": charter.roster, "policy": charter.policy, "edges": charter.edges},
        "rounds": [_round(terms, number, rounds) for number in rounds],
        **({} if view.groups is None else {"groups": view.groups.about}),
        **_consents(view),
        **answers,
        "estimates": {
            name: nameless(each, known, found.degree_step) if name == "degrees" else each
            for name, each in answers["estimates"].items()
        },
        "refused": refused,
        **found.more,
        "loss": {str(kind): str(loss) for kind, loss in terms.losses.items()},
        "dropout": {"words": DROPOUT, "estimates": _dropout(found, estimates)},
        "flagged": _counted(found.flagged),
        "manipulation": {
            "words": terms.question.labels.manipulation,
            "liars": liars,
            "bounds": {name: _bound(found, name, liars) for name in estimates},
        },
    }
    return json.dumps(_plain(content), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _estimates(found: QuestionEstimates, statistics: Sequence[str]) -> tuple[dict[str, Estimate], dict[str, str]]:
    """All at once if possible; otherwise those that can be made, and why others cannot: no report spoils a round."""
    try:
        return _sound(found.estimate(statistics)), {}
    except MemoryError:
        raise  # another time there may be more of it
    except Exception:
        estimates: dict[str, Estimate] = {}
        refused: dict[str, str] = {}
        for name in statistics:
            try:
                estimates |= _sound(found.estimate([name]))
            except BadStatistic as reason:
                refused[name] = str(reason)
            except MemoryError:
                raise
            except Exception as failure:
                failed(f"estimate of {name}", failure)
                refused[name] = BEYOND
        return estimates, refused


def nameless(degrees: Mapping[str, Any], known: Iterable[bool], step: float = 1.0) -> dict[str, Any]:
    """Degrees without their owners: the smallest first, in steps and whole numbers, and from where to where errors go.

    Each is private as it is; but whoever has the roster need not be told whose noise is whose. How large it is follows
    from public classes, and what is guessed of the absent from public degrees: beside a number, either would be as good
    as a name. So only those have one who answered, or were not asked. Scored bits add up to multiples of a score's
    range and a rest that public classes decide: with ``step`` that range, the rest is rounded away.
    """
    here = list(known)
    value, error = (sorted(compress(degrees[name], here)) for name in ("value", "standard_error"))
    whole = [float(round(step * round(each / step))) for each in value]
    named = ("labels", "interval", "uncut_interval", "level")
    kept = {name: part for name, part in degrees.items() if name not in named}
    return {**kept, "value": whole, "standard_error": [*error[:1], *error[-1:]], "unbiased": whole == value}


def _counted(flags: Sequence[Flag]) -> dict[str, Any]:
    """How many reports are flagged, and for what; whose, and by which numbers, is for whoever holds the reports."""
    kinds = Counter((flag.round, flag.what) for flag in flags)
    return {
        "reports": len({(flag.round, flag.participant) for flag in flags}),
        "for": [{"round": number, "what": what, "reports": many} for (number, what), many in sorted(kinds.items())],
    }


def _sound(estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    """The same estimates, once it is known that they can be written down."""
    for estimate in estimates.values():
        estimate.as_dict(LEVEL)
    return estimates


def _bound(found: QuestionEstimates, statistic: str, liars: int) -> float:
    """What liars can do, and no bound where that cannot be calculated."""
    try:
        return found.manipulation_bound(statistic, liars)
    except (ArithmeticError, ValueError, LookupError):
        return math.inf


def _certificate(terms: Terms, found: QuestionEstimates, rounds: Mapping[int, Bodies]) -> Certificate:
    view, policy = terms.view, terms.view.policy
    return Certificate(
        trust=terms.charter.trust,
        trust_words=f"{terms.question.labels.trust}; the aggregator is not trusted.",
        bill=Bill((*policy.paid, *found.releases)),
        paid=policy.paid,
        policy=policy.words,
        classes={str(kind): size for kind, size in view.inside_sizes.items() if size},
        response={f"round {number}": _response(terms, number, rounds)[2] for number in rounds} | dict(found.response),
        assumptions=(*ASSUMPTIONS, *policy.assumptions),
        simulated=False,
        campaign=terms.charter.identity,
        scope=str(policy.scope or ""),
        outside=view.outside,
        notes=found.notes,
    )


def _response(terms: Terms, number: int, rounds: Mapping[int, Bodies]) -> tuple[int, int, float]:
    """How many were asked, how many answered, and their share; round 2 asks those who answered in round 1."""
    asked = int(terms.asked(number).sum()) if number == 1 else len(rounds[number - 1])
    return asked, len(rounds[number]), len(rounds[number]) / asked if asked else 1.0


def _round(terms: Terms, number: int, rounds: Mapping[int, Bodies]) -> dict[str, Any]:
    asked, answered, rate = _response(terms, number, rounds)
    leaves = [leaf(participant, digest(body)) for participant, body in rounds[number].items()]
    return {"asked": asked, "answered": answered, "response_rate": rate, "root": root(leaves).hex()}


def _consents(view: PublicView) -> dict[str, Any]:
    """Among whom everything was estimated, where both ends of a position had to consent."""
    found = consenting_in(view.policy.scope)
    if found is None:
        return {}
    return {"consents": {"list": found.attribute, "people": found.people, "of": view.n}}


def _dropout(found: QuestionEstimates, estimates: Mapping[str, Estimate]) -> dict[str, list[float] | None]:
    result: dict[str, list[float] | None] = {}
    for name, estimate in estimates.items():
        value = estimate.value
        part = None if isinstance(value, np.ndarray) else found.nonresponse_part(name, float(value))
        result[name] = None if part is None else [float(value) - part / 2, float(value) + part]
    return result


def _plain(content: Any) -> Any:
    """Numbers that JSON does not have are left out: an infinite bound is none."""
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_plain(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


class OwnProcess:
    """Makes answers in a process of its own, one at a time: it can be stopped, and what ends it leaves the server be.

    ``make`` is a function that a new interpreter can import.
    """

    def __init__(self, make: Callable[..., bytes] = estimate_bytes) -> None:
        self._make, self._lock = make, threading.Lock()
        self._process: SpawnProcess | None = None
        self._stopped = False

    def another(self) -> "OwnProcess":
        """The same for another campaign, to be stopped by itself."""
        return OwnProcess(self._make)

    def __call__(self, *given: object) -> bytes:
        """The answers; blocks until they are made, and refuses where the process was stopped or ended without any."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_answer, args=(theirs,), name="estimate", daemon=True)
        with self._lock:
            self._process, self._stopped = process, False
            process.start()
        theirs.close()
        event("estimate begun", process=process.pid)
        said: tuple[str, Any] = ("", "")
        try:
            ours.send((self._make, *given))
            said = ours.recv()
        except (EOFError, OSError):  # it is gone, and its exit code says why
            pass
        finally:
            ours.close()
            process.join()
            with self._lock:
                self._process = None
        return self._answers(said, process.exitcode or 0)

    def stop(self) -> bool:
        """Whether answers were being made; they are not any more."""
        with self._lock:
            self._stopped = self._process is not None
            if self._process is not None:
                self._process.kill()
            return self._stopped

    def _answers(self, said: tuple[str, Any], exit_code: int) -> bytes:
        kind, content = said
        if kind == "made":
            return bytes(content)
        if kind == "impossible":
            raise BadStatistic(content)
        if self._stopped:
            raise Stopped("The making of the answers was stopped. The reports are there: ask for them again.")
        ended = signal.Signals(-exit_code).name if exit_code < 0 else f"exit code {exit_code}"
        memory = ", as where memory is short" if exit_code == -signal.SIGKILL else ""
        raise EstimateFailed(
            f"The process that makes the answers ended by {content or ended + memory}. No report is lost: "
            "look at the log, then ask for them again."
        )


def _answer(asked: Connection) -> None:
    """What the process does: it ends by itself when the server that began it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends this process
    log_to_stderr()
    make, *given = asked.recv()
    threading.Thread(target=_end_with_server, args=(asked,), daemon=True).start()
    try:
        said = "made", make(*given)
    except BadStatistic as reason:
        said = "impossible", str(reason)
    except Exception as failure:
        failed("estimate", failure)
        said = "failed", type(failure).__name__
    asked.send(said)


def _end_with_server(asked: Connection) -> None:
    try:
        asked.recv()
    except (EOFError, OSError):
        os._exit(1)
