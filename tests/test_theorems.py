"""Claims and theorems go together: what a docstring claims is cited, what is cited is proved, what is proved is used.

A public docstring *claims* something when it uses one of the words of ``CLAIM``. It must then cite a theorem, or stand
in a class or module whose docstring does: a class that cites [RR.1-3] may speak of its loss in every method. Packages'
own docstrings (``__init__.py``) say what is inside and claim nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "visibility_aware_edge_ldp"
CLAIMING = ("aggregator", "client", "counts", "mechanisms", "public")
CLAIM = re.compile(r"\b(?:epsilons?|loss|losses|loses?|privacy|promise[sd]?|unbiased|without bias)\b|ε", re.IGNORECASE)
ONE = r"[A-Z]+\.\d+(?:[-–]\d+)?"
CITED = re.compile(rf"\[({ONE}(?:, {ONE})*)\]")
STATED = re.compile(r"^(?:\*\*|#+ )\[([A-Z]+\.\d+)\]", re.MULTILINE)


def cited_in(text: str) -> set[str]:
    """Theorems cited in a text; [RR.1-3] cites three, [SN.1, POWER.1] two."""
    found = set()
    for one in (each for bracket in CITED.findall(text) for each in bracket.split(", ")):
        family, first, last = re.fullmatch(r"([A-Z]+)\.(\d+)(?:[-–](\d+))?", one).groups()  # type: ignore[union-attr]
        found |= {f"{family}.{number}" for number in range(int(first), int(last or first) + 1)}
    return found


def stated_in(text: str) -> set[str]:
    return set(STATED.findall(text))


def all_texts(pattern: str) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob(pattern)}


def docstrings(source: str) -> Iterator[tuple[str, str, bool]]:
    """(where, docstring, whether it or one around it cites) of a module and all that is public in it."""

    def inside(
        node: ast.Module | ast.ClassDef | ast.FunctionDef, name: str, around: bool
    ) -> Iterator[tuple[str, str, bool]]:
        words = ast.get_docstring(node) or ""
        cites = around or bool(cited_in(words))
        yield name, words, cites
        for child in node.body:
            if isinstance(child, (ast.ClassDef, ast.FunctionDef)) and not child.name.startswith("_"):
                yield from inside(child, f"{name}.{child.name}", cites)

    return inside(ast.parse(source), "", False)


def unproved(source: str) -> list[str]:
    """Where a docstring claims something and nobody around it cites a theorem."""
    return [name or "the module" for name, words, cites in docstrings(source) if CLAIM.search(words) and not cites]


def modules_that_claim() -> list[str]:
    paths = [path for folder in CLAIMING for path in (SOURCE / folder).rglob("*.py") if path.stem != "__init__"]
    return sorted(path.relative_to(SOURCE).as_posix() for path in [SOURCE / "privacy.py", *paths])


def test_every_cited_theorem_is_stated_once() -> None:
    proofs = all_texts("*.md")
    stated = [name for text in proofs.values() for name in stated_in(text)]
    cited = {name for text in [*all_texts("*.py").values(), *proofs.values()] for name in cited_in(text)}
    assert cited
    assert cited - set(stated) == set()
    assert sorted(stated) == sorted(set(stated))


def test_every_theorem_is_cited_by_code() -> None:
    """Each one, not only its family: a theorem that no code is about proves nothing about this software."""
    stated = {name for text in all_texts("*.md").values() for name in stated_in(text)}
    cited = {name for text in all_texts("*.py").values() for name in cited_in(text)}
    assert stated - cited == set()


@pytest.mark.parametrize("module", modules_that_claim())
def test_every_claim_has_a_theorem(module: str) -> None:
    assert unproved((SOURCE / module).read_text(encoding="utf-8")) == []


def test_every_client_and_mechanism_cites() -> None:
    """What touches bits or draws noise cites somewhere, whatever words it uses; views and a table hold none."""
    silent = {
        name
        for name in modules_that_claim()
        if name.split("/")[0] in ("client", "mechanisms") and not cited_in((SOURCE / name).read_text(encoding="utf-8"))
    }
    assert silent == {"client/clients.py"}


def test_the_parser_sees_ranges_lists_and_gaps() -> None:
    assert cited_in("done.  [RR.1-3] and [CHANNEL.5]") == {"RR.1", "RR.2", "RR.3", "CHANNEL.5"}
    assert cited_in("# [SN.1, SN.3–4, POWER.1]") == {"SN.1", "SN.3", "SN.4", "POWER.1"}
    assert stated_in("**[POSITION.1] The promise.** as in [RR.1]\n## [MAX.1] Value") == {"POSITION.1", "MAX.1"}


def test_a_claim_without_a_theorem_is_found() -> None:
    claims = 'def f():\n    """Without bias."""\n\n\ndef g():\n    """Without bias.  [DL.2]"""\n'
    assert unproved(claims) == [".f"]
    assert unproved('"""Noise.  [DL.1]"""\n' + claims) == []
    method = 'def {}(self):\n        """Its ε."""\n'
    inner = f'class C:\n    """A count."""\n\n    {method.format("_own")}\n    {method.format("loss")}'
    assert unproved(inner) == [".C.loss"]
    assert unproved('"""Loses nothing."""') == ["the module"]
