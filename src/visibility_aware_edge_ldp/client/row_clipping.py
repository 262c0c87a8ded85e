"""USER triangles by double clipping: a user clips its list and its noisy triangles, then adds noise.  [CLIP.1-3]"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain.bitset import unpack_rows
from visibility_aware_edge_ldp.counts.scores import Floats, Scores, score
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import sample_each
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.layout import Bits
from visibility_aware_edge_ldp.public.surveys.rows import RowReport

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.client.rows import FirstRound
    from visibility_aware_edge_ldp.public.surveys.clipped_rows import ClippedRowSurvey

Integers = npt.NDArray[np.int64]
Members = npt.NDArray[np.int32]


def refuse_missing_rows(first: FirstRound) -> None:
    """Refuse a first round that somebody did not answer: thresholds are for scores that all are there.  [CLIP.1]"""
    if not first.answered[first.asked].all():
        raise ProtocolViolation("Double clipping takes a first round that everybody answered; somebody did not.")


def clipped_report(
    survey: ClippedRowSurvey,
    first: FirstRound,
    asked: Bits,
    start: int,
    offsets: Integers,
    members: Members,
    random_bytes: RandomBytes,
) -> RowReport:
    """Of each user the noisy length of its list, and the noisy sum of its clipped triangles.  [CLIP.1]"""
    lengths = np.diff(offsets)
    noisy = lengths + survey.reach_noise.sample_many(lengths.size, random_bytes)
    kept = survey.kept(noisy)
    sums = clipped_sums(first.scores, offsets, members, kept, survey.thresholds(kept))
    totals = np.floor(sums * 2.0**survey.fineness + 0.5).astype(np.int64)
    noisy_totals = totals + sample_each(survey.total_epsilon, survey.sensitivities(kept), random_bytes)
    sent = (np.where(asked, numbers, 0) for numbers in (noisy, noisy_totals))
    return RowReport(survey.identity, first.transcript.digest, start, asked, *sent)


def clipped_sums(scores: Scores, offsets: Integers, members: Members, kept: Integers, most: Floats) -> Floats:
    """Of each user: its first so many friends, with the scores between each and the later ones clipped, added up."""
    found = np.zeros(kept.size)
    for user, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        friends = members[start : min(stop, start + int(kept[user]))]
        between = np.triu(_between(scores, friends), 1).sum(axis=1)
        found[user] = float(np.clip(between, -most[user], most[user]).sum())
    return found


def _between(scores: Scores, friends: Members) -> Floats:
    """The scores between friends."""
    found = np.zeros((friends.size, friends.size))
    for weight, plane in zip(scores.weights(score), scores.planes, strict=True):
        found += weight * unpack_rows(plane[friends], scores.n)[:, friends]
    return found
