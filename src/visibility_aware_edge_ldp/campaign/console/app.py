"""The console as an ASGI application: who is admitted to what; ``actions.py`` does it.

Every address but the sign-in, the set-up and the style needs a session, and every form the session's token. Work is
done in threads, one at a time for each console: an operator presses one button after the other.
"""

import asyncio
import hmac
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from visibility_aware_edge_ldp.campaign.console import actions, pages, visits
from visibility_aware_edge_ldp.campaign.console.draft_page import InjectedFunctions
from visibility_aware_edge_ldp.campaign.console.markup import STYLE
from visibility_aware_edge_ldp.campaign.console.operator_context import OperationLog, OperatorContext, refuse_haste
from visibility_aware_edge_ldp.campaign.console.server_process import ServerProcesses
from visibility_aware_edge_ldp.campaign.console.sessions import Attempts, Sessions
from visibility_aware_edge_ldp.campaign.console.studies import Study, studies_of, study_of
from visibility_aware_edge_ldp.campaign.console.vault import EVERYDAY, SCRYPT_COST, Vault, WrongPassphrase
from visibility_aware_edge_ldp.campaign.server import messages
from visibility_aware_edge_ldp.campaign.server.telemetry import event, failed
from visibility_aware_edge_ldp.errors import VaEdgeLdpError

Action = Callable[[OperatorContext, visits.Visit, Study], messages.Reply]
# What follows a study's address, by the method that it takes.
GET: dict[str, Action] = {
    "": actions.look,
    "codes": actions.codes,
    "results.csv": actions.results,
    "results.json": actions.results,
    "results.pdf": actions.results,
    "round-2.ics": actions.second_round,
}
POST: dict[str, Action] = {
    "people": actions.replace_people,
    "choices": actions.choose,
    "sign": actions.sign,
    "discard": actions.discard,
    "server": actions.serve,
    "server-part": actions.server_part,
    "letters": actions.letters,
    "forget": actions.forget,
    "away": actions.away,
    "replace": actions.replace,
    "withdraw": actions.withdraw,
    "extend": actions.extend,
    "hand-in": actions.hand_in,
    "addresses": actions.readdress,
    "close": actions.close,
    "estimate": actions.estimate,
    "flagged": actions.flagged,
}
# What is done with a draft, and otherwise only with a signed study.
_DRAFT = frozenset({"", "people", "choices", "sign", "discard"})
_NOWHERE = visits.EarlyReply(404, "There is no such page.")


