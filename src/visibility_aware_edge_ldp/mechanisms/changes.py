"""Changes of one bit over time, told by noisy flags: whether it became 1, and whether it became 0.  [CHANGES.1-4]"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.randomized_response import Channel, RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, all_random_bytes

Bits = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Changes:
    """Flags of which at most ``most`` are raised for one bit in all of its life: a raised one is a fair coin.

    One that is not raised says 1 with a small chance q. Two histories of a bit, however they differ, are told apart by
    at most epsilon, however often is asked.  [CHANGES.1]
    """

    epsilon: Fraction
    most: int

    def __post_init__(self) -> None:
        if self.most < 1:
            raise BadPrivacyParameter(f"At least one change of a bit is told; got {self.most}.")
        self.quiet  # noqa: B018 - refuses an epsilon that is too small

    @cached_property
    def quiet(self) -> RandomizedResponse:
        """What a flag answers with that is not raised; its flip probability is q."""
        return RandomizedResponse(self.epsilon / self.most)

    @property
    def threshold(self) -> int:
        """T: a flag that is not raised says 1 when a uniform 64-bit integer is below T."""
        return self.quiet.threshold

    @cached_property
    def channel(self) -> Channel:
        """What is said of one flag: 0 or 1, not raised and raised."""
        flip, half = self.quiet.flip, Fraction(1, 2)
        return Channel((1 - flip, flip), (half, half))

    def told(self, raised: Bits, random_bytes: RandomBytes) -> Bits:
        """What is said of each flag; as many bytes are drawn whatever is raised.  [CHANGES.2]"""
        count = raised.size
        quiet = self.quiet.flips(count, random_bytes)
        octets = np.frombuffer(all_random_bytes(random_bytes, (count + 7) // 8), np.uint8)
        coins = np.unpackbits(octets, count=count, bitorder="little").view(np.bool_)
        found: Bits = np.where(raised, coins, quiet)
        return found


def tellable(now: Bits, told: Bits, times: Counts, most: int) -> Bits:
    """Which bits differ from what was told of them, and may still be told: not those that changed ``most`` times."""
    found: Bits = (now ^ told) & (times < most)
    return found
