"""Campaign after campaign, through the participant's own code and a real ledger, every coin walked.  [LEDGER.2]

The real :func:`record` answers each campaign in a transaction of its own; the next one finds in the ledger what was
said. All reports together are compared between neighbouring worlds: an edge loses what the dearest campaign costs. The
salt before each report is taken off: it is drawn whatever the list is, which a walk
of the reports' coins cannot see.  [CHARTER.8]
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.engine.small_worlds import World
from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.campaign.documents import in_order
from visibility_aware_edge_ldp.campaign.participant.answering import Task
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.chain import chained
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import position as codec
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Row = tuple[Visibility, ...]
"""The classes of the first participant's positions; all others are public."""
NAMES = ("ann", "bob", "cay")
# What each reader of the ledger still sees of what was said.
SEEN: dict[chain.Reader, chain.Memory] = {
    chain.as_it_is: chain.everything,
    chain.forgets_all: chain.nothing,
    chain.forgets_worse: chain.better_alone,
}


@dataclass(frozen=True)
class Stage:
    """Campaigns to be walked: what they ask, one after the other, of one row; with a mutant's reader and coins."""

    row: Row
    asked: tuple[chain.Question, ...]
    reader: chain.Reader = chain.as_it_is
    one_word: bool = False

    @property
    def contexts(self) -> tuple[ParticipantContext, ...]:
        return _contexts(self.row, self.asked)

    @property
    def claims(self) -> dict[Visibility, float]:
        """What the dearest of the campaigns may lose."""
        surveys = [chain.first_round(context) for context in self.contexts]
        return {kind: max(float(each.mechanism(kind, 1).epsilon) for each in surveys) for kind in NON_PUBLIC}

    def draws(self, context: ParticipantContext, world: World, said: list[chain.Said]) -> list[randomness.Batch]:
        """The words that a campaign draws: at each of its thresholds one for every position of the row."""
        due = thresholds_of(context)

        def coin(threshold: int, place: int) -> randomness.Coin:
            if due.get(self.row[place]) != threshold:
                return chain.NO_MATTER
            if self.one_word:
                return chain.words_coin(*{thresholds_of(each)[self.row[place]] for each in self.contexts})
            return chain.answer_coin(threshold, bool(world[place]), self.seen(threshold, said[place]))

        return [[coin(threshold, place) for place in range(len(self.row))] for threshold in self.used(context)]

    def used(self, context: ParticipantContext) -> list[int]:
        """The thresholds of the classes that the row has, in the order in which words are drawn."""
        due = thresholds_of(context)
        return sorted({due[kind] for kind in self.row if kind is not PUBLIC})

    def refuse_other_answers(
        self,
        context: ParticipantContext,
        world: World,
        said: list[chain.Said],
        words: list[bytes],
        bits: npt.NDArray[np.bool_],
    ) -> None:
        """Refuses a program whose answers change at another word than was measured: its chances are not known.

        The words lie beside that place, so a program that passes on both sides changes there too.
        """
        due = thresholds_of(context)
        for threshold, drawn in zip(self.used(context), words, strict=True):
            for place in (each for each, kind in enumerate(self.row) if due.get(kind) == threshold):
                levels, word = chain.levels_of(self.seen(threshold, said[place])), drawn[8 * place : 8 * place + 8]
                coins = randomness.words_then([int.from_bytes(word)])
                if bits[place] != chained(threshold, np.array([bool(world[place])]), levels, coins)[0]:
                    raise ProtocolViolation("A row answers otherwise than the chain does with the same word.")

    @property
    def seen(self) -> chain.Memory:
        return SEEN[self.reader]


@cache
def thresholds_of(context: ParticipantContext) -> Mapping[Visibility, int]:
    """The flip thresholds of a campaign's first round; each context works them out once."""
    return context.request(1).thresholds


