"""CONTRIBUTING's "Add a protocol", followed to the letter by a program outside the package.

The toy: every user reports whether it has any friend at a position that is not public, plus noise. One entry of one
list moves that number by at most 1, and an edge stands in two lists; so each end's report gets half of its loss.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.aggregator import COLLECTIONS
from visibility_aware_edge_ldp.aggregator.collection import Estimators, UserCollection, estimate
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.audit.catalogue import STAGES, Stage
from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss, exact, exact_finding
from visibility_aware_edge_ldp.audit.engine.noise_laws import laplace_losses
from visibility_aware_edge_ldp.cli import app
from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.client.degrees import class_counts, randomize
from visibility_aware_edge_ldp.client.reporter import Bits, Client, Purse, who_takes_part
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_coins
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge, OneListEntry, edge_from_lists
from visibility_aware_edge_ldp.public import statistic as statistics
from visibility_aware_edge_ldp.public.layout import Ints, NumberReport, Numbers
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS, Protocol, register
from visibility_aware_edge_ldp.public.statistic import Statistic
from visibility_aware_edge_ldp.public.surveys.base import Content, RosterSurvey
from visibility_aware_edge_ldp.public.trust import USER
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation.simulate import SIMULATED, Simulated, collect
from visibility_aware_edge_ldp.simulation.worlds import cut_lists

NAME, LISTS = "company", 2

# 1. What both sides know: the survey, and the bytes of its reports.


@dataclass(frozen=True)
class CompanySurvey(RosterSurvey):
    """Every user reports whether it has a friend at a position that is not public."""

    trust = USER
    protocol = NAME

    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        return edge_from_lists(Guarantee(OneListEntry, self.epsilon / LISTS), LISTS)

    def payment(self, round_number: int = 1) -> dict[Visibility, Guarantee[OneListEntry]]:
        return dict.fromkeys(NON_PUBLIC, Guarantee(OneListEntry, self.epsilon / LISTS))

    @property
    def noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.epsilon / LISTS)

    def content(self) -> Content:
        return {"question": "any friend", "epsilon": str(self.epsilon)}


@dataclass(frozen=True, eq=False)
class CompanyReport(NumberReport):
    """One noisy number of each of the users numbered ``start`` and on."""

    survey: str
    start: int
    answered: Bits = field(repr=False)
    values: Ints = field(repr=False)


LAYOUT = Numbers("report of company", b"TOYC", "start:Q count:Q survey:32s", CompanyReport)


def company_survey(view: PublicView, epsilon: Fraction) -> CompanySurvey:
    return CompanySurvey(view.roster_digest, view.n, view.policy.digest, epsilon)


# 2. The client, the only place where a private bit is touched.


class CompanyClient(Client[CompanySurvey, FriendLists, CompanyReport]):
    """Users with consecutive numbers and their friend lists."""

    def randomize(
        self, survey: CompanySurvey, round_number: int, random_bytes: RandomBytes, present: Bits | None
    ) -> CompanyReport:
        answered = who_takes_part(present, self._view.count)
        values = randomize(self.numbers(), survey.noise, random_bytes)
        return CompanyReport(survey.identity, self._view.start, answered, np.where(answered, values, 0)[None])

    def numbers(self) -> Ints:
        """For each user 1 or 0."""
        friends = class_counts(self._view, self._public, self._public.non_public)
        return (friends.sum(axis=0) > 0).astype(np.int64)


# 3. The collection, and how it estimates.


class CompanyCollection(UserCollection[CompanySurvey, CompanyReport]):
    """Everybody's noisy number."""

    protocol = NAME
    estimators: ClassVar[Estimators] = {"in_company": lambda given, asked: given.in_company()}

    def in_company(self) -> Estimate:
        answers = int(self.took_part.sum())
        expansion = self.view.n / answers
        noise = answers * self.survey.noise.variance
        share = min(max(float(self.numbers.sum()) / answers, 0.0), 1.0)
        missing = self.view.n * (self.view.n - answers) / answers * share * (1 - share)
        return Estimate("in_company", expansion * float(self.numbers.sum()), expansion**2 * noise + missing)


