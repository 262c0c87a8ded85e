"""What ledgers count against what was really lost, over random sequences of campaigns.  [LEDGER.1-3]

Everybody of a small town has a real ledger and answers real campaigns: all questions, two epochs, several rosters,
policies and epsilons, campaigns asked again under the same name or another, lists that change, programs that stop
before anything is written, and older copies of a ledger that are put back. Beside it stands a model that sees only the
bytes that left. What an edge has lost by them it works out anew from the theorems, in fractions; nothing of the
ledger's arithmetic is used. After every campaign each end's ledger must count at least that, and when something
leaves, no more than its owner allowed.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.campaigns import model
from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.campaign.participant import answering
from visibility_aware_edge_ldp.campaign.participant.accounts import ONE, Account, caps_entry
from visibility_aware_edge_ldp.campaign.participant.answering import Task
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger, Page, UnusableLedger, create_ledger
from visibility_aware_edge_ldp.campaign.participant.lifetime import whole_account
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.surveys import position as row_layout
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.visibility import Visibility

Reader = Callable[[Account], Account]
"""From what the real ledger counts to what is compared: the same, or a mutant's account."""
Whole = Callable[[Page, Account, str], Account]
"""From an epoch's account to that of all epochs."""


class Stopped(Exception):  # noqa: N818 — the program stops here, as by a power cut
    """The program stops before its transaction ends."""


