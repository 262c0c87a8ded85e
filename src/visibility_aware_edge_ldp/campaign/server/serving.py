"""Run a campaign's server until it is told to stop.

``python -m visibility_aware_edge_ldp.campaign.server.serving DIRECTORY`` does so without the command line program.
"""

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from visibility_aware_edge_ldp.campaign.browser_page import WithBrowserPage
from visibility_aware_edge_ldp.campaign.directory import AMENDMENTS, KEY, TOKENS, ServedCampaign
from visibility_aware_edge_ldp.campaign.invitations import LETTERS, PAGE, shown_page
from visibility_aware_edge_ldp.campaign.server.app import App, Page, default_store, open_store
from visibility_aware_edge_ldp.campaign.server.broadcasts import BroadcastFile
from visibility_aware_edge_ldp.campaign.server.campaigns import PREFIX, Campaigns
from visibility_aware_edge_ldp.campaign.server.estimate_json import OwnProcess
from visibility_aware_edge_ldp.campaign.server.limits import Limits, OrderlyServer, Watch, watched_protocol
from visibility_aware_edge_ldp.campaign.server.page import page as front_page
from visibility_aware_edge_ldp.campaign.server.rounds import EstimateBytes
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import Grouping
from visibility_aware_edge_ldp.campaign.server.telemetry import event, log_to_stderr
from visibility_aware_edge_ldp.errors import BadInput, MissingPart, VaEdgeLdpError

try:
    import uvicorn
except ImportError as missing:
    raise MissingPart("uvicorn", "serve", "Serving a campaign") from missing

# So many new objects before they are looked through for garbage: those of some hundred uploads that wait for the disk
# are fewer, and go by themselves.
_YOUNG = 50_000


class _Server(OrderlyServer):
    """Says when it listens, and ends what would keep it from ending."""

    def __init__(self, config: uvicorn.Config, watch: Watch, listening: Callable[[], None], hosted: Campaigns) -> None:
        super().__init__(config)
        self._watch, self._listening, self._hosted = watch, listening, hosted

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Whoever does not read its answer is waited for as long as the grace is, and no longer."""
        over = asyncio.get_running_loop().call_later(self._watch.limits.grace, self._watch.cut_readers)
        self._hosted.end_estimates()
        try:
            await super().shutdown(sockets)
        finally:
            over.cancel()


def serve(
    directory: Path | str | Sequence[Path],
    store_url: str = "",
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    estimate_bytes: EstimateBytes,
    page: Page | None = front_page,
    limits: Limits = Limits(),  # noqa: B008 - a frozen value
    grouping: Grouping = Grouping(),  # noqa: B008
    ready: Callable[[str], None] = lambda address: None,
    opened: Callable[..., Store] = open_store,
    shared: bool = False,
    own_port: int | None = None,
    broadcast: Path | None = None,
) -> None:
    """Serve the campaign in this directory, until SIGTERM or SIGINT; then finish what was accepted, and return.

    Of several directories, each campaign is served below ``/c/`` and its identity.

    Parameters
    ----------
    store_url
        ``sqlite:///path`` or ``postgresql://…``; a SQLite file in each directory by default.
    port
        0 takes any that is free.
    shared
        Other processes serve the same campaigns, from the same store and at the same port.
    own_port
        Where this process listens, besides, where others do not.
    broadcast
        A folder for transcripts of first rounds as files, which a proxy hands out.
    estimate_bytes
        Makes the answers from all reports of all rounds; with a method ``stop``, its work can be stopped.
    ready
        Called with the server's address as soon as it accepts connections.
    """
    places = [Path(directory)] if isinstance(directory, (str, Path)) else list(directory)
    watch = Watch(limits)
    together = shared or (len(places) > 1 and bool(store_url))
    opening = partial(opened, shared=True) if together else opened
    make = partial(_app, store_url=store_url, opened=opening, estimate_bytes=estimate_bytes, page=page, watch=watch)
    many = len(places) > 1
    found = [make(place, grouping=grouping, broadcast=broadcast, many=many) for place in places]
    pages = {app: _browser_page(app, place, bool(page)) for place, app in zip(places, found, strict=True)}
    hosted = Campaigns({app.served.charter.identity: app for app in found}, pages.__getitem__)
    with contextlib.ExitStack() as stack:
        ports = [(port, shared)] if own_port is None else [(port, shared), (own_port, False)]
        listeners = [stack.enter_context(listener_at(host, each, both)) for each, both in ports]
        address = f"http://{written_address(listeners[-1])}"

        def listening() -> None:
            gc.freeze()  # what the server begins with stays, and is not looked through for garbage again and again
            gc.set_threshold(_YOUNG)
            event("listening", address=address)
            ready(address)

        server = _Server(_config(hosted, watch), watch, listening, hosted)
        stack.callback(gc.set_threshold, *gc.get_threshold())
        stack.callback(gc.unfreeze)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_served(server, listeners))
    if not server.started:
        raise hosted.failure or BadInput("The server could not be started; its log says why.")


def _app(
    directory: Path,
    store_url: str,
    opened: Callable[..., Store],
    estimate_bytes: EstimateBytes,
    page: Page | None,
    grouping: Grouping,
    watch: Watch,
    broadcast: Path | None,
    many: bool,
) -> App:
    """What serves the campaign in one directory."""
    served = ServedCampaign.read(directory)
    if secret := [name for name in (KEY, TOKENS, LETTERS, AMENDMENTS) if (directory / name).exists()]:
        # Who breaks into this machine could sign other charters, or answer for everybody.
        event("secrets beside the server", logging.WARNING, files=secret, do="move them to another machine")
    url, charter = store_url or default_store(directory), served.charter
    return App(
        served,
        lambda: opened(url, charter.identity, len(charter.rounds)),
        estimate_bytes.another() if isinstance(estimate_bytes, OwnProcess) else estimate_bytes,
        page=page,
        grouping=grouping,
        gauges=lambda: {
            "connections": watch.open,
            "unfinished_requests": len(watch.waiting),
            "dropped_connections_total": watch.dropped,
            "malformed_requests_total": watch.malformed,
            "free_octets": shutil.disk_usage(directory).free,
        },
        file=BroadcastFile(broadcast, f"{PREFIX}{charter.identity}" if many else ""),
    )


def _browser_page(app: App, directory: Path, shows: bool) -> WithBrowserPage:
    """The campaign's server with the page for people beside it, and who else may show that."""
    named = app.served.charter.page
    folder, hosts = shown_page(directory, named)
    if named and not folder:
        event("no page", logging.WARNING, digest=named.digest, do=f"bring back {PAGE}, as it was made with the charter")
    return WithBrowserPage(app, folder if shows else None, hosts)


