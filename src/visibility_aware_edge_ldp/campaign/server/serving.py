"""Run a campaign's server until it is told to stop.

``python -m visibility_aware_edge_ldp.campaign.server.serving DIRECTORY`` does so without the command line program.
"""

import argparse
import asyncio
import contextlib
import logging
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from visibility_aware_edge_ldp.campaign.browser_page import FOLDER, WithBrowserPage, page_digest
from visibility_aware_edge_ldp.campaign.directory import AMENDMENTS, KEY, LETTERS, PAGE, TOKENS, ServedCampaign
from visibility_aware_edge_ldp.campaign.server.app import App, Page, default_store, open_store
from visibility_aware_edge_ldp.campaign.server.limits import Limits, Watch, watched_protocol
from visibility_aware_edge_ldp.campaign.server.page import page as front_page
from visibility_aware_edge_ldp.campaign.server.rounds import EstimateBytes
from visibility_aware_edge_ldp.campaign.server.sql import Store
from visibility_aware_edge_ldp.campaign.server.store import Grouping
from visibility_aware_edge_ldp.campaign.server.telemetry import event, log_to_stderr
from visibility_aware_edge_ldp.errors import BadInput, MissingPart, VaEdgeLdpError

try:
    import uvicorn
except ImportError as missing:
    raise MissingPart("uvicorn", "serve", "Serving a campaign") from missing


class _Server(uvicorn.Server):
    """Uvicorn kills itself by the signal that stopped it; we have finished our work, and leave with 0."""

    def __init__(self, config: uvicorn.Config, watch: Watch, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._watch, self._listening = watch, listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Whoever does not read its answer is waited for as long as the grace is, and no longer."""
        over = asyncio.get_running_loop().call_later(self._watch.limits.grace, self._watch.cut_readers)
        try:
            await super().shutdown(sockets)
        finally:
            over.cancel()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def serve(
    directory: Path | str,
    store_url: str = "",
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    estimate_bytes: EstimateBytes,
    page: Page | None = front_page,
    limits: Limits = Limits(),  # noqa: B008 - a frozen value
    grouping: Grouping = Grouping(),  # noqa: B008
    ready: Callable[[str], None] = lambda address: None,
    opened: Callable[[str, str, int], Store] = open_store,
) -> None:
    """Serve the campaign in this directory, until SIGTERM or SIGINT; then finish what was accepted, and return.

    Parameters
    ----------
    store_url
        ``sqlite:///path`` or ``postgresql://…``; a SQLite file in the directory by default.
    port
        0 takes any that is free.
    estimate_bytes
        Makes the answers from all reports of all rounds.
    ready
        Called with the server's address as soon as it accepts connections.
    """
    served = ServedCampaign.read(directory)
    if secret := [name for name in (KEY, TOKENS, LETTERS, AMENDMENTS) if (Path(directory) / name).exists()]:
        # Who breaks into this machine could sign other charters, or answer for everybody.
        event("secrets beside the server", logging.WARNING, files=secret, do="move them to another machine")
    charter, watch = served.charter, Watch(limits)
    url = store_url or default_store(Path(directory))
    app = App(
        served,
        lambda: opened(url, charter.identity, len(charter.rounds)),
        estimate_bytes,
        page=page,
        grouping=grouping,
        gauges=lambda: {
            "connections": watch.open,
            "unfinished_requests": len(watch.waiting),
            "dropped_connections_total": watch.dropped,
            "malformed_requests_total": watch.malformed,
            "free_octets": shutil.disk_usage(directory).free,
        },
    )
    config = uvicorn.Config(
        WithBrowserPage(app, *_browser_page(Path(directory), served) if page is not None else (None,)),
        http=watched_protocol(watch),
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
    with _listening(host, port) as listener:
        address = f"http://{_written(listener)}"

        def listening() -> None:
            event("listening", address=address)
            ready(address)

        server = _Server(config, watch, listening)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_served(server, listener))
    if not server.started:
        raise app.failure or BadInput("The server could not be started; its log says why.")


def _browser_page(directory: Path, served: ServedCampaign) -> tuple[Path | None, tuple[str, ...] | None]:
    """The folder of the page to show, and the hosts that may show it, too: what the charter names, else this one."""
    named = served.charter.page
    if named is None:
        return FOLDER, None
    fits = next((folder for folder in (directory / PAGE, FOLDER) if page_digest(folder) == named.digest), None)
    if fits is None:
        event("no page", logging.WARNING, digest=named.digest, do=f"bring back {PAGE}, as it was made with the charter")
    return fits, named.hosts


async def _served(server: _Server, listener: socket.socket) -> None:
    """Uvicorn leaves the whole process when an application cannot start; why, the application knows."""
    with contextlib.suppress(SystemExit):
        await server.serve([listener])


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The quick event loop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=2_048
        )
    except OSError as failure:
        raise BadInput(
            f"{host}:{port} cannot be listened at: {failure.strerror}. Choose another --port or --host."
        ) from failure


def _written(listener: socket.socket) -> str:
    """Where this machine reaches the server: an address that stands for all of its addresses cannot be asked."""
    host, port = listener.getsockname()[:2]
    own = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - is translated, not bound
    return f"[{own}]:{port}" if ":" in own else f"{own}:{port}"


def main(arguments: list[str] | None = None) -> int:
    """Serve the directory that these arguments name, and return the exit code."""
    from visibility_aware_edge_ldp.campaign.server.estimate_json import estimate_bytes

    parser = argparse.ArgumentParser(prog="campaign.server")
    parser.add_argument("directory")
    parser.add_argument("--store", default="", help="sqlite:///path or postgresql://…")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="how long a request may take to arrive")
    given = parser.parse_args(arguments)
    log_to_stderr()
    try:
        serve(
            given.directory,
            given.store,
            given.host,
            given.port,
            estimate_bytes=estimate_bytes,
            limits=Limits(seconds=given.seconds),
            ready=lambda address: print(address, flush=True),
        )
    except VaEdgeLdpError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
