"""The whole POSITION protocol, every coin walked: no transcript tells more than promised.  [AUDIT.2], [POSITION.1]"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import chain, product
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Bits, Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.layout import pack, unpack
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey, encode, position_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Client = Callable[[PositionBits, PublicView, Purse], Any]
"""Makes whoever answers for some positions: the real client, one that answers for a sample, or a mutant."""
CoinOf = Callable[[PositionSurvey, Visibility, int], randomness.Coin]


def survey_coin(survey: PositionSurvey, kind: Visibility, round_number: int) -> randomness.Coin:
    """The coin of this class and round, as measured on the survey's own mechanism."""
    return randomness.flip_coin(survey.mechanism(kind, round_number))


@dataclass(frozen=True)
class Stage:
    """A conversation to be walked: the classes of all positions of n nodes, and how the policy guards each class.

    ``asked`` are the rounds in the order in which they are asked; asked again is part of the promise. ``sizes`` says
    how many positions each respondent holds, by default one holds all; ``nonresponse`` are positions that do not take
    part. Where ``up_to_names``, one pair of worlds stands for all that differ by the names of the nodes only.
    ``client``, ``encode``, ``question`` and ``coin`` are the code that answers, its report's bytes, the survey, and
    the coins that it draws: the real ones, or a mutant's.
    """

    pattern: small_worlds.Pattern
    n: int
    epsilon: str = "1"
    asked: tuple[int, ...] = (1,)
    guard: small_worlds.Guard = ("2", "1")
    first_share: str = "1/2"
    sizes: tuple[int, ...] = ()
    nonresponse: frozenset[int] = frozenset()
    up_to_names: bool = False
    client: Client = PositionClient
    encode: Callable[[Any], bytes] = encode
    question: Callable[[PositionSurvey], PositionSurvey] = lambda survey: survey
    coin: CoinOf = survey_coin

    @property
    def view(self) -> PublicView:
        return _view(self.pattern, self.n, self.guard)

    @property
    def survey(self) -> PositionSurvey:
        return self.question(_survey(self.view, self.epsilon, max(self.asked), self.first_share))

    @property
    def drawn(self) -> Container[int]:
        """The positions that the survey's public coin draws; all without a sample."""
        count, sample = len(self.pattern), self.survey.sample
        return range(count) if sample is None else frozenset(self.survey.drawn.between(0, count).tolist())

    @property
    def claims(self) -> dict[Visibility, float]:
        """What the policy allows, whatever a survey says."""
        return {kind: float(self.view.policy.multiplier(kind) * Fraction(self.epsilon)) for kind in NON_PUBLIC}

    @property
    def pairs(self) -> list[tuple[small_worlds.World, small_worlds.World, int]]:
        """The neighbouring worlds that are compared; public positions are not asked and so do not matter."""
        if self.up_to_names:
            return small_worlds.neighbours_up_to_names(self.pattern, self.n)
        return list(small_worlds.neighbours(self.pattern))


# A view and a survey compute digests; the stages of one pattern share them.
_view = cache(small_worlds.view_of)


@cache
def _survey(view: PublicView, epsilon: str, rounds: int, first_share: str) -> PositionSurvey:
    return position_survey(view, epsilon, rounds, first_share)


@dataclass(frozen=True)
class _Holder:
    """What one respondent holds, and of the positions that it reports: which take part, and which have which class."""

    held: PositionBits
    present: Bits
    of_class: Mapping[Visibility, Bits]

    def draws(
        self, due: Mapping[tuple[Visibility, int], randomness.Coin], number: int, ones: bytes
    ) -> list[randomness.Batch]:
        """The coins that a round may draw: one for each position that is asked, class by class; in round 2 the ones."""
        asked = self.of_class
        if number == 2:
            asked = {kind: unpack(ones, places.size) & places for kind, places in asked.items()}
        counts = {kind: int(np.count_nonzero(places)) for kind, places in asked.items()}
        return [[due[kind, number]] * count for kind, count in counts.items() if count]


