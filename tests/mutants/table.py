"""The table of mutants, and for each: its source, the audits that come first, and the tests of its file."""

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS, PACKAGE = HERE.parent, HERE.parents[1] / "src" / "visibility_aware_edge_ldp"
CAMPAIGN = ("chained", "campaign ledger", "campaign")
# By the beginning of the file's path: parts of the names of audits that are run first, in this order.
AUDITS: dict[str, tuple[str, ...]] = {
    "mechanisms/randomized_response": ("randomized response", "at once", "position"),
    "mechanisms/discrete_laplace": ("Laplace", "user degrees", "neighbourhood (a)"),
    "mechanisms/randomness": ("coins", "refusals", "Laplace", "at once", "position"),
    "mechanisms/hadamard": ("Hadamard", "histogram"),
    "mechanisms/power_noise": ("power", "user triangles", "neighbourhood (b)"),
    "mechanisms/smooth_noise": ("smooth Laplace", "Student", "Cauchy", "curator"),
    "mechanisms/noisy_bound": ("noisy bound", "published"),
    "mechanisms/chain": CAMPAIGN,
    "compute/plain/response": ("randomized response", "at once", "position"),
    "compute/compiled/response": ("randomized response", "at once", "position"),
    "compute/plain/rows": ("campaign triangles, both", "user triangles", "user 4-cycles"),
    "compute/compiled/rows": ("campaign triangles, both", "user triangles", "user 4-cycles"),
    "compute/plain/common": ("neighbourhood",),
    "compute/compiled/common": ("neighbourhood",),
    "counts/row_cycles": ("user 4-cycles",),
    "counts/": ("user triangles", "user 4-cycles"),
    "client/position": ("refusals", "position", "campaign positions"),
    "client/sample": ("refusals", "position, a sample", "sample"),
    "client/reporter": ("refusals", "scopes", "position", "user degrees"),
    "client/degrees": ("refusals", "user degrees", "people and places", "campaign degrees"),
    "client/groups": ("refusals", "user groups", "scope, user groups"),
    "client/histogram": ("refusals", "histogram"),
    "client/rows": ("refusals", "campaign triangles, both", "user 4-cycles", "user triangles"),
    "client/neighbourhood": ("refusals", "neighbourhood (a)"),
    "client/hubs": ("refusals", "neighbourhood (b)", "campaign hubs"),
    "client/views": ("scopes",),
    "client/": ("refusals", "curator"),
    "privacy": ("whole estimates", "user degrees", "histogram"),
    "public/private_hub_selection": ("hub choice",),
    "public/surveys/position": ("position", "campaign positions"),
    "public/surveys/base": ("refusals", "neighbourhood", "position"),
    "public/surveys/groups": ("user groups", "refusals", "scope, user groups"),
    "public/groups": ("refusals", "user groups"),
    "public/policy": ("bought hubs", "classes", "hub choice", "scopes", "whole estimates"),
    "public/rules": ("classes", "people and places", "scopes", "whole estimates", "position"),
    "public/scope": ("classes", "scopes", "scope, position"),
    "public/surveys/degrees": ("user degrees", "campaign degrees"),
    "public/surveys/histogram": ("histogram",),
    "public/surveys/rows": ("whole estimates", "campaign triangles, both", "user triangles", "user 4-cycles"),
    "public/surveys/neighbourhood": (
        "believed margins",
        "neighbourhood (a)",
    ),
    "public/surveys/hubs": ("refusals", "neighbourhood (b)", "campaign hubs"),
    "public/surveys/curator": ("curator",),
    "public/": ("classes", "scopes", "whole estimates", "position"),
    "aggregator/": ("scope, position with a sample", "whole estimates"),
    "model": ("scopes", "scope, curator", "scope, position", "whole estimates"),
    "simulation/scope_rest": ("scope, position with a sample", "whole estimates"),
    "simulation/curator": ("release splits", "whole estimates", "release budgets"),
    "simulation/": ("coins in use", "bought hubs", "whole estimates", "release budgets"),
    "campaign/participant/enrolment": ("coins in use",),
    "campaign/participant/reports": ("campaign",),
    "campaign/": ("campaign ledger", "campaign", "chained"),
}
# By the beginning of the file's path: test files, below tests/, that are run after those of the file's own name.
MORE_TESTS: dict[str, tuple[str, ...]] = {
    "mechanisms/": ("conformance/test_mechanisms.py", "client/test_position.py"),
    "compute/": ("client/test_rows.py", "client/test_rows_exact.py"),
    "counts/": ("client/test_rows.py", "client/test_rows_exact.py"),
    "client/": ("conformance/test_clients.py",),
    "public/": ("conformance/test_surveys.py", "conformance/test_clients.py"),
    "simulation/": ("simulation/test_curator.py",),
    "privacy": ("test_privacy.py", "conformance/test_surveys.py"),
    "campaign/participant/": ("campaign/participant",),
    "campaign/": ("campaign/test_terms.py", "campaign/test_wire_format.py", "campaign/test_questions.py"),
}


class MisplacedError(Exception):
    """A mutant's text does not stand in its file exactly once."""


@dataclass(frozen=True)
class Mutant:
    """One bug, as ``mutants.toml`` describes it; ``also`` are further replacements that it needs in the same file.

    A ``harmless`` one is a control. Of one that ``differs``, the audit may say that it follows another law than it is
    said to follow, and not that an edge loses more than is claimed.
    """

    name: str
    file: str
    old: str
    new: str
    breaks: str
    loss: str
    also: tuple[tuple[str, str], ...] = ()
    harmless: bool = False
    differs: bool = False

    @property
    def module(self) -> str:
        return ".".join(["visibility_aware_edge_ldp", *Path(self.file).with_suffix("").parts])

    def source(self) -> str:
        """The file's text with the bug in it; by the mutant's name, what is wrong where that cannot be made."""
        path = PACKAGE / self.file
        if not path.is_file():
            raise MisplacedError(f"{self.name}: there is no {self.file}; say where the code is now.")
        text = path.read_text("utf-8")
        for old, new in ((self.old, self.new), *self.also):
            if text.count(old) != 1:
                raise MisplacedError(f"{self.name}: {old!r} stands {text.count(old)} times in {self.file}, not once.")
            text = text.replace(old, new)
        return text

    def changes_nothing(self) -> bool:
        """Whether the program is the same, comments and layout apart."""
        return ast.dump(ast.parse(self.source())) == ast.dump(ast.parse((PACKAGE / self.file).read_text("utf-8")))

    @property
    def audits(self) -> tuple[str, ...]:
        """Parts of the names of the audits that come first."""
        return next((names for start, names in AUDITS.items() if self.file.startswith(start)), ())

    @property
    def tests(self) -> list[str]:
        """The test files of its own file, and of its package."""
        file = Path(self.file)
        own = [TESTS / file.parent, TESTS / "client"] if file.parts[0] == "public" else [TESTS / file.parent]
        if file.parts[:2] == ("compute", "compiled"):
            own.append(TESTS / "compute" / "plain")
        found = [path for folder in own for path in sorted(folder.glob(f"test_{file.stem}*.py"))]
        more = next((names for start, names in MORE_TESTS.items() if self.file.startswith(start)), ())
        return list(dict.fromkeys(map(str, (*found, *(TESTS / name for name in more)))))


def read(path: Path = HERE / "mutants.toml") -> list[Mutant]:
    """All mutants, in the order of the file."""
    rows = tomllib.loads(path.read_text("utf-8"))["mutant"]
    return [Mutant(**{**row, "also": tuple(map(tuple, row.get("also", ())))}) for row in rows]
