"""What each trust model offers a plan: the error of a statistic, the cost of a survey, and doubts about both.

And what several of them need: the laws of noises, and sizes of reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import isnan, nan, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothNoise
from visibility_aware_edge_ldp.privacy import Number, parse_share
from visibility_aware_edge_ldp.public.derived import Derived
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS, answers, registered_protocol
from visibility_aware_edge_ldp.public.statistic import is_built_in, statistic
from visibility_aware_edge_ldp.public.surveys.sample import position_sample
from visibility_aware_edge_ldp.public.trust import Trust
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.evaluation.plan.graph_moments import Moments
    from visibility_aware_edge_ldp.model import VisibilityAwareGraph
    from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# The mean size of a normal error, in standard errors.
NORMAL = sqrt(2 / pi)
# How notes begin that say why there is no mean error.
MOSTLY_NOISE, FEW_FLIPS, MOSTLY_EXACT = "mostly noise", "only about", "mostly exact"
BY_LUCK = "the centre's pilot is noisy"
NO_CLOSED_FORM = "no closed form: simulate with compare"
NONE_CAME = "no closed form came with it, or with what it is made from; simulate with compare"
# The wire format: what a user's report has beside its numbers, a number, and about a question.
HEAD, NUMBER, QUESTION = 55, 8, 400
_WORD = 64


@dataclass(frozen=True)
class Subsample:
    """In the position model: the share of the positions that are asked, and the share of the counting that is done.

    ``work`` None counts all triangles, and as many rows for 4-cycles as some seconds allow.
    """

    positions: Fraction = Fraction(1)
    work: float | None = None

    @property
    def coin(self) -> Floats:
        """What the coin of a sample adds to the variance of a score at an edge, by class.  [PLAN.13], [SAMPLE.3]"""
        rate = float(self.positions)
        return np.array([0.0, *((1 - rate) / rate for _ in NON_PUBLIC)])


ALL = Subsample()


def subsample(sample_positions: Number = 1, work: Number | None = None) -> Subsample:
    """As a user says it; a sample of positions is counted whole."""
    sample = position_sample(sample_positions)
    share = None if work is None else float(parse_share(work, "the share of the work"))
    if share is not None and sample is not None and share < 1:
        raise BadInput("A sample of positions is counted whole: give sample_positions or work, not both.")
    if share == 0:
        raise BadInput("The share of the work is above 0 and at most 1; got 0.")
    return Subsample(Fraction(1) if sample is None else sample.rate, share)


@dataclass(frozen=True, eq=False)
class Question:
    """What one trust model is asked: all these statistics together for one ε, and what the answers leave out."""

    moments: Moments
    epsilon: Fraction
    statistics: Sequence[str]
    delta: Fraction = Fraction(0)
    without: Subsample = ALL


@dataclass(frozen=True)
class PredictedError:
    """A standard error, and the mean of the error's size if it is not that of a normal law.

    ``uneven`` is how many times larger the standard error is than in a typical run. Of a statistic of groups,
    ``entries`` are the standard errors of all its entries, and the other numbers are means over them.
    """

    deviation: float
    mean: float | None = None
    bias: float = 0.0
    uneven: float = 1.0
    entries: tuple[float, ...] = ()


@dataclass(frozen=True)
class Cost:
    """Of one trust model: bytes to and from one reporter on average, and the aggregator's work in machine words."""

    trust: str
    reporters: int
    bytes_up: int
    bytes_down: int
    words: int
    seconds: float = nan
    """How long a run of all of it, with everybody simulated, would take on this machine."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: None if value != value else value for name, value in asdict(self).items()}

    def __str__(self) -> str:
        return (
            f"{self.trust}: {self.reporters:,} reporting, each sends {self.bytes_up:,} bytes and receives "
            f"{self.bytes_down:,}; the aggregator's work is about {self.words:.1e} words."
        )


def no_doubt(question: Question, found: PredictedError) -> str:
    """For models whose errors are normal wherever they are not mostly noise."""
    return ""


@dataclass(frozen=True)
class Model:
    """One trust model, before anybody is asked.

    Parameters
    ----------
    trust
        Which one.
    error
        From a question and one of its statistics to the predicted error, or to a sentence on why there is none.
    cost
        From a world and the statistics that are asked together to what a survey costs.
    doubt
        Why the normal approximation does not hold; empty where it does.  [PLAN.9]
    bounded
        Whether lower bounds are known for its protocols.  [LIMIT.1]
    noted
        Kinds of statistics that it does not answer, of which a plan says so in a row of their own.
    """

    trust: Trust
    error: Callable[[Question, str], PredictedError | str]
    cost: Callable[[VisibilityAwareGraph, Sequence[str], Subsample], Cost]
    doubt: Callable[[Question, PredictedError], str] = no_doubt
    bounded: bool = False
    noted: tuple[str, ...] = ()

    def offers(self, name: str) -> bool:
        """Whether a plan has a row for this statistic."""
        return answers(self.trust, name) or statistic(name).kind in self.noted

    def total_cost(self, world: VisibilityAwareGraph, statistics: Sequence[str], without: Subsample) -> Cost:
        """What a survey costs; for a protocol of another program by the size of its reports."""
        known, n = registered_protocol(self.trust, [name for name in statistics if self.offers(name)]), world.graph.n
        if known is None:
            return self.cost(world, statistics, without)
        return Cost(self.trust.name, n, sum(each.size(count=1, classes=1) for each in known.layouts), QUESTION, n)

    def predicted(self, question: Question, name: str) -> PredictedError | str:
        """The error of a statistic, as the model knows it, or as one of another program predicts its own."""
        known = statistic(name)
        if known.derived is not None:
            return self._derived(question, known.derived)
        own = [
            make
            for each, make in known.predictions.items()
            if each in PROTOCOLS and PROTOCOLS[each].trust is self.trust
        ]
        if not own:
            return self.error(question, name) if is_built_in(name) else NONE_CAME

        def standard_error(other: str) -> float:
            found = self.error(question, other)
            return nan if isinstance(found, str) else found.deviation

        deviation = own[0](question, standard_error)
        return NONE_CAME if isnan(deviation) else PredictedError(deviation)

    def _derived(self, question: Question, formula: Derived) -> PredictedError | str:
        """The source's error times the slope of the formula; of several sources, what they share is not known here."""
        if len(formula.sources) > 1:
            return NO_CLOSED_FORM
        (source,) = formula.sources
        found = self.predicted(question, source)
        if isinstance(found, str):
            return found
        moments, step = question.moments, found.deviation or 1.0
        slope = abs(formula.slopes(moments.n, [moments.value(source)], [step])[0])
        mean = None if found.mean is None else slope * found.mean
        return replace(found, deviation=slope * found.deviation, mean=mean, bias=slope * found.bias)


