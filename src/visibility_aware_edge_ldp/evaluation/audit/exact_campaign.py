"""Campaign after campaign, through the participant's own code and a real ledger, every coin walked.  [LEDGER.2]

The real :func:`record` answers each campaign in a transaction of its own; the next one finds in the ledger what was
said. All reports together are compared between neighbouring worlds: an edge loses what the dearest campaign costs. The
salt before each report is taken off: it is drawn whatever the list is, which a walk
of the reports' coins cannot see.  [CHARTER.8]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.documents import in_order
from visibility_aware_edge_ldp.campaign.participant.answering import Task
from visibility_aware_edge_ldp.campaign.participant.friends import Friends
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.campaign.upload import report_in
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.campaign_stage import (
    EPOCH,
    Question,
    Reader,
    answered,
    as_it_is,
    first_round,
    forgets_all,
    forgets_worse,
    new_ledger,
    seats,
    with_words_again,
)
from visibility_aware_edge_ldp.evaluation.audit.coin_walk import Batch, Coin, Law, ScriptedCoins, walk
from visibility_aware_edge_ldp.evaluation.audit.exact_chain import (
    NO_MATTER,
    Memory,
    Said,
    answer_coin,
    better_alone,
    everything,
    levels_of,
    nothing,
    words_coin,
)
from visibility_aware_edge_ldp.evaluation.audit.exact_loss import Gaps, largest_gaps, losses_of
from visibility_aware_edge_ldp.evaluation.audit.exact_words import words_then
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import World, neighbours
from visibility_aware_edge_ldp.mechanisms.chain import chained
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.report import PositionReport, unpack
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Row = tuple[Visibility, ...]
"""The classes of the first participant's positions; all others are public."""
NAMES = ("ann", "bob", "cay")
# What each reader of the ledger still sees of what was said.
SEEN: dict[Reader, Memory] = {as_it_is: everything, forgets_all: nothing, forgets_worse: better_alone}


@dataclass(frozen=True)
class Stage:
    """Campaigns to be walked: what they ask, one after the other, of one row; with a twin's reader and coins."""

    row: Row
    asked: tuple[Question, ...]
    reader: Reader = as_it_is
    one_word: bool = False

    @property
    def seats(self) -> tuple[Seat, ...]:
        return _seats(self.row, self.asked)

    @property
    def claims(self) -> dict[Visibility, float]:
        """What the dearest of the campaigns may lose."""
        surveys = [first_round(seat) for seat in self.seats]
        return {kind: max(float(each.mechanism(kind, 1).epsilon) for each in surveys) for kind in NON_PUBLIC}

    def draws(self, seat: Seat, world: World, said: list[Said]) -> list[Batch]:
        """The words that a campaign draws: at each of its thresholds one for every position of the row."""
        due, places = thresholds_of(seat), range(len(self.row))
        return [[self._coin(due, place, each, world, said) for place in places] for each in self.used(seat)]

    def used(self, seat: Seat) -> list[int]:
        """The thresholds of the classes that the row has, in the order in which words are drawn."""
        due = thresholds_of(seat)
        return sorted({due[kind] for kind in self.row if kind is not PUBLIC})

    def refuse_other_answers(
        self, seat: Seat, world: World, said: list[Said], words: list[bytes], bits: npt.NDArray[np.bool_]
    ) -> None:
        """Refuses a program whose answers change at another word than was measured: its chances are not known.

        The words lie beside that place, so a program that passes on both sides changes there too.
        """
        due = thresholds_of(seat)
        for threshold, drawn in zip(self.used(seat), words, strict=True):
            for place in (each for each, kind in enumerate(self.row) if due.get(kind) == threshold):
                levels, word = levels_of(self.seen(threshold, said[place])), drawn[8 * place : 8 * place + 8]
                coins = words_then([int.from_bytes(word)])
                if bits[place] != chained(threshold, np.array([bool(world[place])]), levels, coins)[0]:
                    raise ProtocolViolation("A row answers otherwise than the chain does with the same word.")

    @property
    def seen(self) -> Memory:
        return SEEN[self.reader]

    def _coin(self, due: Mapping[Visibility, int], place: int, threshold: int, world: World, said: list[Said]) -> Coin:
        if due.get(self.row[place]) != threshold:
            return NO_MATTER
        if self.one_word:
            return words_coin(*{thresholds_of(each)[self.row[place]] for each in self.seats})
        return answer_coin(threshold, bool(world[place]), self.seen(threshold, said[place]))


@cache
def thresholds_of(seat: Seat) -> Mapping[Visibility, int]:
    """The flip thresholds of a campaign's first round; each seat works them out once."""
    return seat.request(1).thresholds


@cache
def _seats(row: Row, asked: tuple[Question, ...]) -> tuple[Seat, ...]:
    """The first participant of a roster has a row of these classes."""
    names = in_order(NAMES[: len(row) + 1], EPOCH)
    own = {
        kind: [(names[0], other) for other, each in zip(names[1:], row, strict=True) if each is kind] for kind in row
    }
    others = [(names[1], names[2])] if len(row) > 1 else []
    policy = VisibilityPolicy.from_positions([*own.get(PUBLIC, []), *others], own.get(FRIEND_VISIBLE, []))
    return seats(names, policy, asked)


