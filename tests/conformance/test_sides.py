"""Every protocol has all its sides, each a file or an entry under its name, or it is said here why it has none."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

import visibility_aware_edge_ldp
from visibility_aware_edge_ldp.aggregator import COLLECTIONS
from visibility_aware_edge_ldp.audit.catalogue import STAGES
from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.evaluation.plan.predictions import PREDICTIONS
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.statistic import CLUSTERING, FAMILIES, STATISTICS
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.simulation.models import MODELS

SOURCE = Path(visibility_aware_edge_ldp.__file__).parent
# Sides that are tables by protocol, and why a protocol is not in one.
TABLES: dict[str, tuple[Collection[str], dict[str, str]]] = {
    "client": (CLIENTS, {}),
    "collection": (COLLECTIONS, {"curator": "each answer of a centre is an estimate by itself"}),
    "audit": (STAGES, {}),
}
# Sides that are tables by trust model.
BY_TRUST: dict[str, Collection[str]] = {"simulation": MODELS, "plan prediction": PREDICTIONS}
FOLDERS = ("public/surveys", "client", "aggregator", "audit/protocols")


@pytest.mark.parametrize("side", TABLES)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_has_this_side(name: str, side: str) -> None:
    table, without = TABLES[side]
    assert (name in table) != (name in without), f"{name} has no {side}: add it, or say in TABLES why it has none"


@pytest.mark.parametrize("side", BY_TRUST)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocols_trust_model_has_this_side(name: str, side: str) -> None:
    assert PROTOCOLS[name].trust.name in BY_TRUST[side], f"{name} has no {side}"


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_has_a_file_of_its_name(name: str, folder: str) -> None:
    assert (SOURCE / folder / f"{name}.py").is_file()


def test_every_trust_model_has_a_protocol() -> None:
    assert {each.trust.name for each in PROTOCOLS.values()} == set(TRUSTS)


def test_every_statistic_is_answered_by_some_protocol() -> None:
    answered = frozenset[str]().union(*(each.statistics for each in PROTOCOLS.values()))
    made = {name for name, each in STATISTICS.items() if each.derived is not None}
    # Clustering takes the reports of two protocols.
    assert answered | made | {*CLUSTERING} == {*STATISTICS, *FAMILIES}
    assert all(any(each.answers(name) for each in PROTOCOLS.values()) for name in made)
