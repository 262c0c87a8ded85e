"""Which kernels run while something is audited."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from visibility_aware_edge_ldp.compute import backend

KERNELS = ("plain", "compiled")
_VARIABLE = "VA_EDGE_LDP_KERNEL"


@contextmanager
def running(name: str) -> Iterator[None]:
    """Let these kernels run at every call; compiled ones only where there are any."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = name
    backend.name.cache_clear()
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
        if before is not None:
            os.environ[_VARIABLE] = before
        backend.name.cache_clear()
