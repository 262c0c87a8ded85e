"""Tighter composition by an outside library, where it is installed."""

from __future__ import annotations

from collections.abc import Iterable

from visibility_aware_edge_ldp.errors import MissingPart
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneEdge


def optimal_epsilon(guarantees: Iterable[Guarantee[OneEdge]], delta: float) -> float:
    """The epsilon of all these together at this delta, by privacy loss distributions.  [COMPOSITION.5]

    An outside figure to compare with: the software's own promise is the sum.
    """
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise MissingPart("dp-accounting", "accounting", "Tighter composition") from error
    total = privacy_loss_distribution.identity()
    for guarantee in guarantees:
        parameters = common.DifferentialPrivacyParameters(float(guarantee.epsilon), float(guarantee.delta))
        total = total.compose(privacy_loss_distribution.from_privacy_parameters(parameters))
    return float(total.get_epsilon_for_delta(delta))
