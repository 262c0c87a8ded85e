"""From frozen reports to bytes: the estimates that the same reports have in process, in any order.  [HOLDERS.1]"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import compress
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from support import campaign_estimators
from visibility_aware_edge_ldp.aggregator import (
    degrees as degree_module,
)
from visibility_aware_edge_ldp.aggregator import (
    rows as row_module,
)
from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_all
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.hubs import HubCollection
from visibility_aware_edge_ldp.aggregator.nonresponse import positions as nonresponse
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.rows import RowCollection
from visibility_aware_edge_ldp.campaign import signed_documents, wire_format
from visibility_aware_edge_ldp.campaign.charter import Charter, Round
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import Documents, drafted
from visibility_aware_edge_ldp.campaign.server.estimate_json import OwnProcess, estimate_bytes, nameless
from visibility_aware_edge_ldp.campaign.server.question_estimates import question_estimates
from visibility_aware_edge_ldp.campaign.server.stages import EstimateFailed, Stopped
from visibility_aware_edge_ldp.campaign.signed_documents import digest
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.wire_format import SALT, report_in
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.hubs import HubClient
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits, two_hop
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys import (
    degrees as degree_report,
)
from visibility_aware_edge_ldp.public.surveys import (
    hubs as hub_report,
)
from visibility_aware_edge_ldp.public.surveys import (
    position as codec,
)
from visibility_aware_edge_ldp.public.surveys import (
    rows as row_report,
)
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

N = 40


def sent(report: bytes) -> bytes:
    return bytes(SALT) + report


GRAPH = powerlaw(N, 260, seed=2)
ENOUGH = dict.fromkeys(NON_PUBLIC, Fraction(100))
SPREAD = VisibilityPolicy("1/5", "3/10", salt="estimates")
HUBS = VisibilityPolicy.from_profiles(dict.fromkeys(range(4), "public"), rule="any")
ROWS = ("edges", "stars:2", "stars:3", "triangles")
# question, statistics, rounds, policy
CASES: dict[str, tuple[str, tuple[str, ...], int, VisibilityPolicy]] = {
    "position": ("position", ROWS, 1, SPREAD),
    "position, two rounds": ("position", ROWS, 2, SPREAD),
    "degrees": ("degrees", ("edges", "max_degree", "degree_histogram", "stars:2", "tail:9"), 1, SPREAD),
    "triangles": ("triangles", ("triangles",), 2, SPREAD),
    "4-cycles": ("triangles", ("four_cycles",), 2, VisibilityPolicy.nothing()),
    "hubs": ("hubs", ("triangles",), 1, HUBS),
}
AWAY = {"everybody": (), "some away": (3, 8, 9, 17, 25, 26, 31)}
Reports = dict[int, dict[int, bytes]]


class Population:
    """The clients of a campaign, each with its own friend list."""

    def __init__(self, case: str, statistics: tuple[str, ...] | None = None) -> None:
        question, asked, rounds, policy = CASES[case]
        classes = policy.bind(list(range(N))).of(GRAPH.edges[:, 0], GRAPH.edges[:, 1])
        public = GRAPH.edges[classes == Visibility.PUBLIC]
        self.documents: Documents = drafted(range(N), policy, public, "epoch")
        closing = tuple(Round(2_000_000_000 + number, 2) for number in range(rounds))
        split = (Fraction(1, rounds),) * rounds if question == "position" else ()
        self.charter: Charter = charter_of(
            self.documents,
            signed_documents.fingerprint(bytes(32)),
            question,
            2,
            statistics or asked,
            closing,
            case,
            "epoch",
            0,
            split,
        )
        self.view = self.documents.view
        self.terms = Terms(self.charter, self.view)
        place = np.empty(N, np.int64)
        place[list(self.documents.roster)] = np.arange(N)
        self.edges = np.unique(np.sort(place[GRAPH.edges], axis=1), axis=0).astype(np.int32)

    def friends(self, user: int) -> np.ndarray:
        mine = self.edges[(self.edges == user).any(axis=1)]
        return np.sort(mine[mine != user]).astype(np.int32)

    def answers(self, away: tuple[int, ...]) -> Reports:
        """The uploads of everybody who is asked and not away; the last of them answers in round 1 alone."""
        here = [int(user) for user in np.flatnonzero(self.terms.asked(1)) if user not in away]
        survey: Any = self.terms.survey
        question, view = self.charter.question, self.view
        if question == "hubs":
            clients = {user: HubClient(two_hop(N, self.edges, user), view, Purse(ENOUGH)) for user in here}
            return {
                1: {u: sent(hub_report.encode_hub(one.answer(survey, 1, coins(u, 1)))) for u, one in clients.items()}
            }
        lists = {u: FriendLists(u, np.array([0, self.friends(u).size]), self.friends(u)) for u in here}
        if question == "degrees":
            holders = {u: DegreeClient(each, view, Purse(ENOUGH)) for u, each in lists.items()}
            return {
                1: {u: sent(degree_report.encode(one.answer(survey, 1, coins(u, 1)))) for u, one in holders.items()}
            }
        again = here[:-1] if away else here
        if question == "position":
            bits = {u: np.isin(np.arange(u + 1, N), self.friends(u)) for u in here}
            each = {u: PositionClient(PositionBits(row_start(N, u), bits[u]), view, Purse(ENOUGH)) for u in here}
            return {
                number: {u: sent(codec.encode(each[u].answer(survey, number, coins(u, number)))) for u in who}
                for number, who in zip(range(1, survey.rounds + 1), (here, again), strict=False)
            }
        rows = {u: TwoRoundClient(each, view, Purse(ENOUGH)) for u, each in lists.items()}
        first = {u: one.answer(survey, 1, coins(u, 1)) for u, one in rows.items()}
        collection = RowCollection(survey, view)
        for report in first.values():
            collection.absorb_answers(report)
        heard = FirstRound(survey, view, collection.close_first_round())
        return {
            1: {u: sent(codec.encode(report)) for u, report in first.items()},
            2: {u: sent(row_report.encode_rows(rows[u].total(survey, heard, coins(u, 2)))) for u in again},
        }

    def in_process(self, reports: Reports) -> dict[str, Estimate]:
        """What the aggregator's own functions make of the same reports."""
        survey, view, names = cast(Any, self.terms.survey), self.view, self.charter.statistics
        if self.charter.question == "position":
            answers = PositionCollection(survey, view)
            for data in (data for bodies in reports.values() for data in bodies.values()):
                answers.absorb(codec.decode(report_in(data)))
            return nonresponse.estimate(answers, names)
        if self.charter.question == "degrees":
            degrees = DegreeCollection(survey, view)
            for data in reports[1].values():
                degrees.absorb(degree_report.decode(report_in(data)))
            return estimate_all(degrees, names)
        if self.charter.question == "hubs":
            hubs = HubCollection(survey, view)
            for data in reports[1].values():
                hubs.absorb(hub_report.decode_hub(report_in(data)))
            return estimate_all(hubs, ["triangles"])
        sums = RowCollection(survey, view)
        for data in reports[1].values():
            sums.absorb_answers(codec.decode(report_in(data)))
        for data in reports[2].values():
            sums.absorb(row_report.decode_rows(report_in(data)))
        (name,) = names
        return {name: {"triangles": row_module.triangles, "four_cycles": row_module.cycles}[name](sums)}


