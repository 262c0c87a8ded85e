"""One process of a rehearsal: it runs the participant's own program for many people, one after the other.

``python -m visibility_aware_edge_ldp.simulation.rehearsal_worker PLAN`` takes one order a line from standard input,
writes one line for each person that is done, and ends when its input does.
"""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.campaign.participant import program
from visibility_aware_edge_ldp.campaign.participant.transport import LARGEST, Patience, Reply, Transport
from visibility_aware_edge_ldp.errors import VaEdgeLdpError
from visibility_aware_edge_ldp.public.visibility import Visibility

ENROL, ANSWER = "enrol", "answer"
# Nobody watches a rehearsal by the clock, so nobody waits for the pace that real answers keep.
PACE = 1e-4


@dataclass(frozen=True)
class Person:
    """Who it is, where its ledger lives, and the file with what it knows: its friends, or the edges that a hub sees."""

    participant: int
    name: str
    token: str
    home: str
    friends: str


@dataclass(frozen=True)
class Plan:
    """What a worker needs to know: the server, the issuer, what everybody allows per class, and its people."""

    url: str
    issuer: str
    caps: dict[str, str]
    people: list[Person]

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Plan:
        content = json.loads(text)
        return cls(**{**content, "people": [Person(**each) for each in content["people"]]})


@dataclass
class Traffic:
    """The bodies that one person sent and received, in octets, and the report that the server took."""

    sent: int = 0
    received: int = 0
    report: bytes = b""


@dataclass(frozen=True)
class Done:
    """What became of one person's turn; ``report`` is empty where nothing was asked."""

    participant: int
    sent: int
    received: int
    report: bytes = field(repr=False)

    def to_text(self) -> str:
        return json.dumps({**asdict(self), "report": base64.b64encode(self.report).decode()})

    @classmethod
    def from_text(cls, text: str) -> Done:
        content = json.loads(text)
        if "error" in content:
            raise RehearsalFailed(content["error"])
        return cls(**{**content, "report": base64.b64decode(content["report"])})


class RehearsalFailed(VaEdgeLdpError):  # noqa: N818
    """Ours: the campaign did not do in rehearsal what it must do."""


class Shared(Transport):
    """The participant's transport, with a cache between it and the server that all people of this process use.

    Only what the server declares immutable is kept, as any HTTP cache may; every program checks the bytes by itself,
    and the traffic is counted as if nobody had shared anything.
    """

    _kept: dict[str, Reply] = {}  # noqa: RUF012 - one process asks one server

    def __init__(self, traffic: Traffic, url: str, token: str = "", patience: Patience | None = None) -> None:
        super().__init__(url, token, patience)
        self._traffic = traffic

    def get(self, path: str, most: int = LARGEST, own: bool = False) -> Reply:
        reply = self._kept.get(path) or super().get(path, most, own)
        if not own and "immutable" in reply.headers.get("cache-control", ""):
            self._kept[path] = reply
        self._traffic.received += len(reply.body)
        return reply

    def put(self, path: str, body: bytes) -> Reply:
        reply = super().put(path, body)
        self._traffic.sent += len(body)
        self._traffic.received += len(reply.body)
        self._traffic.report = body
        return reply


def turn(plan: Plan, order: str, person: Person) -> Done:
    """One person enrols, or answers the round that is open."""
    traffic, home = Traffic(), Path(person.home)
    around = program.Surroundings(pace=PACE, transport=partial(Shared, traffic))
    if order == ENROL:
        caps = {Visibility[name]: cap for name, cap in plan.caps.items()}
        program.enroll(plan.url, person.name, person.token, plan.issuer, home, caps, surroundings=around)
    else:
        program.answer(Path(person.friends), home, lambda lines: True, say=lambda line: None, surroundings=around)
    return Done(person.participant, traffic.sent, traffic.received, traffic.report)


def main(arguments: list[str] | None = None) -> None:
    """Follow orders: a word, and the places of those whose turn it is."""
    (path,) = sys.argv[1:] if arguments is None else arguments
    plan = Plan.from_text(Path(path).read_text(encoding="utf-8"))
    for line in sys.stdin:
        order: Any = json.loads(line)
        for place in order["people"]:
            person = plan.people[place]
            try:
                print(turn(plan, order["word"], person).to_text(), flush=True)
            except VaEdgeLdpError as error:
                print(json.dumps({"error": f"{person.name}: {error}"}), flush=True)
                return


if __name__ == "__main__":
    main()
