"""USER triangles from sums that users clipped twice: the estimate, and how it varies.  [CLIP.4]"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from visibility_aware_edge_ldp.aggregator import round_noise
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, estimate_of
from visibility_aware_edge_ldp.aggregator.rows import RowCollection, public_rows
from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.counts.row_noise import first_vertex_noise, shape_of
from visibility_aware_edge_ldp.counts.rows import Step, triangle_total
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public.statistic import TRIANGLES

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.surveys.clipped_rows import ClippedRowSurvey


def clipped_triangles(collection: RowCollection, step: Step | None = None) -> Estimate:
    """The triangle count where everybody answered; clipping leaves it a bias, of a chance of at most δ.  [CLIP.4]"""
    if collection.response_rate < 1:
        raise BadStatistic("Double clipping counts triangles where everybody answered; somebody did not.")
    survey, here = cast("ClippedRowSurvey", collection.survey), collection.answered
    value = public_rows(collection, partial(triangle_total, collection.scores(1.0))) + float(collection.sums.sum())
    noise = float(survey.noise_variances(survey.kept(collection.reaches[here])).sum())
    shape, told = shape_of(collection.reported_scores, 1.0), first_vertex_noise(collection.reported_scores, step)
    answers = round_noise.first_noise(told, collection.view.n, shape, round_noise.Counted(value, noise))
    found = estimate_of(TRIANGLES.name, value, Spread(noise).plus(answers), collection.releases)
    return replace(found, unbiased=False)
