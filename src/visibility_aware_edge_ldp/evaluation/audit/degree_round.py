"""The real clients' reported degrees in one world: what they add noise to, and the noise that they add.  [WALK.1]"""

from __future__ import annotations

from functools import cache, partial
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_degrees import ListHolders
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.evaluation.audit.measured_noise import Ints, another_noise, counts_and_rates
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Floats
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import Pattern, World, friends, view_of, worlds
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.degree_report import decode, encode
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.view import PublicView


class Degrees(NamedTuple):
    """(classes, users): degrees before their noise, and the rate of that noise; infinite where there is none."""

    values: Ints
    rates: Floats


def sent_degrees(
    survey: DegreeSurvey, view: PublicView, world: World, coins: Coins, client: type[ListHolders] = ListHolders
) -> Ints:
    """(classes, users): the reports through the wire format."""
    lists = [friends(world, view.n, user) for user in range(view.n)]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
    held = FriendLists(0, offsets, np.array(sum(lists, ()), np.int32))
    purse = Purse({kind: survey.list_price(kind).epsilon for kind in survey.classes})
    return decode(encode(client(held, view, purse).degrees(survey, coins))).values


def real_degrees(
    survey: DegreeSurvey, view: PublicView, world: World, client: type[ListHolders] = ListHolders
) -> Degrees:
    """What is reported in this world, its noise found in this world."""
    sent = partial(sent_degrees, survey, view, world, client=client)
    supposed = [survey.mechanism(kind) for kind in survey.classes for _ in range(view.n)]
    values, rates = counts_and_rates(lambda coins: sent(coins).ravel(), supposed)
    return Degrees(values.reshape(-1, view.n), rates.reshape(-1, view.n))


@cache
def all_degrees(pattern: Pattern, n: int, epsilon: str) -> Ints:
    """(worlds, classes, users): what the real clients add the survey's noise to in every world, and no other noise."""
    view = view_of(pattern, n)
    survey = degree_survey(view, epsilon)
    rates = np.array([float(survey.mechanism(kind).rate) for kind in survey.classes])[:, None]
    each = [real_degrees(survey, view, world) for world in worlds(pattern)]
    if any((degrees.rates != rates).any() for degrees in each):
        raise another_noise()
    return np.array([degrees.values for degrees in each])
