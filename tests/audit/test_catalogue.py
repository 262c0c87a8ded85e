"""The catalogue: everything that can be audited, once, and what a choice takes of it."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp import audit as package
from visibility_aware_edge_ldp.audit.catalogue import (
    LONG,
    REAL_NAMES,
    TIMED,
    TIMED_MUTANTS,
    WAYS,
    Choice,
    catalogue,
    chosen,
    mechanism_names,
    original_of,
)
from visibility_aware_edge_ldp.audit.statistical import mutants
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS

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


def test_every_twin_is_a_original_of_something() -> None:
    names = mechanism_names(EVERY)
    for audit in EVERY:
        if audit.broken:
            assert any(name.startswith(original_of(audit)) for name in names), audit.name
    assert {audit.of for audit in mutants.mutants(1000)} <= REAL_NAMES


def test_twins_come_with_the_mechanism_they_are_twins_of() -> None:
    found = {audit.name for audit in chosen(Choice("position, one round", "all", 1000)) if audit.broken}
    assert {"epsilon × 1.1", "threshold 2 % off", "position, ε × 1.1"} <= found
    assert not any("curator" in name or "user" in name for name in found)


def test_twins_can_be_left_out() -> None:
    assert not any(audit.broken for audit in chosen(Choice(runs=1000, twins=False)))
    assert any(audit.broken for audit in chosen(Choice(runs=1000)))


def test_one_run_counts_as_statistical_and_time_as_itself() -> None:
    assert {audit.way for audit in chosen(Choice(way="statistical", runs=1000))} == {"statistical", "one run"}
    assert len(chosen(Choice(way="time"))) == len(TIMED) + len(TIMED_MUTANTS)


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


def test_every_protocol_has_an_audit_and_mutants_that_it_must_catch() -> None:
    assert PROTOCOLS, "the surveys register their protocols"
    assert PROTOCOLS.keys() <= package.STAGES.keys(), "add the protocol's module to audit/protocols and to STAGES"
    for stem, stage in package.STAGES.items():
        assert stage.audits, f"nothing audits {stem}"
        assert stage.mutants, f"nothing shows that the audit of {stem} can fail"
        assert not any(each.broken for each in (*stage.audits, *stage.long))
        assert all(each.broken for each in stage.mutants)
        assert {each.name for each in stage.long} <= {each.name for each in stage.audits}


def test_other_names_of_the_package_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'ROUNDS'"):
        _ = package.ROUNDS