@cache
def _contexts(row: Row, asked: tuple[chain.Question, ...]) -> tuple[ParticipantContext, ...]:
    """The first participant of a roster has a row of these classes."""
    names = in_order(NAMES[: len(row) + 1], chain.EPOCH)
    own = {
        kind: [(names[0], other) for other, each in zip(names[1:], row, strict=True) if each is kind] for kind in row
    }
    others = [(names[1], names[2])] if len(row) > 1 else []
    policy = VisibilityPolicy.from_positions([*own.get(PUBLIC, []), *others], own.get(FRIEND_VISIBLE, []))
    return chain.contexts(names, policy, asked)


def conversation(stage: Stage, world: World) -> randomness.Law:
    """The law of all reports to all campaigns."""
    friends = Friends(np.array([False, *map(bool, world)]), ())

    def play(coins: randomness.ScriptedCoins) -> bytes:
        source, reports = randomness.with_words_again(coins) if stage.one_word else coins, []
        said: list[chain.Said] = [{} for _ in stage.row]
        words: list[bytes] = []

        def noted(count: int) -> bytes:
            words.append(source(count))
            return words[-1]

        with chain.new_ledger() as ledger:
            for context in stage.contexts:
                coins.offer(stage.draws(context, world, said))
                words.clear()
                upload = chain.answered(ledger, Task(context, 1), friends, noted, stage.reader)
                reports.append(report_in(upload))
                bits = chain.read(context, upload)
                stage.refuse_other_answers(context, world, said, words, bits)
                for place, kind in enumerate(stage.row):
                    said[place] |= {thresholds_of(context)[kind]: bool(bits[place])} if kind is not PUBLIC else {}
        return b"".join(reports)

    return randomness.walk(play)


def gaps_of(stage: Stage) -> findings.Gaps:
    """The largest loss of each class over all neighbouring worlds of a stage."""
    return small_worlds.largest_gaps(stage.row, small_worlds.neighbours(stage.row, 0), partial(conversation, stage))


def audit_campaigns(name: str, stages: Iterable[Stage], about: str) -> findings.Finding:
    """All stages together; the same for the real ledger and for mutants."""
    found = (
        (findings.losses_of(gaps_of(stage), stage.claims, closed=False), small_worlds.neighbour_count(stage.row))
        for stage in stages
    )
    return findings.exact_finding_over(name, found, about)


LOW, MIDDLE, HIGH = ROWS = (("position", "1/4"), ("position", "1/2"), ("position", "1"))
TRIANGLES = (("triangles", "1"), LOW, HIGH)
ONE_PRIVATE, ONE_VISIBLE = (PRIVATE,), (FRIEND_VISIBLE,)
# Triangles take three people; the third one's friendships are public.
ONE_OF_TWO = (PRIVATE, PUBLIC)


# ── what an upload's length tells ──

PEOPLE = 40
DEGREES = (0, 1, 20, PEOPLE - 1)
# Words that begin every draw: noise near 0, and noise far out on either side.
WORDS = (1 << 63, 1 << 44, (1 << 64) - (1 << 44))
Sent = Callable[[bytes, int], bytes]
"""What leaves, given the upload and the degree: the real program sends the upload and nothing else."""


@cache
def _context(question: str) -> ParticipantContext:
    """A person of forty; a hub is one whose friendships are public."""
    names = in_order([f"person {number}" for number in range(PEOPLE)], chain.EPOCH)
    if question != "hubs":
        return chain.contexts(names, VisibilityPolicy.nothing(), [(question, "1")])[0]
    star = [(0, other) for other in range(1, PEOPLE)]
    return chain.contexts(
        names, VisibilityPolicy.from_profiles({names[0]: "public"}, rule="any"), [(question, "1")], star
    )[0]


def uploads(context: ParticipantContext, degree: int, word: int) -> Iterator[tuple[int, bytes]]:
    """All rounds' uploads of somebody with so many friends, or of a hub that sees so many edges at each friend."""
    given = (
        _edges(degree) if context.charter.question == "hubs" else Friends(np.arange(PEOPLE) > PEOPLE - 1 - degree, ())
    )
    coins = randomness.beginning(word, randomness.fresh_coins("lengths", context.charter.title, degree))
    with chain.new_ledger() as ledger:
        task = Task(context, 1)
        first = chain.answered(ledger, task, given, coins)
        yield 1, first
        if len(context.charter.rounds) > 1:
            yield 2, chain.answered(ledger, _second(context, first), given, coins)


