"""Randomized bits at size: the real clients answer as their words say; others are noticed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.at_size import bits
from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.findings import altered
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.errors import ProtocolViolation

SETTING = bits.Setting(60, bits.MIXED.guarded("3", "1"), shares=("1/4", "3/4"), absent=True)


@pytest.mark.parametrize("said", bits.FIRST)
def test_real_clients_answer_as_their_words_say(said: str) -> None:
    world = large.coin_bits(SETTING.view.positions, "test")
    bits.refuse_other_answers(SETTING, bits.position_client, world, said)


def _wrong(client: PositionClient, report: Any, *_: object) -> Any:
    ones = bytearray(report.ones)
    ones[100] ^= client._view.packed[3] & report.answered[100]
    return type(report)(report.survey, report.round, report.start, report.count, report.answered, bytes(ones))


def test_an_answer_that_tells_another_bit_is_noticed() -> None:
    client = partial(bits.position_client, client=altered(PositionClient, "randomize", _wrong))
    with pytest.raises(ProtocolViolation):
        bits.refuse_other_answers(SETTING, client, np.ones(SETTING.view.positions, np.bool_), "some")


def test_claims_are_used_up() -> None:
    finding = bits.audit_bits("bits", bits.sampled_client, [bits.Setting(60, bits.MIXED, sample="1/2")], "some")
    assert finding.holds
    assert all(loss.found == pytest.approx(loss.claimed, rel=1e-12) for loss in finding.losses)
