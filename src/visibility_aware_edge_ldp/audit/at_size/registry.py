"""The audits at size of every client, by the name of its protocol; one that has none fails by that name."""

from functools import partial

from visibility_aware_edge_ldp.audit.at_size import (
    batches,
    bits,
    chains,
    curator,
    hubs,
    lists,
    neighbourhood,
    rows_worlds,
)
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding
from visibility_aware_edge_ldp.client.clients import CLIENTS
from visibility_aware_edge_ldp.errors import BadInput

_MODULES = (bits, chains, lists, rows_worlds, neighbourhood, hubs, curator)
AT_SIZE: dict[str, tuple[Audit, ...]] = {}
"""By protocol; a plugin adds its own."""
for _module in _MODULES:
    for _stem, _audits in _module.AUDITS.items():
        AT_SIZE[_stem] = (*AT_SIZE.get(_stem, ()), *_audits)
BUILT_IN = frozenset(AT_SIZE)
_PACKAGE = f"{__name__.partition('.')[0]}."
MUTANTS = (*bits.MUTANTS, *rows_worlds.MUTANTS)
MANY_AT_ONCE = batches.AUDITS


def built_in() -> tuple[Audit, ...]:
    """Those of this package's clients and chains, and where code takes other branches for many users."""
    own = (audit for stem in AT_SIZE if stem in BUILT_IN for audit in AT_SIZE[stem])
    return (*own, *_missing(of_package=True), *MANY_AT_ONCE)


def of_others() -> tuple[Audit, ...]:
    """Those of clients that other programs have registered."""
    own = (audit for stem, audits in AT_SIZE.items() if stem not in BUILT_IN for audit in audits)
    return (*own, *_missing(of_package=False))


def _missing(of_package: bool) -> tuple[Audit, ...]:
    """Audits that fail, of clients without one: of this package's, or of others'."""
    stems = [
        stem
        for stem, client in CLIENTS.items()
        if stem not in AT_SIZE and client.__module__.startswith(_PACKAGE) == of_package
    ]
    return tuple(Audit(f"{stem}, at size", "exact", partial(_refused, stem)) for stem in stems)


def _refused(stem: str) -> Finding:
    raise BadInput(f"The client of {stem!r} has no audit at size. Add one to audit.at_size.registry.AT_SIZE.")