def _config(hosted: Campaigns, watch: Watch) -> uvicorn.Config:
    return uvicorn.Config(
        hosted,
        http=watched_protocol(watch, hosted.expects),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=30,
        backlog=2_048,
    )


async def _served(server: _Server, listeners: list[socket.socket]) -> None:
    """Uvicorn leaves the whole process when an application cannot start; why, the application knows."""
    with contextlib.suppress(SystemExit):
        await server.serve(listeners)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The quick event loop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def listener_at(host: str, port: int, shared: bool = False, listens: bool = True) -> socket.socket:
    """A socket that listens there, or only keeps the port; a ``shared`` port is one that others may listen at too."""
    held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if held.family == socket.AF_INET6:
            held.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if shared:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((host, port))
        if listens:
            held.listen(2_048)
    except OSError as failure:
        held.close()
        raise BadInput(
            f"{host}:{port} cannot be listened at: {failure.strerror}. Choose another --port or --host."
        ) from failure
    return held


def written_address(listener: socket.socket) -> str:
    """Where this machine reaches the server: an address that stands for all of its addresses cannot be asked."""
    host, port = listener.getsockname()[:2]
    own = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - is translated, not bound
    return f"[{own}]:{port}" if ":" in own else f"{own}:{port}"


def _stop_with_parent() -> None:
    """End this process in order when the one that started it is gone: then its end of our standard input is closed."""

    def wait() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1):  # no buffer, whose lock would be held when this process ends by itself
                pass
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def main(arguments: list[str] | None = None) -> int:
    """Serve the directory that these arguments name, and return the exit code."""
    parser = argparse.ArgumentParser(prog="campaign.server")
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--store", default="", help="sqlite:///path or postgresql://…")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="how long a request may take to arrive")
    parser.add_argument("--shared", action="store_true", help="other processes serve the same from the same store")
    parser.add_argument("--own-port", type=int, help="where to listen besides")
    parser.add_argument("--broadcast", type=Path, help="a folder for transcripts, which a proxy hands out")
    parser.add_argument("--child", action="store_true", help="stop when standard input ends")
    given = parser.parse_args(arguments)
    log_to_stderr()
    if given.child:
        _stop_with_parent()
    try:
        serve(
            given.directories,
            given.store,
            given.host,
            given.port,
            estimate_bytes=OwnProcess(),
            limits=Limits(seconds=given.seconds),
            ready=lambda address: print(address, flush=True),
            shared=given.shared,
            own_port=given.own_port,
            broadcast=given.broadcast,
        )
    except VaEdgeLdpError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
