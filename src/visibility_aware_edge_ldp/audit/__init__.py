"""The audit: every privacy claim of this software, checked on the machine of whoever doubts it.

``STAGES`` has for each protocol its exact audits and the mutants that they must catch.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.audit.catalogue import STAGES
    from visibility_aware_edge_ldp.audit.runner import Audited

__all__ = ["STAGES"]


def __getattr__(name: str) -> Any:
    """``STAGES``, when it is first asked for: all clients are loaded for it."""
    if name != "STAGES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from visibility_aware_edge_ldp.audit import catalogue

    return catalogue.STAGES


class _Audit(ModuleType):
    """This package, which can be called: ``va.audit()`` is its name for users, and ``audit.runner`` is inside it."""

    def __call__(self, mechanism: str | None = None, **options: Any) -> "Audited":
        """Check privacy claims on this machine, as :func:`visibility_aware_edge_ldp.audit.runner.audit` does."""
        from visibility_aware_edge_ldp.audit.runner import audit

        return audit(mechanism, **options)


sys.modules[__name__].__class__ = _Audit
