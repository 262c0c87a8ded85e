"""Private statistics on graphs whose edges are not all equally secret.

>>> import visibility_aware_edge_ldp as va
>>> graph = va.read_graph([("ann", "bob"), ("bob", "cem"), ("ann", "cem"), ("cem", "dua")])
>>> world = va.VisibilityAwareGraph(graph, va.VisibilityPolicy(public_fraction=0.5))
>>> answers = va.estimate(world, epsilon=1, statistics=["edges", "triangles"], seed=7)
>>> answers.bill
Bill(PRIVATE: ε = 1, FRIEND_VISIBLE: ε = 2)

Importing this package loads no graph code; each name is loaded when it is first used.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOMES = {
    "read_graph": "truth.readers",
    "read_ego_survey": "truth.ego_survey",
    "Graph": "truth.graph",
    "VisibilityAwareGraph": "model",
    "VisibilityPolicy": "model",
    "Visibility": "model",
    "FacebookDataset": "dataset",
    "VAEdgeLDPSystem": "guaranteed_dp",
    "estimate": "simulation.estimate",
    "estimate_streamed": "simulation.streamed_degrees",
    "publish": "simulation.publishing",
    "Answers": "aggregator.answers",
    "Estimate": "aggregator.estimate",
    "evaluate": "evaluation.trials",
    "compare": "evaluation.compare.comparison",
    "plan": "evaluation.plan.planner",
    "audit": "audit",  # the package itself, which can be called
    "Guarantee": "privacy",
    "VaEdgeLdpError": "errors",
    "BadInput": "errors",
}
__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.answers import Answers as Answers
    from visibility_aware_edge_ldp.aggregator.estimate import Estimate as Estimate
    from visibility_aware_edge_ldp.audit.runner import audit as audit
    from visibility_aware_edge_ldp.dataset import FacebookDataset as FacebookDataset
    from visibility_aware_edge_ldp.errors import BadInput as BadInput
    from visibility_aware_edge_ldp.errors import VaEdgeLdpError as VaEdgeLdpError
    from visibility_aware_edge_ldp.evaluation.compare.comparison import compare as compare
    from visibility_aware_edge_ldp.evaluation.plan.planner import plan as plan
    from visibility_aware_edge_ldp.evaluation.trials import evaluate as evaluate
    from visibility_aware_edge_ldp.guaranteed_dp import VAEdgeLDPSystem as VAEdgeLDPSystem
    from visibility_aware_edge_ldp.model import Visibility as Visibility
    from visibility_aware_edge_ldp.model import VisibilityAwareGraph as VisibilityAwareGraph
    from visibility_aware_edge_ldp.model import VisibilityPolicy as VisibilityPolicy
    from visibility_aware_edge_ldp.privacy import Guarantee as Guarantee
    from visibility_aware_edge_ldp.simulation.estimate import estimate as estimate
    from visibility_aware_edge_ldp.simulation.publishing import publish as publish
    from visibility_aware_edge_ldp.simulation.streamed_degrees import estimate_streamed as estimate_streamed
    from visibility_aware_edge_ldp.truth.ego_survey import read_ego_survey as read_ego_survey
    from visibility_aware_edge_ldp.truth.graph import Graph as Graph
    from visibility_aware_edge_ldp.truth.readers import read_graph as read_graph


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: TID251 - the one lazy door; _HOMES says where it leads

    home = import_module(f"{__name__}.{_HOMES[name]}")
    value = home if name == _HOMES[name] else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
