"""All benchmarks in one run: ``make bench``."""

from __future__ import annotations

import sys

from benchmarks import curator, load, position, smooth_sensitivity

if __name__ == "__main__":
    failed = False
    for module in (position, load, smooth_sensitivity, curator):
        print(f"\n== {module.__name__} ==", flush=True)
        failed |= bool(module.main())
    sys.exit(int(failed))
