"""The protocols: each one value with its trust model, statistics, survey and the bytes of its reports.

A protocol is added by registering a ``Protocol`` here and one file on each side: a client, a collection and an audit,
all under its name. Programs outside this package call :func:`register`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from visibility_aware_edge_ldp.errors import BadInput, BadStatistic, did_you_mean
from visibility_aware_edge_ldp.public.layout import Layout
from visibility_aware_edge_ldp.public.statistic import (
    AT_ONCE,
    CLUSTERING,
    EIGEN,
    FOUR_CYCLES,
    GRAPHLETS,
    GROUPED,
    TRANSITIVITY,
    TRIANGLES,
    TRIANGLES_BY_GROUP,
    is_built_in,
    statistic,
)
from visibility_aware_edge_ldp.public.surveys import (
    curator,
    degrees,
    groups,
    histogram,
    hubs,
    neighbourhood,
    position,
    rows,
    sample,
)
from visibility_aware_edge_ldp.public.surveys.base import Survey
from visibility_aware_edge_ldp.public.trust import CURATOR, NEIGHBOURHOOD, POSITION, USER, Trust


@dataclass(frozen=True)
class Protocol:
    """What both sides know of a protocol.

    Parameters
    ----------
    name
        Its stem: the name of its file on every side.
    trust
        What one client may hold.
    statistics
        The kinds of statistics that its reports answer; "stars" stands for every "stars:K".
    survey
        Makes a survey from a public view, what an edge may pay, and what is particular to it.
    layouts
        The bytes of a report, for each round that a survey may have.
    """

    name: str
    trust: Trust
    statistics: frozenset[str]
    survey: Callable[..., Survey]
    layouts: tuple[Layout[Any], ...]

    @property
    def rounds(self) -> tuple[int, ...]:
        """The numbers of the rounds that a survey may have."""
        return tuple(range(1, len(self.layouts) + 1))

    def layout(self, round_number: int = 1) -> Layout[Any]:
        """The bytes of one round's reports."""
        return self.layouts[round_number - 1]

    def answers(self, name: str) -> bool:
        """Whether its reports answer this statistic, or all that it is made from."""
        known = statistic(name)
        if known.derived is not None:
            return all(map(self.answers, known.derived.sources))
        return known.kind in self.statistics or self.name in known.estimators


PROTOCOLS: dict[str, Protocol] = {}
"""All protocols by name."""


def register(known: Protocol) -> Protocol:
    """Make a protocol known by its name; refuses a name that is taken."""
    if known.name in PROTOCOLS:
        raise BadInput(f"{known.name!r} cannot be registered: there is a protocol of that name already.")
    PROTOCOLS[known.name] = known
    return known


def protocol(name: str) -> Protocol:
    """The protocol of this name; refuses an unknown name."""
    if name not in PROTOCOLS:
        raise BadInput(f"{name!r} is not a protocol; use one of {', '.join(PROTOCOLS)}.{did_you_mean(name, PROTOCOLS)}")
    return PROTOCOLS[name]


def answers(trust: Trust, name: str) -> bool:
    """Whether clients of a trust model can answer for this statistic: by one protocol, or by several together.

    For one that is made from others: whether these are answered. The package's own statistics are asked for by its own
    protocols alone.
    """
    known = statistic(name)
    if known.derived is not None:
        return all(answers(trust, source) for source in known.derived.sources)
    able = BUILT_IN if is_built_in(name) else PROTOCOLS
    return known.kind in trust.combined or any(
        PROTOCOLS[each].trust is trust and PROTOCOLS[each].answers(name) for each in able
    )


def registered_protocol(trust: Trust, statistics: Sequence[str]) -> Protocol | None:
    """The protocol of another program that answers these statistics; None where the package's own do.

    Its reports are paid for by themselves, so that all statistics must be answered by it.
    """
    others = [each for name, each in PROTOCOLS.items() if each.trust is trust and name not in BUILT_IN]
    own = (name in CLUSTERING or any(PROTOCOLS[each].answers(name) for each in BUILT_IN) for name in statistics)
    if all(own) or not others:
        return None
    for known in others:
        if all(map(known.answers, statistics)):
            return known
    raise BadStatistic(
        f"{', '.join(statistics)} are not all answered by one protocol; ask for those of each by themselves: "
        + "; ".join(f"{each.name} answers {', '.join(filter(each.answers, statistics)) or 'none'}" for each in others)
    )


_DEGREES = frozenset({"edges", "degrees", "max_degree", "degree_histogram", "stars", *AT_ONCE})
_SCORES = _DEGREES | {TRIANGLES.name, TRANSITIVITY.name, FOUR_CYCLES.name, *GRAPHLETS, *EIGEN}
_SCORES |= {*GROUPED, TRIANGLES_BY_GROUP.name}
# Where those that answered 1 are asked again, the second round's reports look like the first's.
register(Protocol("position", POSITION, _SCORES, position.position_survey, (position.LAYOUT, position.LAYOUT)))
register(Protocol("sample", POSITION, _SCORES, position.position_survey, (sample.LAYOUT, sample.LAYOUT)))
register(Protocol("degrees", USER, _DEGREES | {"tail", "degree_quantile"}, degrees.degree_survey, (degrees.LAYOUT,)))
register(Protocol("groups", USER, frozenset(GROUPED), groups.group_survey, (groups.LAYOUT,)))
register(Protocol("histogram", USER, frozenset({"degree_histogram"}), histogram.histogram_survey, (histogram.LAYOUT,)))
register(Protocol("rows", USER, frozenset(rows.STATISTICS), rows.triangle_survey, (position.LAYOUT, rows.LAYOUT)))
_TRIANGLES = frozenset({TRIANGLES.name})
register(
    Protocol("neighbourhood", NEIGHBOURHOOD, _TRIANGLES, neighbourhood.neighbourhood_survey, (neighbourhood.LAYOUT,))
)
register(Protocol("hubs", NEIGHBOURHOOD, _TRIANGLES, hubs.hub_survey, (hubs.LAYOUT,)))
# A centre answers any number of questions, one after the other, all with the same bytes.
_CENTRAL = frozenset({"edges", "max_degree", "triangles", "stars"})
register(Protocol("curator", CURATOR, _CENTRAL, curator.curator_survey, (curator.LAYOUT,)))
BUILT_IN = frozenset(PROTOCOLS)
"""The names of the package's own protocols."""
