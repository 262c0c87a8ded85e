"""Waves: whole histories of one tie, through the participant's program and a real ledger.  [WAVES.1-2, CHANGES.1]

The neighbouring relation is that of a whole life: two histories of one tie that differ in any waves. A few waves are
walked coin by coin, and all uploads together are compared. Of twelve waves, every history is lived through with real
ledgers; what a wave says is walked for everything that a ledger can have told by then, and the losses of the waves add
up, because each draws coins of its own. Both are compared with what was agreed to and with what the ledger counts.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import drafted, in_order
from visibility_aware_edge_ldp.campaign.participant import reports
from visibility_aware_edge_ldp.campaign.participant.answering import Task, standing
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger, Page
from visibility_aware_edge_ldp.campaign.participant.reports import Made, Making, ParticipantContext, wave_row
from visibility_aware_edge_ldp.campaign.waves import LAYOUT, Wave, WaveReport
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility

FRIEND_VISIBLE, PRIVATE = Visibility.FRIEND_VISIBLE, Visibility.PRIVATE
NAMES = in_order(("ann", "bob"), chain.EPOCH)
MULTIPLIERS = {PRIVATE: 1, FRIEND_VISIBLE: 2}
History = tuple[int, ...]
"""Whether there is a tie, at each wave."""
Maker = Callable[[Making], Made]
# A fair coin, in the lowest bit of an octet; the others must not matter.
_HALF: randomness.Coin = tuple(randomness.Outcome(bytes([0xA4 + bit]), b"", 1, 1) for bit in (0, 1))


@dataclass(frozen=True)
class Series:
    """A series of waves about one tie; ``maker`` and ``reader`` are a mutant's.

    ``most`` is how many changes the histories have that are lived through; all, where it is not said.
    """

    kind: Visibility = PRIVATE
    first: str = "1/2"
    later: str = "1"
    changes: int = 1
    waves: int = 3
    most: int = 99
    maker: Callable[[], Maker] | None = None
    reader: chain.Reader = chain.as_it_is

    @property
    def contexts(self) -> tuple[ParticipantContext, ...]:
        return _contexts(self.kind, self.first, self.later, self.changes, self.waves)

    @property
    def agreed(self) -> Fraction:
        """What the first wave and all later ones together may cost."""
        return MULTIPLIERS[self.kind] * (Fraction(self.first) + Fraction(self.later))

    @property
    def histories(self) -> list[History]:
        """Every way in which the tie can be there or not."""
        return [each for each in product((0, 1), repeat=self.waves) if changes_in(each) <= self.most]

    def draws(self, number: int, bit: int) -> list[randomness.Batch]:
        """What a wave draws: for what formed, then for what ended, a flip and an octet of fair coins."""
        context = self.contexts[number]
        if not number:
            threshold = context.request(1).thresholds[self.kind]
            return [[chain.answer_coin(threshold, bool(bit), {})]]
        quiet = randomness.flip_coin(context.terms.survey.mechanism(self.kind).quiet)
        return [[quiet]] if self.maker in MEMORIES else [[quiet], [_HALF], [quiet], [_HALF]]


def changes_in(history: History) -> int:
    """How often it changes."""
    return int(np.count_nonzero(np.diff(history)))


@cache
def _contexts(kind: Visibility, first: str, later: str, changes: int, waves: int) -> tuple[ParticipantContext, ...]:
    policy = VisibilityPolicy.from_positions([], [(NAMES[0], NAMES[1])] if kind is FRIEND_VISIBLE else [])
    documents, due = drafted(NAMES, policy, [], chain.EPOCH), (Round(chain.CLOSES, 1),)

    def charter(title: str, epsilon: str, wave: Wave | None = None) -> ParticipantContext:
        made = charter_of(documents, "ab" * 32, "position", epsilon, ["edges"], due, title, chain.EPOCH, wave=wave)
        return ParticipantContext(made, documents, 0)

    start = charter("Wave 1", first)
    rules = [Wave(start.charter.identity, number, changes) for number in range(2, waves + 1)]
    return (start, *(charter(f"Wave {rule.number}", later, rule) for rule in rules))


@contextmanager
def _made_by(maker: Callable[[], Maker] | None) -> Iterator[None]:
    """Reports of waves are made by a mutant; by the real program without one."""
    real = reports.REPORTS["waves"]
    try:
        if maker is not None:
            reports.REPORTS["waves"] = (maker(),)
        yield
    finally:
        reports.REPORTS["waves"] = real


def _answered(series: Series, ledger: Ledger, number: int, bit: int, coins: randomness.ScriptedCoins) -> bytes:
    """The report to one wave, after the ledger has it."""
    coins.offer(series.draws(number, bit))
    friends = Friends(np.array([False, bool(bit)]), ())
    return report_in(chain.answered(ledger, Task(series.contexts[number], 1), friends, coins, series.reader))


def conversation(series: Series, counted: list[Fraction], history: History) -> randomness.Law:
    """The law of all reports of all waves; ``counted`` is told what the ledger says that they cost."""

    def play(coins: randomness.ScriptedCoins) -> bytes:
        with chain.new_ledger() as ledger, _made_by(series.maker):
            sent = [_answered(series, ledger, number, bit, coins) for number, bit in enumerate(history)]
            with ledger.reading() as page:
                counted.append(_standing(series, page))
        return b"".join(sent)

    return randomness.walk(play)


def _standing(series: Series, page: Page) -> Fraction:
    task = Task(series.contexts[-1], 1)
    return standing(series.reader(page, task), task.context)[series.kind]


def loss_of(series: Series) -> findings.Loss:
    """The largest loss between two histories of a few waves, beside what was agreed to and what the ledger counts."""
    counted = list[Fraction]()
    laws = [conversation(series, counted, history) for history in series.histories]
    found = findings.largest(directed(one, other) for one in laws for other in laws)
    return _beside(series, found, min(counted))


def _beside(series: Series, found: float, counted: Fraction) -> findings.Loss:
    claimed = min(series.agreed, counted)
    return findings.Loss(str(series.kind), float(claimed), found)


def directed(one: Mapping[bytes, Fraction], other: Mapping[bytes, Fraction]) -> float:
    """The largest logarithm of how much more likely something is under one law than under the other."""
    if any(said not in other for said in one):
        return math.inf
    return max(_log(chance) - _log(other[said]) for said, chance in one.items())


def _log(chance: Fraction) -> float:
    return math.log(chance.numerator) - math.log(chance.denominator)


# ── many waves ──

Told = tuple[int, int, int, int]
"""Which wave, whether there is a tie by what was told, how often it was told to change, and whether there is one."""


class Lives:
    """Every history of a series, each lived through with a ledger of its own; the laws of what its waves say."""

    def __init__(self, series: Series) -> None:
        self.series = series
        self.histories: dict[History, tuple[Told, ...]] = {}
        self.laws: dict[Told, randomness.Law] = {}
        self.counted: list[Fraction] = []
        with chain.folder() as place, _made_by(series.maker):
            chain.laid_out(place)
            self._live(place, (), ())

    def _live(self, place: Path, history: History, told: tuple[Told, ...]) -> None:
        """All that can follow a history so far, whose ledger is in this folder."""
        number = len(history)
        if number == self.series.waves:
            self.histories[history] = told
            with Ledger(place / chain.LEDGER).reading() as page:
                self.counted.append(_standing(self.series, page))
            return
        for bit in (0, 1):
            longer = (*history, bit)
            if changes_in(longer) > self.series.most:
                continue
            state = _told(Ledger(place / chain.LEDGER), number, bit)
            if state not in self.laws:
                self.laws[state] = randomness.walk(partial(self._said, place, state))
            with _copied(place) as branch:
                task, friends = Task(self.series.contexts[number], 1), Friends(np.array([False, bool(bit)]), ())
                coins = randomness.fresh_coins("lived", *longer)
                chain.answered(Ledger(branch / chain.LEDGER), task, friends, coins, self.series.reader)
                self._live(branch, longer, (*told, state))

    def _said(self, place: Path, told: Told, coins: randomness.ScriptedCoins) -> bytes:
        """What one wave says to a ledger; it is not kept."""
        with _copied(place) as branch:
            return _answered(self.series, Ledger(branch / chain.LEDGER), told[0], told[-1], coins)

    @property
    def loss(self) -> float:
        """The largest joint loss of two histories: waves draw coins of their own, so their losses add up."""
        numbers = {told: number for number, told in enumerate(self.laws)}
        lives = np.array([[numbers[told] for told in life] for life in self.histories.values()])
        total = np.zeros((len(lives), len(lives)))
        for wave in range(self.series.waves):
            here = [told for told in numbers if told[0] == wave]
            apart = np.zeros((len(numbers), len(numbers)))
            for one, other in product(here, here):
                apart[numbers[one], numbers[other]] = directed(self.laws[one], self.laws[other])
            total += apart[lives[:, wave][:, None], lives[:, wave][None, :]]
        return float(total.max())


@contextmanager
def _copied(place: Path) -> Iterator[Path]:
    """A copy of a ledger's folder, for a while."""
    with chain.folder() as branch:
        for each in place.iterdir():
            (branch / each.name).write_bytes(each.read_bytes())
        yield branch


