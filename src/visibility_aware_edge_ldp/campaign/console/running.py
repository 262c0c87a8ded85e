"""Run a console until it is told to stop."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from visibility_aware_edge_ldp.campaign.console.app import Console
from visibility_aware_edge_ldp.campaign.console.draft_page import InjectedFunctions
from visibility_aware_edge_ldp.campaign.http_client import checked_url
from visibility_aware_edge_ldp.campaign.server.limits import Limits, OrderlyServer, Watch, watched_protocol
from visibility_aware_edge_ldp.errors import BadInput, MissingPart
from visibility_aware_edge_ldp.file_lock import lock

try:
    import uvicorn
except ImportError as missing:
    raise MissingPart("uvicorn", "serve", "The operator's console") from missing

LOCK = "console.lock"


def run_console(
    folder: Path,
    injected: InjectedFunctions,
    *,
    host: str = "127.0.0.1",
    port: int = 8640,
    address: str = "",
    server: str = "",
    first_port: int = 8000,
    store: str = "",
    ready: Callable[[str, str], None] = lambda address, code: None,
) -> None:
    """Run the console over this folder, which no other one may use at the same time.

    Parameters
    ----------
    address
        Where browsers reach the console, if a proxy with TLS stands before it; this machine alone by default.
    server
        Where participants reach a study's server: what new drafts begin with.
    first_port
        Where the first study's server listens on this machine; the next ones follow.
    store
        ``postgresql://…``, for all studies whose servers run here; SQLite files by default.
    ready
        Called with the console's address, and the code with which it is set up; an empty one if it is already.
    """
    if address:
        checked_url(address)  # a passphrase travels in the open only to this machine itself
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(folder), _listening(host, port) as listener:
        own = address.rstrip("/") or f"http://{host}:{listener.getsockname()[1]}"
        checked_url(own)
        console = Console(folder, own, injected, first_port, server, store=store)
        watch = Watch(Limits(seconds=60.0))
        config = uvicorn.Config(
            console, http=watched_protocol(watch), ws="none", lifespan="on", log_config=None, access_log=False,
            server_header=False, proxy_headers=False,
        )  # fmt: skip
        ready(own, "" if console.is_set_up else console.setup_code)
        asyncio.run(OrderlyServer(config).serve([listener]))


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / LOCK).open("a") as held:
        try:
            lock(held.fileno(), wait=False)
        except OSError as error:
            raise BadInput(f"Another console uses {folder}; stop it first, or name another folder.") from error
        yield


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=128)
    except OSError as failure:
        raise BadInput(
            f"{host}:{port} cannot be listened at: {failure.strerror}. Choose another --port or --host."
        ) from failure
