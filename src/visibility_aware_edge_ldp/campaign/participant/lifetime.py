"""What an edge has lost in all data epochs together, and how much of that its owner allows.  [LEDGER.4]"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from visibility_aware_edge_ldp.campaign.participant import accounts
from visibility_aware_edge_ldp.campaign.participant.accounts import Account, Request, account_of
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Page
from visibility_aware_edge_ldp.campaign.signed_documents import Content, decode, encode
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

KIND = "lifetime"
# Unless its owner says otherwise, an edge may lose in all epochs what it may lose in so many.
EPOCHS = 4
_COSTLY = ("level", "other", "charge", "pairs")


def caps_in(page: Page) -> dict[Visibility, Fraction]:
    """How much an edge of each class may lose in all epochs together."""
    said = page.one(KIND)
    chosen = {} if said is None else decode(said)
    known: dict[str, Content] = chosen if isinstance(chosen, dict) else {}
    return {
        kind: Fraction(str(known[str(kind)])) if str(kind) in known else EPOCHS * cap
        for kind, cap in accounts.caps_in(page).items()
    }


def caps_entry(page: Page, caps: Mapping[Visibility, Number]) -> Entry:
    """The entry that sets these caps; classes that are left out keep theirs."""
    chosen = accounts.checked_caps(caps, caps_in(page))
    return Entry(KIND, content=encode({str(kind): str(chosen[kind]) for kind in NON_PUBLIC}))


def set_caps(
    page: Page, caps: Mapping[Visibility, Number] | None, lifetime_caps: Mapping[Visibility, Number] | None
) -> None:
    """What holds from now on in one epoch, and in all of them; what is not given stays as it is."""
    before = accounts.caps_in(page)
    if caps is not None and accounts.checked_caps(caps, before) != before:
        page.append(accounts.caps_entry(caps, before))
    if lifetime_caps:
        page.append(caps_entry(page, lifetime_caps))


def whole_account(page: Page, account: Account, epoch: str) -> Account:
    """An epoch's account, with what the same names have lost in all other epochs on top of it."""
    others = {entry.epoch for kind in _COSTLY for entry in page.entries(kind)} - {epoch}
    for other in sorted(others):
        past = account_of([*page.entries("roster"), *page.entries(epoch=other)], account.names)
        account = replace(account, charged=account.charged + past.lost, pairs=account.pairs + past.pairs)
    return account


def within_caps(page: Page, account: Account, epoch: str, requests: Sequence[Request]) -> tuple[Account, accounts.Caps]:
    """The account of all epochs and its caps; declines where these requests would cost more than they allow."""
    whole, caps = whole_account(page, account, epoch), caps_in(page)
    whole.refuse_beyond(caps, requests, "all epochs together", "--lifetime-cap")
    return whole, caps