def _edges(degree: int) -> SeenEdges:
    u, v = np.triu_indices(PEOPLE, 1)
    seen = np.stack([u, v], axis=1)[v - u <= degree]
    return SeenEdges(seen.astype(np.int32), ())


def _second(context: ParticipantContext, first: bytes) -> Task:
    """The second round; for triangles on a transcript in which the others said 0."""
    survey, view, own = context.terms.survey, context.view, codec.decode(report_in(first))
    if not isinstance(survey, RowSurvey):
        return Task(context, 2)
    ones = np.zeros(-(-view.positions // 8), np.uint8)
    ones[: len(own.ones)] = np.frombuffer(own.ones, np.uint8)
    said = Transcript(survey.first.identity, view.class_bits[Visibility.PRIVATE], ones)
    return Task(context, 2, said.answered.tobytes() + said.ones.tobytes(), said.digest)


def audit_lengths(
    name: str, questions: Iterable[str], about: str, sent: Sent = lambda upload, degree: upload
) -> findings.Finding:
    """By how many bytes the uploads of one question and round differ, among themselves and from what is public."""
    lengths: dict[tuple[str, int], set[int]] = {}
    for question in questions:
        context = _context(question)
        for degree, word in product(DEGREES, WORDS):
            for number, upload in uploads(context, degree, word):
                seen = lengths.setdefault((question, number), {context.terms.upload_size(context.number, number)})
                seen.add(len(sent(upload, degree)))
    apart = max(max(seen) - min(seen) for seen in lengths.values())
    return findings.Finding(
        name, "exact", (findings.Loss("length", 0, apart),), len(lengths) * len(DEGREES) * len(WORDS), about
    )


AUDITS = (
    findings.exact(
        "campaign rows",
        audit_campaigns,
        [
            *(Stage(row, order) for row in (ONE_PRIVATE, ONE_VISIBLE) for order in permutations(ROWS)),
            Stage((PRIVATE, FRIEND_VISIBLE), (LOW, MIDDLE)),
            Stage(ONE_PRIVATE, (LOW, HIGH, LOW, HIGH)),
        ],
        "three campaigns in all six orders; a row of two classes; asked again under new names; a ledger on disk",
    ),
    findings.exact(
        "campaign triangles, round 1",
        audit_campaigns,
        [Stage(ONE_OF_TWO, order) for order in permutations(TRIANGLES)],
        "the first round of triangles and two campaigns of positions, in all six orders; a ledger on disk",
    ),
    findings.exact(
        "campaign uploads",
        audit_lengths,
        chain.ROUNDS,
        "bytes, not ε: degrees 0, 1, 20 and 39 of 39, near and far noise, every question and round",
    ),
)
MUTANTS = (
    *findings.exact_mutants(
        audit_campaigns,
        [
            (
                "campaign rows, one uniform for all",
                "All campaigns compare the same uniform number with their thresholds.",
                [Stage(ONE_PRIVATE, (LOW, HIGH), chain.forgets_all, one_word=True)],
            ),
            (
                "campaign rows, re-asked edges",
                "Every campaign is answered as if it were the first; a renamed one hears about the same edge again.",
                [Stage(ONE_PRIVATE, (LOW, HIGH, LOW), chain.forgets_all)],
            ),
            (
                "campaign rows, worse neighbour forgotten",
                "A dearer campaign is answered without a look at what cheaper ones were told.",
                [Stage(ONE_PRIVATE, (LOW, MIDDLE, HIGH), chain.forgets_worse)],
            ),
            (
                "campaign triangles, round 1, re-asked edges",
                "The first round of triangles does not know what campaigns of positions were told.",
                [Stage(ONE_OF_TWO, (*TRIANGLES[1:], TRIANGLES[0]), chain.forgets_all)],
            ),
        ],
    ),
    *findings.exact_mutants(
        partial(audit_lengths, sent=lambda upload, degree: upload + bytes(degree)),
        [("campaign uploads, a byte for each friend", "The upload grows by a byte for each friend.", ["position"])],
    ),
)
