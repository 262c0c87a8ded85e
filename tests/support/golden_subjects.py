"""The names inside the package that the golden manifest needs, all of them here: a renamed module is renamed here only.

Everything else in ``tests/golden`` goes through ``import visibility_aware_edge_ldp`` and the command line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from visibility_aware_edge_ldp.campaign.directory import new_campaign, read_campaign
from visibility_aware_edge_ldp.campaign.participant.accounts import account_of
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.reports import REPORTS, Making, ParticipantContext
from visibility_aware_edge_ldp.campaign.server.estimate_json import estimate_bytes
from visibility_aware_edge_ldp.campaign.server.question_estimates import broadcast_of
from visibility_aware_edge_ldp.cli import main
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.public import layout
from visibility_aware_edge_ldp.simulation.curator import Centre, survey_for

__all__ = ["Collected", "another_version", "central", "collected", "forced", "kernel_in_use", "main", "reports_heard"]

PACKAGE = "visibility_aware_edge_ldp"
SALT = 32
RandomBytes = Callable[[int], bytes]


# Kernels


@contextmanager
def forced(kernel: str) -> Iterator[None]:
    """Run with the "plain" or the "compiled" kernels, whichever ran before; nothing that was kept is used."""
    with mock.patch.dict(os.environ, {"VA_EDGE_LDP_KERNEL": kernel}):
        _forget()
        try:
            yield
        finally:
            _forget()


def _forget() -> None:
    """Empty every cache of the package, among them the one that holds the choice of kernels."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == PACKAGE:
            for value in list(vars(module).values()):
                if callable(getattr(value, "cache_clear", None)):
                    value.cache_clear()


def kernel_in_use() -> str:
    """Which kernels run now."""
    return backend.name()


# Reports


@contextmanager
def reports_heard() -> Iterator[list[tuple[bytes, list[str]]]]:
    """Every report that is read meanwhile: its bytes, and the surveys and transcripts that its head names.

    Simulations pass each report through the wire format, whatever the trust model, and each kind of report is read in
    one place. They are read on several threads: their order means nothing.
    """
    heard: list[tuple[bytes, list[str]]] = []
    original = layout.Layout.read

    def read(self: layout.Layout[Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        head, body = original(self, data)
        heard.append((bytes(data), [head[name] for name in ("survey", "transcript") if name in head]))
        return head, body

    with mock.patch.object(layout.Layout, "read", read):
        yield heard


def another_version() -> Any:
    """One constant changed, as by mistake: the version in the head of every report."""
    return mock.patch.object(layout, "_VERSION", 2)


def central(world: Any, noise: str, delta: str, seed: int) -> dict[str, Any]:
    """A trusted centre's estimates with a noise that ``va.estimate`` does not choose."""
    survey = survey_for(world, 1, delta, noise=noise)
    return {name: answer.estimate.as_dict(0.95) for name, answer in Centre(world).ask(survey, seed).items()}


# Campaigns


class Collected:
    """A campaign whose people answered truthfully: its public files, all uploads, and the bytes of its answers."""

    def __init__(
        self, directory: Path, friends: dict[Any, set[Any]], random_bytes: Callable[[int, int], RandomBytes]
    ) -> None:
        found = read_campaign(directory)
        self.charter, self._documents, self._random_bytes = found.charter, found.documents, random_bytes
        roster = list(found.documents.roster)
        self._friends = np.array([[other in friends[one] for other in roster] for one in roster])
        self.uploads: dict[int, dict[int, bytes]] = {}
        self._broadcast: Any = None
        for number in range(1, len(self.charter.rounds) + 1):
            contexts = [ParticipantContext(found.charter, found.documents, i) for i in range(len(roster))]
            asked = [context for context in contexts if context.terms.asked(number)[context.number]]
            self.uploads[number] = {
                context.number: bytes([context.number] * SALT) + self._report(context, number) for context in asked
            }
            self._broadcast = broadcast_of(contexts[0].terms, self.uploads[1].values())

    @property
    def estimate(self) -> bytes:
        """What the server answers."""
        return estimate_bytes(self.charter, self._documents.view, self.uploads)

    def _report(self, context: ParticipantContext, number: int) -> bytes:
        question, first, broadcast = self.charter.question, b"", b""
        given: Friends | SeenEdges = Friends(self._friends[context.number], ())
        if question == "hubs":
            given = SeenEdges(np.argwhere(np.triu(self._friends)).astype(np.int32), ())
        if number == 2:
            first = self.uploads[1][context.number][SALT:]
            broadcast = getattr(self._broadcast, "octets", b"")
        account, random_bytes = account_of([], context.names), self._random_bytes(context.number, number)
        return REPORTS[question][number - 1](Making(context, account, given, random_bytes, first, broadcast)).report


def collected(directory: Path, world: Any, random_bytes: Callable[[int, int], RandomBytes], **asked: Any) -> Collected:
    """Write a new campaign about a world, and let everybody answer it."""
    new_campaign(directory, names=world.graph.names, policy=world.policy, edges=world.public.edges, **asked)
    names = world.graph.names
    friends: dict[Any, set[Any]] = {name: set() for name in names}
    for first, second in world.graph.edges.tolist():
        friends[names[first]].add(names[second])
        friends[names[second]].add(names[first])
    return Collected(directory, friends, random_bytes)
