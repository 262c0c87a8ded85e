"""A collection of all positions' answers that counts them without keeping them."""

from __future__ import annotations

from visibility_aware_edge_ldp.aggregator.streamed import StreamedCollection
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.simulation.population import reports
from visibility_aware_edge_ldp.simulation.progress import Progress


def collect_streamed(
    world: VisibilityAwareGraph,
    survey: PositionSurvey,
    seed: int | str | None = None,
    dropout: float = 0.0,
    progress: Progress | None = None,
) -> StreamedCollection:
    """Every position answers, and nothing is kept but counts."""
    collection = StreamedCollection(survey, world.public)
    for report in reports(world, survey, seed, dropout, progress):
        collection.absorb(report)
    return collection
