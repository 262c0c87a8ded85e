"""Comparisons over all trust models: equal loss, fresh noise, every core, and nothing lost when stopped."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from visibility_aware_edge_ldp.errors import BadInput, BadStatistic, TooLarge
from visibility_aware_edge_ldp.evaluation.compare import kept as kept_module
from visibility_aware_edge_ldp.evaluation.compare import runner
from visibility_aware_edge_ldp.evaluation.compare.design import (
    AWARE,
    MODELS,
    UNIFORM,
    Cell,
    Design,
    designed,
    questions_for,
    trust_models,
)
from visibility_aware_edge_ldp.evaluation.compare.kept import Kept
from visibility_aware_edge_ldp.evaluation.comparison import Comparison, compare, compared
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy.composition import Bill
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.centre import ask_within
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.memory import BASE
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(40, 200, 1)
POLICY = VisibilityPolicy("0.2", "0.3", "0.5")


def small(**changes: Any) -> Design:
    given = {"epsilons": (1,), "trials": 2, "statistics": ("edges", "triangles"), "seed": 5, **changes}
    return designed(GRAPH, given.pop("policy", POLICY), **given)


def finished(design: Design, folder: Path | None = None, cores: int = 1) -> Comparison:
    return compared(design, runner.run(design, Kept(folder, design), cores=cores))


def same(one: Comparison, other: Comparison) -> bool:
    """But for the seconds, which nobody can repeat."""
    rows = [[replace(row, seconds=0.0) for row in (*found.aware, *found.uniform)] for found in (one, other)]
    return str(rows[0]) == str(rows[1])  # NaN is not itself, but its name is


# --- what is compared ----------------------------------------------------------------------------


def test_every_model_under_both_policies_at_every_epsilon() -> None:
    found = compare(GRAPH, POLICY, (1, 2), 1, trust="all", seed=1)
    assert found.models == list(MODELS)
    assert len(found.aware) == 2 * (7 + 6 + 1 + 5)
    assert [(r.trust, r.epsilon, r.statistic) for r in found.aware] == [
        (r.trust, r.epsilon, r.statistic) for r in found.uniform
    ]
    assert found.aware.row(2, "triangles", "curator").trust == "curator"
    assert found.aware.row(2, "triangles").trust == "position"
    assert len(found.notes) == 4


@pytest.mark.parametrize(
    ("trust", "models"),
    [("all", MODELS), ("curator, user", ("user", "curator")), (["position"], ("position",)), ("user,user", ("user",))],
)
def test_trust_models_by_name(trust: Any, models: tuple[str, ...]) -> None:
    assert trust_models(trust) == models


@pytest.mark.parametrize("trust", ["all,user", "nobody", "", []])
def test_other_trust_models_are_refused(trust: Any) -> None:
    with pytest.raises(BadInput, match="use all, or some of position"):
        trust_models(trust)


def test_each_model_answers_what_it_can() -> None:
    found = questions_for(MODELS, "edges,triangles,tail:3,transitivity,stars:4", 40)
    assert found == {
        "position": ("edges", "triangles", "transitivity", "stars:4"),
        "user": ("edges", "triangles", "tail:3", "transitivity", "stars:4"),
        "neighbourhood": ("triangles",),
        "curator": ("edges", "triangles", "stars:4"),
    }
    assert "neighbourhood" not in questions_for(MODELS, "edges", 40)
    with pytest.raises(BadStatistic, match="tail:3 is not answered in the model position, curator; use user"):
        questions_for(("position", "curator"), "edges,tail:3", 40)


def test_nobody_pays_for_questions_that_others_are_not_asked() -> None:
    found = questions_for(MODELS, None, 40)
    assert all(set(names) <= set(found["position"]) for names in found.values())
    assert "stars:3" not in questions_for(MODELS, None, 3)["curator"]


def test_options_go_to_the_models_that_take_them() -> None:
    design = small(trust="all", options={"rounds": 2, "delta": "1e-6"})
    assert design.options == {
        "position": {"rounds": 2},
        "user": {},
        "neighbourhood": {"delta": "1e-6"},
        "curator": {"delta": "1e-6"},
    }
    with pytest.raises(BadInput, match="takes the option 'degree_share'"):
        small(trust="curator", options={"degree_share": "0.5"})


# --- at equal loss -------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", 0), ("4", "1e-3")])
def test_no_model_loses_more_than_epsilon_per_edge(
    epsilon: str, delta: str | int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bills: dict[str, Bill] = {}

    def watched_centre(*given: Any, **more: Any) -> Any:
        answers, surveys = ask_within(*given, **more)
        bills["curator"] = Bill([release for survey in surveys for release in survey.releases])
        return answers, surveys

    def watched(world: VisibilityAwareGraph, trust: str, *given: Any, **more: Any) -> Any:
        answers = estimate(world, trust, *given, **more)
        bills[trust] = answers.bill
        return answers

    monkeypatch.setattr(runner, "ask_within", watched_centre)
    monkeypatch.setattr(runner, "estimate", watched)
    design = designed(GRAPH, POLICY, [epsilon], 1, None, "all", 1, {"delta": delta})
    for policy in (AWARE, UNIFORM):
        bills.clear()
        for trust in MODELS:
            runner.run_cell(design, Cell(trust, policy, Fraction(epsilon), 1))
        assert bills.keys() == set(MODELS)
        for trust, bill in bills.items():
            loss = bill[Visibility.PRIVATE]
            assert Fraction(epsilon) * Fraction(9, 10) <= loss.epsilon <= Fraction(epsilon), trust
            assert loss.delta <= Fraction(delta), trust
            friends = bill.get(Visibility.FRIEND_VISIBLE)
            assert friends is None or friends.epsilon <= 2 * Fraction(epsilon), trust


def test_a_centre_that_pays_for_each_question_would_be_caught() -> None:
    """The broken twin: what ``estimate`` does costs five times as much."""
    bill = estimate(small().worlds[AWARE], "curator", 1, questions_for(MODELS, None, 40)["curator"]).bill
    assert bill[Visibility.PRIVATE].epsilon == 5


# --- fresh noise ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [5, None])
def test_every_cell_has_noise_of_its_own(seed: int | None) -> None:
    """A centre that is asked twice repeats itself; each trial must have a new one."""
    design = small(trust="all", epsilons=("0.1", "0.2"), trials=3, statistics="triangles", seed=seed)
    found = runner.run(design, Kept(None, design))
    for trust in MODELS:
        values = [t.found["triangles"].value for cell, t in found.items() if cell.trust == trust]
        assert len(values) == 2 * 2 * 3
        assert len(set(values)) >= 11, trust


def test_the_first_trial_draws_histograms_where_they_are_free() -> None:
    asked = {trust: small(trust="all").asked(Cell(trust, AWARE, Fraction(1), 0)) for trust in MODELS}
    assert {trust for trust, names in asked.items() if "degree_histogram" in names} == {"position", "user"}
    # Users asked for triangles alone would have to pay for their degrees.
    assert small(trust="user", statistics="triangles").asked(Cell("user", AWARE, Fraction(1), 0)) == ("triangles",)
    assert small(trust="user").asked(Cell("user", AWARE, Fraction(1), 1)) == ("edges", "triangles")


def test_what_is_all_public_is_exact_without_a_centre_too() -> None:
    found = compare(GRAPH, VisibilityPolicy(1), (1,), 1, ("edges", "triangles"), trust="all", seed=1)
    assert all(row.mean_relative_error == 0 for row in found.aware)


# --- stopped, and gone on with -------------------------------------------------------------------


def test_nothing_finished_is_lost(tmp_path: Path) -> None:
    design, whole = small(trust="all", trials=3), finished(small(trust="all", trials=3))

    class StoppedError(Exception):
        pass

    def stop_after_ten(_: int) -> None:
        if len((tmp_path / "new" / "trials.jsonl").read_text().splitlines()) == 10:
            raise StoppedError

    with pytest.raises(StoppedError):
        runner.run(design, Kept(tmp_path / "new", design), stop_after_ten)
    kept = Kept(tmp_path / "new", design)
    assert len(kept.trials) == 10
    assert len(runner.missing(design, kept)) == len(design.cells) - 10 == 3 * 4 * 2 - 10
    again = compared(design, runner.run(design, kept))
    assert same(again, whole)
    assert again.histograms == whole.histograms


def test_more_trials_and_other_epsilons_go_on_from_the_same_file(tmp_path: Path) -> None:
    finished(small(), tmp_path)
    more = small(trials=3, epsilons=(1, 2))
    assert len(Kept(tmp_path, more).trials) == 2 * 2 * 4
    assert same(finished(more, tmp_path), finished(more))


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 6},
        {"statistics": ("edges",)},
        {"options": {"dropout": 0.1}, "trust": ("position", "user")},
        {"epsilons": (2,)},
    ],
    ids=str,
)
def test_trials_of_another_run_are_not_taken(tmp_path: Path, changes: dict[str, Any]) -> None:
    finished(small(trust=("position", "user")), tmp_path)
    other = small(**{"trust": ("position", "user"), **changes})
    assert not Kept(tmp_path, other).trials
    finished(other, tmp_path)
    assert len(Kept(tmp_path, small(trust=("position", "user"))).trials) == 8


def test_trials_of_another_graph_policy_or_version_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = small(trust="user")
    finished(design, tmp_path)
    assert len(Kept(tmp_path, design).trials) == 4
    assert not Kept(tmp_path, replace(design, graph=erdos_renyi(40, 200, 2))).trials
    # The uniform half does not depend on the policy.
    assert {cell.policy for cell in Kept(tmp_path, small(trust="user", policy=VisibilityPolicy("0.3"))).trials} == {
        UNIFORM
    }
    guarded = POLICY.guarded(3, 1)
    assert not Kept(tmp_path, small(trust="user", policy=guarded)).trials
    monkeypatch.setattr("visibility_aware_edge_ldp.evaluation.compare.design.software", lambda: "another")
    assert not Kept(tmp_path, design).trials


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    design = small(trust="user")
    whole = finished(design, tmp_path)
    path = tmp_path / "trials.jsonl"
    path.write_bytes(b"not json\n[]\n{}\n" + path.read_bytes()[:-40])
    kept = Kept(tmp_path, design)
    assert len(kept.trials) == 3
    assert same(compared(design, runner.run(design, kept)), whole)
    assert len(Kept(tmp_path, design).trials) == 4


def test_lines_are_json_even_where_numbers_are_not_finite(tmp_path: Path) -> None:
    empty = erdos_renyi(12, 1, 1)
    design = designed(empty, POLICY, [1], 1, ("triangles", "degrees"), "position", 1)
    one = finished(design, tmp_path)
    assert one.aware.row(1, "triangles").mean_relative_error == float("inf")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    for line in (tmp_path / "trials.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse)
    assert same(finished(design, tmp_path), one)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(BadInput, match=r"cannot be kept in .*Choose another folder"):
        finished(small(trust="user"), tmp_path / "file")


def test_nothing_is_kept_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finished(small())
    assert os.listdir(tmp_path) == []


# --- on all cores --------------------------------------------------------------------------------


def test_other_processes_give_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(runner, "run_cell", None)  # nothing runs here
    steps: list[int] = []
    before = dict(os.environ)
    design = small(trust="all")
    trials = runner.run(design, Kept(tmp_path, design), steps.append, cores=2)
    assert dict(os.environ) == before
    monkeypatch.undo()
    assert len(steps) == len(design.cells)
    assert same(compared(design, trials), finished(small(trust="all")))
    assert len(Kept(tmp_path, design).trials) == len(design.cells)


def test_trouble_elsewhere_is_trouble_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ALONE_SECONDS", 0.0)
    with pytest.raises(BadInput, match="too small"):
        finished(small(epsilons=("1e-30",)), cores=2)


def test_a_process_that_is_ended_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(runner, "_run_there", end_at_once)
    with pytest.raises(TooLarge, match="finished trials are kept"):
        finished(small(), cores=2)


def end_at_once(_: Cell) -> None:
    os._exit(9)


def test_a_design_can_be_sent() -> None:
    design = small(trust="all")
    assert design.worlds[AWARE].public.positions
    sent: Design = pickle.loads(pickle.dumps(design))
    assert "worlds" not in vars(sent)
    assert sent.digest("user", AWARE) == design.digest("user", AWARE)


def test_as_many_processes_as_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "largest_need", lambda _: 100)
    for free, fitting in ((350, 3), (100, 1), (10, 1)):
        monkeypatch.setattr(runner, "available_bytes", lambda free=free: free)
        assert runner.fitting(small()) == fitting


def test_the_largest_trial_says_what_is_needed() -> None:
    both, alone = (runner.largest_need(small(trust=trust)) for trust in (["position", "curator"], "curator"))
    assert both > alone
    memory, seconds, processes = runner.foretold(small(), 2, 1)
    assert (memory, processes) == (runner.largest_need(small()), 1)
    assert 0 < seconds < 1


def test_processes_side_by_side_share_the_time_and_add_up_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "seconds_of", lambda _run, times: 10.0 * times)
    design = small()
    memory, seconds, processes = runner.foretold(design, 4, 2)
    assert (seconds, processes) == (20.0, 3)
    assert memory == BASE + 2 * runner.largest_need(design)


def test_the_file_s_name_is_the_documented_one() -> None:
    assert kept_module.FILE == "trials.jsonl"
