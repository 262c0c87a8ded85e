"""The check that a survey is about the world that is known here: one sentence for each thing that differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.protocol_subjects import OTHERS, SUBJECTS, VIEW
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.base import stated, verify, verify_roster
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, Visibility

SURVEY = SUBJECTS["degrees"].survey


def test_the_own_survey_passes() -> None:
    for subject in SUBJECTS.values():
        verify(subject.survey, VIEW)


def test_each_difference_has_a_sentence() -> None:
    roster = "The survey is about another roster or another policy than this hub's."
    with pytest.raises(ProtocolViolation, match=roster):
        verify(replace(SURVEY, roster="0" * 64), VIEW, "this hub's")
    with pytest.raises(ProtocolViolation, match=r"another policy than this public view\."):
        verify_roster(replace(SURVEY, policy="0" * 64), VIEW, "this public view")
    with pytest.raises(ProtocolViolation, match=r"would cost FRIEND_VISIBLE 7ε.*; this client's policy allows"):
        verify(replace(SURVEY, multipliers=OTHERS), VIEW)
    with pytest.raises(ProtocolViolation, match="other classes than this client's policy has"):
        verify(replace(SURVEY, classes=(Visibility.PRIVATE,)), VIEW)


def test_the_usual_multipliers_are_left_out_of_identities() -> None:
    assert stated(None) == stated(DEFAULT_MULTIPLIERS) == {}
    assert stated(OTHERS) == {"multipliers": {"FRIEND_VISIBLE": "7", "PRIVATE": "1"}}
