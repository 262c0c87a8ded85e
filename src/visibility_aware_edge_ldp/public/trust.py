"""The trust models, by what one client may hold: each one value with its words, defaults and options."""

from dataclasses import dataclass
from fractions import Fraction

from visibility_aware_edge_ldp.errors import BadInput, did_you_mean

# USER: of epsilon, what the degrees get where triangles are asked for too; they need far less of it.
DEGREE_SHARE = Fraction(1, 4)
# CURATOR in a comparison: of epsilon, what a pilot gets that decides how the rest is split.
PILOT_SHARE = Fraction(1, 10)
# What is estimated of people and places if nothing is named.
ON_PLACES = ("edges", "people_degrees", "place_degrees", "butterflies")


@dataclass(frozen=True)
class Trust:
    """A trust model.

    Parameters
    ----------
    name
        As it is typed: "position". In prose and certificates it is written in capitals, see ``title``.
    promise
        A certificate's sentence: what one client holds, and whom it need not trust.
    trusted
        Whom everybody else has to trust, for somebody who chooses between the models.
    spending
        How a comparison spends epsilon in this model.  [COMPOSITION.1]
    defaults
        The statistics that are estimated if none are named.
    options
        Which keywords of ``estimate`` belong to it.
    compared
        Those of them that a comparison takes.
    combined
        The kinds of statistics that only the reports of several of its protocols tell together; each protocol says
        itself what its own reports tell.
    on_places
        The kinds of statistics that they answer of people and places; none where such graphs are not asked.
    local
        Whether clients add the noise themselves, so that no centre need be trusted.
    """

    name: str
    promise: str
    trusted: str
    spending: str
    defaults: tuple[str, ...]
    options: tuple[str, ...]
    compared: tuple[str, ...]
    local: bool = True
    combined: tuple[str, ...] = ()
    on_places: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name as certificates write it: "POSITION"."""
        return self.name.upper()


POSITION = Trust(
    "position",
    "one reporter holds one bit and randomizes it before it is sent; the aggregator is not trusted.",
    "nobody is trusted: every position answers for itself, with noise",
    "POSITION (nobody is trusted): every position answers once, with all of ε, and everything is estimated from the "
    "same answers.",
    defaults=("edges", "max_degree", "triangles", "stars:2", "stars:3", "transitivity", "four_cycles"),
    options=("rounds", "dropout", "estimator", "work", "sample_positions", "engine", "checkpoint"),
    compared=("rounds", "estimator", "dropout"),
    on_places=(*ON_PLACES, "four_cycles", "degrees", "max_degree", "degree_histogram", "stars"),
)
USER = Trust(
    "user",
    "one reporter holds its own friend list and adds noise before it sends; the aggregator is not trusted.",
    "nobody is trusted: everybody adds noise to what their own friend list says",
    f"USER (nobody is trusted): where both are asked for, the degrees get {DEGREE_SHARE} of ε and the triangles the "
    "rest, as `estimate` splits it.",
    # 4-cycles would take a share of epsilon from triangles, so they come only when asked for.
    defaults=("edges", "max_degree", "triangles", "stars:2", "stars:3", "transitivity"),
    options=("dropout", "degree_share", "hide", "engine", "clip", "share", "download"),
    compared=("degree_share", "dropout"),
    combined=("transitivity", "clustering_by_degree", "local_clustering"),
    on_places=(*ON_PLACES, "four_cycles"),  # places hold and answer nothing
)
NEIGHBOURHOOD = Trust(
    "neighbourhood",
    "one reporter sees its friends' friends too, counts, and adds noise before it sends; the aggregator is not "
    "trusted.",
    "only friends of friends are trusted, who see the edges anyway",
    "NEIGHBOURHOOD (nobody but friends of friends is trusted, who see the edges anyway): counts triangles, with all of "
    "ε; public hubs report where they see everybody, and else all users.",
    defaults=("triangles",),
    options=("delta", "dropout", "reporters"),
    compared=("reporters", "delta", "dropout"),
)
CURATOR = Trust(
    "curator",
    "central, not local: a trusted centre holds the whole graph; the promise is against those who see its answers.",
    "one centre is trusted with the whole graph",
    f"CURATOR (a trusted centre; not local privacy): its questions share one ε: {PILOT_SHARE} for a pilot, and the "
    "rest where the pilot says that it is needed.",
    defaults=("edges", "max_degree", "triangles", "stars:2", "stars:3", "stars:4"),
    options=("delta",),
    compared=("delta",),
    local=False,
)
TRUSTS: dict[str, Trust] = {each.name: each for each in (POSITION, USER, NEIGHBOURHOOD, CURATOR)}
"""All trust models by name, the least trusting first."""


def trust_model(name: str) -> Trust:
    """The trust model of this name; refuses an unknown name."""
    if name not in TRUSTS:
        meant = did_you_mean(str(name), tuple(TRUSTS))
        raise BadInput(f"{name!r} is not a trust model; use one of {', '.join(TRUSTS)}.{meant}")
    return TRUSTS[name]
