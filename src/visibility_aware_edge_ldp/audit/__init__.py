"""The audit: every privacy claim of this software, checked on the machine of whoever doubts it.

``STAGES`` has for each protocol its exact audits and the mutants that they must catch.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.audit.catalogue import STAGES

__all__ = ["STAGES"]


def __getattr__(name: str) -> Any:
    """``STAGES``, when it is first asked for: all clients are loaded for it."""
    if name != "STAGES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from visibility_aware_edge_ldp.audit import catalogue

    return catalogue.STAGES
