"""The table of clients."""

from __future__ import annotations

from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.client.reporter import Client
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS


def test_every_protocol_has_a_client() -> None:
    assert CLIENTS.keys() == PROTOCOLS.keys()
    assert all(issubclass(client, Client) for client in CLIENTS.values())
