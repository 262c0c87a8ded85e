"""A centre that publishes: the budget, the file that leaves, and what happens when it is stopped.  [CURATOR.6]"""

from __future__ import annotations

import json
import os
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import publishing_drill
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, UnusableLedger, create_ledger
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic, Refused
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation import publishing
from visibility_aware_edge_ldp.simulation.publishing import publish, spending
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(14, 40, 1)
WORLD = VisibilityAwareGraph(GRAPH, VisibilityPolicy("0.2", "0.3", "0.5"))


def test_the_same_request_again_writes_the_same_bytes_and_costs_nothing(tmp_path: Path) -> None:
    file, other, budget = tmp_path / "a.json", tmp_path / "b.json", tmp_path / "budget"
    first = publish(WORLD, file, budget, 1, ["edges", "triangles"], total=2)
    again = publish(WORLD, other, budget, "1.0", ["triangles", "edges"])
    assert (first.repeated, again.repeated) == (False, True)
    assert file.read_bytes() == other.read_bytes()
    assert again.spending.left == (1, 0)
    assert first["triangles"]["low"] <= first["triangles"]["value"] <= first["triangles"]["high"]


def test_what_would_exceed_the_total_is_refused_in_one_sentence(tmp_path: Path) -> None:
    budget = tmp_path / "budget"
    publish(WORLD, tmp_path / "a.json", budget, 1, "triangles", total="1.5", total_delta="1e-5")
    with pytest.raises(Refused, match=r"costs ε = 1 and 0\.5 of 1\.5 is left in the budget; nothing was computed"):
        publish(WORLD, tmp_path / "b.json", budget, 1, "stars:2")
    with pytest.raises(Refused, match=r"costs δ = 0\.0003 and 1e-05 of 1e-05 is left"):
        publish(WORLD, tmp_path / "b.json", budget, "0.1", "stars:2", delta="1e-4")
    assert not (tmp_path / "b.json").exists()
    assert spending(budget).left == (Fraction(1, 2), Fraction("1e-5"))
    assert publish(WORLD, tmp_path / "b.json", budget, "0.5", "stars:2").spending.left[0] == 0


def test_a_budget_belongs_to_one_graph_and_keeps_its_total(tmp_path: Path) -> None:
    budget, file = tmp_path / "budget", tmp_path / "a.json"
    with pytest.raises(BadInput, match=r"There is no budget .* --total 5"):
        publish(WORLD, file, budget, 1, "edges")
    publish(WORLD, file, budget, 1, "edges", total=2)
    for other in (VisibilityAwareGraph(erdos_renyi(14, 40, 2), WORLD.policy), GRAPH):
        with pytest.raises(Refused, match="another graph or another policy"):
            publish(other, tmp_path / "b.json", budget, "0.5", "edges")
    with pytest.raises(Refused, match="in total, which never changes"):
        publish(WORLD, tmp_path / "b.json", budget, "0.5", "edges", total=9)


def test_a_name_that_is_taken_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    budget, file, other = tmp_path / "budget", tmp_path / "a.json", tmp_path / "b.json"
    publish(WORLD, file, budget, 1, "edges", total=2)
    with pytest.raises(BadInput, match=r"holds something else.*Nothing was spent"):
        publish(WORLD, file, budget, "0.5", "edges")
    assert spending(budget).left == (1, 0)
    publish(WORLD, other, budget, "0.5", "edges")
    with pytest.raises(BadInput, match=r"holds something else.*What was spent is kept"):
        publish(WORLD, file, budget, "0.5", "edges")


def test_what_a_centre_does_not_answer_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    budget = tmp_path / "budget"
    with pytest.raises(BadStatistic, match="four_cycles was asked"):
        publish(WORLD, tmp_path / "a.json", budget, 1, "four_cycles", total=2)
    assert not budget.exists()
    publish(WORLD, tmp_path / "a.json", budget, 1, "edges", total=2)
    with pytest.raises(BadStatistic, match="four_cycles was asked"):
        publish(WORLD, tmp_path / "b.json", budget, "0.5", ["edges", "four_cycles"])
    assert spending(budget).left == (1, 0)


def test_a_scope_is_refused_for_two_would_have_a_budget_each(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="publish without a scope"):
        publish(WORLD.inside("public"), tmp_path / "a.json", tmp_path / "budget", 1, "edges", total=2)


