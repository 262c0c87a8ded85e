"""The clients by the name of their protocol."""

from typing import Any

from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.groups import GroupClient
from visibility_aware_edge_ldp.client.histogram import HistogramClient
from visibility_aware_edge_ldp.client.hubs import HubClient
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Client
from visibility_aware_edge_ldp.client.rows import TwoRoundClient
from visibility_aware_edge_ldp.client.sample import SampledPositionClient

CLIENTS: dict[str, type[Client[Any, Any, Any]]] = {
    "position": PositionClient,
    "sample": SampledPositionClient,
    "degrees": DegreeClient,
    "groups": GroupClient,
    "histogram": HistogramClient,
    "rows": TwoRoundClient,
    "neighbourhood": NeighbourhoodClient,
    "hubs": HubClient,
    "curator": Curator,
}
"""Who answers each protocol's surveys; a plugin adds its own."""
