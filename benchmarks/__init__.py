"""Benchmarks, run from the project's root. What they share with the tests lies in tests/support."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
