"""How long a rehearsal will take is said before it has."""

from __future__ import annotations

import pytest

from support.command import Run
from visibility_aware_edge_ldp.campaign.rehearsal import rehearse
from visibility_aware_edge_ldp.commands import campaign_rehearsal
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import parse


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "2 seconds"), (89, "89 seconds"), (90, "1.5 minutes"), (9_000, "2.5 hours")]
)
def test_it_is_said_in_words(seconds: float, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    campaign_rehearsal._announce(seconds)
    assert capsys.readouterr().err == f"This will take about {said} more.\n"


@pytest.mark.long
def test_it_is_said_once_and_everybody_has_one_turn() -> None:
    few, world = (
        VisibilityAwareGraph(parse(each), VisibilityPolicy.nothing()) for each in ("random:9,12", "random:64,200")
    )
    # The second round's kernels are compiled where that was never done: a trial of the first round cannot know it.
    rehearse(few, "triangles", 2, processes=1)
    heard: list[float] = []
    steps: list[tuple[float, float]] = []
    found = rehearse(
        world, "triangles", 2, processes=2, announce=heard.append, progress=lambda *said: steps.append(said)
    )
    assert len(heard) == 1
    # How near it is depends on what else the machine does; here it is of the right size.
    assert 0.2 < heard[0] / sum(found.seconds[name] for name in ("enrolling", "round 1", "round 2")) < 3
    assert found.same
    assert [each.answered for each in found.turnout] == [63, 63]
    assert steps[-1] == (64 * 3, 64 * 3)


@pytest.mark.long
def test_a_rehearsal_as_a_table_and_as_json(campaign: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    said = campaign("rehearse", "random:20,60", "--question", "degrees", "--absent", "10%", "--processes", "1")
    assert said.code == 0, said.err
    for words in ("truth", "reports a second", "bytes", "to the last bit", "Round 1: ", "counting again"):
        assert words in said.out
    from visibility_aware_edge_ldp.campaign import rehearsal

    real = rehearsal.estimate_bytes
    monkeypatch.setattr(rehearsal, "estimate_bytes", lambda *given: real(*given) + b" ")
    other = campaign("rehearse", "random:20,60", "--question", "degrees", "--processes", "1", "--json")
    assert other.code == 1
    assert other.json["same_as_counted_here"] is False
