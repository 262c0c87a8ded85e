"""The whole POSITION protocol, every coin walked: no transcript tells more than was promised.  [POSITION.1]

The real client code answers with scripted coins. A coin's outcome is "flip" or "keep"; the script
feeds a byte of each kind and carries the exact probability of that kind, T/2^64 or 1 − T/2^64, which
``test_randomized_response.py`` proves of the sampler byte by byte.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.position import Respondent, randomize
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.public.codec import encode
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.report import unpack
from visibility_aware_edge_ldp.public.survey import PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Multipliers, Visibility

Pattern = tuple[Visibility, ...]
World = tuple[int, ...]
Guard = tuple[str, str]  # the loss multipliers of FRIEND_VISIBLE and PRIVATE
Transcripts = dict[tuple[object, ...], Fraction]
Play = Callable[["ScriptedCoins"], tuple[tuple[object, ...], list[Fraction]]]


class NeedMore(Exception):  # noqa: N818
    """The script is too short by this many coins."""


class ScriptedCoins:
    """Coins that follow a script of flips, and ask for more script when it runs out."""

    def __init__(self, script: tuple[bool, ...]) -> None:
        self.script, self.used = script, 0

    def __call__(self, count: int) -> bytes:
        missing = self.used + count - len(self.script)
        if missing > 0:
            raise NeedMore(missing)
        wanted = self.script[self.used : self.used + count]
        self.used += count
        return bytes(0 if flip else 255 for flip in wanted)


def walk(play: Play) -> Transcripts:
    """Every transcript with its exact probability. A play returns its transcript and each coin's chance to flip."""
    found: Transcripts = defaultdict(Fraction)
    scripts: list[tuple[bool, ...]] = [()]
    while scripts:
        script = scripts.pop()
        try:
            transcript, flips = play(ScriptedCoins(script))
        except NeedMore as need:
            scripts += [(*script, *more) for more in product((False, True), repeat=need.args[0])]
            continue
        assert len(flips) == len(script)
        found[transcript] += math.prod(
            (chance if flip else 1 - chance for chance, flip in zip(flips, script, strict=True)), start=Fraction(1)
        )
    assert sum(found.values()) == 1
    return found


def conversation(view: PublicView, survey: PositionSurvey, bits: World, sizes: tuple[int, ...]) -> Transcripts:
    """The law of all bytes that are sent in all rounds, by respondents that hold ``sizes`` positions each."""

    def play(coins: ScriptedCoins) -> tuple[tuple[object, ...], list[Fraction]]:
        sent, flips = [], []
        respondents, start = [], 0
        for size in sizes:
            purse = Purse({kind: view.policy.multiplier(kind) * survey.epsilon for kind in NON_PUBLIC})
            held = PositionBits(start, np.array(bits[start : start + size], dtype=bool))
            respondents.append((Respondent(held, view, purse), view.classes.range(start, size)))
            start += size
        for number in range(1, survey.rounds + 1):
            for respondent, classes in respondents:
                asked = np.ones(len(classes), bool)
                if number == 2:
                    asked = unpack(respondent.answer(survey, 1, coins).ones, len(classes))
                for kind in NON_PUBLIC:
                    flips += [survey.mechanism(kind, number).flip] * int((asked & (classes == kind)).sum())
                sent.append(encode(respondent.answer(survey, number, coins)))
        return tuple(sent), flips

    return walk(play)


def worlds(classes: np.ndarray) -> Iterator[World]:
    """All graphs that agree on the public positions, which are not asked and so do not matter."""
    yield from product(*((0,) if kind == Visibility.PUBLIC else (0, 1) for kind in classes))


def largest_losses(classes: np.ndarray, speak: Callable[[World], Transcripts]) -> dict[Visibility, float]:
    """The largest log-ratio over all transcripts and all neighbouring worlds, by the class of the differing bit."""
    spoken = {bits: speak(bits) for bits in worlds(classes)}
    losses: dict[Visibility, float] = {}
    for bits, transcripts in spoken.items():
        for place, kind in enumerate(map(Visibility, classes)):
            other = (*bits[:place], 1 - bits[place], *bits[place + 1 :])
            if other in spoken:
                losses[kind] = max(losses.get(kind, 0.0), loss_between(transcripts, spoken[other]))
    return losses


def loss_between(one: Transcripts, other: Transcripts) -> float:
    assert one.keys() == other.keys(), "a transcript that only one of two neighbouring worlds can produce"
    return max(abs(math.log(one[t] / other[t])) for t in one)


def public_view(pattern: Pattern, n: int, guard: Guard = ("2", "1")) -> PublicView:
    positions = list(combinations(range(n), 2))
    chosen = {kind: [p for p, c in zip(positions, pattern, strict=True) if c is kind] for kind in Visibility}
    policy = VisibilityPolicy.from_positions(chosen[Visibility.PUBLIC], chosen[Visibility.FRIEND_VISIBLE])
    return PublicView(range(n), policy.guarded(*guard), np.empty((0, 2), np.int32))


