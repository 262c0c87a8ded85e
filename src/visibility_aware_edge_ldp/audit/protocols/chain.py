"""Chained answers of one bit, by the real sampler, in every order of asking: together they lose what the best one does.

The real :func:`chained` is run once for every outcome of its coins. Where a coin's outcome changes is found on it by
halving, among numbers of 128 bits; what the chain's law says of it is not believed.  [CHAIN.3, AUDIT.3]

And where chains are used: a participant of campaigns with real charters, a real ledger in a folder, and real uploads.
"""

import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import drafted
from visibility_aware_edge_ldp.campaign.participant.accounts import caps_entry
from visibility_aware_edge_ldp.campaign.participant.answering import Task, quote, record
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger, Page, create_ledger
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.chain import Level, chained
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

EPSILONS = (Fraction(2), Fraction(1), Fraction(1, 2))
Said = dict[int, bool]
"""What was said so far, at which threshold."""
Memory = Callable[[int, Said], Said]
"""What of it is looked at when the next answer is drawn, at a threshold."""
# Words of which the first two bytes are all there are: between them the answer may change once, and not again.
_HEADS = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
NO_MATTER: randomness.Coin = (randomness.Outcome(bytes(8), b"", 1, 0),)
"""A word that decides nothing."""
EPOCH = "spring"
LEDGER = "ledger.db"
CLOSES = 4_000_000_000
# In memory where the machine has such a folder: a disk's own delays only blunt the audit and make it slow.
_MEMORY = Path("/dev/shm")  # noqa: S108 - a new folder inside, for its owner alone
# Caps are not what is audited: mutants lose more than they should, and must not be stopped by that.
CAPS = dict.fromkeys(NON_PUBLIC, 100)
TWICE = ", twice"
# Unequal: a program that takes one round for the other is seen.
SPLIT = (Fraction(3, 4), Fraction(1, 4))
ROUNDS = {"position": 1, "position, twice": 2, "degrees": 1, "groups": 1, "triangles": 2, "hubs": 1}
WANTED = {"triangles": "triangles", "hubs": "triangles", "groups": "mixing"}
"""What is estimated from each question's reports; of the others, edges."""
Question = tuple[str, str]
"""What a campaign asks, and its epsilon per PRIVATE edge."""
Reader = Callable[[Page, Task], Page]
"""How the ledger is read when a task is answered: as it is, or as a forgetful mutant does."""


def everything(threshold: int, said: Said) -> Said:
    """The real chain looks at all of it."""
    return said


def nothing(threshold: int, said: Said) -> Said:
    """A mutant: every answer is the first."""
    return {}


def better_alone(threshold: int, said: Said) -> Said:
    """A mutant: blind for answers that are less accurate."""
    return {each: value for each, value in said.items() if each <= threshold}


def levels_of(said: Said, count: int = 1) -> list[Level]:
    """The same said of so many positions."""
    return [Level(each, np.ones(count, np.bool_), np.full(count, value)) for each, value in said.items()]


def answer_coin(threshold: int, bit: bool, said: Said) -> randomness.Coin:
    """The coin of one chained answer: two words beside the place where the answer changes, as measured."""
    return _measured_coin(threshold, bit, tuple(sorted(said.items())))


@cache
def _measured_coin(threshold: int, bit: bool, said: tuple[tuple[int, bool], ...]) -> randomness.Coin:
    levels, count = levels_of(dict(said)), _HEADS.size
    grid = iter([_HEADS.astype(">u8").tobytes()])
    many = chained(threshold, np.full(count, bit), levels_of(dict(said), count), lambda size: next(grid, bytes(size)))

    def says(number: int) -> bool:
        words = randomness.words_then(randomness.words_of(number, 128))
        return bool(chained(threshold, np.array([bit]), levels, words)[0])

    first, last = says(0), says(randomness.NUMBERS - 1)
    changes = np.count_nonzero(np.diff(np.append(many, last)))
    if many[0] != first or changes != (first != last):
        raise ProtocolViolation("A chained answer changes more than once with its word; its coin cannot be walked.")
    if first == last:
        return NO_MATTER
    high = randomness.last_where(lambda number: says(number) == first, 0, randomness.NUMBERS - 1) + 1
    tie = high // randomness.WORDS
    sides = (tie - 1, high), (tie + 1, randomness.NUMBERS - high)
    return tuple(randomness.Outcome(word.to_bytes(8), b"", numbers, 128) for word, numbers in sides)