def conversation(stage: Stage, world: small_worlds.World) -> randomness.Law:
    """The law of all bytes that are sent in all rounds by all respondents."""
    view, survey, holders = stage.view, stage.survey, list(_holders(stage, world))
    due = {(kind, number): stage.coin(survey, kind, number) for kind in NON_PUBLIC for number in {*stage.asked}}
    # The purse has room for mutants that ask more often than they should: it is not what is audited here.
    room = dict.fromkeys(NON_PUBLIC, Fraction(1000))
    draws = cache(lambda who, number, ones: holders[who].draws(due, number, ones))

    def play(coins: randomness.ScriptedCoins) -> bytes:
        sent, first = list[bytes](), dict[int, bytes]()
        respondents = [stage.client(holder.held, view, Purse(room)) for holder in holders]
        for number, (who, holder) in product(stage.asked, enumerate(holders)):
            coins.offer(draws(who, number, first.get(who, b"")))
            report = respondents[who].answer(survey, number, coins, holder.present)
            first.setdefault(who, report.ones)
            sent.append(stage.encode(report))
        return b"".join(sent)

    return randomness.walk(play)


def _holders(stage: Stage, world: small_worlds.World) -> Iterator[_Holder]:
    """One for each size; those that a sample leaves out are not in a report."""
    start, drawn = 0, stage.drawn
    for size in stage.sizes or (len(world),):
        places = range(start, start + size)
        reported = [place for place in places if place in drawn]
        present = np.array([place not in stage.nonresponse for place in reported], np.bool_)
        classes = np.array([stage.pattern[place] for place in reported])
        of_class = {kind: present & (classes == kind) for kind in NON_PUBLIC}
        yield _Holder(PositionBits(start, np.array([world[place] for place in places], np.bool_)), present, of_class)
        start += size


def gaps_of(stage: Stage) -> findings.Gaps:
    """The largest loss of each class over all neighbouring worlds of a stage."""
    return small_worlds.largest_gaps(stage.pattern, stage.pairs, partial(conversation, stage))


def audit_position(name: str, stages: Iterable[Stage], about: str) -> findings.Finding:
    """All stages together; the same for the real client and for mutants."""
    found = ((findings.losses_of(gaps_of(stage), stage.claims, closed=False), len(stage.pairs)) for stage in stages)
    return findings.exact_finding_over(name, found, about)


def _three_nodes(asked: tuple[int, ...]) -> Iterator[Stage]:
    """Every pattern and every graph; then other multipliers, one respondent each, and those who do not take part."""
    for pattern in small_worlds.patterns(3):
        yield Stage(pattern, 3, asked=asked)
    for pattern in small_worlds.patterns_up_to_names(3):
        yield Stage(pattern, 3, "1", asked, ("3", "1"), sizes=(1, 1, 1), nonresponse=frozenset({0}))
        yield Stage(pattern, 3, "1", asked, ("5/2", "1/3"), "1/4")
        yield Stage(pattern, 3, "1/2", asked, ("1", "1"), sizes=(2, 1), nonresponse=frozenset({1, 2}))


def _four_nodes(asked: tuple[int, ...], most_secrets: int) -> Iterator[Stage]:
    for pattern in small_worlds.patterns_up_to_names(4):
        if len(pattern) - pattern.count(PUBLIC) <= most_secrets:
            yield Stage(pattern, 4, "7/10", asked, up_to_names=True)


def _everything(asked: tuple[int, ...], again: tuple[int, ...], most_secrets: int) -> Callable[..., findings.Finding]:
    """An audit of three nodes that are asked so, and of four, with so many secrets at most, that are asked again so."""
    return lambda name, about: audit_position(name, chain(_three_nodes(asked), _four_nodes(again, most_secrets)), about)


