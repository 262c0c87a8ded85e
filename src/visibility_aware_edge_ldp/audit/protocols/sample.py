"""POSITION with a sample, every coin of the clients walked for several public coins.  [AUDIT.2], [SAMPLE.2]"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import product

import numpy as np

from visibility_aware_edge_ldp.audit.engine import small_worlds
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law
from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss, altered, exact, exact_finding, losses_of
from visibility_aware_edge_ldp.audit.protocols import position
from visibility_aware_edge_ldp.audit.protocols.position import PRIVATE, PUBLIC, Stage
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.sample import SampledPositionClient, bits_at
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.public.layout import pack, unpack
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.surveys.sample import SampledReport, encode_sampled, position_sample
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

Client = Callable[[PositionBits, PublicView, Purse], SampledPositionClient]
COINS = ("heads", "tails", "edge")
# What a position that is not drawn may lose: nothing, but shares of it are taken.
_NOTHING = dict.fromkeys(NON_PUBLIC, 1e-9)


def _choosy(client: SampledPositionClient, report: SampledReport, survey: PositionSurvey, *_: object) -> SampledReport:
    """A position that has an edge does not say that it was drawn."""
    willing = ~bits_at(client._view, client._drawn(survey))
    answered, ones = (pack(unpack(packed, report.drawn) & willing) for packed in (report.answered, report.ones))
    return replace(report, answered=answered, ones=ones)


def _undrawn(client: SampledPositionClient, report: SampledReport, *_: object) -> SampledReport:
    """The bit of the last position, drawn or not, is added to the answer of the first drawn one."""
    ones = unpack(report.ones, report.drawn).copy()
    last = np.array([client._view.start + client._view.count - 1])
    ones[:1] ^= bits_at(client._view, last) & unpack(report.answered, report.drawn)[:1]
    return replace(report, ones=pack(ones))


def sampled(rate: str, coin: str) -> Callable[[PositionSurvey], PositionSurvey]:
    """The question of a stage, asked of a sample."""
    return partial(_sampled, rate, coin)


@cache
def _sampled(rate: str, coin: str, survey: PositionSurvey) -> PositionSurvey:
    """Kept, because its identity and who is drawn take longer than an answer."""
    return replace(survey, sample=position_sample(rate, coin))


def conversation(stage: Stage, world: small_worlds.World, client: Client = SampledPositionClient) -> Law:
    """The law of all bytes that are sent in all rounds by all respondents, for the stage's public coin."""
    return position.conversation(replace(stage, client=client, encode=encode_sampled), world)


def audit_sample(name: str, stages: Iterable[Stage], about: str, client: Client = SampledPositionClient) -> Finding:
    """Drawn positions lose what is claimed, and those that are not drawn lose nothing."""
    losses, cases = list[Loss](), 0
    for stage in stages:
        drawn, speak = stage.drawn, cache(partial(conversation, stage, client=client))
        for asked, claims in ((True, stage.claims), (False, _NOTHING)):
            pairs = [pair for pair in stage.pairs if (pair[2] in drawn) == asked]
            found = losses_of(small_worlds.largest_gaps(stage.pattern, pairs, speak), claims, closed=False)
            # Where nothing is claimed and nothing lost, there is nothing to show.
            losses += [loss for loss in found if asked or loss.found or loss.found_delta]
            cases += len(pairs)
    return exact_finding(name, losses, cases, about)


def stages() -> Iterator[Stage]:
    """Every graph of 3 nodes and every pattern, one round and two; of 4 nodes with at most 3 secret positions."""
    for pattern in small_worlds.patterns(3):
        yield Stage(pattern, 3, question=sampled("1/2", "tails"))
    for pattern, coin in product(small_worlds.patterns_up_to_names(3), COINS):
        yield Stage(pattern, 3, asked=(1, 1), question=sampled("1/2", coin), sizes=(1, 1, 1))
        yield Stage(pattern, 3, asked=(1, 2), question=sampled("2/3", coin), sizes=(1, 2), guard=("3", "1"))
    for pattern in small_worlds.patterns_up_to_names(4):
        if pattern.count(PUBLIC) >= 3:
            yield Stage(pattern, 4, "7/10", question=sampled("1/2", "heads"))


AUDITS = (
    exact(
        "position, a sample",
        lambda name, about: audit_sample(name, stages(), about),
        "for several public coins: all graphs of 3 nodes, all patterns, one round and two; of 4 nodes with 3 secrets",
    ),
)
_MUTANTS = (
    ("position, an edge that hides from the coin", "A position with an edge does not answer if drawn.", _choosy),
    ("position, a bit that was not drawn", "The last bit of a run is sent along, drawn or not.", _undrawn),
)
_SECRET = [Stage((PRIVATE,) * 3, 3, question=sampled("1/2", coin)) for coin in COINS]
MUTANTS = tuple(
    exact(name, audit_sample, _SECRET, broken, altered(SampledPositionClient, "randomize", change), broken=broken)
    for name, broken, change in _MUTANTS
)
