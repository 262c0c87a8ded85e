"""``python -m visibility_aware_edge_ldp.campaign.server DIRECTORY``: a server without the command line program."""

from __future__ import annotations

import argparse
import sys

from visibility_aware_edge_ldp.campaign.server.one_thread import one_thread
from visibility_aware_edge_ldp.errors import VaEdgeLdpError


def main(arguments: list[str] | None = None) -> int:
    """Serve, and return the exit code."""
    one_thread()  # before anything loads NumPy
    from visibility_aware_edge_ldp.campaign.server.estimating import estimate_bytes
    from visibility_aware_edge_ldp.campaign.server.limits import Limits
    from visibility_aware_edge_ldp.campaign.server.logs import log_to_stderr
    from visibility_aware_edge_ldp.campaign.server.serving import serve

    parser = argparse.ArgumentParser(prog="campaign.server")
    parser.add_argument("directory")
    parser.add_argument("--store", default="", help="sqlite:///path or postgresql://…")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="how long a request may take to arrive")
    given = parser.parse_args(arguments)
    log_to_stderr()
    limits = Limits(seconds=given.seconds)
    try:
        serve(
            given.directory,
            given.store,
            given.host,
            given.port,
            estimate_bytes=estimate_bytes,
            limits=limits,
            ready=lambda address: print(address, flush=True),
        )
    except VaEdgeLdpError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
