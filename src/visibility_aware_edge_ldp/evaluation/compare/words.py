"""What a comparison says of each trust model: how it spends epsilon, and what that promises."""

from __future__ import annotations

from collections.abc import Sequence

from visibility_aware_edge_ldp.simulation.by_user import DEGREE_SHARE
from visibility_aware_edge_ldp.simulation.centre import PILOT_SHARE

NOTES = {
    "position": "POSITION (nobody is trusted): every position answers once, with all of ε, and everything is estimated "
    "from the same answers.",
    "user": f"USER (nobody is trusted): where both are asked for, the degrees get {DEGREE_SHARE} of ε and the "
    "triangles the rest, as `estimate` splits it.",
    "neighbourhood": "NEIGHBOURHOOD (nobody but friends of friends is trusted, who see the edges anyway): counts "
    "triangles, with all of ε; public hubs report where they see everybody, and else all users.",
    "curator": f"CURATOR (a trusted centre; not local privacy): its questions share one ε: {PILOT_SHARE} for a pilot, "
    "and the rest where the pilot says that it is needed. `estimate --trust curator` would give ε to each.",
}


def notes_for(models: Sequence[str]) -> list[str]:
    """A sentence for each trust model."""
    return [NOTES[trust] for trust in models]
