"""The whole POSITION protocol, every coin walked: no transcript tells more than was promised.  [POSITION.1]

The walk itself is the audit's (``audit/protocols/position.py``): the real client answers with scripted coins,
whose chances were measured on the real sampler.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law, ScriptedCoins, flip_coin, walk
from visibility_aware_edge_ldp.audit.engine.small_worlds import (
    Guard,
    World,
    largest_gaps,
    neighbours,
    patterns,
    patterns_up_to_names,
)
from visibility_aware_edge_ldp.audit.protocols.position import ONE_SECRET, Forgetful, Stage, conversation, gaps_of
from visibility_aware_edge_ldp.client.position import class_places, randomize
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Multipliers, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
ROUNDS = {1: (1,), 2: (1, 2)}


def check(stage: Stage) -> None:
    gaps = gaps_of(stage)
    assert gaps.keys() == set(stage.pattern) - {PUBLIC}
    for kind, gap in gaps.items():
        claim = float(Fraction(stage.guard[NON_PUBLIC.index(kind)]) * stage.survey.epsilon)
        assert stage.claims[kind] == claim
        assert gap.delta == 0
        assert gap.epsilon <= claim * (1 + 1e-12)
        assert gap.epsilon >= claim * 0.999, "the promise is not spent: the answers could be more accurate"


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3,)], ids=["one respondent each", "one call for all"])
def test_three_nodes_every_graph_every_pattern(rounds: int, sizes: tuple[int, ...]) -> None:
    assert len(patterns(3)) == 27
    for pattern in patterns(3):
        check(Stage(pattern, 3, asked=ROUNDS[rounds], sizes=sizes))


@pytest.mark.long
def test_four_nodes_one_round_every_graph_every_pattern() -> None:
    assert len(patterns_up_to_names(4)) == 66
    for pattern in patterns_up_to_names(4):
        check(Stage(pattern, 4, "0.7"))


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("guard", [("3", "1"), ("5/2", "1/3"), ("1", "1")], ids=lambda guard: " and ".join(guard))
def test_three_nodes_under_policies_that_guard_otherwise(guard: Guard, rounds: int) -> None:
    for pattern in patterns(3):
        check(Stage(pattern, 3, asked=ROUNDS[rounds], guard=guard))


def test_a_survey_that_charges_more_than_the_policy_allows_is_caught() -> None:
    """What a client that trusted the survey's own multipliers would give away."""
    pattern = (FRIEND_VISIBLE,) * 3
    stage = Stage(
        pattern, 3, question=lambda survey: replace(survey, multipliers=Multipliers(Fraction(3), Fraction(1)))
    )
    lying, places = stage.survey, class_places(stage.view, 0, 3)
    coin = flip_coin(lying.mechanism(FRIEND_VISIBLE, 1))

    def speak(world: World) -> Law:
        def play(coins: ScriptedCoins) -> bytes:
            coins.offer([[coin] * 3])
            return randomize(np.packbits(world, bitorder="little"), places, lying, 1, coins).tobytes()

        return walk(play)

    gaps = largest_gaps(pattern, neighbours(pattern), speak)
    assert gaps[FRIEND_VISIBLE].epsilon == pytest.approx(3.0)
    with pytest.raises(ProtocolViolation, match="this client's policy allows FRIEND_VISIBLE 2ε, PRIVATE ε"):
        conversation(stage, (0, 0, 0))


def test_a_protocol_that_asks_an_edge_once_per_triangle_is_caught() -> None:
    """Document 003, line 52: the private edge {0, 1} of a public rest is asked in each of its two triangles."""
    again = gaps_of(Stage(ONE_SECRET, 4, asked=(1, 2, 2), client=Forgetful))
    assert again[PRIVATE].epsilon == pytest.approx(1.5)
    assert again[PRIVATE].epsilon > 1
    assert gaps_of(Stage(ONE_SECRET, 4, asked=(1, 2, 2)))[PRIVATE].epsilon == pytest.approx(1)


def test_a_client_that_forgets_its_answer_is_caught() -> None:
    """Asked twice with fresh coins each time, one round costs two."""
    stage = Stage((PRIVATE,) * 3, 3, asked=(1, 1), client=Forgetful)
    assert gaps_of(stage)[PRIVATE].epsilon == pytest.approx(2.0)


def test_those_who_do_not_take_part_lose_nothing() -> None:
    stage = Stage((PRIVATE,) * 3, 3, asked=(1, 2), nonresponse=frozenset({0, 1, 2}))
    assert gaps_of(stage)[PRIVATE].epsilon == 0
    assert gaps_of(replace(stage, nonresponse=frozenset({0})))[PRIVATE].epsilon == pytest.approx(1)


def test_every_law_is_whole_and_rational() -> None:
    law = conversation(Stage((PRIVATE, FRIEND_VISIBLE, PUBLIC), 3, asked=(1, 2)), (1, 0, 1))
    assert sum(law.values()) == 1
    assert all(math.log2(chance.denominator) % 1 == 0 for chance in law.values())
