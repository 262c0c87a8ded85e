"""Flags: for numbers outside their band, by user, and nobody within it.  [LIARS.5]"""

from __future__ import annotations

import numpy as np

from visibility_aware_edge_ldp.aggregator.report_screening import Flag, flags, ones_band


def test_values_outside_their_band_are_flagged_by_user() -> None:
    found = flags([4, 7, 9], [1, 5, 11], ([2, 2, 2], 10), "friends", 1)
    assert found == [Flag(4, 1, "friends", 1.0, 2.0, 10.0), Flag(9, 1, "friends", 11.0, 2.0, 10.0)]
    assert found[0].as_dict()["participant"] == 4


def test_rarer_alarms_have_wider_bands() -> None:
    sizes = np.array([100, 1000])
    often, rarely = (ones_band(sizes, 0.25, chance)[0] for chance in (1e-3, 1e-9))
    assert (rarely < often).all()
    assert (often < 0.25 * sizes).all()
