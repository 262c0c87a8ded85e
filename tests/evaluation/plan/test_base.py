"""What a plan says of bytes, against the bytes that clients send."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.evaluation.plan.base import ALL
from visibility_aware_edge_ldp.evaluation.plan.predictions import PREDICTIONS
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import degrees
from visibility_aware_edge_ldp.public.surveys import position as codec
from visibility_aware_edge_ldp.public.surveys.curator import CuratorReport, encode_answer
from visibility_aware_edge_ldp.public.surveys.hubs import HubReport, encode_hub
from visibility_aware_edge_ldp.public.surveys.neighbourhood import NeighbourhoodReport, encode_owned
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.public.surveys.rows import RowReport, encode_rows
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(200, 2000, 4)
NAME, ONE = "ab" * 32, np.array([True])
NUMBER = np.array([7], np.int64)
HUBS = VisibilityPolicy.public_profiles("0.4")


def row_bytes() -> float:
    """The mean over all users of a report of their rows."""
    lengths = [GRAPH.n - 1 - user for user in range(GRAPH.n)]
    packed = [bytes((length + 7) // 8) for length in lengths]
    reports = [PositionReport(NAME, 1, 0, length, bits, bits) for length, bits in zip(lengths, packed, strict=True)]
    return float(np.mean([len(codec.encode(report)) for report in reports]))


def sent(trust: str) -> float:
    degree = len(degrees.encode(degrees.degree_report(NAME, 3, ONE, NUMBER[None])))
    total = len(encode_rows(RowReport(NAME, NAME, 3, ONE, NUMBER, NUMBER)))
    owned = len(encode_owned(NeighbourhoodReport(NAME, 3, ONE, NUMBER)))
    return {
        "position": row_bytes(),
        "user": degree + row_bytes() + total,
        "neighbourhood": degree + owned,
        "hubs": len(encode_hub(HubReport(NAME, 3, (7,), 0))),
        "curator": 2 * len(encode_answer(CuratorReport(NAME, 0, 5, "cd" * 16))),
    }[trust]


@pytest.mark.parametrize("trust", ["position", "user", "neighbourhood", "hubs", "curator"])
def test_bytes_up_are_those_of_the_wire(trust: str) -> None:
    world = VisibilityAwareGraph(GRAPH, HUBS if trust == "hubs" else VisibilityPolicy.nothing())
    cost = PREDICTIONS["neighbourhood" if trust == "hubs" else trust].cost(world, ["edges", "triangles"], ALL)
    assert cost.bytes_up == pytest.approx(sent(trust), rel=0.05)


def test_users_hear_all_first_answers_and_who_gave_them() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    assert PREDICTIONS["user"].cost(world, ["triangles"], ALL).bytes_down == pytest.approx(2 * 200 * 199 / 16, rel=0.1)
    assert PREDICTIONS["user"].cost(world, ["edges"], ALL).bytes_down < 1000
