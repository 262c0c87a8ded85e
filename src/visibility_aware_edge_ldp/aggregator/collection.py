"""What all collections share: accept reports, refuse what breaks the protocol, name what was paid for, and estimate."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.score_estimates import AUTOMATIC, WorkBudget
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy.guarantee import Release
from visibility_aware_edge_ldp.public.layout import NumberReport, Numbers, Report
from visibility_aware_edge_ldp.public.statistic import Statistic, check_statistics, statistic
from visibility_aware_edge_ldp.public.surveys.base import Survey, verify_roster
from visibility_aware_edge_ldp.public.view import PublicView

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Estimator = Callable[[Any, Statistic], Estimate]
"""From what a collection prepared, and a statistic, to its estimate."""
Estimators = Mapping[str, Estimator]


S = TypeVar("S", bound=Survey)
R = TypeVar("R", bound=Report)
N = TypeVar("N", bound=NumberReport)


class Collection(ABC, Generic[S, R]):
    """The reports of one survey.

    A subclass says in ``add`` what it refuses beside reports of other surveys, and what it keeps; in ``content`` which
    bytes name its releases; and in ``estimators`` which statistics it answers, by their names without a parameter.
    """

    protocol: ClassVar[str]
    estimators: ClassVar[Estimators] = {}

    def __init__(self, survey: S, view: PublicView) -> None:
        verify_roster(survey, view, "this public view")
        self.survey, self.view = survey, view
        self._seen: set[str] = set()

    def absorb(self, report: R) -> None:
        """Take a report in. The same report again changes nothing; a second, different answer is refused."""
        if report.digest in self._seen:
            return
        self.add(report)
        self._seen.add(report.digest)

    @abstractmethod
    def add(self, report: R) -> None:
        """Keep what a report says that was not seen before; refuse it as a whole where it breaks the protocol."""

    def content(self) -> Iterable[bytes | memoryview]:
        """The bytes of all that is kept, by which its releases are named."""
        raise NotImplementedError

    @property
    def digest(self) -> str:
        """SHA-256 of all that is kept."""
        found = hashlib.sha256()
        for part in self.content():
            found.update(part)
        return found.hexdigest()

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for, named by what arrived."""
        digest = self.digest
        return tuple(replace(release, transcript=digest) for release in self.survey.releases)

    def wanted(self, statistics: str | Sequence[str]) -> tuple[str, ...]:
        """The statistics asked for, each known and possible; "all" means every one that these reports answer."""
        asked = check_statistics(statistics, self.view.n)
        whole = statistics == "all" or list(statistics) == ["all"]
        return tuple(name for name in asked if not whole or statistic(name).kind in self.estimators)

    def estimator(self, name: str) -> Estimator:
        """The function that estimates this statistic: the collection's own, or one that came with the statistic."""
        known = statistic(name)
        found = self.estimators.get(known.kind) or known.estimators.get(self.protocol)
        if found is None:
            raise BadStatistic(self.cannot_estimate(name))
        return found

    def cannot_estimate(self, name: str) -> str:
        """The sentence that refuses a statistic which these reports do not answer."""
        return f"{name} cannot be estimated from these reports; they answer {', '.join(self.estimators)}."

    def prepared(self, wanted: tuple[str, ...], budget: WorkBudget, made: GroupScores | None) -> Any:
        """What the estimators of these statistics share; the collection itself, if nothing has to be worked out."""
        return self


def estimate(
    collection: Collection[Any, Any],
    statistics: str | Sequence[str],
    budget: WorkBudget = AUTOMATIC,
    made: GroupScores | None = None,
) -> dict[str, Estimate]:
    """Estimates of these statistics, all from the same reports: one price for all.  [POSITION.4]

    ``budget`` says how much counting is done for triangles and 4-cycles of positions, and where; ``made`` are the
    scores of the positions, where they are known already.
    """
    wanted = collection.wanted(statistics)
    estimators = {name: collection.estimator(name) for name in wanted}
    shared = collection.prepared(wanted, budget, made)
    found = {name: make(shared, statistic(name)) for name, make in estimators.items()}
    releases = collection.releases
    return {name: each if each.releases else replace(each, releases=releases) for name, each in found.items()}


class UserCollection(Collection[S, N]):
    """Reports of users: for each one a bit that says whether it answered, and a few numbers."""

    OTHER: ClassVar[str] = "A report for another survey was sent here."
    SECOND: ClassVar[str] = "A second, different answer of a user to the same survey; the first one stands."

    def __init__(self, survey: S, view: PublicView, numbers: int = 1) -> None:
        super().__init__(survey, view)
        self.took_part: Bits = np.zeros(view.n, np.bool_)
        """Who has sent a report."""
        self.numbers: Ints = np.zeros((numbers, view.n), np.int64)
        """(numbers, n): what everybody reported, 0 for those who did not."""

    def add(self, report: N) -> None:
        """Keep the numbers of users who had not answered before."""
        if not self.is_for_this_survey(report):
            raise ProtocolViolation(self.OTHER)
        users, answered = report.users, report.answered
        if users.stop > self.view.n:
            raise ProtocolViolation(f"A report names users beyond the last, {self.view.n - 1}.")
        numbers = np.vstack([getattr(report, name) for name in cast(Numbers[N], report.layout).numbers])
        self.validate(users, answered, numbers)
        if (self.took_part[users] & answered).any():
            raise ProtocolViolation(self.SECOND)
        self.took_part[users] |= answered
        self.numbers[:, users] += numbers

    def is_for_this_survey(self, report: N) -> bool:
        """Whether the report answers the survey of this collection."""
        return report.survey == self.survey.identity

    def validate(self, users: slice, answered: Bits, numbers: Ints) -> None:
        """Refuse what no client of this survey sends; nothing beside what all collections refuse."""

    def content(self) -> Iterable[bytes]:
        """Who answered, and the numbers."""
        return self.took_part.tobytes(), self.numbers.tobytes()
