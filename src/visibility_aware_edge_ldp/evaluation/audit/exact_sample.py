"""POSITION with a sample, every coin of the clients walked for several public coins.  [AUDIT.2], [SAMPLE.2]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import product

import numpy as np

from visibility_aware_edge_ldp.client.position import Bits
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.sampled import SampledRespondent, bits_at
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.evaluation.audit.coin_walk import Batch, Law, ScriptedCoins, flip_coin, walk
from visibility_aware_edge_ldp.evaluation.audit.exact_loss import largest_gaps, losses_of
from visibility_aware_edge_ldp.evaluation.audit.exact_position import PRIVATE, PUBLIC, Stage
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import World, patterns, patterns_up_to_names
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.codec import encode_sampled
from visibility_aware_edge_ldp.public.report import SampledReport, pack, unpack
from visibility_aware_edge_ldp.public.sample import position_sample
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

Client = Callable[[PositionBits, PublicView, Purse], SampledRespondent]
COINS = ("heads", "tails", "edge")
# What a position that is not drawn may lose: nothing, but shares of it are taken.
_NOTHING = dict.fromkeys(NON_PUBLIC, 1e-9)


class Choosy(SampledRespondent):
    """A broken twin: a position that has an edge does not say that it was drawn."""

    def _randomize(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None
    ) -> SampledReport:
        report = super()._randomize(survey, round_number, coins, present)
        willing = ~bits_at(self._view, self._drawn(survey))
        answered, ones = (pack(unpack(packed, report.drawn) & willing) for packed in (report.answered, report.ones))
        return replace(report, answered=answered, ones=ones)


class Undrawn(SampledRespondent):
    """A broken twin: it adds the bit of its last position, drawn or not, to the answer of the first drawn one."""

    def _randomize(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: Bits | None
    ) -> SampledReport:
        report = super()._randomize(survey, round_number, coins, present)
        ones = unpack(report.ones, report.drawn).copy()
        last = np.array([self._view.start + self._view.count - 1])
        ones[:1] ^= bits_at(self._view, last) & unpack(report.answered, report.drawn)[:1]
        return replace(report, ones=pack(ones))


def sampled(rate: str, coin: str) -> Callable[[PositionSurvey], PositionSurvey]:
    """The question of a stage, asked of a sample."""
    return partial(_sampled, rate, coin)


@cache
def _sampled(rate: str, coin: str, survey: PositionSurvey) -> PositionSurvey:
    """Kept, because its identity and who is drawn take longer than an answer."""
    return replace(survey, sample=position_sample(rate, coin))


def drawn_in(stage: Stage) -> frozenset[int]:
    """The positions that the public coin draws."""
    return frozenset(stage.survey.drawn.between(0, len(stage.pattern)).tolist())


def conversation(stage: Stage, world: World, client: Client = SampledRespondent) -> Law:
    """The law of all bytes that are sent in all rounds by all respondents, for the stage's public coin."""
    view, survey, drawn = stage.view, stage.survey, drawn_in(stage)
    room, seats = dict.fromkeys(NON_PUBLIC, 1000 * survey.epsilon), list(_seats(stage, world))

    @cache
    def draws(who: int, number: int, first: bytes) -> list[Batch]:
        """One coin for each drawn position of a respondent, class by class; in round 2 where it said 1."""
        held = [place for place in range(seats[who].start, seats[who].start + seats[who].count) if place in drawn]
        said = unpack(first, len(held)) if number == 2 else np.ones(len(held), np.bool_)
        asked = [stage.pattern[place] for place, one in zip(held, said, strict=True) if one]
        coins = [[flip_coin(survey.mechanism(kind, number))] * asked.count(kind) for kind in NON_PUBLIC]
        return [batch for batch in coins if batch]

    def play(coins: ScriptedCoins) -> bytes:
        sent, first = list[bytes](), dict[int, bytes]()
        respondents = [client(seat, view, Purse(room)) for seat in seats]
        for number, who in product(stage.asked, range(len(seats))):
            coins.offer(draws(who, number, first.get(who, b"")))
            report = respondents[who].answer(survey, number, coins)
            first.setdefault(who, report.ones)
            sent.append(encode_sampled(report))
        return b"".join(sent)

    return walk(play)


def _seats(stage: Stage, world: World) -> Iterator[PositionBits]:
    start = 0
    for size in stage.sizes or (len(world),):
        yield PositionBits(start, np.array(world[start : start + size], np.bool_))
        start += size


def audit_sample(name: str, stages: Iterable[Stage], about: str, client: Client = SampledRespondent) -> Finding:
    """Drawn positions lose what is claimed, and those that are not drawn lose nothing."""
    losses, cases = list[Loss](), 0
    for stage in stages:
        drawn, speak = drawn_in(stage), cache(partial(conversation, stage, client=client))
        for asked, claims in ((True, stage.claims), (False, _NOTHING)):
            pairs = [pair for pair in stage.pairs if (pair[2] in drawn) == asked]
            found = losses_of(largest_gaps(stage.pattern, pairs, speak), claims, closed=False)
            # Where nothing is claimed and nothing lost, there is nothing to show.
            losses += [loss for loss in found if asked or loss.found or loss.found_delta]
            cases += len(pairs)
    return exact_finding(name, losses, cases, about)


def stages() -> Iterator[Stage]:
    """Every graph of 3 nodes and every pattern, one round and two; of 4 nodes with at most 3 secret positions."""
    for pattern in patterns(3):
        yield Stage(pattern, 3, question=sampled("1/2", "tails"))
    for pattern, coin in product(patterns_up_to_names(3), COINS):
        yield Stage(pattern, 3, asked=(1, 1), question=sampled("1/2", coin), sizes=(1, 1, 1))
        yield Stage(pattern, 3, asked=(1, 2), question=sampled("2/3", coin), sizes=(1, 2), guard=("3", "1"))
    for pattern in patterns_up_to_names(4):
        if pattern.count(PUBLIC) >= 3:
            yield Stage(pattern, 4, "7/10", question=sampled("1/2", "heads"))


def _real() -> Finding:
    about = (
        "for several public coins: all graphs of 3 nodes, all patterns, one round and two; of 4 nodes with 3 secrets"
    )
    return audit_sample("position, a sample", stages(), about)


def _broken(client: Client, name: str, about: str) -> Audit:
    every = [Stage((PRIVATE,) * 3, 3, question=sampled("1/2", coin)) for coin in COINS]
    return Audit(name, "exact", partial(audit_sample, name, every, about, client), about)


AUDITS = (Audit("position, a sample", "exact", _real),)
TWINS = (
    _broken(Choosy, "position, an edge that hides from the coin", "A position with an edge does not answer if drawn."),
    _broken(Undrawn, "position, a bit that was not drawn", "The last bit of a run is sent along, drawn or not."),
)
