"""A rehearsal: a whole campaign on this machine, with the real server and the real participants' program.

The rehearsal alone knows the graph. It gives everybody a home and a friend list, lets them enrol and answer over
HTTP, and compares what comes out with the same reports counted here, and with the truth.
"""

import json
import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.campaign import rehearsal_people, rehearsal_processes
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.consents import Consents
from visibility_aware_edge_ldp.campaign.directory import OPERATOR, new_campaign, read_campaign
from visibility_aware_edge_ldp.campaign.documents import Documents
from visibility_aware_edge_ldp.campaign.http_client import Operator
from visibility_aware_edge_ldp.campaign.questions import question_named
from visibility_aware_edge_ldp.campaign.server.estimate_json import estimate_bytes
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, parse_share
from visibility_aware_edge_ldp.public.scope import consenting_in, drawn_consents
from visibility_aware_edge_ldp.public.scope_words import ScopeWords
from visibility_aware_edge_ldp.public.statistic import exact, statistic
from visibility_aware_edge_ldp.simulation.worlds import Progress, Steps
from visibility_aware_edge_ldp.truth.graph import Graph

# Nobody waits for a deadline in a rehearsal: rounds are closed by the operator.
_FAR = 4_000_000_000


@dataclass(frozen=True)
class Found:
    """One statistic: the campaign's estimate, and the truth, which only the rehearsal knows."""

    statistic: str
    estimate: float
    standard_error: float | None
    low: float
    high: float
    truth: float

    @classmethod
    def of(cls, statistic: str, said: Mapping[str, Any], truth: float) -> "Found":
        """What the answers say of a statistic; an end of its interval that they leave out is infinitely far."""
        low, high = said["interval"]
        ends = -math.inf if low is None else low, math.inf if high is None else high
        return cls(statistic, said["value"], said["standard_error"], *ends, truth)

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high


def _found(name: str, said: Mapping[str, Any], graph: Graph) -> Iterator[Found]:
    """What is found of a statistic: one number, or one for each group or two; lists of people are left out."""
    if not isinstance(said["value"], list):
        yield Found.of(name, said, float(exact(graph, name)))
    elif statistic(name).by_groups:
        lows, highs = said["interval"]
        columns = said["labels"], said["value"], said["standard_error"], lows, highs, exact(graph, name)
        for label, value, error, low, high, truth in zip(*columns, strict=True):
            words = "–".join(label) if isinstance(label, list) else label
            entry = {"value": value, "standard_error": error, "interval": [low, high]}
            yield Found.of(f"{name} {words}", entry, float(truth))


@dataclass(frozen=True)
class Turnout:
    """How many people a round asked, and how many answered."""

    asked: int
    answered: int


@dataclass(frozen=True)
class Rehearsal:
    """What a rehearsal found.

    ``same`` says whether the campaign's answers are, octet for octet, those of the same reports counted here, and
    ``seconds`` how long each part took; ``sent`` and ``received`` are octets for each participant.
    """

    charter: Charter = field(repr=False)
    answers: dict[str, Any] = field(repr=False)
    same: bool
    found: tuple[Found, ...]
    turnout: tuple[Turnout, ...]
    seconds: Mapping[str, float]
    processes: int
    sent: float
    received: float

    @property
    def reports_per_second(self) -> float:
        """How many reports were made, sent and stored in a second, while people answered."""
        spent = sum(self.seconds[name] for name in self.seconds if name.startswith("round"))
        return sum(each.answered for each in self.turnout) / spent if spent else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "campaign": self.charter.identity,
            "question": self.charter.question,
            "participants": self.charter.nodes,
            "processes": self.processes,
            "rounds": [vars(each) for each in self.turnout],
            "seconds": dict(self.seconds),
            "reports_per_second": self.reports_per_second,
            "octets_per_participant": {"sent": self.sent, "received": self.received},
            "same_as_counted_here": self.same,
            "found": [{**vars(each), "covered": each.covered} for each in self.found],
            "answers": self.answers,
        }