# 4. The tables of each side, and a statistic that it answers.


def in_company(graph: va.Graph) -> int:
    return int((graph.degrees > 0).sum())


def predicted(question: Any, standard_error: Callable[[str], float]) -> float:
    survey = company_survey(question.moments.world.public, question.epsilon)
    return math.sqrt(question.moments.n * survey.noise.variance)


STATISTIC = Statistic(
    "in_company", "users in company", "participants with a friend", in_company, predictions={NAME: predicted}
)


# 5. The audit: what an edge loses at most, from the exact law, and a broken variant that must be caught.


def audit_company(name: str, noise_of: Callable[[Fraction], DiscreteLaplace], about: str) -> Finding:
    """An edge loses the sum over its two ends, each of whose numbers moves by at most 1."""
    losses = []
    for epsilon in map(Fraction, ("1/2", "1", "2")):
        noise = noise_of(epsilon)
        found = LISTS * max(laplace_losses((0, noise), (1, noise)))
        losses.append(Loss(str(Visibility.PRIVATE), float(epsilon), found))
    return exact_finding(name, losses, len(losses), about)


FORGETS = "Each end spends all of the edge's loss."
STAGE = Stage(
    (exact("company", audit_company, lambda epsilon: DiscreteLaplace(epsilon / LISTS), "three epsilons"),),
    (exact("company, one end alone", audit_company, DiscreteLaplace, FORGETS, broken=FORGETS),),
)


@pytest.fixture
def registered() -> Iterator[Protocol]:
    known = register(Protocol(NAME, USER, frozenset({"in_company"}), company_survey, (LAYOUT,)))
    statistics.register(STATISTIC)
    CLIENTS[NAME] = CompanyClient
    COLLECTIONS[NAME] = CompanyCollection
    SIMULATED[NAME] = Simulated(lambda graph, survey: cut_lists(graph), lambda number: NAME)
    STAGES[NAME] = STAGE
    yield known
    for table in (PROTOCOLS, CLIENTS, COLLECTIONS, SIMULATED, STAGES):
        del table[NAME]
    del statistics.STATISTICS["in_company"]


@pytest.fixture
def world() -> va.VisibilityAwareGraph:
    edges = [(i, (7 * i + 3) % 60) for i in range(45) if i != (7 * i + 3) % 60]
    return va.VisibilityAwareGraph(va.read_graph(edges), va.VisibilityPolicy.nothing())


# 6. From here on the package's own machinery does the rest.


def test_it_is_simulated_through_its_bytes_and_estimated(registered: Protocol, world: va.VisibilityAwareGraph) -> None:
    survey = registered.survey(world.public, Fraction(1))
    found = [estimate(collect(world, survey, seed), ["in_company"])["in_company"] for seed in range(400)]
    truth = in_company(world.graph)
    values = np.array([each.value for each in found])
    assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / math.sqrt(len(values))
    covered = np.mean([low <= truth <= high for low, high in (each.interval(0.95) for each in found)])
    assert 0.92 <= covered <= 0.98
    assert found[0].releases[0].prices[0][1].epsilon == 1


def test_reports_are_read_as_they_were_written(registered: Protocol) -> None:
    sent = CompanyReport("ab" * 32, 3, np.array([True, False]), np.array([[5, 0]]))
    octets = registered.layout().encode(sent)
    assert registered.layout().decode(octets) == sent
    assert len(octets) == registered.layout().size(count=2)
    with pytest.raises(ProtocolViolation):
        registered.layout().decode(octets + b"\0")