def _told(ledger: Ledger, number: int, bit: int) -> Told:
    """What the entries say, by an arithmetic of its own: of two people, the second bit is the tie's."""
    with ledger.reading() as page:
        first, told = page.one("list"), [entry.content for entry in page.entries("wave")]
    times = sum(bool(each[0] & 2) for each in told)
    start = bit if first is None else first[1] >> 1 & 1
    return number, start ^ times % 2, times, bit


def loss_of_lives(series: Series) -> findings.Loss:
    """The same for many waves."""
    lives = Lives(series)
    return _beside(series, lives.loss, min(lives.counted))


def audit_waves(
    name: str, stages: Iterable[Series], about: str, loss: Callable[[Series], findings.Loss] = loss_of
) -> findings.Finding:
    """All series together; the same for the real program and for mutants."""
    found = ((each, loss(each)) for each in stages)
    return findings.exact_finding_over(name, (([one], len(each.histories) ** 2) for each, one in found), about)


# ── mutants ──


def _flag(making: Making, said: bool) -> Made:
    """A report that says one bit, in the flag of what formed."""
    context, wave = making.context, making.context.charter.wave
    told = making.told
    number = 2 if wave is None else wave.number
    flags = pack(np.array([said])), pack(np.array([False]))
    report = WaveReport(context.terms.survey.identity, number, 1 if told is None else told.last, 0, 1, *flags)
    return Made(LAYOUT.encode(report), changed=np.zeros(2, np.bool_))


