"""The registry of protocols; tests/conformance tests every protocol that is in it."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS, Protocol, protocol, register
from visibility_aware_edge_ldp.public.surveys import position, rows


def test_a_round_has_its_own_layout() -> None:
    assert protocol("rows").rounds == (1, 2)
    assert [protocol("rows").layout(number) for number in (1, 2)] == [position.LAYOUT, rows.LAYOUT]


def test_a_protocol_answers_the_members_of_a_family() -> None:
    assert protocol("degrees").answers("stars:5")
    assert protocol("degrees").answers("tail:2")
    assert not protocol("hubs").answers("stars:5")


def test_another_program_may_register_a_protocol() -> None:
    known = protocol("degrees")
    mine = Protocol("mine", known.trust, known.statistics, known.survey, known.layouts)
    try:
        assert register(mine) is protocol("mine")
        with pytest.raises(BadInput, match="already"):
            register(mine)
    finally:
        del PROTOCOLS["mine"]
    with pytest.raises(BadInput, match="Did you mean 'rows'"):
        protocol("row")