def rehearse(
    world: VisibilityAwareGraph,
    question: str = "triangles",
    epsilon: Number = 1,
    statistics: Sequence[str] = (),
    rounds: int | None = None,
    absent: Number = 0,
    processes: int | None = None,
    keep: Path | None = None,
    progress: Progress | None = None,
    announce: rehearsal_people.Announce | None = None,
    scope: ScopeWords | None = None,
    consent_share: Number | None = None,
    share: Number = 1,
    download: str | None = None,
) -> Rehearsal:
    """Ask everybody in a graph, with the real programs, and compare; cleans up whatever happens.

    Parameters
    ----------
    absent
        The share of those asked who stay away, drawn anew in each round.
    processes
        How many processes act for the people; twice as many as there are cores by default, as they wait for the disk.
    keep
        A directory for everything that is made: the campaign, its store, and everybody's homes. It must not exist.
    announce
        Is told how many seconds are left, once a few people have had their turns; not where there are few people.
    scope
        Where positions are asked about; everywhere by default. The world is then the one without a scope.
    consent_share
        The share of people who consent, where positions are asked whose both ends do; without it, no consent is asked.
    share, download
        Of triangles: which share of the first answers everybody downloads, or how much, such as "10MB".
    """
    kind = question_named(question)
    away = parse_share(absent, "the share of absent people")
    if processes is not None and processes < 1:
        raise BadInput(f"At least one process must act for the people; got {processes}.")
    workers = min(processes or 2 * (os.cpu_count() or 1), world.graph.n)
    import visibility_aware_edge_ldp.campaign.server.stores.sqlite  # noqa: F401 - says what is missing before all else

    with rehearsal_processes.new_place(keep) as place:
        count = rounds or kind.rounds[0]
        charter = new_campaign(
            place / "campaign",
            names=world.graph.names,
            policy=world.policy,
            edges=world.public.edges,
            scope=scope,
            groups=world.graph.groups,
            question=question,
            epsilon=epsilon,
            statistics=tuple(statistics) or kind.default_statistics,
            closes=[_FAR + number for number in range(count)],
            fewest=1,
            title=f"A rehearsal on {world.graph.source}"[:200],
            epoch="rehearsal",
            consent=0 if consent_share is None else _FAR - 1,
            share=share,
            download=download,
        )
        steps = Steps(progress, charter.nodes * (count + 1 + bool(charter.consent)))
        counted = world if scope is None else world.inside(scope.scope(world.public))
        counted = counted if consent_share is None else counted.inside(drawn_consents(world.graph.names, consent_share))
        return _Stage(counted, place, charter, float(away), workers, steps, announce).play()


