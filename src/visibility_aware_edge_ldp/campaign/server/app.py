"""The application: which request is answered how, in pure ASGI, and its store; ``rounds.py`` decides everything."""

import asyncio
import contextlib
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from visibility_aware_edge_ldp.campaign.directory import ServedCampaign
from visibility_aware_edge_ldp.campaign.documents import NAMED
from visibility_aware_edge_ldp.campaign.server import messages
from visibility_aware_edge_ldp.campaign.server.broadcasts import BroadcastFile
from visibility_aware_edge_ldp.campaign.server.clock import SteadyClock
from visibility_aware_edge_ldp.campaign.server.messages import Refusal, Reply, Request
from visibility_aware_edge_ldp.campaign.server.operations import ESTIMATE, STOP, Operations, last_asked
from visibility_aware_edge_ldp.campaign.server.rounds import EstimateBytes, Rounds
from visibility_aware_edge_ldp.campaign.server.stages import State
from visibility_aware_edge_ldp.campaign.server.statements import stated_reply
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import (
    Grouping,
    Outcome,
    StoreUnavailable,
    Upload,
    Writer,
    resolve,
)
from visibility_aware_edge_ldp.campaign.server.stores.turns import OutdatedProcess
from visibility_aware_edge_ldp.campaign.server.telemetry import Metrics, event, failed
from visibility_aware_edge_ldp.campaign.server.uploads import Expected, Receipts, expected
from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError

STORE = "store.db"
_NUMBER = re.compile("0|[1-9][0-9]{0,9}")
_REFUSED = {
    Outcome.OTHER: "conflict",
    Outcome.LATE: "late",
    Outcome.EARLY: "not-open",
    Outcome.WITHDRAWN: "withdrawn",
}
# Seconds that the store may take to answer, and between two attempts to write to it for a look at the server's health.
_PATIENCE, _PROBES = 5.0, 10.0
# What no other process changes; of uploads, their transaction sees whether one has changed anything.
_AS_KNOWN = frozenset({"charter", "edges", "log", "openapi", "healthz", "metrics"})
# So often an upload is tried again after another process has changed something.
_TRIES = 5
_POSTGRES = ("postgresql://", "postgres://")
_RECEIPT = '{"campaign":"%s","digest":"%s","participant":%d,"round":%d}'
# How long caches may hold what never changes, in seconds; of what is going to be erased, not for long.
_DAY, _HOUR = 86_400, 3_600
Page = Callable[[Rounds], tuple[bytes, tuple[messages.Header, ...]]]
Gauges = Callable[[], dict[str, float]]


