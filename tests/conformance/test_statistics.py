"""Every statistic has its words, its exact count, an estimator wherever a protocol promises one, and a row in a plan.

And what is estimated without bias is so, in every trust model that answers it.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from support.alarm import Z_LIMIT
from visibility_aware_edge_ldp.aggregator import COLLECTIONS
from visibility_aware_edge_ldp.campaign.server import page_labels
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS, answers
from visibility_aware_edge_ldp.public.statistic import (
    EVERYTHING,
    GRAPHLETS,
    SETS,
    SIDED,
    STATISTICS,
    exact,
    sources_of,
    statistic,
)
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

# All that have a name of their own and are not of people and places, and some of each family.
_PLAIN = (name for name, known in STATISTICS.items() if not known.bipartite)
NAMES = tuple(dict.fromkeys((*_PLAIN, *EVERYTHING, *SETS["summary"], "tail:2", "largest_degrees:3")))
GROUPS = Groups("number", ("a", "b"), np.arange(14) % 3 // 2)
WORLD = va.VisibilityAwareGraph(erdos_renyi(14, 40, 3), va.VisibilityPolicy("0.2", "0.3", "0.5")).grouped(GROUPS)
ANSWERED = [(trust.name, name) for trust in TRUSTS.values() for name in NAMES if answers(trust, name)]
# The rest are ratios, maxima and fitted distributions, whose estimators say that they are not without bias.
UNBIASED = {
    "edges",
    "triangles",
    "stars:2",
    "stars:3",
    "four_cycles",
    "mean_degree",
    "density",
    "degree_variance",
    "local_clustering",
    *GRAPHLETS,
}
RUNS = 60
# Where another collection takes the reports, and why.
_PLANES = "a PositionCollection, which keeps a plane of all positions, counts what needs pairs of positions"
ELSEWHERE = {("sample", name): _PLANES for name in NAMES if name == "four_cycles" or statistic(name).complete}


@pytest.mark.parametrize("name", NAMES)
def test_it_has_words_and_an_exact_count(name: str) -> None:
    known = statistic(name)
    assert known.label, f"{name} has no label"
    assert known.meaning, f"{name} has no meaning"
    assert page_labels.statistic(name), f"{name} has no label on a campaign's page"
    assert np.isfinite(np.asarray(exact(WORLD.graph, name), np.float64)).all()


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name in COLLECTIONS])
@pytest.mark.parametrize("name", NAMES)
def test_reports_that_answer_it_have_an_estimator(name: str, protocol: str) -> None:
    if PROTOCOLS[protocol].answers(name):
        estimators = COLLECTIONS[protocol].estimators
        there = all(statistic(each).kind in estimators for each in sources_of(name))
        assert there != ((protocol, name) in ELSEWHERE), f"{protocol} promises {name} and has no estimator for it"


@pytest.mark.parametrize(("trust", "name"), ANSWERED)
def test_a_plan_predicts_its_error_or_says_why_not(trust: str, name: str) -> None:
    row = va.plan(family=WORLD.graph, statistics=[name], epsilons=[2], trust=[trust]).row(trust, name, 2)
    assert row.standard_error > 0 or row.note, f"a plan says nothing about {name} in the {trust} model"


@pytest.mark.parametrize(("trust", "name"), [pair for pair in ANSWERED if pair[1] in UNBIASED])
def test_the_mean_of_its_estimates_is_the_truth(trust: str, name: str) -> None:
    found = [float(va.estimate(WORLD, trust, 4, [name], seed=seed)[name].value) for seed in range(RUNS)]
    spread = float(np.std(found, ddof=1)) / math.sqrt(RUNS)
    assert abs(np.mean(found) - exact(WORLD.graph, name)) <= Z_LIMIT * spread + 1e-9


# ── people and places, which have graphs of their own

VISITS = va.VisibilityAwareGraph(
    va.read_graph([(u, v) for u in range(12) for v in range(5) if (3 * u + v * v) % 4 == 0], bipartite=True),
    "profiles:0.2",
)
ON_PLACES = [(trust, name) for trust in ("position", "user") for name in SIDED]


@pytest.mark.parametrize("name", SIDED)
def test_it_has_words_an_exact_count_and_a_plan_that_cannot_tell(name: str) -> None:
    known = statistic(name)
    assert known.label, f"{name} has no label"
    assert known.meaning, f"{name} has no meaning"
    assert page_labels.statistic(name), f"{name} has no label on a campaign's page"
    assert np.isfinite(np.asarray(exact(VISITS.graph, name), np.float64)).all()
    with pytest.raises(va.BadInput, match="A plan cannot tell"):
        va.plan(family=VISITS.graph, statistics=[name])


@pytest.mark.parametrize(("trust", "name"), ON_PLACES)
def test_the_mean_of_its_estimates_on_people_and_places_is_the_truth(trust: str, name: str) -> None:
    runs = [va.estimate(VISITS, trust, 4, [name], seed=seed)[name] for seed in range(RUNS)]
    found, true = np.array([run.value for run in runs]), exact(VISITS.graph, name)
    spread = np.std(found, axis=0, ddof=1) / math.sqrt(RUNS)
    assert (np.abs(np.mean(found, axis=0) - true) <= Z_LIMIT * spread + 1e-9).all()
    assert all(np.shape(run.value) == np.shape(true) and run.unbiased for run in runs)
