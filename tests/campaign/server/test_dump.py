"""A PostgreSQL store is dumped while reports come in, restored elsewhere, and goes on there as the same campaign."""

from __future__ import annotations

import json
import subprocess
from hashlib import sha256
from pathlib import Path

from support.campaign_inside import Inside, inside
from support.campaign_lab import Lab
from support.campaign_postgres_here import Postgres
from visibility_aware_edge_ldp.campaign.wire_format import round_root


def receipt(server: Inside, participant: int, number: int = 1) -> bytes:
    return server.ask("GET", server.lab.path(participant, number), server.lab.tokens[participant]).body


def begun_dump(postgres: Postgres, url: str, file: Path) -> subprocess.Popen[bytes]:
    """As the guide says it."""
    with file.open("wb") as dump:
        return subprocess.Popen([postgres.binaries / "pg_dump", "--format=custom", url], stdout=dump)


def restored(postgres: Postgres, file: Path) -> str:
    """The dump in a new database, as the guide says it."""
    url = postgres.new_database()
    words = ["--exit-on-error", "--no-owner", "--role=tester", f"--dbname={url}", str(file)]
    subprocess.run([postgres.binaries / "pg_restore", *words], check=True)
    return url


def test_a_dump_of_a_live_store_goes_on_elsewhere(labs: dict[str, Lab], postgres: Postgres, tmp_path: Path) -> None:
    lab, url, file = labs["triangles"], postgres.new_database(), tmp_path / "town.dump"
    with inside(lab, url) as server:
        before = {participant: server.put(participant).body for participant in range(8)}
        dumping = begun_dump(postgres, url, file)
        during = {participant: server.put(participant) for participant in range(8, 16)}
        assert dumping.wait(30) == 0
        assert {answer.status for answer in during.values()} == {201}, "nobody waits for a dump"
        server.put(16)
    with inside(lab, restored(postgres, file)) as server:
        state = server.ask("GET", "/v1/rounds/1").content
        assert (state["state"], state["root"]) == ("open", "")
        assert {participant: receipt(server, participant) for participant in before} == before
        assert sum(reports for _, reports in state["arrivals"]["counts"]) == state["received"] >= 8
        # Whoever came before the dump sends again in vain, whoever came after it is not known, and may.
        assert server.put(3).status == 200
        assert server.put(3, variant=1).problem == "conflict"
        assert server.put(16).status == 201
        for participant in range(8, 16):
            assert server.put(participant).body == during[participant].body
        closed = json.loads(server.operator("/v1/rounds/1/close").body)
        leaves = [(participant, sha256(lab.report(participant)).digest()) for participant in range(17)]
        assert (closed["received"], closed["root"]) == (17, round_root(leaves))
        assert server.put(3, 2).status == 201


def test_a_dump_after_the_closing_has_the_same_root_and_transcript(
    labs: dict[str, Lab], postgres: Postgres, tmp_path: Path
) -> None:
    lab, url, file = labs["triangles"], postgres.new_database(), tmp_path / "town.dump"
    seen = ("/v1/rounds/1", "/v1/rounds/2", "/v1/rounds/1/transcript")
    with inside(lab, url) as server:
        for participant in (0, 3, 9):
            server.put(participant)
        server.operator("/v1/rounds/1/close")
        second = server.put(9, 2).body
        assert begun_dump(postgres, url, file).wait(30) == 0
        shown = [server.ask("GET", path).body for path in seen]
    with inside(lab, restored(postgres, file)) as server:
        assert [server.ask("GET", path).body for path in seen] == shown
        assert receipt(server, 9, 2) == second
        assert server.put(3, 2).status == 201
