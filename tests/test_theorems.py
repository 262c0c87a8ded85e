"""Claims and theorems go together: what a docstring cites is proved beside it, and what is proved is used."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "visibility_aware_edge_ldp"
CITED = re.compile(r"\[([A-Z]+)\.(\d+)(?:[-–](\d+))?\]")
STATED = re.compile(r"^(?:\*\*|#+ )\[([A-Z]+\.\d+)\]", re.MULTILINE)


def cited_in(text: str) -> set[str]:
    """Theorems cited in a text; [RR.1-3] cites three."""
    found = set()
    for family, first, last in CITED.findall(text):
        found |= {f"{family}.{number}" for number in range(int(first), int(last or first) + 1)}
    return found


def stated_in(text: str) -> set[str]:
    return set(STATED.findall(text))


def all_texts(pattern: str) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob(pattern)}


def test_every_cited_theorem_is_stated_once() -> None:
    proofs = all_texts("*.md")
    stated = [name for text in proofs.values() for name in stated_in(text)]
    cited = {name for text in [*all_texts("*.py").values(), *proofs.values()] for name in cited_in(text)}
    assert cited
    assert cited - set(stated) == set()
    assert sorted(stated) == sorted(set(stated))


def test_every_family_of_theorems_is_cited_by_code() -> None:
    families = {name.split(".")[0] for text in all_texts("*.md").values() for name in stated_in(text)}
    cited = {name.split(".")[0] for text in all_texts("*.py").values() for name in cited_in(text)}
    assert families == cited


def test_the_parser_sees_ranges_and_gaps() -> None:
    assert cited_in("done.  [RR.1-3] and [CHANNEL.5]") == {"RR.1", "RR.2", "RR.3", "CHANNEL.5"}
    assert stated_in("**[POSITION.1] The promise.** as in [RR.1]\n## [MAX.1] Value") == {"POSITION.1", "MAX.1"}
