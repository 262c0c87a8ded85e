"""Document 001's system: its example runs as printed, and its proofs are true."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp import guaranteed_dp
from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.guaranteed_dp import VAEdgeLDPSystem
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.curator import curator_survey
from visibility_aware_edge_ldp.simulation.curator import split
from visibility_aware_edge_ldp.truth.readers import read_graph
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, facebook_like

EXAMPLE = """
from visibility_aware_edge_ldp.guaranteed_dp import VAEdgeLDPSystem
from visibility_aware_edge_ldp.dataset import FacebookDataset
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy

# Load dataset
dataset = FacebookDataset()
G = dataset.G

# Define visibility policy
policy = VisibilityPolicy(
    public_fraction=0.15,
    friend_visible_fraction=0.35,
    private_fraction=0.50
)
va_graph = VisibilityAwareGraph(G, policy)

# Initialize LDP system with privacy parameters
epsilon = 1.0
delta = 1e-6
system = VAEdgeLDPSystem(epsilon, delta)

# Run all queries with guaranteed (ε, δ)-LDP
results = system.run_all(va_graph)

# Access results with proofs
for query_name, data in results.items():
    if query_name != '_composition':
        print(f"{query_name}: {data['value']:.0f}")
        print(f"  Guarantee: {data['proof']['guarantee']}")
"""


def test_the_example_of_document_001_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        exec(compile(EXAMPLE, "document 001, section 8.2", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 12
    assert [line.split(":")[0] for line in printed[::2]] == [
        "edges",
        "max_degree",
        "triangles",
        "stars",
        "stars",
        "stars",
    ]
    assert all("central (not local)" in line for line in printed[1::2])


@pytest.fixture(scope="module")
def world() -> VisibilityAwareGraph:
    return VisibilityAwareGraph(erdos_renyi(60, 400, 2), VisibilityPolicy("0.15", "0.35", "0.5"))


def test_a_proof_holds_what_a_reader_can_check(world: VisibilityAwareGraph) -> None:
    results = VAEdgeLDPSystem(1, "1e-6").run_all(world, seed=1)
    for name, data in results.items():
        if name == "_composition":
            continue
        proof = data["proof"]
        assert proof["loss"]["PRIVATE"]["epsilon"] == 1
        assert proof["loss"]["FRIEND_VISIBLE"]["epsilon"] == 2
        assert "central" in proof["trust_model"]
        assert proof["smooth_sensitivity"] >= proof["local_sensitivity"] * 0.999
        assert data["interval"][0] <= data["value"] <= data["interval"][1]
        assert ("noise_scale" in proof["not_for_release"]) == (name not in ("edges", "max_degree"))
    total = results["_composition"]
    assert (total["releases"], total["epsilon"], total["bill"]["FRIEND_VISIBLE"]["epsilon"]) == (6, 6, 12)
    assert total["delta"] == pytest.approx(4e-6)
    if total["tighter"]["epsilon"] is not None:
        assert total["tighter"]["epsilon"] <= 6.001


def test_one_budget_for_all_is_never_exceeded_and_equalises_errors() -> None:
    world = VisibilityAwareGraph(facebook_like(), VisibilityPolicy.nothing())
    results = VAEdgeLDPSystem(total_epsilon=3).run_all(world, seed=2)
    assert results["_composition"]["epsilon"] <= 3
    assert results["_composition"]["epsilon"] > 2.9
    spent = [data["proof"]["loss"]["PRIVATE"]["epsilon"] for name, data in results.items() if name != "_composition"]
    assert len(set(spent)) > 1
    even = VAEdgeLDPSystem(0.5).run_all(world, seed=2)
    assert worst_error(results, world) < worst_error(even, world)


def worst_error(results: dict[str, Any], world: VisibilityAwareGraph) -> float:
    return max(d["standard_error"] / exact(world.graph, n) for n, d in results.items() if n != "_composition")


def test_shares_never_sum_to_more_than_one() -> None:
    rough = {"edges": 1e5, "max_degree": 1045.0, "triangles": 1.6e6, "stars:2": 9.3e6, "stars:3": 7e8}
    shares = split(rough, list(rough), 1.0)
    assert 0.99 < sum(shares) <= 1
    assert shares[-1] == max(shares)
    assert len(set(split(rough, list(rough), 1e-9))) == 1


def test_without_a_centre_errors_are_larger(world: VisibilityAwareGraph) -> None:
    results = VAEdgeLDPSystem(1).run_all(world, ["edges", "triangles"], seed=3, without_centre=True)
    for name in ("edges", "triangles"):
        assert results[name]["without_centre"]["standard_error"] > results[name]["standard_error"]


@pytest.mark.parametrize("bad", [{"epsilon": 0}, {"delta": 1}, {"delta": -1}, {"total_epsilon": -1}])
def test_bad_parameters_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadPrivacyParameter):
        VAEdgeLDPSystem(**bad)


def test_the_module_prints_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guaranteed_dp, "default_graph", lambda: (erdos_renyi(50, 200, 1), True))
    guaranteed_dp.main()
    printed = capsys.readouterr().out
    assert "stars:4" in printed
    assert "central (not local)" in printed


# -- the figures on the real graph ------------------------------------------------------------------------------

LIMITS = {"edges": 0.0012e-2, "max_degree": 0.1e-2, "triangles": 0.04e-2, "stars:2": 0.06e-2, "stars:3": 0.35e-2}


@pytest.fixture(scope="module")
def facebook(data_folder: Any) -> Any:
    path: Path = data_folder / "facebook_combined.txt.gz"
    return read_graph(path)


def mean_errors(world: VisibilityAwareGraph, delta: str, draws: int = 1000) -> dict[str, float]:
    """Mean relative error over draws of each query's own noise."""
    centre = Curator(WholeGraph(world.graph.n, world.graph.edges), world.public, Purse({}))
    errors = {}
    for query in curator_survey(world.public, 1, delta, list(LIMITS)).queries:
        law = centre.law(query)
        assert law is not None
        drawn = law.sample_many(draws, keyed_coins(seeded_key("thousand draws", query.statistic)))
        errors[query.statistic] = float(np.abs(drawn).mean()) / exact(world.graph, query.statistic)
    return errors


def test_errors_on_facebook(facebook: Any) -> None:
    nothing = mean_errors(VisibilityAwareGraph(facebook, VisibilityPolicy.nothing()), "1e-6")
    for name, limit in LIMITS.items():
        assert nothing[name] <= limit, name
    pure = mean_errors(VisibilityAwareGraph(facebook, VisibilityPolicy.nothing()), "0")
    assert pure["triangles"] <= 0.03e-2
    document = mean_errors(VisibilityAwareGraph(facebook, VisibilityPolicy("0.15", "0.35", "0.5")), "1e-6")
    for name in LIMITS:
        assert document[name] <= nothing[name] * 1.0001, name
