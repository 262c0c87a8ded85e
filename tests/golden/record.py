"""Record the golden manifest anew.

``python tests/golden/record.py`` records all that is quick, ``--long`` the rest too, ``--only answers/degrees`` what
begins so. ``--dump FOLDER`` writes the data behind the hashes and records nothing: done on two versions, ``diff -r``
shows what changed. ``--check`` compares what is at hand, the findings of ``make audit``, and records nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden import manifest
from golden.groups import AUDITED, GROUPS, Contents, Group
from support.golden_subjects import forced, kernel_in_use


def made(group: Group, kernel: str, only: str = "") -> Contents:
    with forced(kernel):
        if kernel_in_use() != kernel:
            raise SystemExit(f"The {kernel} kernels are not installed here; the manifest is recorded with both.")
        return {name: content for name, content in group.make().items() if name.startswith(only)}


def check() -> None:
    """Say which findings of the last audit are not as recorded, and write them beside it."""
    for group in (group for group in GROUPS if group.at_hand):
        found = group.make()
        if wrong := manifest.differing(group.prefixes, "compiled", found):
            manifest.dump(AUDITED.parent / "golden", {name: found[name] for name in wrong.keys() & found.keys()})
            raise SystemExit(
                f"{', '.join(f'{name}: {how}' for name, how in sorted(wrong.items()))}. What is found now is in "
                f"{AUDITED.parent / 'golden'}; if the change is meant: python tests/golden/record.py --only audit/all"
            )
        print(f"{group.name}: as recorded")


def recorded(group: Group, only: str) -> dict[str, str]:
    if group.at_hand:
        return {name: manifest.sha256(content) for name, content in group.make().items()}
    by_kernel = {kernel: made(group, kernel, only) for kernel in manifest.KERNELS}
    return manifest.merged(
        {
            kernel: {name: manifest.sha256(content) for name, content in found.items()}
            for kernel, found in by_kernel.items()
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PREFIX", help="entries that begin so")
    parser.add_argument("--long", action="store_true", help="what takes minutes too")
    parser.add_argument("--dump", type=Path, metavar="FOLDER", help="write the data, and record nothing")
    parser.add_argument("--check", action="store_true", help="compare what is at hand, and record nothing")
    parser.add_argument("--kernel", choices=manifest.KERNELS, default="plain", help="with --dump")
    options = parser.parse_args()
    if options.check:
        check()
        return
    groups = [
        group
        for group in GROUPS
        if group.concerns(options.only) and (options.long or not group.long) and (options.only or not group.at_hand)
    ]
    if not groups:
        raise SystemExit(f"No entry begins with {options.only!r}; or it is long, and needs --long.")
    entries = manifest.stored()
    for group in groups:
        begun, said = time.perf_counter(), "written"
        if options.dump:
            manifest.dump(options.dump, made(group, options.kernel, options.only))
        else:
            fresh = recorded(group, options.only)
            old = {n for n in entries if manifest.is_under(n, group.prefixes) and n.startswith(options.only)}
            changed = sum(entries.get(name) != digest for name, digest in fresh.items())
            entries = {name: digest for name, digest in entries.items() if name not in old} | fresh
            said = f"{len(fresh)} entries, {changed} of them new or changed, {len(old - set(fresh))} gone"
            manifest.store(entries)
        print(f"{group.name}: {said} ({time.perf_counter() - begun:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