@dataclass(frozen=True, eq=False)
class _Stage:
    """One rehearsal in one place."""

    world: VisibilityAwareGraph
    place: Path
    charter: Charter
    absent: float
    processes: int
    steps: Steps
    announce: rehearsal_people.Announce | None
    seconds: dict[str, float] = field(default_factory=dict)
    reports: dict[int, dict[int, bytes]] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    traffic: Counter[str] = field(default_factory=Counter)

    @cached_property
    def documents(self) -> Documents:
        return read_campaign(self.place / "campaign").documents

    @property
    def terms(self) -> Terms:
        return self._terms[-1]

    @cached_property
    def _terms(self) -> list[Terms]:
        """As the charter has them; and then, where that is asked for, among those who consented."""
        return [Terms(self.charter, self.documents.view)]

    def play(self) -> Rehearsal:
        """From the first enrolment to the comparison."""
        n, rounds = self.charter.nodes, len(self.charter.rounds)
        with self._timed("lists"):
            people = rehearsal_people.give_lists(self.world, self.documents, self.terms, self.place)
        with (
            rehearsal_processes.serving(self.place) as url,
            rehearsal_processes.Workers(
                self.place, rehearsal_people.plans(url, self.terms, people, self.processes)
            ) as workers,
        ):
            operator = Operator(url, (self.place / "campaign" / OPERATOR).read_text())
            present = rehearsal_people.present_of(np.arange(n), self.absent)
            tried, done = self._tried(workers, present) if self._consenting is None else ([], [])
            self._turns("enrolling", workers, rehearsal_processes.ENROL, np.delete(np.arange(n), tried))
            if self._consenting is not None:
                self._consent(operator, workers, self._consenting)
            for number in range(1, rounds + 1):
                done += self._turns(
                    f"round {number}", workers, rehearsal_processes.ANSWER, np.setdiff1d(present, tried)
                )
                self._close(operator, number, present, done)
                present, tried, done = rehearsal_people.present_of(present, self.absent), [], []
            with self._timed("estimating"):
                made = operator.answers()
        with self._timed("counting again"):
            again = estimate_bytes(self.charter, self.terms.view, self.reports)
        return self._compared(made, again)

    @property
    def _consenting(self) -> set[str] | None:
        """The names of those who consent, where consent is asked for."""
        found = consenting_in(self.world.policy.scope)
        if found is None:
            return None
        return {str(name) for name, value in zip(self.world.graph.names, found.values, strict=True) if value >= 0}

    def _consent(self, operator: Operator, workers: rehearsal_processes.Workers, names: set[str]) -> None:
        """Some say that they consent, the list is frozen, and it names exactly them."""
        people = [place for place, name in enumerate(self.documents.roster) if str(name) in names]
        self._turns("consenting", workers, rehearsal_processes.CONSENT, np.array(people, np.int64))
        self.steps(self.charter.nodes - len(people))
        consents = Consents.from_bytes(self.charter, operator.ask("POST", "/v1/consents").body)
        if list(consents.people) != people:
            raise rehearsal_processes.RehearsalFailed("Others stand in the frozen list than those who consented.")
        self._terms.append(self.terms.among(consents))

    def _tried(
        self, workers: rehearsal_processes.Workers, present: Any
    ) -> tuple[list[int], list[rehearsal_processes.Done]]:
        """A few people enrol and answer before the others, and it is said how long all will take."""
        trial = rehearsal_people.Trial.of(present, self.processes)
        if self.announce is None or not trial.people:
            return [], []
        done, paces = list[rehearsal_processes.Done](), list[float]()
        for name, word in (("enrolling", rehearsal_processes.ENROL), ("round 1", rehearsal_processes.ANSWER)):
            done = self._turns(name, workers, word, trial.first)
            before = self.seconds[name]
            done += self._turns(name, workers, word, trial.timed)
            paces.append((self.seconds[name] - before) / len(trial.timed))
        gone, rounds = len(trial.people), len(self.charter.rounds)
        later = [len(present) * (1 - self.absent) ** number for number in range(1, rounds)]
        self.announce(
            rehearsal_people.seconds_left(paces[0], paces[1], self.charter.nodes - gone, [len(present) - gone, *later])
        )
        return trial.people, done

    def _turns(
        self, name: str, workers: rehearsal_processes.Workers, word: str, people: Any
    ) -> list[rehearsal_processes.Done]:
        done = []
        with self._timed(name):
            for each in workers.run(word, [int(person) for person in people]):
                self.traffic.update(sent=each.sent, received=each.received)
                done.append(each)
                self.steps()
        return done

    def _close(self, operator: Operator, number: int, present: Any, done: list[rehearsal_processes.Done]) -> None:
        """Those who are present have answered, and the round is closed."""
        asked = self.terms.asked(number)
        self.steps(self.charter.nodes - len(present))
        reports = self.reports[number] = {each.participant: each.report for each in done if each.report}
        if set(reports) != set(present[asked[present]].tolist()):
            raise rehearsal_processes.RehearsalFailed("Others answered than were asked and present.")
        with self._timed(f"closing {number}"):
            closed = operator.close(number)
        stored = closed["received"]
        if stored != len(reports):
            raise rehearsal_processes.RehearsalFailed(
                f"{len(reports):,} reports were acknowledged, and the server has {stored:,}."
            )
        self.roots.append(closed["root"])

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun

    def _compared(self, made: bytes, again: bytes) -> Rehearsal:
        answers, n = json.loads(made), self.charter.nodes
        if [each["root"] for each in answers["rounds"]] != self.roots:
            raise rehearsal_processes.RehearsalFailed("The answers were made from other reports than were frozen.")
        found = [one for name, each in answers["estimates"].items() for one in _found(name, each, self.world.graph)]
        return Rehearsal(
            self.charter,
            answers,
            made == again,
            tuple(found),
            tuple(Turnout(each["asked"], each["answered"]) for each in answers["rounds"]),
            self.seconds,
            self.processes,
            self.traffic["sent"] / n,
            self.traffic["received"] / n,
        )
