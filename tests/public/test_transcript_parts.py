"""Parts of the first answers: cut, written, read, looked up.  [PARTS.1]"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public import transcript_parts
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.surveys.row_parts import part_survey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.transcript_parts import (
    AllAnswers,
    cut_part,
    largest_score,
    part_octets,
    read_part,
    sums_of_scores,
)
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(60, 354, seed=2), VisibilityPolicy.nothing())
VIEW = WORLD.public
SURVEY = part_survey(VIEW, 1, 15)


def answers() -> AllAnswers:
    octets = (VIEW.positions + 7) // 8
    said = np.random.default_rng(4).integers(0, 256, octets).astype(np.uint8)
    everybody = np.full(octets, 255, np.uint8)
    spare = octets * 8 - VIEW.positions
    everybody[-1] >>= spare
    return AllAnswers(Transcript(SURVEY.first.identity, everybody, said & everybody), VIEW)


def test_a_part_says_what_all_answers_say_through_its_bytes() -> None:
    whole, (u, v) = answers(), endpoints(VIEW.n, 0, VIEW.positions)
    seen = np.zeros(u.size, int)
    for number in range(SURVEY.parts):
        part = read_part(SURVEY, number, cut_part(SURVEY, number, whole).encode(), whole.digest)
        groups = SURVEY.group_of(np.full(VIEW.n, number), np.arange(VIEW.n))
        here = groups[u] == groups[v]
        assert (part.ones(u[here], v[here]) == whole.ones(u[here], v[here])).all()
        assert (part.answered, part.digest) == (pytest.approx(whole.answered), whole.digest)
        assert part.packed.size == (int(here.sum()) + 7) // 8
        seen += here
        with pytest.raises(ProtocolViolation, match="one group alone"):
            part.ones(u[~here][:1], v[~here][:1])
    assert seen.mean() == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_a_part_is_the_same_however_many_pairs_are_looked_up_at_a_time(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cut_part(SURVEY, 3, answers()).encode()
    monkeypatch.setattr(transcript_parts, "AT_ONCE", at_once)
    assert cut_part(SURVEY, 3, answers()).encode() == whole


def test_a_part_of_another_length_is_refused() -> None:
    data = cut_part(SURVEY, 0, answers()).encode()
    assert len(data) == part_octets(SURVEY, 0)
    for wrong in (data[:-1], data + b"\0", b""):
        with pytest.raises(ProtocolViolation, match="bytes"):
            read_part(SURVEY, 0, wrong, "")
    users = (VIEW.n + 7) // 8
    with pytest.raises(ProtocolViolation, match="after the last participant"):
        read_part(SURVEY, 0, data[: users - 1] + b"\xff" + data[users:], "")


def test_all_answers_have_the_name_that_they_were_broadcast_under() -> None:
    whole = answers()
    assert whole.digest == whole.transcript.digest
    assert replace(whole, name="ab").digest == "ab"


def test_sums_of_scores_are_those_of_single_positions() -> None:
    policy = VisibilityPolicy(public_fraction=0.2, friend_visible_fraction=0.3, private_fraction=0.5)
    world = VisibilityAwareGraph(WORLD.graph, policy)
    view, survey = world.public, part_survey(world.public, 1, 15)
    u, v = endpoints(view.n, 0, view.positions)
    classes = view.classes.of(u, v)
    asked = np.packbits(classes != Visibility.PUBLIC, bitorder="little")
    ones = asked & np.random.default_rng(5).integers(0, 256, asked.size).astype(np.uint8)
    found = AllAnswers(Transcript(survey.first.identity, asked, ones), view)
    said, edges = found.ones(u, v), {tuple(sorted(edge)) for edge in view.edges.tolist()}
    rate, owner = 0.8, np.arange(u.size) % 7
    expected = np.zeros(7)
    for place, kind in enumerate(classes.tolist()):
        if kind == Visibility.PUBLIC:
            expected[owner[place]] += (int(u[place]), int(v[place])) in edges
        else:
            expected[owner[place]] += float(survey.first.channel(Visibility(kind)).scores[int(said[place])]) / rate
    assert sums_of_scores(survey, view, found, owner, u, v, rate) == pytest.approx(expected)
    assert largest_score(survey, view, rate) >= np.abs(expected).max() / u.size