def coins(user: int, number: int) -> Any:
    return keyed_coins(seeded_key("estimating", user, number))


@cache
def told(case: str, who: str) -> tuple[Population, Reports, bytes]:
    people = Population(case)
    away = AWAY[who]
    if case == "hubs" and away:
        away = (int(np.flatnonzero(people.terms.asked(1))[0]),)
    reports = people.answers(away)
    return people, reports, estimate_bytes(people.charter, people.view, reports)


def as_json(found: dict[str, Estimate]) -> Any:
    content = {name: {**one.as_dict(), "errors_are_for_release": True} for name, one in found.items()}
    return json.loads(json.dumps(content).replace("Infinity", "null").replace("NaN", "null"))


@pytest.mark.parametrize("who", AWAY)
@pytest.mark.parametrize("case", CASES)
def test_the_estimates_are_those_of_the_same_reports_in_process(case: str, who: str) -> None:
    people, reports, data = told(case, who)
    found = json.loads(data)
    assert found["estimates"] == as_json(people.in_process(reports))
    assert found["refused"] == {}
    if case == "position" and who == "everybody":
        answers = PositionCollection(cast(Any, people.terms.survey), people.view)
        for body in reports[1].values():
            answers.absorb(codec.decode(report_in(body)))
        assert found["estimates"] == as_json(estimate_all(answers, people.charter.statistics))


