"""The survey: the public question, its mechanisms, rounds and price.  [POSITION.1]"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import Channel, RandomizedResponse
from visibility_aware_edge_ldp.privacy import Guarantee, Number, OneEdge, parse_epsilon
from visibility_aware_edge_ldp.public.layout import PackedBits, Report
from visibility_aware_edge_ldp.public.positions import position_count
from visibility_aware_edge_ldp.public.surveys.base import Content, RosterSurvey
from visibility_aware_edge_ldp.public.surveys.sample import DrawnPositions, PositionSample, position_sample
from visibility_aware_edge_ldp.public.trust import POSITION
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers, Visibility

# One mechanism for each promise: its threshold takes eighty digits to compute.
_randomized_response = cache(RandomizedResponse)


@dataclass(frozen=True)
class PositionSurvey(RosterSurvey):
    """Every non-public position answers once per round by randomized response.

    ``shares`` splits epsilon over the rounds. Round 2 asks only where round 1 answered 1. ``multipliers`` repeats how
    well the policy guards each class; a client compares them with its own policy's. With a ``sample`` only the
    positions that its public coin draws are asked, at the same price.  [SAMPLE.2]
    """

    trust = POSITION
    shares: tuple[Fraction, ...] = (Fraction(1),)
    multipliers: Multipliers = DEFAULT_MULTIPLIERS
    sample: PositionSample | None = None

    def __post_init__(self) -> None:
        if len(self.shares) not in (1, 2) or any(share <= 0 for share in self.shares) or sum(self.shares) != 1:
            raise BadPrivacyParameter(
                "Epsilon is split over one or two rounds, by positive shares that sum to 1; "
                f"got {', '.join(map(str, self.shares))}."
            )
        for visibility in NON_PUBLIC:
            self.channel(visibility)

    @property
    def protocol(self) -> str:
        """ "position", or "sample" where a public coin draws who is asked."""
        return "position" if self.sample is None else "sample"

    @property
    def rounds(self) -> int:
        """One, or two where those that answered 1 are asked again."""
        return len(self.shares)

    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        """What an edge of this class loses in this round, as a guarantee."""
        return self._guarantees[kind, round_number]

    def mechanism(self, visibility: Visibility, round_number: int) -> RandomizedResponse:
        """What a position of this class answers with in this round (1 or 2)."""
        return self._mechanisms[visibility, round_number]

    def round_price(self, visibility: Visibility, round_number: int) -> Fraction:
        """The loss of one round for one edge of this class."""
        return self._prices[visibility, round_number]

    @cached_property
    def _prices(self) -> dict[tuple[Visibility, int], Fraction]:
        """For each class and round; every call asks for some, and products of fractions are slow."""
        parts = [(number, self.epsilon * share) for number, share in enumerate(self.shares, 1)]
        return {(kind, number): self.multipliers.of(kind) * part for kind in Visibility for number, part in parts}

    @cached_property
    def _guarantees(self) -> dict[tuple[Visibility, int], Guarantee[OneEdge]]:
        return {key: Guarantee(OneEdge, price) for key, price in self._prices.items()}

    @cached_property
    def _mechanisms(self) -> dict[tuple[Visibility, int], RandomizedResponse]:
        prices = self._prices.items()
        return {key: _randomized_response(price) for key, price in prices if key[0] in NON_PUBLIC}

    def channel(self, visibility: Visibility) -> Channel:
        """All rounds together, as one channel: outcomes 0 and 1, or 0, 10 and 11."""
        channel = self.mechanism(visibility, 1).channel
        return channel.refined(1, self.mechanism(visibility, 2).channel) if self.rounds == 2 else channel

    @property
    def rate(self) -> Fraction:
        """The chance that a position is asked: 1 without a sample."""
        return Fraction(1) if self.sample is None else self.sample.rate

    @cached_property
    def drawn(self) -> DrawnPositions:
        """The positions that the sample's coin draws; who is asked can be told from the survey alone.  [SAMPLE.1]"""
        if self.sample is None:
            raise BadPrivacyParameter("This survey has no sample: every non-public position is asked.")
        return DrawnPositions(self.sample.rate, self.identity, position_count(self.nodes))

    def content(self) -> Content:
        thresholds = [
            {str(kind): str(self.mechanism(kind, number).threshold) for kind in NON_PUBLIC}
            for number in range(1, self.rounds + 1)
        ]
        return {
            "epsilon": str(self.epsilon),
            "shares": [str(share) for share in self.shares],
            "flip thresholds out of 2^64, per round": thresholds,
            **({} if self.sample is None else {"sample": self.sample.describe()}),
        }


def position_survey(
    view: PublicView,
    epsilon: Number,
    rounds: int = 1,
    first_share: Number = Fraction(1, 2),
    sample: Number = 1,
    coin: str = "",
) -> PositionSurvey:
    """A survey of the non-public positions of a public view, all or a sample; one round is the better one.  [CHANNEL.4]

    ``sample`` is the share that is asked, drawn by ``coin``: any text that is public before anybody answers.
    """
    if rounds not in (1, 2):
        raise BadPrivacyParameter(f"A survey has 1 or 2 rounds; got {rounds}.")
    first = parse_epsilon(first_share, "the first round's share of epsilon")
    shares = (Fraction(1),) if rounds == 1 else (first, 1 - first)
    policy, sampled = view.policy, position_sample(sample, coin)
    return PositionSurvey(
        view.roster_digest, view.n, policy.digest, parse_epsilon(epsilon), shares, policy.multipliers, sampled
    )


@dataclass(frozen=True)
class PositionReport(Report):
    """One round's answers for the positions numbered ``start`` … ``start + count − 1``.

    Two bits a position, packed with the first position in the lowest bit: whether it answered, and
    its randomized answer. The length depends on ``count`` alone.
    """

    survey: str
    round: int
    start: int
    count: int
    answered: bytes = field(repr=False)
    ones: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if self.count < 0 or self.start < 0:
            raise ProtocolViolation("A report's range of positions starts and counts from 0.")
        self.layout.validate(self)


LAYOUT = PackedBits("report of positions", b"VAEL", "round:B start:Q count:Q survey:32s", PositionReport)
encode, decode = LAYOUT.encode, LAYOUT.decode