class App:
    """The server of one campaign."""

    def __init__(
        self,
        served: ServedCampaign,
        open_store: Callable[[], Store],
        estimate_bytes: EstimateBytes,
        clock: Callable[[], float] | None = None,
        page: Page | None = None,
        grouping: Grouping = Grouping(),  # noqa: B008 - a frozen value
        gauges: Gauges = dict,
        file: BroadcastFile = BroadcastFile(),  # noqa: B008 - nowhere
    ) -> None:
        self.served, self._open_store, self._estimate_bytes = served, open_store, estimate_bytes
        self._clock: Callable[[], float] = clock or SteadyClock()
        self._page, self._grouping, self._gauges, self._file = page, grouping, gauges, file
        self.metrics, self._probe_at = Metrics(), 0.0
        self._receipts = Receipts(served.campaign.key)
        self.failure: VaEdgeLdpError | None = None
        self.writer: Writer
        self.rounds: Rounds
        self.operations: Operations

    # ── starting and stopping ──

    async def start(self) -> None:
        store = await asyncio.to_thread(self._open_store)
        self.writer = Writer(store, self._grouping)
        self.rounds = Rounds(self.served, self.writer, self._estimate_bytes, self._clock, self._file)
        self.operations = Operations(self.rounds, self.writer)
        try:
            await self.operations.start()
            await self.rounds.start()
            self.rounds.go_on(await self.writer.do(last_asked))
        except BaseException:
            await self.writer.end()
            raise
        event("started", campaign=self.served.charter.identity)

    async def stop(self) -> None:
        """What was accepted is finished and on disk before the store is let go."""
        await self.rounds.stop()
        await self.writer.end()
        event("stopped")

    # ── one request ──

    async def __call__(self, scope: messages.Message, receive: messages.Receive, send: messages.Send) -> None:
        if scope["type"] == "lifespan":
            return await lifespan(self, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close"})
        route = "none"
        try:
            request = Request.of(scope, receive)
            route, handlers, values = self._routed(request)
            if route not in _AS_KNOWN and (route, request.method) != ("report", "PUT"):
                await self.rounds.fresh()
            reply = await messages.handler_of(handlers, request)(request, *values)
        except messages.Gone:
            return None
        except Exception as failure:
            reply = messages.refused(failure)
        self.metrics.replied(route, reply.status)
        return await messages.sent(reply, send, scope["method"] == "HEAD")

    def _routed(self, request: Request) -> tuple[str, dict[str, messages.Handler], tuple[int, ...]]:
        """What the path names: a word for the metrics, its methods, and the numbers in it."""
        match request.parts:
            case ("v1", "rounds", number, "reports", participant):
                place = self._place(number, participant)
                return "report", {"PUT": self._upload, "GET": self._receipt}, place
            case ("v1", "rounds", number, "proof", participant):
                return "proof", {"GET": self._proof}, self._place(number, participant)
            case ("v1", "rounds", number):
                return "round", {"GET": self._round}, (self._number(number),)
            case ("v1", "rounds", number, "transcript"):
                return "transcript", {"GET": self._transcript}, (self._number(number),)
            case ("v1", "rounds", number, "parts", part) if self.served.charter.parts is not None:
                return "part", {"GET": self._part}, (self._number(number), self._part_number(part))
            case ("v1", "rounds", number, "statement") if self.served.campaign.key:
                return "statement", {"GET": self._statement}, (self._number(number),)
            case ("v1", "rounds", number, "close"):
                return "close", {"POST": self._close}, (self._number(number),)
            case ("v1", "charter" | "roster" | "policy" | "edges" as name):
                return name, {"GET": self._document}, ()
            case ("v1", "log") if self.served.campaign.log is not None:
                return "log", {"GET": partial(self._log, self.served.campaign.log.data)}, ()
            case ("v1", "amendments"):
                return "amendments", {"GET": self.operations.amendments, "POST": self.operations.amend}, ()
            case ("v1", "amendments", participant):
                return "own amendments", {"GET": self.operations.own_amendments}, self._place("1", participant)[1:]
            case ("v1", "consents") if self.served.charter.consent:
                return "consents", {"GET": self.operations.consents, "POST": self._freeze_consents}, ()
            case ("v1", "consents", participant) if self.served.charter.consent:
                own = self.operations
                return "own consent", {"GET": own.consent, "PUT": own.say_consent}, self._place("1", participant)[1:]
            case ("v1", "rounds", number, "unanswered"):
                return "unanswered", {"GET": self.operations.unanswered}, (self._number(number),)
            case ("v1", "operations"):
                return "operations", {"GET": self.operations.log}, ()
            case ("v1", "flagged"):
                return "flagged", {"GET": self.operations.flagged}, ()
            case ("v1", "estimate"):
                return "estimate", {"POST": self._estimate, "DELETE": self._stop_estimate}, ()
            case ("v1", "estimates"):
                return "estimates", {"GET": self._estimates}, ()
            case ("v1", "openapi.json"):
                return "openapi", {"GET": self._openapi}, ()
            case ("healthz",):
                return "healthz", {"GET": self._healthz}, ()
            case ("metrics",):
                return "metrics", {"GET": self._metrics_text}, ()
            case ("",) if self._page is not None:
                return "page", {"GET": partial(self._front, self._page)}, ()
        raise Refusal("not-found")

    def _number(self, text: str) -> int:
        if not _NUMBER.fullmatch(text) or int(text) not in self.rounds.stages:
            raise Refusal("not-found", "There is no such round.")
        return int(text)

    def _part_number(self, text: str) -> int:
        parts = self.served.charter.parts
        if not _NUMBER.fullmatch(text) or parts is None or int(text) >= parts.groups:
            raise Refusal("not-found", "There is no such part.")
        return int(text)

    def _place(self, number: str, participant: str) -> tuple[int, int]:
        if not _NUMBER.fullmatch(participant) or int(participant) >= self.served.charter.nodes:
            raise Refusal("not-found", "There is no such participant.")
        return self._number(number), int(participant)

    # ── reports ──

    async def _upload(self, request: Request, number: int, participant: int) -> Reply:
        size = await self._expected(request, number, participant)
        upload = Upload.of(number, participant, await request.body(size), self.rounds.arrivals.now(number))
        begun = time.perf_counter()
        outcome, reply = await self._put(request, upload), _future_reply()
        self.uploaded(upload, outcome, begun, partial(resolve, reply))
        return await reply

    def expects(self, scope: messages.Message) -> Expected | None:
        """The upload that this head announces, if it is to be taken as it comes; all others go the ordinary way."""
        return expected(self, scope)

    def uploaded(self, upload: Upload, outcome: Outcome, begun: float, told: Callable[[Reply], None]) -> None:
        """Tell the reply to an upload which had arrived at this time; a refusal is raised."""
        if outcome in _REFUSED:
            raise Refusal(_REFUSED[outcome])
        if outcome is Outcome.STORED:
            self.metrics.stored(time.perf_counter() - begun, len(upload.body))
        status = 201 if outcome is Outcome.STORED else 200
        self._tell_receipt(upload.round, upload.participant, upload.digest, status, told)

    async def _expected(self, request: Request, number: int, participant: int) -> int:
        """How many octets this upload has, if it is to be read at all."""
        takes = self.rounds.takes(number) and self.rounds.upload_size(number, participant) is not None
        if not takes or not self.operations.admits(request.headers, participant):
            await self.rounds.fresh()  # another process may have opened the round, or been told of the token
        self.operations.admit(request, participant)
        if self.rounds.stages[number].state is State.WAITING:
            raise Refusal("not-open", headers=request.closing)
        size = self.rounds.upload_size(number, participant)
        if size is None:
            raise Refusal("forbidden", "This participant is not asked in this round.", request.closing)
        request.check_head(size)
        return size

    async def _put(self, request: Request, upload: Upload) -> Outcome:
        """What becomes of an upload; what another process has changed, such as its token, is looked at again."""
        for _ in range(_TRIES):
            with contextlib.suppress(OutdatedProcess):
                return await self.rounds.put(upload)
            await self.rounds.fresh()
            await self._expected(request, upload.round, upload.participant)
        return await self.rounds.put(upload)

    def _tell_receipt(
        self, number: int, participant: int, digest: bytes, status: int, told: Callable[[Reply], None]
    ) -> None:
        # Receipt(…).to_bytes(), written out: it is made for every upload, and checking what we know takes its time.
        body = (_RECEIPT % (self.served.charter.identity, digest.hex(), participant, number)).encode()
        self._receipts.tell(body, status, told)

    async def _receipt(self, request: Request, number: int, participant: int) -> Reply:
        self.operations.admit(request, participant)
        digest = await self.rounds.digest(number, participant)
        if digest is None:
            raise Refusal("not-found", "Nothing is stored for this participant in this round.")
        reply = _future_reply()
        self._tell_receipt(number, participant, digest, 200, partial(resolve, reply))
        return await reply

    async def _proof(self, request: Request, number: int, participant: int) -> Reply:
        self.operations.admit(request, participant)
        proof = (await self.rounds.tree(number)).proof(participant)
        if proof is None:
            raise Refusal("not-found", "Nothing of this participant is included in this round.")
        named = {"campaign": self.served.charter.identity, "round": number, "participant": participant}
        place = {"digest": proof.digest, "index": proof.index, "count": proof.count, "proof": proof.siblings}
        return messages.json_reply({**named, **place, "root": self.rounds.stages[number].root})

    # ── rounds ──

    async def _round(self, request: Request, number: int) -> Reply:
        stage, rounds = self.rounds.stages[number], self.rounds
        counts = {"asked": rounds.asked(number), "received": rounds.received[number]}
        digest = stage.transcript if self.served.terms.question.broadcasts and not rounds.erased else ""
        said = {"round": number, "state": str(stage.state), "root": stage.root, "transcript": digest}
        return messages.json_reply({**said, **counts, "arrivals": rounds.arrivals.as_dict(number)})

    async def _transcript(self, request: Request, number: int) -> Reply:
        if not self.served.terms.question.broadcasts or self.served.charter.parts or number != 1:
            raise Refusal("not-found", "This round has no transcript that others need.")
        broadcast = self.rounds.transcript(number)
        return self._broadcast(request, broadcast.octets, broadcast.digest, broadcast.digest)

    async def _part(self, request: Request, number: int, part: int) -> Reply:
        if number != 1:
            raise Refusal("not-found", "This round has no parts that others need.")
        broadcast = self.rounds.transcript(number)
        return self._broadcast(request, broadcast.parts[part], broadcast.digest, f"{broadcast.digest}-{part}")

    def _broadcast(self, request: Request, octets: bytes, digest: str, tag: str) -> Reply:
        """What everybody reads of the first round, or the piece of it that is asked for."""
        said = ((b"transcript-digest", digest.encode()),)
        return messages.part_of(messages.cached(request, octets, tag, messages.OCTETS, said, _HOUR), request)

    async def _statement(self, request: Request, number: int) -> Reply:
        return Reply(200, *stated_reply(self.rounds.served, self.rounds.stages, number, self.rounds.erased))

    async def _log(self, data: bytes, request: Request) -> Reply:
        return Reply(200, data)

    async def _close(self, request: Request, number: int) -> Reply:
        self.operations.admit(request, None)
        await self.operations.note(f"close round {number}")
        await asyncio.shield(asyncio.ensure_future(self.rounds.close(number)))
        return await self._round(request, number)

    async def _freeze_consents(self, request: Request) -> Reply:
        self.operations.admit(request, None)
        await self.operations.note("freeze the consents")
        await asyncio.shield(asyncio.ensure_future(self.rounds.freeze_consents()))
        return await self.operations.consents(request)

    async def _estimate(self, request: Request) -> Reply:
        self.operations.admit(request, None)
        await self.operations.note(ESTIMATE)
        return Reply(200, await asyncio.shield(asyncio.ensure_future(self.rounds.estimate())))

    async def _stop_estimate(self, request: Request) -> Reply:
        self.operations.admit(request, None)
        await self.operations.note(STOP)
        return messages.json_reply({"stopped": self.rounds.stop_estimate()})

    async def _estimates(self, request: Request) -> Reply:
        if self.rounds.answers is None:
            raise Refusal("not-ready", self.rounds.why_no_answers())
        return Reply(200, self.rounds.answers)

    # ── what never changes, and what is for the operator ──

    async def _document(self, request: Request) -> Reply:
        name = request.parts[1]
        if named := name in NAMED:
            self.operations.admit_anybody(request)
        data, digest = self.served.documents[name]
        signature = self.served.campaign.signed.signature.hex().encode()
        extra = ((b"charter-signature", signature),) if name == "charter" else ()
        return messages.cached(request, data, digest, messages.JSON, extra, _DAY, shared=not named)

    async def _openapi(self, request: Request) -> Reply:
        charter = self.served.charter
        parts = charter.parts.groups if charter.parts else 1
        about = messages.described(len(self.rounds.stages), charter.nodes, self._page is not None, parts)
        return Reply(200, about)

    async def _healthz(self, request: Request) -> Reply:
        return await self.health()

    async def health(self) -> Reply:
        """Whether the store can be written, too; asked often, it is tried now and then."""
        now = time.monotonic()
        if now < self._probe_at:
            await asyncio.wait_for(self.writer.do(lambda store: store.stages()), _PATIENCE)
            return messages.json_reply({"status": "ok"})
        try:
            await asyncio.wait_for(self.writer.do(lambda store: store.probe(f"{now:.0f}")), _PATIENCE)
        except StoreUnavailable as failure:  # whoever asks for this is an operator, and may know the cause
            raise Refusal("store-unavailable", str(failure)) from failure
        self._probe_at = now + _PROBES
        return messages.json_reply({"status": "ok"})

    async def _metrics_text(self, request: Request) -> Reply:
        writer, rounds, amended = self.writer, self.rounds, self.rounds.amended
        own = {"commits_total": writer.commits, "waiting_uploads": writer.waiting, "withdrawals": amended.withdrawals}
        if isinstance(self._clock, SteadyClock):
            own["clock_jump_seconds"] = round(self._clock.jumped)
        gauges = {name: [("", float(value))] for name, value in (own | self._gauges()).items()}
        for number, stage in rounds.stages.items():
            counts = {"received": rounds.received[number], "asked": rounds.asked(number)}
            times = {"closes_timestamp_seconds": amended.rounds[number - 1].closes}
            for name, value in {**counts, "open": stage.state is State.OPEN, **times}.items():
                gauges.setdefault(name, []).append((f'{{round="{number}"}}', float(value)))
        return Reply(200, self.metrics.text(dict(gauges)), b"text/plain; version=0.0.4; charset=utf-8")

    async def _front(self, page: Page, request: Request) -> Reply:
        body, headers = await asyncio.to_thread(page, self.rounds)
        return Reply(200, body, messages.HTML, headers)


def _future_reply() -> asyncio.Future[Reply]:
    return asyncio.get_running_loop().create_future()


class Lived(Protocol):
    """What is started and stopped with the server; why it was not, if it can be said."""

    failure: VaEdgeLdpError | None

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


async def lifespan(lived: Lived, receive: messages.Receive, send: messages.Send) -> None:
    """Start when the server does, and stop before it ends."""
    while True:
        message = await receive()
        step = message["type"].removeprefix("lifespan.")
        try:
            await (lived.start() if step == "startup" else lived.stop())
        except Exception as failure:
            if isinstance(failure, VaEdgeLdpError) and step == "startup":
                lived.failure = failure  # a sentence for whoever starts the server
            else:
                failed(step, failure)
            await send({"type": f"lifespan.{step}.failed", "message": ""})
            return
        await send({"type": f"lifespan.{step}.complete"})
        if step == "shutdown":
            return


def default_store(directory: Path) -> str:
    """The address of the store that a campaign has unless another is named: a SQLite file in its directory."""
    return f"sqlite:///{directory / STORE}"


def refuse_alone(url: str) -> None:
    """Refuse a store that several processes or campaigns cannot use together."""
    if not url.startswith(_POSTGRES):
        raise BadInput("Several processes, and several campaigns in one store, need --store postgresql://….")


def open_store(url: str, campaign: str, rounds: int, shared: bool = False) -> Store:
    """``sqlite:///path`` or ``postgresql://…``; each library is needed only where its store is used.

    A ``shared`` store is used by several processes, and its database by several campaigns.
    """
    if shared:
        refuse_alone(url)
        from visibility_aware_edge_ldp.campaign.server.stores.shared import shared_store

        return shared_store(url, campaign, rounds)
    if url.startswith("sqlite:///"):
        from visibility_aware_edge_ldp.campaign.server.stores.sqlite import sqlite_store

        return sqlite_store(url.removeprefix("sqlite:///"), campaign, rounds)
    if url.startswith(_POSTGRES):
        from visibility_aware_edge_ldp.campaign.server.stores.postgres import postgres_store

        return postgres_store(url, campaign, rounds)
    raise BadInput("A store is named sqlite:///path or postgresql://…; neither was given.")