def conversation(stage: Stage, world: World) -> Law:
    """The law of all reports to all campaigns."""
    friends = Friends(np.array([False, *map(bool, world)]), ())

    def play(coins: ScriptedCoins) -> bytes:
        source, reports = with_words_again(coins) if stage.one_word else coins, []
        said: list[Said] = [{} for _ in stage.row]
        with new_ledger() as ledger:
            for seat in stage.seats:
                coins.offer(stage.draws(seat, world, said))
                words: list[bytes] = []
                upload = answered(ledger, Task(seat, 1), friends, overheard(source, words), stage.reader)
                reports.append(report_in(upload))
                bits = read(seat, upload)
                stage.refuse_other_answers(seat, world, said, words, bits)
                for place, kind in enumerate(stage.row):
                    said[place] |= {thresholds_of(seat)[kind]: bool(bits[place])} if kind is not PUBLIC else {}
        return b"".join(reports)

    return walk(play)


def overheard(coins: Coins, words: list[bytes]) -> Coins:
    """The same coins; what they gave is kept."""

    def draw(count: int) -> bytes:
        words.append(coins(count))
        return words[-1]

    return draw


def read(seat: Seat, upload: bytes, round_number: int = 1) -> npt.NDArray[np.bool_]:
    """The bits of a row in an upload, as the server reads it."""
    report = seat.questions.check_upload(seat.number, round_number, upload)
    if not isinstance(report, PositionReport):
        raise ProtocolViolation("This is not the upload of a row.")
    return unpack(report.ones, report.count)


def gaps_of(stage: Stage) -> Gaps:
    """The largest loss of each class over all neighbouring worlds of a stage."""
    return largest_gaps(stage.row, neighbours(stage.row, 0), partial(conversation, stage))


def audit_campaigns(name: str, stages: Iterable[Stage], about: str) -> Finding:
    """All stages together; the same for the real ledger and for twins."""
    losses: list[Loss] = []
    cases = 0
    for stage in stages:
        losses += losses_of(gaps_of(stage), stage.claims, closed=False)
        cases += len(list(neighbours(stage.row, 0)))
    return exact_finding(name, losses, cases, about)


LOW, MIDDLE, HIGH = ROWS = (("position", "1/4"), ("position", "1/2"), ("position", "1"))
TRIANGLES = (("triangles", "1"), LOW, HIGH)
ONE_PRIVATE, ONE_VISIBLE = (PRIVATE,), (FRIEND_VISIBLE,)
# Triangles take three people; the third one's friendships are public.
ONE_OF_TWO = (PRIVATE, PUBLIC)


def _rows() -> Finding:
    stages = [Stage(row, order) for row in (ONE_PRIVATE, ONE_VISIBLE) for order in permutations(ROWS)]
    stages += [Stage((PRIVATE, FRIEND_VISIBLE), (LOW, MIDDLE)), Stage(ONE_PRIVATE, (LOW, HIGH, LOW, HIGH))]
    about = "three campaigns in all six orders; a row of two classes; asked again under new names; a ledger on disk"
    return audit_campaigns("campaign rows", stages, about)


def _triangles() -> Finding:
    stages = [Stage(ONE_OF_TWO, order) for order in permutations(TRIANGLES)]
    about = "the first round of triangles and two campaigns of positions, in all six orders; a ledger on disk"
    return audit_campaigns("campaign triangles, round 1", stages, about)


def _twin(name: str, broken: str, *stages: Stage) -> Audit:
    return Audit(name, "exact", partial(audit_campaigns, name, stages, broken), broken)


AUDITS = (
    Audit("campaign rows", "exact", _rows),
    Audit("campaign triangles, round 1", "exact", _triangles),
)
TWINS = (
    _twin(
        "campaign rows, one uniform for all",
        "All campaigns compare the same uniform number with their thresholds.",
        Stage(ONE_PRIVATE, (LOW, HIGH), forgets_all, one_word=True),
    ),
    _twin(
        "campaign rows, re-asked edges",
        "Every campaign is answered as if it were the first; a renamed one hears about the same edge again.",
        Stage(ONE_PRIVATE, (LOW, HIGH, LOW), forgets_all),
    ),
    _twin(
        "campaign rows, worse neighbour forgotten",
        "A dearer campaign is answered without a look at what cheaper ones were told.",
        Stage(ONE_PRIVATE, (LOW, MIDDLE, HIGH), forgets_worse),
    ),
    _twin(
        "campaign triangles, round 1, re-asked edges",
        "The first round of triangles does not know what campaigns of positions were told.",
        Stage(ONE_OF_TWO, (*TRIANGLES[1:], TRIANGLES[0]), forgets_all),
    ),
)