class Console:
    """One operator's console, over a folder."""

    def __init__(
        self,
        folder: Path,
        address: str,
        injected: InjectedFunctions,
        first_port: int,
        default: str = "",
        work: int = SCRYPT_COST,
        store: str = "",
    ) -> None:
        self._folder, self._injected, self._first, self._default, self._work = (
            folder,
            injected,
            first_port,
            default,
            work,
        )
        self._gate, self._sessions, self._attempts = visits.Gate(address), Sessions(), Attempts()
        self._servers, self._turn = ServerProcesses(store), threading.Lock()
        self.setup_code = secrets.token_urlsafe(9)
        self._context = self._opened(Vault.read(folder))

    @property
    def is_set_up(self) -> bool:
        return self._context is not None

    def _opened(self, vault: Vault | None) -> OperatorContext | None:
        if vault is None:
            return None
        log = OperationLog(self._folder)
        log.lines()  # refuses one that does not hold together
        return OperatorContext(vault, log, self._servers, self._attempts, self._injected, self._first, self._default)

    # ── starting and stopping ──

    def resume(self) -> None:
        """Start the servers that ran when the console was stopped."""
        for study in studies_of(self._context.vault) if self._context else ():
            if study.is_signed and study.settings.running:
                try:
                    self._servers.start(study.name, study.served, study.settings.port)
                except VaEdgeLdpError as error:
                    event("a study's server did not start", study=study.name, why=str(error))

    def stop(self) -> None:
        self._servers.stop_all()

    async def _lifespan(self, receive: messages.Receive, send: messages.Send) -> None:
        while True:
            step = (await receive())["type"].removeprefix("lifespan.")
            await asyncio.to_thread(self.resume if step == "startup" else self.stop)
            await send({"type": f"lifespan.{step}.complete"})
            if step == "shutdown":
                return

    # ── one request ──

    async def __call__(self, scope: messages.Message, receive: messages.Receive, send: messages.Send) -> None:
        if scope["type"] == "lifespan":
            return await self._lifespan(receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close"})
        try:
            reply = await self._answered(messages.Request.of(scope, receive))
        except messages.Gone:
            return None
        except visits.EarlyReply as early:
            reply = early.reply
        except messages.Refusal as refusal:
            reply = refusal.reply
        except Exception as failure:
            failed("request", failure)
            reply = visits.EarlyReply(500, "Something unforeseen happened; the console's log says what.").reply
        reply = replace(reply, headers=(*reply.headers, *self._gate.headers))
        return await messages.sent(reply, send, scope["method"] == "HEAD")

    async def _answered(self, request: messages.Request) -> messages.Reply:
        method = "GET" if request.method == "HEAD" else request.method
        if method not in ("GET", "POST"):
            raise visits.EarlyReply(405, "Only GET and POST are answered.", ((b"allow", b"GET, HEAD, POST"),))
        self._gate.check(request)
        if request.parts == ("console.css",) and method == "GET":
            return messages.Reply(200, STYLE.read_bytes(), b"text/css; charset=utf-8")
        context = self._context
        if context is None or request.parts in (("sign-in",), ("set-up",)):
            return await self._outside_of_sessions(request, method)
        session = self._sessions.of(visits.cookie_in(request))
        if session is None:
            return visits.elsewhere("/sign-in") if method == "GET" else _turned_away()
        form = await visits.form_of(request) if method == "POST" else {}
        if method == "POST":
            visits.refuse_unknown_form(session, form)
        visit = visits.Visit(method, request.parts, session, form)
        if visit.parts == ("sign-out",) and method == "POST":
            self._sessions.end(visits.cookie_in(request))
            return visits.elsewhere("/sign-in", (self._gate.cookie(""),))
        return await asyncio.shield(asyncio.to_thread(self._done, context, visit))

    def _done(self, context: OperatorContext, visit: visits.Visit) -> messages.Reply:
        """What an admitted visit gets; a refusal is said on the page that it came from."""
        with self._turn:
            try:
                return self._acted(context, visit)
            except VaEdgeLdpError as error:
                if visit.method == "GET" and visit.parts[-1:] == visit.parts[1:2]:
                    raise visits.EarlyReply(500, f"This study cannot be shown: {error}") from error
                visit.session.say(str(error), "bad")
                return visits.elsewhere("/".join(("", *visit.parts[:2])) if visit.parts[0] == "studies" else "/")

    def _acted(self, context: OperatorContext, visit: visits.Visit) -> messages.Reply:
        match visit.method, visit.parts:
            case "GET", ("",):
                return visits.html(pages.home_page(visit.session, context.vault.issuer, _listed(context, visit)))
            case (("GET" | "POST"), ("new",)):
                return actions.begin(context, visit)
            case "GET", ("log",):
                return actions.logs(context, visit, studies_of(context.vault))
            case method, ("studies", name, *rest) if len(rest) < 2:
                word = rest[0] if rest else ""
                act, study = (GET if method == "GET" else POST).get(word), study_of(context.vault, name)
                if act is None or study is None or (rest and not word):
                    raise _NOWHERE
                if word not in _DRAFT and not study.is_signed:
                    raise visits.EarlyReply(404, "This study is a draft.")
                return act(context, visit, study)
        raise _NOWHERE

    # ── without a session ──

    async def _outside_of_sessions(self, request: messages.Request, method: str) -> messages.Reply:
        """Set-up and sign-in; everything else is sent there."""
        here = "/sign-in" if self.is_set_up else "/set-up"
        if request.parts != (here[1:],):
            return visits.elsewhere(here) if method == "GET" else _turned_away()
        if method == "GET":
            return visits.html(pages.sign_in_page() if self.is_set_up else pages.set_up_page(""))
        form = await visits.form_of(request)
        return await asyncio.to_thread(self._signed_in if self.is_set_up else self._set_up, form)

    def _set_up(self, form: dict[str, str]) -> messages.Reply:
        with self._turn:
            refuse_haste(self._attempts)
            code = form.get("code", "")
            if self._context is not None:
                return visits.elsewhere("/sign-in")
            if not hmac.compare_digest(code.strip().encode(), self.setup_code.encode()):
                self._attempts.failed()
                return visits.html(
                    pages.set_up_page(
                        "", "This is not the setup code. Give the one that the console printed when it was started."
                    ),
                    403,
                )
            try:
                if form.get("passphrase", "") != form.get("again", ""):
                    return visits.html(
                        pages.set_up_page(code, "The two passphrases differ. Type the same one twice."), 400
                    )
                vault = Vault.new(self._folder, form.get("passphrase", ""), self._work)
            except VaEdgeLdpError as error:
                return visits.html(pages.set_up_page(code, str(error)), 400)
            self._context = self._opened(vault)
            self._attempts.succeeded()
            OperationLog(self._folder).note("the console is set up")
            return self._begun(vault, form.get("passphrase", ""))

    def _signed_in(self, form: dict[str, str]) -> messages.Reply:
        with self._turn:
            refuse_haste(self._attempts)
            if self._context is None:
                return visits.elsewhere("/set-up")
            try:
                reply = self._begun(self._context.vault, form.get("passphrase", ""))
            except WrongPassphrase as error:
                self._attempts.failed()
                self._context.log.note("a wrong passphrase")
                return visits.html(pages.sign_in_page(str(error)), 403)
            self._attempts.succeeded()
            self._context.log.note("signed in")
            return reply

    def _begun(self, vault: Vault, passphrase: str) -> messages.Reply:
        value = self._sessions.begin(vault.unlock(passphrase, EVERYDAY))
        return visits.elsewhere("/", (self._gate.cookie(value),))


def _listed(context: OperatorContext, visit: visits.Visit) -> list[tuple[str, str, str]]:
    """All studies: names, titles and how they stand."""
    found = list[tuple[str, str, str]]()
    for study in studies_of(context.vault):
        title, words = study.name, "cannot be read"
        with suppress(VaEdgeLdpError, OSError):
            choices, people = study.draft(visit.session.key)
            running = "its server runs" if context.servers.is_running(study.name) else "its server is stopped"
            state = (running if study.settings.here else "its server is elsewhere") if study.is_signed else "a draft"
            title, words = choices.title, f"{len(people.listed):,} people; {state}"
        found.append((study.name, title, words))
    return found


def _turned_away() -> messages.Reply:
    return visits.EarlyReply(401, "You are not signed in, or no more. Sign in, and do it once more.").reply
