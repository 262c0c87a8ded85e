"""What a participant tells in a wave: which ties have changed since it last answered, and no more often than agreed.

[WAVES.1-2]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.participant.accounts import CONSENTS, Account, number
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Aligned, Bits, counted, roster_digest
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Page
from visibility_aware_edge_ldp.campaign.waves import LAYOUT, WaveReport, WaveSurvey
from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.mechanisms.changes import Counts, tellable
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.surveys.base import verify
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.charter import Charter

Classes = npt.NDArray[np.uint8]
# Which of a participant's positions were told to have changed in a wave; the key is the series and the wave's number.
KIND = "wave"


@dataclass(frozen=True, eq=False)
class Told:
    """What the waves before this one were told: who is a friend by that, and how often each tie has changed. Private.

    ``last`` is the last wave that was answered.
    """

    friends: Bits = field(repr=False)
    times: Counts = field(repr=False)
    last: int = 1

    @classmethod
    def start(cls, friends: Bits) -> Told:
        """What has been told after the first wave: these friends, and no change."""
        return cls(friends, np.zeros(friends.size, np.int64))

    def after(self, changed: Bits, wave: int) -> Told:
        """What has been told once these changes are told, too."""
        return Told(self.friends ^ changed, self.times + changed, wave)


def told_in(page: Page, account: Account, now: Bits, epoch: str, series: str) -> Told:
    """From the ledger to what a series was told so far, in the order of the account's names.

    It begins with the list that the epoch was first asked about; names that are new begin as they are ``now``.
    """
    aligned = Aligned(page.entries("roster"), account.names)
    found = Told.start(np.where(account.known, account.friends, now))
    for entry in page.entries(KIND, epoch):
        known, _, wave = entry.key.partition(" ")
        if known == series:
            found = found.after(aligned.one(entry), int(wave))
    return found


def refuse_out_of_turn(page: Page, charter: Charter, series: str) -> None:
    """Decline a wave whose first one was not answered from here, or that does not follow those that were.

    Also one after a first wave that asked only where both ends consented: a wave asks about everybody.  [CONSENT.1]
    """
    wave = charter.wave
    if wave is None:
        return
    if page.one("upload", charter.epoch, f"{wave.first} 1") is None:
        raise Refused(
            f"Wave {wave.number} asks what has changed since the first one, {wave.first[:12]}, which was not answered "
            f"from here about {charter.epoch!r}. Nothing was answered or sent."
        )
    if page.one(CONSENTS, charter.epoch, wave.first) is not None:
        raise Refused(
            f"The first wave, {wave.first[:12]}, asked only about two people who both consented; wave {wave.number} "
            "asks about everybody. Nothing was answered or sent."
        )
    told = [each.key.partition(" ") for each in page.entries(KIND, charter.epoch)]
    waves = [int(number) for known, _, number in told if known == series]
    if max(waves, default=1) >= wave.number:
        raise Refused(
            f"Wave {max(waves)} of this series was answered before; wave {wave.number} does not come after it. "
            "Nothing was answered or sent."
        )


@dataclass(frozen=True, eq=False)
class Row:
    """A participant's row in a wave: its number, the public view, and the classes of its positions with each name."""

    number: int
    view: PublicView
    classes: Classes = field(repr=False)

    @property
    def later(self) -> slice:
        """The names that it holds positions with."""
        return slice(self.number + 1, None)

    @property
    def asked(self) -> Bits:
        """Which names it is asked about."""
        found: Bits = self.classes != Visibility.PUBLIC
        found[: self.number + 1] = False
        return found


def report(
    row: Row, survey: WaveSurvey, wave: int, told: Told, now: Bits, random_bytes: RandomBytes
) -> tuple[bytes, Bits]:
    """From a row and what was told before: the bytes that leave, and which ties they say changed.  [CHANGES.1-2]"""
    verify(survey, row.view)
    changed = tellable(now, told.friends, told.times, survey.changes) & row.asked
    classes, flags = row.classes[row.later], []
    for raised in (changed & now, changed & ~now):
        said = np.zeros(classes.size, np.bool_)
        for kind in NON_PUBLIC:
            places = classes == kind
            if places.any():  # a class that this row does not have, as everybody knows, draws nothing
                said |= survey.mechanism(kind).told(raised[row.later], random_bytes) & places
        flags.append(pack(said))
    start = row_start(row.view.n, row.number)
    made = WaveReport(survey.identity, wave, told.last, start, classes.size, *flags)
    return LAYOUT.encode(made), changed


def told_entry(charter: Charter, series: str, names: tuple[str, ...], changed: Bits) -> Entry:
    """What the ledger keeps of a wave."""
    wave = 0 if charter.wave is None else charter.wave.number
    return Entry(KIND, charter.epoch, f"{series} {wave}", roster_digest(names), pack(changed))


def remarks(told: Told, now: Bits, asked: Bits, most: int) -> list[str]:
    """How many changes are told and how many never will be: for the owner's eyes, after the answer has left."""
    changed = tellable(now, told.friends, told.times, most) & asked
    frozen = int(((now ^ told.friends) & ~changed & asked).sum())
    lines = [f"{counted(int(changed.sum()), 'tie')} of yours changed since wave {told.last}; told with noise."]
    if frozen:
        lines.append(f"{counted(frozen, 'tie')} changed once more than may be told; for this series they stay as told.")
    return lines


def consent_lines(
    charter: Charter, losses: Mapping[Visibility, Fraction], after: Mapping[Visibility, Fraction]
) -> list[str]:
    """What a wave is, and what a tie's whole history loses by the series, for the consent screen.  [WAVES.1]"""
    wave = charter.wave
    if wave is None:
        return []
    asked = [kind for kind in losses if kind in after]
    paid = ", ".join(f"ε = {number(losses[kind])} for a {kind} edge" for kind in asked)
    ever = ", ".join(f"ε = {number(after[kind])} for a {kind} edge" for kind in asked)
    return [
        f"Wave       {wave.number} of a series that began with {wave.first[:12]}: asks what has changed since you last "
        f"answered it; of each tie {counted(wave.changes, 'change')} told in all, later ones never",
        f"           all waves after the first cost {paid} once, together, however many follow; whether a tie is there "
        "that never changes they do not tell",
        "Lifetime   by all waves, and all else about this epoch so far, a tie's whole history (when it began, ended, "
        f"began again) loses at most {ever}",
    ]