@cache
def words_coin(*thresholds: int) -> randomness.Coin:
    """One word that is compared with several thresholds."""
    edges = [0, *sorted(thresholds), randomness.WORDS]
    return tuple(randomness.Outcome(((a + b) // 2).to_bytes(8), b"", b - a, 64) for a, b in pairwise(edges))


@dataclass(frozen=True)
class Stage:
    """Answers to be walked: at which epsilons, in their order, one of them perhaps again.

    ``memory`` and ``one_word`` are the mutants': what is looked at, and whether one word is drawn for all answers.
    """

    order: tuple[Fraction, ...]
    memory: Memory = everything
    one_word: bool = False

    @property
    def thresholds(self) -> tuple[int, ...]:
        return tuple(RandomizedResponse(epsilon).threshold for epsilon in self.order)

    def coin(self, threshold: int, bit: bool, said: Said) -> randomness.Coin:
        """The coin that is due."""
        if self.one_word:
            return words_coin(*dict.fromkeys(self.thresholds))
        return answer_coin(threshold, bit, self.memory(threshold, said))


def conversation(stage: Stage, bit: bool) -> findings.Spoken:
    """The law of all answers together."""

    def play(coins: randomness.ScriptedCoins) -> bytes:
        source, said, answers = randomness.with_words_again(coins) if stage.one_word else coins, Said(), []
        for threshold in stage.thresholds:
            coins.offer([[stage.coin(threshold, bit, said)]])
            levels = levels_of(stage.memory(threshold, said))
            said[threshold] = bool(chained(threshold, np.array([bit]), levels, source)[0])
            answers.append(said[threshold])
        return bytes(answers)

    return findings.Spoken(randomness.walk(play))


def audit_chain(name: str, stages: Iterable[Stage], about: str) -> findings.Finding:
    """The loss of each order beside what its best answer may lose; the same for the real chain and for mutants."""
    gaps = ((stage, findings.gap_between(*(conversation(stage, bit) for bit in (False, True)))) for stage in stages)
    losses = [findings.Loss("PRIVATE", float(max(stage.order)), gap.epsilon) for stage, gap in gaps]
    return findings.exact_finding(name, losses, len(losses), about)


ORDERS = tuple(permutations(EPSILONS))


AUDITS = (
    findings.exact(
        "chained answers",
        audit_chain,
        [Stage(order) for order in ORDERS] + [Stage((*order, order[0])) for order in ORDERS],
        "ε = 2, 1 and 1/2 in all six orders, and the first of them asked again; every coin walked",
    ),
)
MUTANTS = findings.exact_mutants(
    audit_chain,
    [
        (
            "chained answers, one uniform at three ε",
            "One uniform number is compared with all thresholds; where two answers differ, the better one is the bit.",
            [Stage(order, nothing, one_word=True) for order in ORDERS],
        ),
        (
            "chained answers, fresh every time",
            "Every answer is drawn anew, as if nothing had been said.",
            [Stage(order, nothing) for order in ORDERS],
        ),
        (
            "chained answers, worse neighbour forgotten",
            "A better answer is drawn without a look at the worse one that was given before.",
            [Stage(order, better_alone) for order in ORDERS],
        ),
    ],
)


# ── a participant with a ledger ──


def contexts(
    names: Sequence[Hashable],
    policy: VisibilityPolicy,
    asked: Sequence[Question],
    edges: npt.ArrayLike = (),
    issuer: str = "ab" * 32,
) -> tuple[ParticipantContext, ...]:
    """The first participant's context in campaigns that follow each other in one epoch, under names of their own."""
    evens = Groups("turn", ("even", "odd"), np.arange(len(names)) % 2)
    by_groups = any(question == "groups" for question, _ in asked)
    documents, found = drafted(names, policy, edges, EPOCH, groups=evens if by_groups else None), []
    for number, (question, epsilon) in enumerate(asked):
        own, title = question.removesuffix(TWICE), f"Campaign {number}"
        wanted = [WANTED.get(question, "edges")]
        due = tuple(Round(CLOSES + later, 1) for later in range(ROUNDS[question]))
        split = SPLIT if question.endswith(TWICE) else ()
        charter = charter_of(documents, issuer, own, epsilon, wanted, due, title, EPOCH, split=split)
        found.append(ParticipantContext(charter, documents, 0))
    return tuple(found)


def first_round(context: ParticipantContext) -> PositionSurvey:
    """What the first round of rows asks."""
    survey = context.terms.survey
    first = survey.first if isinstance(survey, RowSurvey) else survey
    if not isinstance(first, PositionSurvey):
        raise ProtocolViolation(f"The question {context.charter.question!r} does not ask for rows.")
    return first


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as place:
        yield Path(place)


@contextmanager
def new_ledger() -> Iterator[Ledger]:
    """The ledger of somebody who has answered nothing yet."""
    with folder() as place:
        yield laid_out(place)


def laid_out(place: Path) -> Ledger:
    """An empty ledger in a folder: a copy of one that was made once."""
    for name, content in _empty_ledger().items():
        (place / name).write_bytes(content)
    return Ledger(place / LEDGER)


@cache
def _empty_ledger() -> dict[str, bytes]:
    with folder() as place:
        create_ledger(place / LEDGER, caps_entry(CAPS))
        return {each.name: each.read_bytes() for each in place.iterdir()}


def as_it_is(page: Page, task: Task) -> Page:
    """The ledger, read as it stands."""
    return page


def answered(
    ledger: Ledger, task: Task, given: Friends | SeenEdges, coins: RandomBytes, reader: Reader = as_it_is
) -> bytes:
    """The upload, as the participant's program makes it and writes it down before it leaves.  [LEDGER.1]"""
    with ledger.writing() as found:
        page = reader(found, task)
        return record(page, task, given, quote(page, task), coins)


class Forgetful(Page):
    """A mutant: a ledger of which some levels are not seen when the next answer is drawn."""

    def __init__(self, page: Page, remembered: Callable[[int], bool]) -> None:
        super().__init__(page._connection)
        self._remembered = remembered

    def entries(self, kind: str | None = None, epoch: str | None = None, key: str | None = None) -> list[Entry]:
        found = super().entries(kind, epoch, key)
        return [entry for entry in found if entry.kind != "level" or self._remembered(int(entry.key))]


def forgets_all(page: Page, task: Task) -> Page:
    """A mutant: every campaign is answered as if it were the first."""
    return Forgetful(page, lambda threshold: False)


def forgets_worse(page: Page, task: Task) -> Page:
    """A mutant: what was answered less accurately is not looked at."""
    here = min(task.context.request(task.round).thresholds.values())
    return Forgetful(page, lambda threshold: threshold <= here)


def read(context: ParticipantContext, upload: bytes, round_number: int = 1) -> npt.NDArray[np.bool_]:
    """The bits of a row in an upload, as the server reads it."""
    report = context.terms.check_upload(context.number, round_number, upload)
    if not isinstance(report, PositionReport):
        raise ProtocolViolation("This is not the upload of a row.")
    return unpack(report.ones, report.count)
