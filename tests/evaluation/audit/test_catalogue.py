"""The catalogue: everything that can be audited, once, and what a choice takes of it."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.audit import statistical_twins
from visibility_aware_edge_ldp.evaluation.audit.catalogue import (
    LONG,
    REAL_NAMES,
    TIMED,
    TIMED_TWINS,
    TWIN_OF,
    WAYS,
    Choice,
    catalogue,
    chosen,
    mechanisms,
    twin_of,
)

EVERY = catalogue(1000)
# Fault by fault, words that a twin's name or fault must have.
FAULTS = (
    ("1.1",),
    ("threshold", "2 %"),
    ("one bit not randomized",),
    ("same coins",),
    ("triangle", "document 003"),
    ("own degree", "document 004"),
    ("public hub", "document 004"),
    ("existing edges only", "documents 001, 002"),
    ("one uniform",),
    ("float laplace",),
    ("campaign", "re-asked"),
    ("campaign", "one uniform"),
    ("chained", "worse"),
)


def words_of(audit: object) -> str:
    return f"{getattr(audit, 'name', '')} {getattr(audit, 'broken', '')}".lower()


def test_nothing_is_there_twice() -> None:
    keys = [(audit.name, audit.way, audit.broken) for audit in EVERY]
    assert len(set(keys)) == len(keys)
    assert {audit.way for audit in EVERY} == {way for ways in WAYS.values() for way in ways}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda words: words[0])
def test_every_fault_has_a_twin(fault: tuple[str, ...]) -> None:
    assert any(audit.broken and all(word in words_of(audit) for word in fault) for audit in EVERY)


@pytest.mark.parametrize("model", ["position", "user", "neighbourhood (a)", "neighbourhood (b)", "curator"])
@pytest.mark.parametrize("way", ["exact", "statistical"])
def test_every_trust_model_is_audited_both_ways(model: str, way: str) -> None:
    audits = chosen(Choice(model, way, 1000, twins=False))
    assert any(audit.name.startswith(model) for audit in audits)
    assert all(model in audit.name and not audit.broken for audit in audits)


def test_many_runs_take_the_long_walks_in_place_of_the_short_ones() -> None:
    short, long = (
        {audit.name: audit for audit in catalogue(runs) if audit.way == "exact" and not audit.broken}
        for runs in (10**6, 10**7)
    )
    assert short.keys() == long.keys()
    changed = {name for name in short if short[name] is not long[name]}
    assert changed == set(LONG)
    assert {"position, two rounds", "user 4-cycles, two rounds"} <= changed


def test_every_twin_is_a_twin_of_something() -> None:
    names = mechanisms(EVERY)
    for audit in EVERY:
        if audit.broken:
            assert any(name.startswith(twin_of(audit)) for name in names), audit.name
    assert set(TWIN_OF) == {audit.name for audit in statistical_twins.twins(1000)}
    assert set(TWIN_OF.values()) <= REAL_NAMES


def test_twins_come_with_the_mechanism_they_are_twins_of() -> None:
    found = {audit.name for audit in chosen(Choice("position, one round", "all", 1000)) if audit.broken}
    assert {"epsilon × 1.1", "threshold 2 % off", "position, ε × 1.1"} <= found
    assert not any("curator" in name or "user" in name for name in found)


def test_twins_can_be_left_out() -> None:
    assert not any(audit.broken for audit in chosen(Choice(runs=1000, twins=False)))
    assert any(audit.broken for audit in chosen(Choice(runs=1000)))


def test_one_run_counts_as_statistical_and_time_as_itself() -> None:
    assert {audit.way for audit in chosen(Choice(way="statistical", runs=1000))} == {"statistical", "one run"}
    assert len(chosen(Choice(way="time"))) == len(TIMED) + len(TIMED_TWINS)


@pytest.mark.parametrize(
    ("choice", "hint"),
    [
        (Choice("positoin"), "Did you mean 'position'"),
        (Choice(""), "No mechanism"),
        (Choice(way="statistics"), "Did you mean 'statistical'"),
        (Choice("Hadamard", "time"), "no time audit"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_what_is_not_known_is_said(choice: Choice, hint: str) -> None:
    with pytest.raises(BadInput, match=hint):
        chosen(choice)