@pytest.mark.parametrize("who", AWAY)
@pytest.mark.parametrize("case", CASES)
def test_the_bytes_do_not_depend_on_order_or_workers(case: str, who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    people, reports, data = told(case, who)
    backwards = {number: list(reversed(bodies.items())) for number, bodies in reversed(reports.items())}
    assert estimate_bytes(people.charter, people.view, backwards) == data
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert estimate_bytes(people.charter, people.view, reports) == data


@pytest.mark.parametrize("case", CASES)
def test_fewer_answers_are_another_estimate(case: str) -> None:
    people, reports, data = told(case, "everybody")
    last = max(reports)
    less = reports | {last: dict(list(reports[last].items())[2:])}
    assert estimate_bytes(people.charter, people.view, less) != data


@pytest.mark.parametrize("who", AWAY)
@pytest.mark.parametrize("case", CASES)
def test_it_says_what_it_was_made_from_and_who_answered(case: str, who: str) -> None:
    people, reports, data = told(case, who)
    found, charter = json.loads(data), people.charter
    assert found["campaign"] == charter.identity
    assert found["documents"] == {"roster": charter.roster, "policy": charter.policy, "edges": charter.edges}
    for number, told_of in enumerate(found["rounds"], 1):
        leaves = [wire_format.leaf(user, digest(body)) for user, body in sorted(reports[number].items())]
        assert told_of["root"] == wire_format.root(leaves).hex()
        assert told_of["answered"] == len(reports[number])
        assert told_of["response_rate"] == told_of["answered"] / told_of["asked"]
    assert found["rounds"][0]["asked"] == people.terms.asked(1).sum()
    assert found["loss"] == {str(kind): str(loss) for kind, loss in people.terms.losses.items()}
    paid = {kind: loss["epsilon"] for kind, loss in found["certificate"]["loss_per_edge"].items()}
    for kind, loss in people.terms.losses.items():
        assert paid[str(kind)] == pytest.approx(float(loss), rel=1e-9)
    assert not found["certificate"]["simulation_not_private"]
    assert found["flagged"] == {"reports": 0, "for": []}


@pytest.mark.parametrize("case", ["position", "degrees", "triangles"])
def test_the_truth_lies_near_and_dropout_and_lies_are_told(case: str) -> None:
    people, _, data = told(case, "some away")
    found = json.loads(data)
    name = people.charter.statistics[0]
    one = found["estimates"][name]
    assert abs(one["value"] - exact(GRAPH, name)) < 5 * one["standard_error"]
    half, twice = found["dropout"]["estimates"][name]
    assert half < one["value"] < twice
    assert found["manipulation"]["liars"] == 1
    assert found["manipulation"]["bounds"][name] > 0


def test_what_cannot_be_told_is_refused_by_name_and_the_rest_is_answered() -> None:
    people = Population("position", ("edges", "max_degree", "triangles"))
    found = json.loads(estimate_bytes(people.charter, people.view, people.answers(AWAY["some away"])))
    assert set(found["estimates"]) == {"edges", "triangles"}
    assert "absent" in found["refused"]["max_degree"]
    everybody = json.loads(estimate_bytes(people.charter, people.view, people.answers(())))
    assert everybody["refused"] == {}
    assert everybody["manipulation"]["bounds"]["max_degree"] is None


def flagged_by_number(people: Population, reports: Reports) -> set[int]:
    return {flag.participant for flag in question_estimates(people.terms, reports).flagged}


def test_a_report_that_no_honest_participant_sends_is_counted_and_kept() -> None:
    people, reports, _ = told("degrees", "everybody")
    user, data = next(iter(reports[1].items()))
    honest = degree_report.decode(report_in(data))
    lie = degree_report.degree_report(honest.survey, user, np.ones(1, np.bool_), honest.values + 10**9)
    lied = reports | {1: reports[1] | {user: sent(degree_report.encode(lie))}}
    found = json.loads(estimate_bytes(people.charter, people.view, lied))
    kinds = [{"round": 1, "what": f"{kind} friends", "reports": 1} for kind in ("FRIEND_VISIBLE", "PRIVATE")]
    assert found["flagged"] == {"reports": 1, "for": kinds}, "how many, and neither whose nor which numbers"
    assert flagged_by_number(people, lied) == {user}
    assert found["estimates"]["edges"]["value"] > 10**8


@pytest.mark.parametrize("case", ["triangles", "4-cycles", "hubs"])
def test_sums_that_no_honest_participant_sends_are_counted_too(case: str) -> None:
    people, reports, _ = told(case, "everybody")
    last = max(reports)
    user, data = next(iter(reports[last].items()))
    if case == "hubs":
        told_of = hub_report.decode_hub(report_in(data))
        lie = sent(hub_report.encode_hub(replace(told_of, values=(2**40, *told_of.values[1:]))))
    else:
        lie = sent(row_report.encode_rows(replace(row_report.decode_rows(report_in(data)), totals=np.array([2**60]))))
    lied = reports | {last: reports[last] | {user: lie}}
    found = json.loads(estimate_bytes(people.charter, people.view, lied))
    assert found["flagged"]["reports"] == 1
    assert flagged_by_number(people, lied) == {user}
    assert "flagged" in found["manipulation"]["words"]


EVERY = {
    "degrees": ("edges", "degrees", "max_degree", "degree_histogram", "stars:2", "stars:3", "tail:9"),
    "triangles": ("triangles",),
    "4-cycles": ("four_cycles",),
    "hubs": ("triangles",),
}


def _lie(case: str, data: bytes, number: int) -> bytes:
    """The same participant's report, with the number everywhere."""
    if case == "hubs":
        told_of = hub_report.decode_hub(report_in(data))
        return sent(hub_report.encode_hub(replace(told_of, values=(number,) * len(told_of.values))))
    if case == "degrees":
        honest = degree_report.decode(report_in(data))
        same = np.full(honest.values.shape, number, np.int64)
        lie = degree_report.degree_report(honest.survey, honest.start, np.ones(1, np.bool_), same)
        return sent(degree_report.encode(lie))
    row = row_report.decode_rows(report_in(data))
    return sent(row_report.encode_rows(replace(row, reaches=np.array([number]), totals=np.array([number]))))


@pytest.mark.parametrize("liars", [1, 5])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("power", [40, 62])
@pytest.mark.parametrize("case", EVERY)
def test_no_number_spoils_a_round(case: str, power: int, sign: int, liars: int) -> None:
    people = Population(case, EVERY[case])
    reports = people.answers(())
    last = max(reports)
    number = sign * 2 ** min(power, 61 if last == 2 else 62)  # rows are cut off at 2^61
    lies = {user: _lie(case, data, number) for user, data in list(reports[last].items())[:liars]}
    for user, data in lies.items():
        if case in ("degrees", "hubs"):
            people.terms.check_upload(user, last, data)
    lied = reports | {last: reports[last] | lies}
    found = json.loads(estimate_bytes(people.charter, people.view, lied))
    assert found["refused"] == {}
    assert set(found["estimates"]) == set(EVERY[case])
    assert found["flagged"]["reports"] == len(lies)
    assert flagged_by_number(people, lied) == set(lies)
    if case == "degrees":
        assert found["estimates"]["edges"]["value"] * sign > 2 ** (min(power, 60) - 2)
        largest = found["estimates"]["max_degree"]
        assert 0 <= largest["value"] <= N - 1
        assert sum(found["estimates"]["degree_histogram"]["value"]) == pytest.approx(N)


def test_fits_take_honest_degrees_as_they_are() -> None:
    people, reports, _ = told("degrees", "everybody")
    collection = DegreeCollection(cast(Any, people.terms.survey), people.view)
    for data in reports[1].values():
        collection.absorb(degree_report.decode(report_in(data)))
    degrees = collection.noisy_degrees()
    assert (collection.plausible(degrees).noisy == degrees.noisy).all()


def test_a_statistic_that_fails_is_refused_and_the_rest_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    people, reports, data = told("degrees", "everybody")

    def fails(*given: object) -> None:
        raise IndexError("out of bounds")

    monkeypatch.setattr(degree_module, "max_degree", fails)
    found, whole = json.loads(estimate_bytes(people.charter, people.view, reports)), json.loads(data)
    assert set(found["refused"]) == {"max_degree"}
    assert found["refused"]["max_degree"].endswith("flagged.")
    assert found["estimates"] == {name: each for name, each in whole["estimates"].items() if name != "max_degree"}


def test_few_answers_that_agree_are_not_sure_of_the_others() -> None:
    """Two of forty: what they say of a count, and of the maximum, says little about thirty-eight others."""
    people = Population("degrees", ("max_degree", "tail:9", "tail:39"))
    everybody = people.answers(())[1]
    for first in range(0, 30, 5):
        few = dict(list(everybody.items())[first : first + 2])
        found = json.loads(estimate_bytes(people.charter, people.view, {1: few}))["estimates"]
        assert found["max_degree"]["standard_error"] is None  # its interval tells more: nobody can know of the others
        assert found["max_degree"]["interval"][1] == N - 1
        for name in ("tail:9", "tail:39"):
            low, high = found[name].get("uncut_interval", found[name]["interval"])
            assert high - low > 4 * N / 10
            assert found[name]["standard_error"] != 0


def test_what_is_said_of_liars_is_what_is_proved() -> None:
    """[LIARS.6] bounds first answers in the mean over the others' noise only."""
    said = {case: json.loads(told(case, "everybody")[2])["manipulation"]["words"] for case in ("degrees", "triangles")}
    assert "in the mean over the others' noise" in said["triangles"]
    assert "whatever they sent" not in said["triangles"]
    assert "whatever they sent" in said["degrees"]


def test_reports_of_others_are_refused() -> None:
    people, reports, _ = told("position", "everybody")
    first, second = list(reports[1])[:2]
    swapped = reports | {1: reports[1] | {first: reports[1][second]}}
    with pytest.raises(ProtocolViolation):
        estimate_bytes(people.charter, people.view, swapped)
    other = replace(people.charter, title="another")
    assert other.identity != people.charter.identity
    found = json.loads(estimate_bytes(other, people.view, reports))
    assert found["campaign"] == other.identity


def test_degrees_are_published_without_their_owners() -> None:
    people = Population("degrees", ("degrees",))
    reports = people.answers(AWAY["some away"])
    found = json.loads(estimate_bytes(people.charter, people.view, reports))["estimates"]["degrees"]
    named = people.in_process(reports)["degrees"].as_dict(0.95)
    known = [user not in AWAY["some away"] for user in range(N)]
    kept, errors = (list(compress(named[name], known)) for name in ("value", "standard_error"))
    published = {"value": sorted(kept), "standard_error": [min(errors), max(errors)], "unbiased": True}
    assert found == {**published, "errors_are_for_release": True}
    assert found["value"] != kept, "in an order that is not the roster's"
    guesses = {value for value, is_known in zip(named["value"], known, strict=True) if not is_known}
    assert not guesses & set(found["value"]), "what is guessed of the absent is nobody's answer"


def test_degrees_from_bits_are_published_in_steps() -> None:
    """Their fractions follow from how many positions of each class a person has, which is public."""
    people = Population("position", ("degrees",))
    reports = people.answers(())
    found = json.loads(estimate_bytes(people.charter, people.view, reports))["estimates"]["degrees"]
    exact_ones = sorted(people.in_process(reports)["degrees"].as_dict(0.95)["value"])
    assert len({value % 1 for value in exact_ones}) > N / 2
    survey = cast(Any, people.terms.survey)
    step = max(float(score_of[1] - score_of[0]) for score_of in (survey.channel(kind).scores for kind in NON_PUBLIC))
    assert step > 1
    assert found["value"] == [round(step * round(value / step)) for value in exact_ones]
    assert not found["unbiased"]


def test_who_is_who_does_not_change_the_published_degrees() -> None:
    """People who exchange places in the list exchange nothing in what is published; with equal values too."""
    said = {"value": [4.0, 2.0, 4.0, 3.25], "standard_error": [1.0, 1.0, 0.5, 7.0]}
    turned = {name: list(reversed(each)) for name, each in said.items()}
    known = [True, True, True, False]
    published = {"value": [2.0, 4.0, 4.0], "standard_error": [0.5, 1.0], "unbiased": True}
    assert nameless(said, known) == nameless(turned, reversed(known)) == published


# ── in a process of its own ──


def test_answers_of_another_process_are_the_same_bytes() -> None:
    people, reports, data = told("position", "some away")
    assert OwnProcess()(people.charter, people.view, reports) == data


def test_why_a_process_made_no_answers() -> None:
    with pytest.raises(BadStatistic, match="nobody knows"):
        OwnProcess(campaign_estimators.impossible)()
    with pytest.raises(EstimateFailed, match=r"ended by SIGKILL, as where memory is short\. No report is lost"):
        OwnProcess(campaign_estimators.killed)()
    with pytest.raises(EstimateFailed, match="ended by ZeroDivisionError") as found:
        OwnProcess(campaign_estimators.failing)()
    assert "quote" not in str(found.value), "the words of a failure may quote what was sent"


def test_a_process_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "mark"
    monkeypatch.setenv(campaign_estimators.MARK, str(mark))
    own = OwnProcess(campaign_estimators.endless)
    assert not own.stop(), "nothing is being made"
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(own, 1, 2, {})
        while not mark.exists():
            time.sleep(0.01)
        assert own.stop()
        with pytest.raises(Stopped, match="was stopped"):
            making.result(30)
    assert not Path(f"/proc/{mark.read_text()}").exists()
    assert own(None, None, {}) == campaign_estimators.same(None, None, {}), "it may be asked for again"
