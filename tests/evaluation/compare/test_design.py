"""What a comparison runs: models, questions, options, and noise of their own."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import pytest

from support.comparisons import small
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic
from visibility_aware_edge_ldp.evaluation.compare import runner
from visibility_aware_edge_ldp.evaluation.compare.comparison import compared
from visibility_aware_edge_ldp.evaluation.compare.design import (
    Cell,
    Design,
    designed,
    questions_for,
    trust_models,
)
from visibility_aware_edge_ldp.evaluation.compare.runner import Checkpoint
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi


@pytest.mark.parametrize(
    ("trust", "models"),
    [
        ("all", tuple(TRUSTS)),
        ("curator, user", ("user", "curator")),
        (["position"], ("position",)),
        ("user,user", ("user",)),
    ],
)
def test_trust_models_by_name(trust: Any, models: tuple[str, ...]) -> None:
    assert trust_models(trust) == models


@pytest.mark.parametrize("trust", ["all,user", "nobody", "", []])
def test_other_trust_models_are_refused(trust: Any) -> None:
    with pytest.raises(BadInput, match="use all, or some of position"):
        trust_models(trust)


def test_each_model_answers_what_it_can() -> None:
    found = questions_for(tuple(TRUSTS), "edges,triangles,tail:3,transitivity,stars:4", 40)
    assert found == {
        "position": ("edges", "triangles", "transitivity", "stars:4"),
        "user": ("edges", "triangles", "tail:3", "transitivity", "stars:4"),
        "neighbourhood": ("triangles",),
        "curator": ("edges", "triangles", "stars:4"),
    }
    assert "neighbourhood" not in questions_for(tuple(TRUSTS), "edges", 40)
    with pytest.raises(BadStatistic, match="tail:3 is not answered in the model position, curator; use user"):
        questions_for(("position", "curator"), "edges,tail:3", 40)


def test_nobody_pays_for_questions_that_others_are_not_asked() -> None:
    found = questions_for(tuple(TRUSTS), None, 40)
    assert all(set(names) <= set(found["position"]) for names in found.values())
    assert "stars:3" not in questions_for(tuple(TRUSTS), None, 3)["curator"]


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


@pytest.mark.parametrize("seed", [5, None])
def test_every_cell_has_noise_of_its_own(seed: int | None) -> None:
    """A centre that is asked twice repeats itself; each trial must have a new one."""
    design = small(trust="all", epsilons=("0.1", "0.2"), trials=3, statistics="triangles", seed=seed)
    found = runner.Workers(design).run(Checkpoint(None, design))
    for trust in TRUSTS:
        values = [t.found["triangles"].value for cell, t in found.items() if cell.trust == trust]
        assert len(values) == 2 * 2 * 3
        assert len(set(values)) >= 11, trust


def test_the_first_trial_draws_histograms_where_they_are_free() -> None:
    asked = {trust: small(trust="all").asked(Cell(trust, AWARE, Fraction(1), 0)) for trust in TRUSTS}
    assert {trust for trust, names in asked.items() if "degree_histogram" in names} == {"position", "user"}
    # Users asked for triangles alone would have to pay for their degrees.
    assert small(trust="user", statistics="triangles").asked(Cell("user", AWARE, Fraction(1), 0)) == ("triangles",)
    assert small(trust="user").asked(Cell("user", AWARE, Fraction(1), 1)) == ("edges", "triangles")


def test_a_design_can_be_sent() -> None:
    design = small(trust="all")
    assert design.worlds[AWARE].public.positions
    sent: Design = pickle.loads(pickle.dumps(design))
    assert "worlds" not in vars(sent)
    assert sent.digest("user", AWARE) == design.digest("user", AWARE)


def test_a_policy_that_was_bought_leaves_less_for_its_collections() -> None:
    """[HUBS.2] Everybody loses the same by all that was ever reported."""
    design = designed(erdos_renyi(30, 90, 1), open_policy("hubs:3,epsilon=0.25"), ["1"], 1, "edges", "position", seed=1)
    assert (design.paid(AWARE), design.paid(UNIFORM)) == (Fraction(1, 4), 0)
    assert (design.left(AWARE, Fraction(1)), design.left(UNIFORM, Fraction(1))) == (Fraction(3, 4), 1)
    cells = {cell.policy: runner.run_cell(design, cell) for cell in design.cells}
    own = estimate(design.worlds[AWARE], "position", "0.75", ("edges",), seed=design.label(design.cells[0]))
    assert cells[AWARE].found["edges"].value == own["edges"].value
    told = compared(design, {cell: cells[cell.policy] for cell in design.cells})
    assert told.policy.endswith("; choosing it cost ε = 0.25 of each loss")


def test_trials_of_a_policy_are_not_those_of_the_same_policy_at_another_price() -> None:
    """[HUBS.2] The same hubs, for more or for nothing, leave another part of ε to the collection."""
    bought = [
        designed(erdos_renyi(30, 90, 1), open_policy(f"hubs:30,epsilon={price}"), ["1"], 1, "edges", "position", seed=1)
        for price in ("0.25", "0.5")
    ]
    assert bought[0].worlds[AWARE].policy.digest == bought[1].worlds[AWARE].policy.digest
    assert bought[0].digest("position", AWARE) != bought[1].digest("position", AWARE)
    assert bought[0].digest("position", UNIFORM) == bought[1].digest("position", UNIFORM)


def test_what_a_choice_leaves_nothing_of_is_refused() -> None:
    with pytest.raises(BadInput, match=r"leaves nothing of ε = 0\.25"):
        designed(erdos_renyi(30, 90, 1), open_policy("hubs:3,epsilon=0.25"), ["1", "0.25"], 1, "edges", "position")
