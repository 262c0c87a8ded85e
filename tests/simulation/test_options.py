"""Options belong to a trust model: validated once, and refused in one sentence elsewhere."""

from __future__ import annotations

from dataclasses import fields

import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.trust import CURATOR, NEIGHBOURHOOD, POSITION, TRUSTS, USER, Trust
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.options import (
    OPTIONS,
    Keywords,
    NeighbourhoodOptions,
    PositionOptions,
    UserOptions,
    options_for,
)
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(20, 40, 1), VisibilityPolicy.nothing())


def test_every_trust_model_has_options_and_every_keyword_an_owner() -> None:
    assert list(OPTIONS) == list(TRUSTS)
    owned = {each.name for kind in OPTIONS.values() for each in fields(kind)}
    assert owned == set(Keywords.__annotations__)
    for name, kind in OPTIONS.items():
        assert {each.name for each in fields(kind)} | {"dropout"} >= set(TRUSTS[name].options)


@pytest.mark.parametrize(
    ("trust", "given", "said"),
    [
        (USER, {"rounds": 2}, "Rounds and estimator belong to the position model, not to user; leave them out."),
        (CURATOR, {"estimator": "ipw_capped"}, "belong to the position model, not to curator"),
        (USER, {"work": 0.5}, "A share of the work is chosen in the position model, not in user"),
        (USER, {"sample_positions": "0.1"}, "A sample of positions is drawn in the position model"),
        (POSITION, {"sample_positions": "0.1", "work": 0.5}, "needs neither a share of the work nor an engine"),
        (USER, {"checkpoint": "kept"}, "A checkpoint is kept in the position model, not in user; leave it out."),
        (CURATOR, {"engine": "dask"}, "An engine works for the position and the user model, not for curator"),
        (POSITION, {"reporters": "hubs"}, "Reporters are chosen in the neighbourhood model, not in position"),
        (POSITION, {"hide": "degree"}, "in the user model 'degree'; got 'degree' in the position model"),
        (USER, {"hide": "nothing"}, "got 'nothing' in the user model"),
        (CURATOR, {"dropout": 0.5}, "cannot drop out"),
        (POSITION, {"estimator": "best"}, "'best' is not an estimator; use unbiased or ipw_capped."),
    ],
)
def test_what_belongs_to_another_model_is_refused(trust: Trust, given: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        options_for(trust, given)


def test_what_says_nothing_new_is_accepted_everywhere() -> None:
    same = {"rounds": 1, "work": None, "sample_positions": "1", "engine": None, "hide": "edge", "reporters": "auto"}
    for trust in (POSITION, USER, NEIGHBOURHOOD, CURATOR):
        assert options_for(trust, {**same, "delta": "1e-6", "degree_share": "0.5"}).delta == "1e-6"
    with pytest.raises(TypeError, match="unexpected keyword argument 'round'"):
        options_for(POSITION, {"round": 2})


def test_options_and_keywords_say_the_same_and_not_both() -> None:
    one = estimate(WORLD, "position", 1, ["edges"], seed=1, options=PositionOptions(rounds=2))
    assert one["edges"].value == estimate(WORLD, "position", 1, ["edges"], seed=1, rounds=2)["edges"].value
    for options, keywords in ((PositionOptions(), {"rounds": 2}), (NeighbourhoodOptions(), {})):
        with pytest.raises(BadInput, match="not as both"):
            estimate(WORLD, "position", 1, ["edges"], options=options, **keywords)  # type: ignore[arg-type]


def test_users_who_hide_their_degree_tell_its_bin() -> None:
    assert UserOptions(hide="degree").statistics == ("degree_histogram",)
    assert UserOptions().statistics == USER.defaults
