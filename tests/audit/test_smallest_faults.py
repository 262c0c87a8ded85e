"""How small a fault is seen: the best of all ways, for each mechanism and class."""

from __future__ import annotations

import math

import pytest

from visibility_aware_edge_ldp.audit.catalogue import ALL, REAL_NAMES, Choice
from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss
from visibility_aware_edge_ldp.audit.runner import Audited, Outcome
from visibility_aware_edge_ldp.audit.smallest_faults import WHY, factor_of, smallest_faults, subject
from visibility_aware_edge_ldp.audit.tables import failures, faults_table


def outcome(name: str, way: str, *losses: Loss) -> Outcome:
    return Outcome(name, way, "", "", Finding(name, way, losses, 10, ""), "", 1.0)


def test_names_without_how() -> None:
    assert subject("user triangles, at size") == subject("user triangles, two rounds") == "user triangles"
    assert subject("neighbourhood (a), clipped, at size") == "neighbourhood (a), clipped"


def test_the_best_way_counts() -> None:
    faults = smallest_faults(
        [
            outcome("rows, two rounds", "exact", Loss("PRIVATE", 2, 1.0)),
            outcome("rows, at size", "exact", Loss("PRIVATE", 1, 0.8)),
            outcome("rows, two rounds", "statistical", Loss("PRIVATE", 1, 0.9, visible=1.1)),
            outcome("rows, many at once", "exact", Loss("differences", 0, 0)),
            outcome("rows, paced", "time", Loss("time", 4.5, 1.0)),
        ]
    )
    (row,) = faults
    assert (row.mechanism, row.kind, row.factor, row.way) == ("rows", "PRIVATE", 1.1, "statistical")
    assert row.part == pytest.approx(0.9)
    assert row.as_dict()["class"] == "PRIVATE"
    assert faults_table(faults).rows == (("rows", "PRIVATE", "0.900", "1.100", "statistical", "-"),)


def test_a_bound_that_is_not_tight_is_explained() -> None:
    name = "neighbourhood (a), weighted"
    (row,) = smallest_faults([outcome(f"{name}, at size", "exact", Loss("PRIVATE", 1, 0.5))])
    assert row.why == WHY[name]
    assert row.factor == 2


def test_a_whole_run_fails_where_nobody_says_why_a_bound_is_not_tight() -> None:
    slack = outcome("user degrees, at size", "exact", Loss("PRIVATE", 1, 0.8))
    whole = Audited(Choice(), (slack,), (), 1.0, 1)
    assert not whole.passed
    assert failures(whole) == [
        "user degrees, PRIVATE: 0.800 of the claim was found, and nobody says why the bound is not tight "
        "(audit.smallest_faults.WHY)"
    ]
    for choice in (Choice(mechanism="user"), Choice(way="exact"), Choice(runs=1000)):  # what finds more is left out
        assert Audited(choice, (slack,), (), 1.0, 1).passed
    theirs = outcome("my own, at size", "exact", Loss("PRIVATE", 1, 0.8))
    assert Audited(Choice(), (theirs,), (), 1.0, 1).passed
    known = outcome("scope, user triangles", "exact", Loss("PRIVATE", 1, 0.8))
    assert Audited(Choice(ALL, ALL), (known,), (), 1.0, 1).passed


def test_every_reason_is_about_something_that_is_audited() -> None:
    assert {*WHY} <= {subject(name) for name in REAL_NAMES}


def test_what_must_not_be_lost_at_all_has_no_factor() -> None:
    assert smallest_faults([outcome("scope, user histogram, outside", "statistical", Loss("PRIVATE", 1e-9, 0.0))]) == []


def test_where_nothing_is_lost_nothing_is_seen() -> None:
    assert factor_of(Loss("PRIVATE", 1, 0.0), "exact") == math.inf
    assert factor_of(Loss("PRIVATE", 1, 0.5), "statistical") == math.inf
