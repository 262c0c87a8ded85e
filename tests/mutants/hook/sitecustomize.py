"""Replaces the source of one module when it is imported: what ``tests/mutants/run.py`` plants bugs with.

Python imports this module at its start where the folder is on its path, in every process that it starts too. Which
module and which source say two variables of the environment; without them nothing happens. No file is changed.
"""

import importlib.machinery
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

MODULE, SOURCE = "VA_EDGE_LDP_MUTANT_MODULE", "VA_EDGE_LDP_MUTANT_SOURCE"


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the module from another source, under its own name and path, and keeps nothing compiled of it."""

    def get_code(self, fullname: str) -> CodeType:
        return compile(Path(os.environ[SOURCE]).read_text("utf-8"), self.path, "exec", dont_inherit=True)


class _Finder(importlib.machinery.PathFinder):
    """Finds this one module as Python does, and gives it the other loader."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != os.environ[MODULE]:
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


if MODULE in os.environ:
    sys.meta_path.insert(0, _Finder())
