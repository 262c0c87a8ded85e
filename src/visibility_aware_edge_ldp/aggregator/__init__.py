"""The untrusted side: sees surveys, reports and public views, never a private bit.

``COLLECTIONS`` says which collection takes the reports of which protocol.
"""

from visibility_aware_edge_ldp.aggregator.collection import COLLECTIONS
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.groups import GroupCollection
from visibility_aware_edge_ldp.aggregator.histogram import HistogramCollection
from visibility_aware_edge_ldp.aggregator.hubs import HubCollection
from visibility_aware_edge_ldp.aggregator.neighbourhood import NeighbourhoodCollection
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.rows import RowCollection
from visibility_aware_edge_ldp.aggregator.sample import SampledCollection

__all__ = ["COLLECTIONS"]

COLLECTIONS.update(
    (each.protocol, each)
    for each in (
        PositionCollection,
        SampledCollection,
        DegreeCollection,
        GroupCollection,
        HistogramCollection,
        RowCollection,
        NeighbourhoodCollection,
        HubCollection,
    )
)
# A curator has none: each of its answers is an estimate by itself, see ``aggregator.curator``.