def test_a_client_pays_answers_once_and_refuses_strangers(registered: Protocol, world: va.VisibilityAwareGraph) -> None:
    survey, view = registered.survey(world.public, Fraction(1)), next(cut_lists(world.graph))
    poor = CLIENTS[NAME](view, world.public, Purse(dict.fromkeys(NON_PUBLIC, Fraction(1, 3))))
    with pytest.raises(Refused):
        poor.answer(survey, 1, keyed_coins(b"k" * 32))
    client = CLIENTS[NAME](view, world.public, Purse(dict.fromkeys(NON_PUBLIC, Fraction(1, 2))))
    first = client.answer(survey, 1, keyed_coins(b"k" * 32))
    assert client.answer(survey, 1, keyed_coins(b"l" * 32)) is first
    with pytest.raises(ProtocolViolation, match="another roster"):
        client.answer(replace(survey, roster="00" * 32), 1, keyed_coins(b"k" * 32))


def test_estimate_asks_it_and_bills_it(registered: Protocol, world: va.VisibilityAwareGraph) -> None:
    answers = va.estimate(world, "user", 8, ["in_company"], seed=1)
    collected = collect(world, registered.survey(world.public, Fraction(8)), seed=1)
    assert answers["in_company"].value == estimate(collected, ["in_company"])["in_company"].value
    assert answers.bill["PRIVATE"].epsilon == 8
    assert "in_company" in str(answers)
    assert "USER" in str(answers.certificate)
    some = va.estimate(world, "user", 8, ["in_company"], seed=1, dropout=0.3)
    assert 0.4 < some.certificate.response["users"] < 0.95


def test_it_is_asked_for_by_itself_and_in_its_own_trust_model(
    registered: Protocol, world: va.VisibilityAwareGraph
) -> None:
    with pytest.raises(BadStatistic, match=r"not all answered by one protocol.*company answers in_company"):
        va.estimate(world, "user", 1, ["edges", "in_company"], seed=1)
    for trust in ("position", "curator"):
        with pytest.raises(BadStatistic, match=f"in_company has no estimator in the {trust} model; use user"):
            va.estimate(world, trust, 1, ["in_company"], seed=1)


def test_compare_repeats_it_and_writes_its_page_and_json(registered: Protocol, tmp_path: Path) -> None:
    words = shlex.split("compare random:30,60 --epsilons 2 --trials 2 --seed 3 --statistics in_company")
    done = CliRunner().invoke(app, [*words, "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (page,) = tmp_path.glob("*.html")
    assert "users in company" in page.read_text(encoding="utf-8")
    said = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert {(row["trust"], row["statistic"]) for row in said["uniform"]} == {("user", "in_company")}


def test_a_plan_predicts_its_error_and_its_cost(registered: Protocol, world: va.VisibilityAwareGraph) -> None:
    plan = va.plan(family=world.graph, statistics=["in_company"], epsilons=[8])
    found = va.estimate(world, "user", 8, ["in_company"], seed=1)["in_company"]
    assert {row.trust for row in plan.predictions} == {"user"}
    assert plan.row("user", "in_company", 8).standard_error == pytest.approx(float(found.standard_error))
    (cost,) = (each for each in plan.costs if each.trust == "user")
    assert cost.bytes_up == registered.layout().size(count=1)
    statistics.STATISTICS["in_company"] = replace(STATISTIC, predictions={})
    assert "no closed form" in va.plan(family=world.graph, statistics=["in_company"]).row("user", "in_company", 1).note


def test_the_audit_command_holds_it_to_its_claim_and_catches_the_mutant(registered: Protocol) -> None:
    done = CliRunner().invoke(app, ["audit", "--mechanism", "company", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    (real,), (mutant,) = said["findings"], said["broken_twins"]
    assert real["holds"]
    assert max(loss["found"] / loss["claimed"] for loss in real["losses"]) == pytest.approx(1, abs=1e-9)
    assert (mutant["caught"], mutant["twin_of"]) == (True, "company")
    assert max(loss["found"] / loss["claimed"] for loss in mutant["losses"]) > 1.9


def test_an_audit_fails_where_the_protocol_loses_more_than_it_claims(registered: Protocol) -> None:
    STAGES[NAME] = Stage((exact("company", audit_company, DiscreteLaplace, "an end too much"),), ())
    assert CliRunner().invoke(app, ["audit", "--mechanism", "company", "--json"]).exit_code != 0
