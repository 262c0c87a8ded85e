"""What a participant reads: numbers that are never below what they stand for, and the issuer's own words."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.conftest import QUICK
from support.campaign_people import Ask, join, reply, who
from support.campaign_vectors import CLOSES, charter_for, documents_of
from support.command import run_main
from visibility_aware_edge_ldp.campaign.charter import Round, kept_for
from visibility_aware_edge_ldp.campaign.participant import program
from visibility_aware_edge_ldp.campaign.participant.accounts import cap, number
from visibility_aware_edge_ldp.campaign.participant.program import late_lines
from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("1", "1"),
        ("1.000001", "1.000001"),
        ("1.0000001", "1.000001"),
        ("12.34567", "12.34567"),
        ("0", "0"),
        ("20", "20"),
    ],
)
def test_losses_are_shown_rounded_up(value: str, shown: str) -> None:
    assert number(Fraction(value)) == shown


@given(st.fractions(0, 1000))
def test_a_loss_is_never_shown_below_itself(value: Fraction) -> None:
    assert 0 <= Fraction(number(value)) - value < Fraction(1, 10**6)


def test_a_cap_is_never_shown_above_itself() -> None:
    assert [cap(Fraction(each)) for each in ("1", "0.9999999", "999.999999999999")] == [
        "1",
        "0.9999999",
        "999.999999999999",
    ]


def test_retention_is_said_as_the_issuer_says_it(ask: Ask, tmp_path: Path) -> None:
    served, shown = ask(), list[str]()
    join(served, tmp_path / "home")
    reply(served, tmp_path / "home", consent=lambda lines: not shown.extend(lines))
    assert f"Keeps      {kept_for(served.terms.charter)}" in shown


def test_an_answer_that_is_late_for_its_pace_is_said_to_be(ask: Ask, tmp_path: Path) -> None:
    assert late_lines(1, 1) == []
    served, said = ask(), dict[float, list[str]]()
    for pace in (1e-6, 1.0):
        said[pace] = []
        join(served, tmp_path / str(pace))
        served.kept.clear()
        reply(served, tmp_path / str(pace), [], replace(QUICK, pace=pace), say=said[pace].append)
    nobody = "The list names nobody of the roster: the answer is that of somebody without friends."
    assert [each[:60] for each in said[1e-6]] == [
        nobody[:60],
        "This answer took longer to make than its pace of 1e-06 s, and"[:60],
    ]
    assert said[1.0] == [nobody]


def test_enrolling_with_a_cap_prints_both(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served = ask()
    token, home = tmp_path / "token", tmp_path / "home"
    token.write_text(served.tokens[who(served)])
    words = [served.url, "--name", who(served), "--token-file", token, "--issuer", served.issuer, "--home", home]

    def enrol(*more: str) -> str:
        done = run_main(monkeypatch, capsys, "campaign", "enroll", *map(str, words), *more)
        assert done.code == 0, done.err
        return " ".join(done.out.split())

    enrol("--cap", "PRIVATE=0.5")
    assert "Allowed" not in enrol()
    said = enrol("--cap", "FRIEND_VISIBLE=0.7")
    assert "Allowed from now on, in one epoch: ε = 0.7 for a FRIEND_VISIBLE edge, ε = 0.5 for a PRIVATE edge." in said


def test_the_screen_says_what_a_friend_visible_edge_costs(ask: Ask, tmp_path: Path) -> None:
    """Epsilon 1 was typed, and such an edge loses 2: before anybody agrees, in words."""
    policy = VisibilityPolicy("0", "0.5", "0.5")
    served, shown = ask(epsilon=1, policy=policy), list[str]()
    join(served, tmp_path / "home")
    with pytest.raises(Refused, match="You declined"):
        program.answer(
            [], tmp_path / "home", lambda lines: bool(shown.extend(lines)), say=lambda line: None, surroundings=QUICK
        )
    friends, private = (line for line in shown if line.startswith("Costs"))
    assert "ε = 2 now (2 by all rounds of the campaign: 2 times its ε = 1, by its policy)" in friends
    assert "ε = 1 now (1 by all rounds of the campaign)" in private


def test_how_long_reports_are_kept_also_if_too_few_come() -> None:
    few = "if fewer than 3 answer in time, nothing is estimated and they go"
    stays = "who answered, and a salted digest of each report, stay"
    one = replace(charter_for("degrees", documents_of("degrees")), retention=0, rounds=(Round(CLOSES[0], 3),))
    assert kept_for(one) == f"reports until the estimate; {few} at the deadline; {stays}"
    day = replace(one, retention=86_400)
    assert kept_for(day) == f"reports for 1 day after the estimate; {few} 1 day after the deadline; {stays}"
    assert kept_for(replace(one, retention=30 * 86_400)).startswith("reports for 30 days after the estimate")


def test_that_degrees_are_published_without_names_is_said(ask: Ask, tmp_path: Path) -> None:
    for statistic, said in (("degrees", True), ("edges", False)):
        shown: list[str] = []
        served = ask("degrees", statistics=(statistic,))
        join(served, tmp_path / statistic)
        reply(served, tmp_path / statistic, [], consent=lambda lines, shown=shown: not shown.extend(lines))
        assert ("without names" in "\n".join(shown)) is said