@dataclass
class Town:
    """Everybody's ledger in a folder, the model of what left, and the largest trouble that was found."""

    folder: Path
    caps: Mapping[Visibility, Fraction]
    silent: bool
    dice: model.Dice
    reader: Reader
    whole: Whole = whole_account
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    lists: dict[tuple[str, str, str], bool] = field(default_factory=dict)
    lost: dict[tuple[str, model.Where], model.Lost] = field(default_factory=dict)
    between: dict[tuple[str, str], dict[bytes, Fraction]] = field(default_factory=dict)
    asked_as: dict[tuple[str, model.Where], set[Visibility]] = field(default_factory=dict)
    added: set[tuple[str, model.Where]] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)
    losses: list[findings.Loss] = field(default_factory=list)
    uncounted: Fraction = Fraction(0)
    beyond: Fraction = Fraction(0)
    otherwise: int = 0
    cases: int = 0

    def __post_init__(self) -> None:
        for name in model.NAMES:
            (self.folder / name).mkdir()
            self.ledgers[name] = create_ledger(self.folder / name / chain.LEDGER, caps_entry(self.caps))

    def hold(self, campaign: model.Campaign) -> None:
        """One campaign: everybody answers all rounds that it may; then all ledgers are compared with the model."""
        first = model.context_of(campaign)
        people = {name: ParticipantContext(first.charter, first.documents, i) for i, name in enumerate(first.names)}
        older = {name: (self.folder / name / chain.LEDGER).read_bytes() for name in self.lucky(people)}
        sent, took_part = dict[str, dict[int, bytes]](), set[str]()
        away = self.lucky(people)  # so that the same question is heard with other answers
        for number in first.charter.numbers:
            for name, context in ((name, each) for name, each in people.items() if name not in away):
                task = self.task(context, number, sent)
                if task is None:
                    continue
                upload, answered = self.answered(name, task)
                took_part |= {name} if answered else set()
                if upload is not None:
                    sent.setdefault(name, {})[number] = report_in(upload)
        self.added, self.fresh = set(), set()
        for name, reports in sent.items():
            for number, report in reports.items():
                self.heard(campaign, people[name], number, report, took_part)
        for name in took_part:
            self.compare(name, people[name])
        for name, content in older.items():
            self.put_back(name, content)

    def lucky(self, people: Mapping[str, object]) -> list[str]:
        """One in ten."""
        return [name for name in people if self.dice.chance(10)]

    def task(self, context: ParticipantContext, number: int, sent: Mapping[str, Mapping[int, bytes]]) -> Task | None:
        """The round to answer; sums are made on what everybody said in round 1."""
        own = sent.get(context.names[context.number], {})
        if number == 1 or not context.terms.asks(context.number, number):
            return Task(context, number)
        if 1 not in own:
            return None
        if not context.question.broadcasts:
            return Task(context, number)
        answered, ones = (np.zeros(context.view.positions, np.bool_) for _ in range(2))
        for reports in sent.values():
            report = row_layout.decode(reports[1])
            run = slice(report.start, report.start + report.count)
            answered[run], ones[run] = unpack(report.answered, report.count), unpack(report.ones, report.count)
        octets = [np.packbits(each, bitorder="little") for each in (answered, ones)]
        said = Transcript(context.terms.survey.first.identity, octets[0], octets[1])
        return Task(context, number, b"".join(each.tobytes() for each in octets), said.digest)

    def answered(self, name: str, task: Task) -> tuple[bytes | None, bool]:
        """What left, if anything did, and whether this one takes part; sometimes the program stops and starts again."""
        ledger, context = self.ledgers[name], task.context
        try:
            if not context.terms.asks(context.number, task.round):
                with ledger.writing() as page:
                    answering.note_others(page, context)
                return None, True
            with ledger.reading() as page:
                agreed = answering.quote(page, task)
            if self.dice.chance(10):
                self.stop(ledger, task, agreed)
            older = (self.folder / name / chain.LEDGER).read_bytes() if self.dice.chance(20) else None
            with ledger.writing() as page:
                upload = answering.record(page, task, self.given(task), agreed, self.coins(task))
            if older is not None:  # before anything was read from it again
                self.put_back(name, older)
        except UnusableLedger:  # a whole ledger that suddenly is none
            self.otherwise += 1
            return None, False
        except Refused:
            return None, False
        return upload, True

    def stop(self, ledger: Ledger, task: Task, agreed: answering.Quote) -> None:
        """Answer, and stop before the transaction ends: nothing has left."""
        with suppress(Stopped), ledger.writing() as page:
            answering.record(page, task, self.given(task, remember=False), agreed, self.coins(task))
            raise Stopped

    def coins(self, task: Task) -> Callable[[int], bytes]:
        label = self.dice.below(1 << 60)
        return randomness.no_noise if self.silent else randomness.fresh_coins("ledgers", label)

    def given(self, task: Task, remember: bool = True) -> Friends | SeenEdges:
        """A list, another each time; what is told first about somebody stays for the epoch."""
        context = task.context
        own, bits = context.names[context.number], self.bits(context.view.n)
        bits[context.number] = False
        if context.question.sees_edges:
            pairs = np.transpose(np.triu_indices(context.view.n, 1))
            return SeenEdges(pairs[self.bits(len(pairs))].astype(np.int32), ())
        if remember:
            for name, bit in zip(context.names, bits.tolist(), strict=True):
                self.lists.setdefault((task.epoch, own, name), bit)
        return Friends(bits, ())

    def bits(self, count: int) -> npt.NDArray[np.bool_]:
        return np.array([self.dice.chance(50) for _ in range(count)], np.bool_)

    # ── the model ──

    def heard(
        self, campaign: model.Campaign, sender: ParticipantContext, number: int, report: bytes, here: set[str]
    ) -> None:
        """The bytes are with everybody: what they cost each position that they are about, at each end."""
        epsilon, own = Fraction(campaign.epsilon), sender.names[sender.number]
        kinds = {pair: self.kind(sender, *pair) for pair in combinations(range(sender.view.n), 2)}
        if campaign.question == "hubs":
            least = min(model.MULTIPLIER[kind] for kind in kinds.values() if kind is not model.PUBLIC)
            self.between.setdefault((own, campaign.epoch), {})[report] = least * epsilon
        for (u, v), kind in kinds.items():
            if kind is model.PUBLIC:
                continue
            where = campaign.epoch, frozenset((sender.names[u], sender.names[v]))
            for end in where[1] & here:
                self.asked_as.setdefault((end, where), set()).add(kind)
                lost = self.lost.setdefault((end, where), model.Lost())
                before = lost.loss
                if campaign.question == "hubs":
                    lost.reports[report] = least * epsilon
                elif campaign.question in model.BY_LISTS and sender.number in (u, v):
                    lost.reports[report] = model.MULTIPLIER[kind] * epsilon / 2
                elif campaign.question not in ("hubs", *model.BY_LISTS) and sender.number == u:
                    part = model.first_part(campaign.question, epsilon)
                    if number == 1:
                        bit = bool(_bit(report, v - u - 1))
                        lost.said.setdefault(model.MULTIPLIER[kind] * part, set()).add(bit)
                    elif campaign.question == model.TWICE:
                        lost.reports[report] = model.response_loss(model.MULTIPLIER[kind] * (epsilon - part))
                    else:
                        lost.reports[report] = model.MULTIPLIER[kind] * (epsilon - part)
                if lost.loss > before:
                    self.added.add((end, where))
                    self.fresh |= {own} if end == own else set()
        if campaign.question != "hubs" and self.silent:
            self.compare_lists(campaign, sender, number, report)

    def kind(self, context: ParticipantContext, u: int, v: int) -> Visibility:
        return Visibility(int(context.view.classes.of([u], [v])[0]))

    def compare_lists(self, campaign: model.Campaign, sender: ParticipantContext, number: int, report: bytes) -> None:
        """Without noise reports show the list: it must be the one that the epoch began with."""
        own, n = sender.names[sender.number], sender.view.n
        friends = {v: self.lists[campaign.epoch, own, sender.names[v]] for v in range(n) if v != sender.number}
        kinds = {v: self.kind(sender, min(v, sender.number), max(v, sender.number)) for v in friends}
        if campaign.question in model.BY_LISTS:
            said = sender.terms.check_upload(sender.number, 1, bytes(32) + report)
            groups = sender.view.groups.members if sender.view.groups else np.zeros(n, np.int64)
            asked = product(sender.terms.survey.classes, range(int(groups.max()) + 1))
            for row, (kind, group) in enumerate(asked):
                true = sum(friends[v] for v in friends if kinds[v] is kind and groups[v] == group)
                self.otherwise += int(said.values[row, 0] != true)
        elif number == 1 or campaign.question == model.TWICE:
            hidden = [v for v in friends if v > sender.number and kinds[v] is not model.PUBLIC]
            self.otherwise += sum(_bit(report, v - sender.number - 1) != friends[v] for v in hidden)

    def compare(self, name: str, context: ParticipantContext) -> None:
        """What this one's ledger counts, beside what the model has found; and what was allowed, if something new left.

        Others' answers cannot be stopped from here and may take an edge beyond its cap. Bytes that everybody has
        already tell nothing more: who sends the same again has not gone beyond it. But who sends something new must
        have seen that every edge to which the campaign costs something, by others' answers too, is within its cap.
        """
        with self.ledgers[name].reading() as page:
            account = self.reader(answering._account(page, context))
            whole = self.whole(page, account, context.charter.epoch)
        for place, other in enumerate(context.names):
            where = context.charter.epoch, frozenset((name, other))
            kind = Visibility(int(context.classes[place]))
            if kind is model.PUBLIC or (name, where) not in self.lost:
                continue
            self.count(kind, Fraction(int(account.lost[place]), ONE), self.lost[name, where].loss)
            ever = (self.lost.get((name, (epoch, where[1])), model.Lost()).loss for epoch in model.EPOCHS)
            self.count(kind, Fraction(int(whole.lost[place]), ONE), sum(ever, Fraction(0)))
            if name in self.fresh and (name, where) in self.added:
                allowed = min(self.caps[each] for each in self.asked_as[name, where])
                self.beyond = max(self.beyond, self.lost[name, where].loss - allowed)
        reports = self.between.get((name, context.charter.epoch), {})
        if reports:
            total = sum(reports.values(), Fraction(0))
            self.count(model.PRIVATE, Fraction(account.pairs, ONE), total)
            self.beyond = max(self.beyond, total - self.caps[model.PRIVATE])

    def count(self, kind: Visibility, counted: Fraction, lost: Fraction) -> None:
        self.cases += 1
        self.uncounted = max(self.uncounted, lost - counted)
        if lost:
            self.losses.append(findings.Loss(str(kind), max(float(counted), 1e-12), float(lost)))

    def put_back(self, name: str, older: bytes) -> None:
        """An older copy beside the newer mark: it must be refused; then the newest is brought back."""
        path = self.folder / name / chain.LEDGER
        newest = path.read_bytes()
        if newest == older:
            return
        path.write_bytes(older)
        try:
            self.ledgers[name] = Ledger(path)
        except UnusableLedger:
            path.write_bytes(newest)
            self.ledgers[name] = Ledger(path)
        else:
            self.otherwise += 1


def _bit(report: bytes, place: int) -> bool:
    decoded = row_layout.decode(report)
    return bool(unpack(decoded.ones, decoded.count)[place])