AUDITS = (
    findings.exact(
        "position, one round",
        _everything((1, 1), (1,), 6),
        "all graphs of 3 nodes and, up to names, of 4; all patterns; other multipliers, asked again, some absent",
    ),
    findings.exact(
        "position, two rounds",
        _everything((1, 2), (1, 2, 2), 3),
        "both rounds jointly; all graphs of 3 nodes and all patterns; of 4 nodes those with at most 3 secret positions",
    ),
)
# Six positions have 729 transcripts in each of 64 worlds: that takes minutes.
LONG = (
    findings.exact(
        "position, two rounds",
        _everything((1, 2), (1, 2, 2), 6),
        "both rounds jointly; all graphs of 3 nodes and, up to names, of 4; all patterns",
    ),
)


# ── mutants: the real client with one thing broken, caught by the audit of the real one.  [AUDIT.9] ──


def _first_bit_bare(client: PositionClient, report: PositionReport, *_: object) -> PositionReport:
    """The first position of a respondent is sent as it is."""
    ones = unpack(report.ones, report.count).copy()
    ones[0] = client._view.bits[0] & unpack(report.answered, report.count)[0]
    return replace(report, ones=pack(ones))


def _asked_anew(client: PositionClient, survey: PositionSurvey, number: int, *given: Any) -> PositionReport:
    """Asked again, it throws its coins again."""
    client._answers.pop((survey.identity, number), None)
    return PositionClient.answer(client, survey, number, *given)


Forgetful = findings.replaced(PositionClient, answer=_asked_anew)


class OneUniform(PositionClient):
    """The coins of the first round serve the second, at another epsilon. It holds one position."""

    _drawn = b""

    def answer(
        self, survey: PositionSurvey, round_number: int, coins: RandomBytes, present: Bits | None = None
    ) -> PositionReport:
        def same(count: int) -> bytes:
            self._drawn = self._drawn or coins(count)
            return self._drawn[:count]

        return super().answer(survey, round_number, same, present)


def coin_of_both_rounds(survey: PositionSurvey, kind: Visibility, round_number: int) -> randomness.Coin:
    """One uniform number that is compared with the thresholds of both rounds."""
    return randomness.cuts_coin(*(randomness.flipping_words(survey.mechanism(kind, number)) for number in (1, 2)))


Louder = findings.replaced(
    PositionSurvey,
    mechanism=lambda survey, kind, number: RandomizedResponse(Fraction(11, 10) * survey.round_price(kind, number)),
)
ONE_SECRET = (PRIVATE, PUBLIC, PUBLIC, PUBLIC, PUBLIC, PUBLIC)
MUTANTS = findings.exact_mutants(
    audit_position,
    [
        (
            "position, ε × 1.1",
            "The survey's mechanisms answer at 1.1 times the epsilon that is claimed.",
            [
                Stage(pattern, 3, question=partial(findings.recast, Louder))
                for pattern in small_worlds.patterns_up_to_names(3)
            ],
        ),
        (
            "position, one bit not randomized",
            "The first position of every respondent is sent as it is.",
            [
                Stage(pattern, 3, client=findings.altered(PositionClient, "randomize", _first_bit_bare))
                for pattern in small_worlds.patterns_up_to_names(3)
            ],
        ),
        (
            "position, an edge re-asked per triangle",
            "Round 2 asks an edge anew in each of its triangles, with new coins (document 003).",
            [Stage(ONE_SECRET, 4, asked=(1, 2, 2), client=Forgetful)],
        ),
        (
            "position, one uniform reused at two ε",
            "Both rounds compare the same uniform number with their thresholds, at two different epsilons.",
            [Stage(ONE_SECRET, 4, asked=(1, 2), first_share="1/4", client=OneUniform, coin=coin_of_both_rounds)],
        ),
        (
            "position, a client that forgets its answer",
            "The client does not store its answer: asked twice, it throws its coins twice.",
            [Stage((PRIVATE, FRIEND_VISIBLE, PRIVATE), 3, asked=(1, 1), client=Forgetful)],
        ),
    ],
)
