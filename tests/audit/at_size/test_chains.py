"""Campaigns' rows and chained answers at size: claims hold, and an answer that turns at another word is noticed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.at_size import chains
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import WORDS
from visibility_aware_edge_ldp.errors import ProtocolViolation


def test_uploads_and_chains() -> None:
    assert chains.audit_uploads("uploads", 50, "one row").holds
    assert chains.audit_chain("chains", 60, "some positions").holds


def test_an_answer_that_turns_at_another_word_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = chains.chained

    def broken(here: int, bits: np.ndarray, *rest: Any) -> np.ndarray:
        said = honest(here, bits, *rest)
        return np.where(np.arange(said.size) == 5, ~said, said)

    monkeypatch.setattr(chains, "chained", broken)
    with pytest.raises(ProtocolViolation, match="another noise"):
        chains.audit_chain("chains", 60, "some positions")


def test_the_flip_between_two_known_answers_is_by_the_law_of_a_chain() -> None:
    """Thresholds p < q < r as chances; the middle bit, given both others, by adding up all chains.  [CHAIN.1]"""
    p, q, r = (Fraction(part, 16) for part in (1, 3, 5))
    here = tuple(int(each * WORDS) for each in (q, p, r))
    steps = (q - p) / (1 - 2 * p), (r - q) / (1 - 2 * q)
    for agree in (True, False):
        chains_of = {
            (first, second): (steps[0] if first else 1 - steps[0]) * (steps[1] if second else 1 - steps[1])
            for first in (True, False)
            for second in (True, False)
            if (first == second) == agree
        }
        expected = sum(chance for (first, _), chance in chains_of.items() if first) / sum(chains_of.values())
        assert chains._flip_chance(*here, agree) == expected
