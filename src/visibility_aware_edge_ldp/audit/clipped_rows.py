"""USER triangles by double clipping, walked exactly: its δ holds, and its claim of pure ε does not.  [CLIP.1-3]

Four users, everything private. User 0 has every list, the others every edge between them; every first transcript comes
with its chance. What is found is the δ at the claimed ε, over everything that user 0 sends in both rounds.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import product

import numpy as np

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, Loss, exact, exact_finding, largest, recast
from visibility_aware_edge_ldp.audit.engine.small_worlds import positions, view_of
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.row_clipping import clipped_sums
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.compute.reproducible_math import exp
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.layout import Ints
from visibility_aware_edge_ldp.public.surveys.clipped_rows import ClippedRowSurvey, Floats
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

NAME = "user triangles, double clipping"
N = 4
FIRST, LENGTH, TOTAL, DELTA = Fraction(1), Fraction(1), Fraction(1), Fraction(1, 50)
# Noises beyond have a chance below 10⁻¹⁵; it is counted as lost.
_FARTHEST = 36
Friends = tuple[int, ...]


class PaperSurvey(ClippedRowSurvey):
    """Noise for the noisy triangles of one friend, as if one friend more moved no others; and no delta."""

    def thresholds(self, kept: Ints) -> Floats:
        """The largest score: what one noisy triangle adds."""
        largest_score = max(abs(float(value)) for value in self.first.channel(Visibility.PRIVATE).scores)
        return np.minimum(kept, 1) * largest_score


class HalfSurvey(ClippedRowSurvey):
    """Noise for half of the threshold."""

    def sensitivities(self, kept: Ints) -> Ints:
        return -(-super().sensitivities(kept) // 2)


@dataclass(frozen=True, eq=False)
class ClippedStage:
    """User 0 of four and a survey; ``claimed_delta`` is what the survey is said to need."""

    kind: type[ClippedRowSurvey] = ClippedRowSurvey
    claimed_delta: Fraction = DELTA

    @cached_property
    def view(self) -> PublicView:
        return view_of((Visibility.PRIVATE,) * len(positions(N)), N, ("2", "1"), 1)

    @cached_property
    def survey(self) -> ClippedRowSurvey:
        policy = self.view.policy
        first = PositionSurvey(self.view.roster_digest, N, policy.digest, FIRST, multipliers=policy.multipliers)
        return recast(self.kind, ClippedRowSurvey(first, LENGTH, TOTAL, Fraction(1, 10), 4, delta=DELTA))

    @cached_property
    def transcripts(self) -> dict[tuple[int, ...], FirstRound]:
        """By what was answered for positions between the others; own answers do not matter to sums."""
        found = {}
        for far in product((0, 1), repeat=3):
            said = np.packbits([0, 0, 0, *far], bitorder="little")
            everybody = np.packbits([1] * 6, bitorder="little")
            transcript = Transcript(self.survey.first.identity, everybody, said)
            found[far] = FirstRound(self.survey, self.view, transcript)
        return found

    def total(self, friends: Friends, said: tuple[int, ...], kept: int) -> int:
        """The sum in units before its noise, of a user who keeps so many friends."""
        return self._totals[friends, said, kept]

    @cached_property
    def _totals(self) -> dict[tuple[Friends, tuple[int, ...], int], int]:
        lists = sorted({each for pair in pairs() for each in pair})
        return {
            (friends, said, kept): self._sum(friends, first, kept)
            for friends, (said, first), kept in product(lists, self.transcripts.items(), range(N))
        }

    def _sum(self, friends: Friends, first: FirstRound, kept: int) -> int:
        most, listed = np.array([kept]), (np.array([0, len(friends)]), np.array(friends, np.int32))
        (found,) = clipped_sums(first.scores, *listed, most, self.survey.thresholds(most))
        return math.floor(float(found) * 2.0**self.survey.fineness + 0.5)

    @cached_property
    def rates(self) -> list[float]:
        """What one unit of the sum costs, by how many friends are kept."""
        return [float(self.survey.total_epsilon) / int(unit) for unit in self.survey.sensitivities(np.arange(N))]

    def kept(self, noisy_length: int) -> int:
        """How many friends are kept."""
        return int(self.survey.kept(np.array([noisy_length]))[0])

    def check_client(self, friends: Friends, said: tuple[int, ...]) -> None:
        """The real client sends these numbers where its noises are 0."""
        held = FriendLists(0, np.array([0, len(friends)]), np.array(friends, np.int32))
        price = self.survey.epsilon
        purse = Purse({kind: self.survey.multipliers.of(kind) * price for kind in NON_PUBLIC}, self.survey.delta)
        client = TwoRoundClient(held, self.view, purse)
        client.answer(self.survey, 1, bytes)
        sent = client.total(self.survey, self.transcripts[said], no_noise)
        expected = len(friends), self.total(friends, said, self.kept(len(friends)))
        if (int(sent.reaches[0]), int(sent.totals[0])) != expected:
            raise ProtocolViolation("A client by double clipping sends other numbers than the audit walks.")


@cache
def _excess(shift: int, rate: float, allowed: float) -> float:
    """Σ max(0, p(u) − e^allowed·p(u − shift)) of a discrete Laplace law p with this rate."""
    if abs(shift) * rate <= allowed:
        return 0.0
    reach = abs(shift) + math.ceil(_FARTHEST / rate)
    u = np.arange(-reach, reach + 1)
    here, there = (math.tanh(rate / 2) * exp(-rate * np.abs(u - centre)) for centre in (0, shift))
    return math.fsum(np.maximum(here - math.exp(allowed) * there, 0.0).tolist())


def spent_delta(stage: ClippedStage, friends: Friends, other: Friends, far: tuple[int, ...], epsilon: float) -> float:
    """The δ at which ``friends`` is told from ``other`` at this ε, by all reports, with these edges between others."""
    keep, length = float(stage.survey.first.channel(Visibility.PRIVATE).given_one[1]), stage.survey.reach_noise
    odds = math.log(keep / (1 - keep))
    found = 2 * math.exp(-_FARTHEST)
    for noisy in range(-_FARTHEST, _FARTHEST + N):
        mine, others = (length.probability(noisy - len(each)) for each in (friends, other))
        kept, left = stage.kept(noisy), epsilon - math.log(mine / others)
        for said in stage.transcripts:
            chance = math.prod(keep if bit == edge else 1 - keep for bit, edge in zip(said, far, strict=True))
            shift = stage.total(other, said, kept) - stage.total(friends, said, kept)
            for weight, told in ((keep, odds), (1 - keep, -odds)):
                allowed = round(left - told, 9)  # rounded, so that the same case is worked out once
                found += chance * mine * weight * _excess(shift, stage.rates[kept], allowed)
    return found


def pure_loss(stage: ClippedStage) -> float:
    """The largest loss of all reports together, whatever the others answered: the ε that is needed without a δ."""
    shifts = (
        abs(stage.total(one, said, kept) - stage.total(other, said, kept)) * stage.rates[kept]
        for one, other in pairs()
        for said, kept in product(stage.transcripts, range(N))
    )
    return float(FIRST + LENGTH) + largest(shifts)


def pairs() -> Iterator[tuple[Friends, Friends]]:
    """Lists of user 0 with one friend more or less, both ways."""
    for bits in product((0, 1), repeat=N - 1):
        friends = tuple(x for x, bit in enumerate(bits, 1) if bit)
        yield from ((friends, tuple(y for y in friends if y != x)) for x in friends)
        yield from ((tuple(y for y in friends if y != x), friends) for x in friends)


def audit_clipping(name: str, stage: ClippedStage) -> Finding:
    """The largest δ at the claimed ε, over all lists and all edges between the others."""
    for friends, said in product({each for pair in pairs() for each in pair}, stage.transcripts):
        stage.check_client(friends, said)
    claim, bill = float(FIRST + LENGTH + TOTAL), stage.survey.releases
    cases = [(*pair, far) for pair in pairs() for far in product((0, 1), repeat=3)]
    if stage.claimed_delta:
        billed = float(sum(dict(each.prices)[Visibility.PRIVATE].epsilon for each in bill))
        delta = largest(spent_delta(stage, *case, claim) for case in cases)
        loss = Loss(str(Visibility.PRIVATE), claim, billed, float(stage.claimed_delta), delta)
    else:
        loss = Loss(str(Visibility.PRIVATE), claim, pure_loss(stage))
    about = f"every list of one of {N} users, every edge between the others, every first transcript by its chance"
    return exact_finding(name, [loss], len(cases), about)


AUDITS: tuple[Audit, ...] = (exact(NAME, audit_clipping, ClippedStage()),)
LONG: tuple[Audit, ...] = ()
MUTANTS: tuple[Audit, ...] = (
    exact(
        NAME,
        audit_clipping,
        ClippedStage(PaperSurvey, Fraction(0)),
        broken="pure ε claimed: a friend more adds one clipped term, and moves the others' (Imola et al. 2022)",
    ),
    exact(NAME, audit_clipping, ClippedStage(HalfSurvey), broken="noise for half of the threshold"),
)