def test_another_ledger_is_no_budget_and_an_older_copy_is_recognised(tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    create_ledger(stranger, Entry("caps", content=b"{}"))
    with pytest.raises(UnusableLedger, match="not a centre's budget"):
        publish(WORLD, tmp_path / "a.json", stranger, 1, "edges")
    budget = tmp_path / "budget"
    publish(WORLD, tmp_path / "a.json", budget, 1, "edges", total=3)
    old = budget.read_bytes()
    publish(WORLD, tmp_path / "b.json", budget, "0.5", "edges")
    budget.write_bytes(old)
    with pytest.raises(UnusableLedger, match="older copy"):
        publish(WORLD, tmp_path / "c.json", budget, "0.5", "edges")


ALLOWED = {
    "": {"schema", "nodes", "policy", "promise", "level", "estimates", "survey"},
    "promise": {"trust", "relation", "meaning", "loss_per_edge", "assumptions"},
    "estimate": {"value", "standard_error", "low", "high", "epsilon", "noise"},
}


def test_the_file_holds_only_what_may_leave(tmp_path: Path) -> None:
    """No true value, no noise scale, no number of edges; what is said of errors follows from released numbers."""
    publish(WORLD, tmp_path / "a.json", tmp_path / "budget", 1, ["edges", "triangles", "stars:3"], total=2)
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert found.keys() == ALLOWED[""]
    assert found["promise"].keys() == ALLOWED["promise"]
    assert all(each.keys() == ALLOWED["estimate"] for each in found["estimates"].values())
    assert found["promise"]["loss_per_edge"]["PRIVATE"] == {"epsilon": 1, "delta": 0}
    assert found["promise"]["loss_per_edge"]["FRIEND_VISIBLE"] == {"epsilon": 2, "delta": 0}


def test_two_at_once_tell_one_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have reserved and drawn before either stores: the second takes what the first has stored."""
    real, both = publishing.ask_within, threading.Barrier(2)

    def slowly(*given: Any, **named: Any) -> Any:
        found = real(*given, **named)
        both.wait(60)
        return found

    publish(WORLD, tmp_path / "first.json", tmp_path / "budget", "0.1", "edges", total=2)
    monkeypatch.setattr(publishing, "ask_within", slowly)
    files = [tmp_path / f"{name}.json" for name in "ab"]
    runs = [threading.Thread(target=publish, args=(WORLD, file, tmp_path / "budget", 1, "edges")) for file in files]
    for run in runs:
        run.start()
    for run in runs:
        run.join(120)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert spending(tmp_path / "budget").left[0] == Fraction("0.9")


def test_a_policy_that_was_paid_for_is_refused(tmp_path: Path) -> None:
    from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge, Release
    from visibility_aware_edge_ldp.public.visibility import Visibility

    prices = ((Visibility.PRIVATE, Guarantee(OneEdge, Fraction(1))),)
    paid = VisibilityPolicy.of(WORLD.policy.rule, (), WORLD.policy.multipliers, (Release("x", 1, prices),))
    with pytest.raises(Refused, match="chosen by looking"):
        publish(VisibilityAwareGraph(GRAPH, paid), tmp_path / "a.json", tmp_path / "budget", 1, "edges", total=2)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be split here")


@pytest.mark.long
@needs_fork
def test_no_kill_makes_a_second_release_or_loses_one() -> None:
    assert publishing_drill.drilled().is_safe


@needs_fork
@pytest.mark.long
@pytest.mark.parametrize("twin", publishing_drill.TWINS)
def test_a_twin_is_found_out(twin: str) -> None:
    assert not publishing_drill.drilled(publishing_drill.TWINS[twin]).is_safe


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_published_intervals_cover(delta: str) -> None:
    """200 intervals of two statistics, of which at least 95 % are promised to hold."""
    from visibility_aware_edge_ldp.public.statistic import exact
    from visibility_aware_edge_ldp.simulation.curator import Centre, ask_within

    world = VisibilityAwareGraph(erdos_renyi(60, 500, 3), VisibilityPolicy.nothing())
    known, held = Centre(world).worked_out, []
    for statistic in ("triangles", "stars:2"):
        truth = float(exact(world.graph, statistic))
        for seed in range(100):
            centre = Centre(world, worked_out=known)
            answers, _ = ask_within(centre, 2, delta, statistic, seed=f"cover {seed}", publish=True)
            low, high = answers[statistic].estimate.interval(0.95)
            held.append(low <= truth <= high)
    assert 0.91 <= np.mean(held) <= 0.99


JOINT = ("edges", "max_degree", "triangles", "stars:2", "stars:3")


@pytest.mark.long
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_intervals_of_several_statistics_from_one_budget_cover_together(delta: str) -> None:
    """Five statistics of 60 releases at ε = 4: each held 95 %, all five at once as often as independent noise has it.

    A twin that states the widths of a whole epsilon for each, where each got a fifth, is found out.
    """
    from visibility_aware_edge_ldp.public.statistic import exact
    from visibility_aware_edge_ldp.simulation.curator import Centre, ask_within

    world = VisibilityAwareGraph(erdos_renyi(40, 200, 3), VisibilityPolicy("0.2", "0.3", "0.5"))
    known, held, twin = Centre(world).worked_out, [], []
    truths = np.array([float(exact(world.graph, name)) for name in JOINT])
    for seed in range(60):
        centre = Centre(world, worked_out=known)
        answers, _ = ask_within(centre, 4, delta, list(JOINT), seed=f"joint {seed}", publish=True)
        low, high = np.array([answers[name].estimate.interval(0.95) for name in JOINT]).T
        middle = (low + high) / 2
        held.append((low <= truths) & (truths <= high))
        twin.append(np.abs(truths - middle) <= (high - low) / 2 / len(JOINT))
    each, together = np.mean(held, axis=0), float(np.mean(np.all(held, axis=1)))
    assert (each > 0.86).all(), each
    expected = float(np.prod(each))
    assert abs(together - expected) < 4 * (expected * (1 - expected) / 60) ** 0.5 + 1e-9
    assert together > 0.95 ** len(JOINT) - 4 * 0.055
    assert np.mean(np.all(twin, axis=1)) < 0.4
