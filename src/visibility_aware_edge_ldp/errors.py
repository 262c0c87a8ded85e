"""Everything that can go wrong, sorted by whose fault it is.

An error's text is one sentence on what is wrong and one on what to do next. The command line
prints it and leaves with the error's exit code; nothing here is ever shown as a traceback.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class VaEdgeLdpError(Exception):
    """The root: catch this to catch all that this software raises on purpose."""

    exit_code = 1


class BadInput(VaEdgeLdpError, ValueError):  # noqa: N818 - named for the fault, not for being an error
    """The user's: something given to us cannot be used as it is."""

    exit_code = 2


class BadGraph(BadInput):
    """A graph, a file of edges or a table cannot be read as an undirected graph."""


class BadPolicy(BadInput):
    """A visibility policy is incomplete, contradictory or about other nodes."""


class BadPrivacyParameter(BadInput):
    """An epsilon, a delta or a share of them is outside what can be promised."""


class BadStatistic(BadInput):
    """A statistic is unknown, or impossible on this graph or from this transcript."""


class TooLarge(BadInput):
    """The work does not fit into this machine's memory; said before it starts."""


class MissingPart(BadInput):
    """An optional library is needed and not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {library}, which is not installed. "
            f"Install it with: pip install 'visibility-aware-edge-ldp[{extra}]'"
        )
        self.library, self.extra = library, extra


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ " Did you mean …?" where a known word is near, else nothing."""
    near = get_close_matches(word, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


class ProtocolViolation(VaEdgeLdpError):  # noqa: N818
    """The other side's: a report or a survey breaks the protocol."""

    exit_code = 3


class Refused(VaEdgeLdpError):  # noqa: N818
    """A client declines to answer, because answering would cost more than was agreed."""

    exit_code = 4


class AuditFailed(VaEdgeLdpError):  # noqa: N818
    """Ours: more was found than is claimed, or a broken twin went by unnoticed."""


class RelationMismatch(VaEdgeLdpError, TypeError):  # noqa: N818
    """Ours: guarantees about different notions of neighbour were about to be added."""
