"""The rounds of a campaign: what they take, how they close, and what is made of them.

Everything that decides is in the store; what is kept here is read from it, so that a server that was killed at any
point goes on where it was.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from visibility_aware_edge_ldp.campaign.amendments import Amended
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.consents import Consents
from visibility_aware_edge_ldp.campaign.directory import ServedCampaign
from visibility_aware_edge_ldp.campaign.server.broadcasts import BroadcastFile, files_of
from visibility_aware_edge_ldp.campaign.server.clock import has_passed
from visibility_aware_edge_ldp.campaign.server.question_estimates import (
    Bodies,
    FirstRoundBroadcast,
    broadcast_of,
    refuse_damage,
    stored_broadcast,
)
from visibility_aware_edge_ldp.campaign.server.stages import (
    Arrivals,
    Erased,
    NotReady,
    Stage,
    State,
    Stopped,
    kept_until,
    lacks,
    refuse_too_soon,
)
from visibility_aware_edge_ldp.campaign.server.statements import new_seal
from visibility_aware_edge_ldp.campaign.server.stores.consents import freeze_consents, frozen_list, held_back
from visibility_aware_edge_ldp.campaign.server.stores.store import Outcome, Upload, Writer
from visibility_aware_edge_ldp.campaign.server.stores.turns import Turn
from visibility_aware_edge_ldp.campaign.server.telemetry import event, failed
from visibility_aware_edge_ldp.campaign.wire_format import Tree, round_root
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation, VaEdgeLdpError
from visibility_aware_edge_ldp.public.view import PublicView

EstimateBytes = Callable[[Charter, PublicView, Mapping[int, Bodies]], bytes]
Clock = Callable[[], float]
# Seconds between two looks at the clock; the second after many failures.
_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
# Seconds between two counts of what other processes have taken.
_RECOUNT = 2.0


class Rounds:
    """What the event loop knows of the rounds."""

    def __init__(
        self,
        served: ServedCampaign,
        writer: Writer,
        estimate_bytes: EstimateBytes,
        clock: Clock,
        file: BroadcastFile = BroadcastFile(),  # noqa: B008 - nowhere
    ) -> None:
        self._file = file
        self.served, self._writer, self._estimate_bytes, self.clock = served, writer, estimate_bytes, clock
        self.stages: dict[int, Stage] = {}
        self.received: dict[int, int] = {}
        self.amended, self.arrivals = Amended(served.charter), Arrivals(served.charter, clock)
        self.answers: bytes | None = None
        self.broadcast: FirstRoundBroadcast | None = None
        self.erased = self._tried = self._ending = False
        self.first_round: frozenset[int] = frozenset()  # who answered in it, and is asked again
        self._trees: dict[int, Tree] = {}
        self.turn = Turn(writer.database.turn_lock(), self._begin_turn)
        self.before_reading: Callable[[], Awaitable[None]] | None = None  # what else is read again with the rounds
        self._reading, self._counted = asyncio.Lock(), 0.0
        self._keeper: asyncio.Task[None] | None = None
        self._asked: asyncio.Task[None] | None = None

    @property
    def charter(self) -> Charter:
        return self.served.charter

    # ── starting and stopping ──

    async def start(self) -> None:
        """Read where the campaign is, finish what was begun, and keep the deadlines from now on."""
        await self._begin()
        await (self.fresh() if self._shared else self._read())
        for stage in () if self._shared else tuple(self.stages.values()):  # else whoever has the turn does it
            if stage.state is State.CLOSING:
                await self._settle(stage.round)
        self._keeper = asyncio.create_task(self._keep_deadlines())

    async def _begin(self) -> None:
        """Open the first round; where both ends must consent, only once it is known who did.  [CONSENT.1]"""
        if not self.charter.consent:
            return await self._writer.do(lambda store: store.begin(int(self.clock())))
        return await self._writer.do(held_back)

    async def _keep_to(self, consents: bytes) -> None:
        found = Consents.from_bytes(self.charter, consents)
        self.served = await asyncio.to_thread(self.served.among, found)

    async def freeze_consents(self) -> None:
        """Once their time is over, or the operator says so: nothing is answered before, and nobody joins after."""
        async with self.turn:
            if self.served.consents is None:
                at = int(self.clock())
                await self._keep_to(await self._writer.do(lambda store: freeze_consents(store, self.charter, at)))
                await self._refresh()
                event("consents frozen", people=len(self.served.consents.people) if self.served.consents else 0)

    def go_on(self, asked: int | None) -> None:
        """Make the answers that an operator had asked for, at this second, when the server was ended."""
        closed = max(stage.closed for stage in self.stages.values())
        if asked is not None and self.answers is None and asked >= closed and not self.erased:
            self._asked = asyncio.create_task(self._estimate_again())

    async def _estimate_again(self) -> None:
        try:
            await self.estimate()
        except NotReady:  # some round is not closed, or has too few reports: so it was refused when it was asked for
            return
        except Exception as failure:
            failed("estimate", failure)

    async def stop(self) -> None:
        self.end_estimate()
        for task in (self._keeper, self._asked):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    def end_estimate(self) -> None:
        """The server ends: whoever waits for answers is told so, and the next server goes on with them."""
        self._ending = True
        self.stop_estimate()

    def stop_estimate(self) -> bool:
        """Whether answers were being made, where that can be stopped; they are not any more."""
        stop: Callable[[], bool] | None = getattr(self._estimate_bytes, "stop", None)
        return stop is not None and stop()

    async def _read(self) -> None:
        """Everything, as the store has it."""
        kept = await self._writer.do(frozen_list) if self.charter.consent and self.served.consents is None else None
        if kept is not None:
            await self._keep_to(kept)
        await self._refresh()
        self.answers, erased = await self._writer.do(lambda store: (store.estimate(), store.erased_at()))
        self.erased = erased is not None
        if self.erased:
            self.arrivals.clear()
        await self._recount()
        ended = self.stages[1].state in (State.CLOSED, State.ESTIMATED) and len(self.stages) > 1 and not self.lacks(1)
        if ended and (self.erased or self.broadcast is None):
            await self._read_broadcast()

    async def _recount(self) -> None:
        """How many reports have come, whichever process took them."""
        received, arrivals = await self._writer.do(lambda store: (store.received(), store.arrivals()))
        self.received = dict.fromkeys(self.stages, 0) | received
        self.arrivals.load(arrivals)

    # ── beside other processes ──

    @property
    def _shared(self) -> bool:
        return self._writer.database.is_shared

    async def _begin_turn(self, number: int) -> None:
        await self._writer.do(lambda store: setattr(store.database, "turn_number", number))
        await self.fresh(again=True)

    async def _count_others(self) -> None:
        """How many reports others have taken is read now and then, while a round is open."""
        is_open = any(stage.state is State.OPEN for stage in self.stages.values())
        if self._shared and is_open and time.monotonic() >= self._counted + _RECOUNT:
            self._counted = time.monotonic()
            await self._recount()

    async def fresh(self, again: bool = False) -> None:
        """Read what other processes have changed; what is read is at least as new as the count that goes with it."""
        if not self._shared:
            return
        async with self._reading:
            changes, seen = await self._writer.do(lambda store: (store.changes(), store.database.seen))
            if changes != seen or again:
                if self.before_reading is not None:
                    await self.before_reading()
                await self._read()
                await self._writer.do(lambda store: setattr(store.database, "seen", changes))

    async def _refresh(self) -> None:
        self.stages = {stage.round: stage for stage in await self._writer.do(lambda store: store.stages())}
        self.received = {number: self.received.get(number, 0) for number in self.stages}

    # ── taking reports ──

    def takes(self, number: int) -> bool:
        """Whether the round takes reports now, by the server's clock."""
        return self.stages[number].state is State.OPEN and self.clock() < self.amended.rounds[number - 1].closes

    def upload_size(self, number: int, participant: int) -> int | None:
        """How many octets are expected; None of those who are not asked: round 2 asks who answered in round 1."""
        if number == 1 or participant in self.first_round:
            with contextlib.suppress(ProtocolViolation):
                return self.served.terms.upload_size(participant, number)
        return None

    def asked(self, number: int) -> int:
        return int(self.served.terms.asked(1).sum()) if number == 1 else len(self.first_round)

    def check(self, number: int, participant: int, body: bytes) -> None:
        """Refuse what no client would send; a round is never spoiled by one report."""
        before = self.broadcast if number > 1 else None
        known = (before.report(participant), before.digest) if before is not None else (None, "")
        self.served.terms.refuse_upload(participant, number, body, *known)

    async def put(self, upload: Upload) -> Outcome:
        """What became of an upload; it is on disk if this says so."""
        if not self.takes(upload.round):
            return await self._after_closing(upload)
        self.check(upload.round, upload.participant, upload.body)
        outcome = await self._writer.put(upload)
        self._count(upload, outcome)
        return outcome

    def hand(self, upload: Upload, told: Callable[[Outcome | Exception], None]) -> None:
        """The same for a round that takes reports; ``told`` hears what became of it, or why that is not known."""
        self.check(upload.round, upload.participant, upload.body)

        def counted(outcome: Outcome | Exception) -> None:
            self._count(upload, outcome)
            told(outcome)

        self._writer.hand(upload, counted)

    def _count(self, upload: Upload, outcome: Outcome | Exception) -> None:
        if outcome is Outcome.STORED:
            self.received[upload.round] += 1
            if upload.slot is not None:
                self.arrivals.add(upload.round, upload.slot)

    async def _after_closing(self, upload: Upload) -> Outcome:
        """Who sent it in time is told so again."""
        kept = await self.digest(upload.round, upload.participant)
        if kept is None:
            return Outcome.EARLY if self.stages[upload.round].state is State.WAITING else Outcome.LATE
        return Outcome.SAME if kept == upload.digest else Outcome.OTHER

    async def digest(self, number: int, participant: int) -> bytes | None:
        return await self._writer.do(lambda store: store.digest(number, participant))

    # ── closing ──

    async def close(self, number: int, early: bool = True) -> Stage:
        """Take no more reports; with too few of them only the deadline does this."""
        async with self.turn:
            fewest, state, at = self.charter.rounds[number - 1].fewest, self.stages[number].state, int(self.clock())
            if state is State.WAITING:
                raise NotReady(f"Round {number} is not open yet, so it cannot be closed.")
            if early and state is State.OPEN and self.received[number] < fewest:
                raise NotReady(
                    f"Round {number} needs {fewest:,} reports and has {self.received[number]:,}; "
                    "wait for more, or for its deadline."
                )
            if state is State.OPEN:
                found = self.stages[number] = await self._writer.do(lambda store: store.freeze(number, round_root, at))
                event("closing", round=number, included=found.included, root=found.root)
            if self.stages[number].state is State.CLOSING:
                await self._settle(number)
            return self.stages[number]

    async def _settle(self, number: int) -> None:
        """From closing to closed, from what is frozen alone; asked again after a crash it does the same."""
        broadcast, enough = None, not self.lacks(number)
        if number == 1 and len(self.stages) > 1 and enough:  # what few people said is not broadcast
            broadcast = await asyncio.to_thread(broadcast_of, self.served.terms, (await self._frozen(number)).values())
        octets, digest = (broadcast.octets, broadcast.digest) if broadcast else (b"", "")
        seal, at = new_seal(digest if self.served.terms.question.broadcasts else ""), int(self.clock())
        await self._writer.do(lambda store: store.settle(number, octets, digest, enough, at, seal))
        if broadcast is not None:
            await self._publish(broadcast)
        await self._refresh()
        event("closed", round=number, enough=enough)

    async def _publish(self, broadcast: FirstRoundBroadcast | None) -> None:
        leaves = await self._writer.do(lambda store: store.leaves(1))
        self.first_round, self.broadcast = frozenset(participant for participant, _ in leaves), broadcast
        if broadcast is None:
            await asyncio.to_thread(self._file.remove)
        else:
            closed = (await self._writer.do(lambda store: store.stages()))[0].closed
            await asyncio.to_thread(self._file.keep, files_of(broadcast), closed)

    async def _read_broadcast(self) -> None:
        """What was stored of the first round."""
        if self.erased:
            return await self._publish(None)
        octets = await self._writer.do(lambda store: store.transcript(1))
        kept = partial(stored_broadcast, self.served.terms, octets, self.stages[1].transcript)
        return await self._publish(await asyncio.to_thread(kept))

    def transcript(self, number: int) -> FirstRoundBroadcast:
        """What the second round is about, for everybody to read."""
        if self.broadcast is not None:
            return self.broadcast
        if self.erased:
            raise Erased("The transcript was erased with the reports that it can be turned into.")
        if self.stages[number].state in (State.WAITING, State.OPEN, State.CLOSING):
            raise NotReady("The transcript is made when the round is closed.")
        raise NotReady("Too few reports came in, so there is no transcript and no second round.")

    async def _frozen(self, number: int) -> Bodies:
        """The reports of a closed round, compared with the root that was frozen."""
        leaves, bodies = await self._writer.do(lambda store: (store.leaves(number), store.bodies(number)))
        await asyncio.to_thread(refuse_damage, self.stages[number], leaves, bodies)
        return bodies

    async def tree(self, number: int) -> Tree:
        """The Merkle tree of a closed round, kept once it has been made."""
        if self.stages[number].state in (State.WAITING, State.OPEN):
            raise NotReady(f"Round {number} is not closed yet, so nothing is proved.")
        if number not in self._trees:
            leaves = await self._writer.do(lambda store: store.leaves(number))
            self._trees[number] = await asyncio.to_thread(Tree.of, leaves)
        return self._trees[number]

    # ── estimating ──

    async def estimate(self) -> bytes:
        """The answers; the first ones stand."""
        async with self.turn:
            if self.answers is None:
                if self._ending:
                    raise Stopped("The server is shutting down. Ask again later.")
                self._refuse_estimate()
                reports = {number: await self._frozen(number) for number in self.stages}
                work = partial(self._estimate_bytes, self.charter, self.served.view, reports)
                try:
                    answers = await asyncio.to_thread(work)
                except BadStatistic as reason:
                    raise NotReady(f"Nothing can be estimated: {reason}") from reason
                made = int(self.clock())
                self.answers = await self._writer.do(lambda store: store.keep_estimate(answers, made))
                await self._refresh()
                event("estimated")
            with contextlib.suppress(VaEdgeLdpError):  # the answers are made; who keeps the deadlines asks again
                await self._forget_if_due(lambda clock, moment: clock() >= moment)  # the operator has asked for it
            return self.answers

    def _refuse_estimate(self) -> None:
        refuse_too_soon(self.charter, self.stages.values())
        if self.erased:
            raise Erased("The reports were erased before anybody asked for an estimate.")

    def why_no_answers(self) -> str:
        """For somebody who may read answers and cannot have them made."""
        try:
            self._refuse_estimate()
        except (NotReady, Erased) as reason:
            return str(reason)
        return "All rounds are closed, and the operator has not had the answers made yet."

    # ── deadlines ──

    def lacks(self, number: int) -> bool:
        """Whether a round has closed, or is closing, with too few reports, so that nothing will be estimated."""
        return lacks(self.charter, self.stages[number])

    def retained(self) -> tuple[int | None, bool | None]:
        """When the answers were made, and whether reports are still there, for other threads than the event loop's."""
        try:
            return self._writer.ask(lambda store: store.retained())
        except (TimeoutError, VaEdgeLdpError):
            return None, None

    async def _erases(self, due: Callable[[Clock, float], bool] = has_passed) -> bool:
        """Whether there are reports whose time is over, or that somebody has begun to erase."""
        made, kept = await self._writer.do(lambda store: store.retained())
        return kept and (self.erased or due(self.clock, kept_until(self.amended, self.stages.values(), made)))

    async def _forget_if_due(self, due: Callable[[Clock, float], bool] = has_passed) -> None:
        """Erase reports, and the transcript that holds the first ones, once their time is over; digests stay."""
        now = int(self.clock())
        if not await self._erases(due):
            return
        self.erased, self.broadcast = True, None  # from now on, also if the store needs several attempts
        self.arrivals.clear()
        await asyncio.to_thread(self._file.remove)
        await self._writer.do(lambda store: store.forget_bodies(now))
        await self._refresh()
        event("reports erased", estimated=self.answers is not None)

    async def _keep_deadlines(self) -> None:
        """What fails is tried again, the later the more often it has failed: others want the store meanwhile."""
        pause = _PAUSE
        while True:
            try:
                await self.check_deadlines()
                await self._count_others()
                pause = _PAUSE
            except Exception as failure:
                failed("deadline", failure)
                pause = min(2 * pause, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def check_deadlines(self) -> None:
        """Do what the clock demands: close a round that is over, erase reports whose time is over.

        An estimate that could be made, and that nobody has asked for in all this time, is made before they go.
        """
        await self.fresh()
        if self.charter.consent and self.served.consents is None:
            if not has_passed(self.clock, self.charter.consent):
                return
            await self.freeze_consents()
        for number, stage in list(self.stages.items()):
            over = has_passed(self.clock, self.amended.rounds[number - 1].closes)
            if stage.state is State.CLOSING or (over and stage.state is State.OPEN):
                await self.close(number, early=False)
        if not any(stage.state in (State.OPEN, State.CLOSING) for stage in self.stages.values()):
            await self._estimate_unasked()
            if await self._erases():
                async with self.turn:
                    await self._forget_if_due()

    async def _estimate_unasked(self) -> None:
        possible = not self.erased and not any(map(self.lacks, self.stages))
        due = has_passed(self.clock, kept_until(self.amended, self.stages.values(), None))
        if self.answers is None and possible and due and not self._tried:
            self._tried = True
            try:
                await self.estimate()
            except Stopped:
                self._tried = False  # whoever stopped it did not want the reports erased
                raise
            except Exception as failure:  # what cannot be estimated by now is erased all the same
                failed("estimate", failure)
