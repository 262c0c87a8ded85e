"""Errors form one small tree, sorted by whose fault it is."""

from __future__ import annotations

import inspect

import pytest

from visibility_aware_edge_ldp import errors
from visibility_aware_edge_ldp.errors import (
    BadGraph,
    BadInput,
    BadPolicy,
    BadPrivacyParameter,
    BadStatistic,
    MissingPart,
    ProtocolViolation,
    Refused,
    RelationMismatch,
    TooLarge,
    VaEdgeLdpError,
)

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]


def test_the_tree_has_one_root() -> None:
    assert len(ALL) == 12
    assert all(issubclass(kind, VaEdgeLdpError) for kind in ALL)


@pytest.mark.parametrize("kind", [BadGraph, BadPolicy, BadPrivacyParameter, BadStatistic, TooLarge, MissingPart])
def test_what_the_user_can_mend_is_bad_input(kind: type[BadInput]) -> None:
    assert issubclass(kind, BadInput)
    assert issubclass(kind, ValueError)
    assert kind.exit_code == 2


@pytest.mark.parametrize(
    ("kind", "code"),
    [(VaEdgeLdpError, 1), (RelationMismatch, 1), (BadInput, 2), (ProtocolViolation, 3), (Refused, 4)],
)
def test_exit_codes_say_whose_fault_it_is(kind: type[VaEdgeLdpError], code: int) -> None:
    assert kind.exit_code == code


@pytest.mark.parametrize("kind", [ProtocolViolation, Refused, RelationMismatch])
def test_other_faults_are_not_the_users(kind: type[VaEdgeLdpError]) -> None:
    assert not issubclass(kind, BadInput)


def test_a_mismatch_is_a_type_error() -> None:
    assert issubclass(RelationMismatch, TypeError)


def test_every_error_says_whose_it_is() -> None:
    assert all(kind.__doc__ for kind in ALL)


def test_a_missing_part_says_how_to_get_it() -> None:
    error = MissingPart("pandas", "graph", "Reading a table")
    assert str(error) == (
        "Reading a table needs pandas, which is not installed. "
        "Install it with: pip install 'visibility-aware-edge-ldp[graph]'"
    )
    assert (error.library, error.extra) == ("pandas", "graph")


def test_an_error_carries_its_sentence() -> None:
    for kind in ALL:
        if kind is not MissingPart:
            assert str(kind("One sentence.")) == "One sentence."