def check(
    pattern: Pattern, n: int, rounds: int, epsilon: str, sizes: tuple[int, ...], guard: Guard = ("2", "1")
) -> None:
    view = public_view(pattern, n, guard)
    survey = position_survey(view, epsilon, rounds)
    losses = largest_losses(np.array(pattern), lambda bits: conversation(view, survey, bits, sizes))
    assert losses.keys() == set(pattern) - {Visibility.PUBLIC}
    for kind, loss in losses.items():
        claim = float(Fraction(guard[NON_PUBLIC.index(kind)]) * survey.epsilon)
        assert loss <= claim * (1 + 1e-12)
        assert loss >= claim * 0.999, "the promise is not spent: the answers could be more accurate"


def up_to_renaming(n: int) -> list[Pattern]:
    """Class patterns of n nodes, one of each set that differ by the names of the nodes only."""
    positions = list(combinations(range(n), 2))
    chosen: dict[Pattern, Pattern] = {}
    for pattern in product(Visibility, repeat=len(positions)):
        at = dict(zip(positions, pattern, strict=True))
        names = permutations(range(n))
        smallest = min(tuple(at[min(p[u], p[v]), max(p[u], p[v])] for u, v in positions) for p in names)
        chosen.setdefault(smallest, pattern)
    return list(chosen.values())


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3,)], ids=["one respondent each", "one call for all"])
def test_three_nodes_every_graph_every_pattern(rounds: int, sizes: tuple[int, ...]) -> None:
    patterns = list(product(Visibility, repeat=3))
    assert len(patterns) == 27
    for pattern in patterns:
        check(pattern, 3, rounds, "1", sizes)


def test_four_nodes_one_round_every_graph_every_pattern() -> None:
    patterns = up_to_renaming(4)
    assert len(patterns) == 66
    for pattern in patterns:
        check(pattern, 4, 1, "0.7", (6,))


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("guard", [("3", "1"), ("5/2", "1/3"), ("1", "1")], ids=lambda guard: " and ".join(guard))
def test_three_nodes_under_policies_that_guard_otherwise(guard: Guard, rounds: int) -> None:
    for pattern in product(Visibility, repeat=3):
        check(pattern, 3, rounds, "1", (3,), guard)


def test_a_survey_that_charges_more_than_the_policy_allows_is_caught() -> None:
    """What a client that trusted the survey's own multipliers would give away."""
    view = public_view((Visibility.FRIEND_VISIBLE,) * 3, 3)
    lying = replace(position_survey(view, "1"), multipliers=Multipliers(Fraction(3), Fraction(1)))
    mechanism = lying.mechanism(Visibility.FRIEND_VISIBLE, 1)

    def speak(bits: World) -> Transcripts:
        def play(coins: ScriptedCoins) -> tuple[tuple[object, ...], list[Fraction]]:
            classes, asked = view.classes.range(0, 3), np.ones(3, bool)
            sent = randomize(np.array(bits, dtype=bool), classes, asked, lying, 1, coins)
            return tuple(sent.tolist()), [mechanism.flip] * 3

        return walk(play)

    losses = largest_losses(np.array([Visibility.FRIEND_VISIBLE] * 3), speak)
    assert losses[Visibility.FRIEND_VISIBLE] == pytest.approx(3.0)
    with pytest.raises(ProtocolViolation, match="this client's policy allows FRIEND_VISIBLE 2ε, PRIVATE ε"):
        conversation(view, lying, (0, 0, 0), (3,))


def test_a_protocol_that_asks_an_edge_once_per_triangle_is_caught() -> None:
    """Document 003, line 52: the private edge {0, 1} of a public rest is asked in each of its two triangles."""
    epsilon = 1.0
    half = RandomizedResponse(Fraction(1, 2))

    def speak(bits: World) -> Transcripts:
        def play(coins: ScriptedCoins) -> tuple[tuple[object, ...], list[Fraction]]:
            bit = np.array([bits[0]], dtype=bool)
            first = bool(half.randomize(bit, coins)[0])
            again = [bool(half.randomize(bit, coins)[0]) for _ in ((0, 1, 2), (0, 1, 3))] if first else []
            return (first, *again), [half.flip] * (1 + len(again))

        return walk(play)

    losses = largest_losses(np.array([Visibility.PRIVATE]), speak)
    assert losses[Visibility.PRIVATE] == pytest.approx(1.5 * epsilon)
    assert losses[Visibility.PRIVATE] > epsilon


def test_a_client_that_forgets_its_answer_is_caught() -> None:
    """Asked twice with fresh coins each time, one round costs two."""
    view = public_view((Visibility.PRIVATE,) * 3, 3)
    survey = position_survey(view, "1")

    def speak(bits: World) -> Transcripts:
        def play(coins: ScriptedCoins) -> tuple[tuple[object, ...], list[Fraction]]:
            sent = []
            for _ in range(2):
                purse = Purse(dict.fromkeys(NON_PUBLIC, 2 * survey.epsilon))
                held = PositionBits(0, np.array(bits, dtype=bool))
                sent.append(Respondent(held, view, purse).answer(survey, 1, coins).ones)
            return tuple(sent), [survey.mechanism(Visibility.PRIVATE, 1).flip] * 6

        return walk(play)

    assert largest_losses(np.array([Visibility.PRIVATE] * 3), speak)[Visibility.PRIVATE] == pytest.approx(2.0)