def hidden_classes(world: VisibilityAwareGraph) -> int:
    """How many classes of positions are there that are not public."""
    return len([kind for kind in NON_PUBLIC if kind in world.public.present])


def row_bytes(n: int) -> int:
    """A row's report: two bits for each of its positions, whether it answered, and what."""
    return HEAD + 2 * ((n - 1) // 16 + 1)


def words_over_pairs(n: int, statistics: Sequence[str]) -> int:
    """The aggregator's work on all rows: cubic where something is counted over pairs of users, else quadratic."""
    return n**3 // _WORD if any(statistic(name).over_pairs for name in statistics) else n * n // _WORD


def asked_in_scope(world: VisibilityAwareGraph) -> tuple[int, float]:
    """Who has positions that are asked, and which share of all positions that is; everybody without a scope."""
    if world.policy.scope is None:
        return world.graph.n, 1.0
    public = world.public
    share = sum(public.class_sizes[kind] for kind in NON_PUBLIC) / max(public.positions, 1)
    return int(public.users_with(NON_PUBLIC).any(axis=0).sum()), share


@lru_cache(maxsize=16)
def noise_law(noises: tuple[DiscreteLaplace, ...]) -> tuple[Ints, Floats]:
    """The values of a sum of these noises, and how likely each is."""
    chances = np.ones(1)
    for noise in noises:
        far = int(40 / float(noise.rate)) + 2
        each = np.exp(-float(noise.rate) * np.abs(np.arange(-far, far + 1)))
        chances = np.convolve(chances, each / each.sum())
    half = chances.size // 2
    return np.arange(-half, half + 1), chances


def degree_noise(moments: Moments, survey: DegreeSurvey) -> list[tuple[Ints, tuple[DiscreteLaplace, ...]]]:
    """Which of the chosen users have which noises in their degrees.  [DEGREESUM.4]"""
    hiding = moments.node_classes[:, list(NON_PUBLIC)] > 0
    groups = []
    for pattern in np.unique(hiding, axis=0):
        noises = tuple(survey.mechanism(k) for k, on in zip(NON_PUBLIC, pattern.tolist(), strict=True) if on)
        groups.append((np.flatnonzero((hiding == pattern).all(axis=1)), noises))
    return [group for group in groups if group[1]]


def mean_size(noise: SmoothNoise) -> float:
    """E|Z| at scale 1: for Laplace noise 1, for power noise the integral of both pieces of its tail."""
    if not isinstance(noise, SmoothPower):
        return 1.0
    a = float(noise.alpha)
    joint = (1 - 1 / a) ** (a - 1)
    mass = 1 + 2 * joint / a
    core = mass - 1 + a / (a + 1) * (1 - (1 - 1 / a) ** (a + 1))
    tail = joint * (1 + 1 / a) ** 2 * a / (a - 1)
    return float((core + tail) / mass)