def _response(making: Making, bit: bool) -> bool:
    mechanism: RandomizedResponse = making.context.terms.survey.mechanism(PRIVATE).quiet
    return bool(mechanism.randomize(np.array([bit]), making.random_bytes)[0])


def kept_until_it_changes() -> Maker:
    """A mutant: the answer is kept while the bit stays, and drawn anew when it has changed."""
    kept: list[tuple[bool, bool]] = []

    def made(making: Making) -> Made:
        bit = bool(making.given.bits[1]) if isinstance(making.given, Friends) else False
        if not kept or kept[-1][0] != bit:
            kept.append((bit, _response(making, bit)))
        return _flag(making, kept[-1][1])

    return made


def one_for_each_value() -> Maker:
    """A mutant: for each value of the bit one answer is drawn, for life."""
    kept: dict[bool, bool] = {}

    def made(making: Making) -> Made:
        bit = bool(making.given.bits[1]) if isinstance(making.given, Friends) else False
        if bit not in kept:
            kept[bit] = _response(making, bit)
        return _flag(making, kept[bit])

    return made


def fresh_every_wave() -> Maker:
    """A mutant: every wave asks for the bit anew, and nothing more is charged."""
    return lambda making: _flag(
        making, _response(making, isinstance(making.given, Friends) and bool(making.given.bits[1]))
    )


def told_without_end() -> Maker:
    """A mutant: it does not count how often a tie was told to change."""

    def made(making: Making) -> Made:
        told = making.told
        return wave_row(making if told is None else replace(making, told=replace(told, times=0 * told.times)))

    return made


MEMORIES = (kept_until_it_changes, one_for_each_value, fresh_every_wave)


class _Without(Page):
    """A mutant: a ledger of which some kind of entries is not seen."""

    def __init__(self, page: Page, kind: str) -> None:
        super().__init__(page._connection)
        self._kind = kind

    def entries(self, kind: str | None = None, epoch: str | None = None, key: str | None = None) -> list[Entry]:
        return [entry for entry in super().entries(kind, epoch, key) if entry.kind != self._kind]


def forgets_what_was_told(page: Page, task: Task) -> Page:
    """A mutant: every wave is answered as if it were the second."""
    return _Without(page, "wave")


def forgets_the_charge(page: Page, task: Task) -> Page:
    """A mutant: what a wave costs is not added up."""
    return _Without(page, "charge")


TWO = Series(waves=2)
_TWELVE = "campaign waves, twelve"
_add_up = partial(audit_waves, loss=loss_of_lives)
AUDITS = (
    findings.exact(
        "campaign waves",
        audit_waves,
        [TWO, Series(FRIEND_VISIBLE, waves=2)],
        "the first wave and the second jointly, every history of a tie, every coin walked; a ledger on disk",
    ),
    findings.exact(
        _TWELVE,
        _add_up,
        [Series(waves=12, most=1), Series(waves=4)],
        "twelve waves with up to one change, and four with any; each history with a ledger of its own, losses added",
    ),
)
LONG = (
    findings.exact(
        _TWELVE,
        _add_up,
        [Series(waves=12, most=2), Series(waves=6, changes=2)],
        "twelve waves with up to two changes, and six with any, of which two are told; losses added",
    ),
)
MUTANTS = (
    *findings.exact_mutants(
        audit_waves,
        [
            (
                "campaign waves, kept until it changes",
                "The answer is kept while a tie stays as it is, and drawn anew when it changes: that it changed shows.",
                [Series(maker=kept_until_it_changes)],
            ),
            (
                "campaign waves, one for each value",
                "For tie and no tie one answer each is drawn for life: where they differ, each change shows.",
                [Series(maker=one_for_each_value)],
            ),
            (
                "campaign waves, fresh every wave",
                "Every wave asks for the tie anew, and nothing more is charged.",
                [Series(maker=fresh_every_wave)],
            ),
            (
                "campaign waves, nothing charged",
                "What a series costs is not in the ledger.",
                [replace(TWO, reader=forgets_the_charge)],
            ),
        ],
    ),
    *findings.exact_mutants(
        _add_up,
        [
            (
                "campaign waves, twelve, told without end",
                "Changes of a tie are told however many were told before.",
                [Series(maker=told_without_end)],
            ),
            (
                "campaign waves, twelve, forgets what was told",
                "Every wave tells what has changed since the first one, again and again.",
                [Series(reader=forgets_what_was_told)],
            ),
        ],
    ),
)
