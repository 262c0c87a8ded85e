"""The wall: code that sees reports cannot even import the truth."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "visibility_aware_edge_ldp"
AGGREGATOR = sorted(path.stem for path in (ROOT / "src" / PACKAGE / "aggregator").glob("[a-z]*.py"))
# How many contracts .importlinter has: who removes one changes this number, and says why.
CONTRACTS = 19
FORBIDDEN = ("truth", "client", "simulation", "model", "dataset", "evaluation")


def modules_after(statement: str) -> set[str]:
    """What is loaded in a fresh interpreter after a statement."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def leaks(modules: set[str]) -> set[str]:
    own = {name.split(".")[1] for name in modules if name.startswith(f"{PACKAGE}.")}
    return (own & set(FORBIDDEN)) | ({"networkx"} & modules)


@pytest.mark.parametrize("module", AGGREGATOR)
def test_importing_the_aggregator_loads_no_truth(module: str) -> None:
    assert leaks(modules_after(f"import {PACKAGE}.aggregator.{module}")) == set()


def test_the_check_above_can_fail() -> None:
    assert leaks(modules_after(f"import {PACKAGE}.model")) >= {"truth", "model"}


def test_importing_a_client_loads_no_truth() -> None:
    assert leaks(modules_after(f"import {PACKAGE}.client.position")) == {"client"}


def every_module_of(package: str) -> str:
    """A statement that imports all that is in a package."""
    folder = ROOT / "src" / PACKAGE / package
    parts = (path.relative_to(ROOT / "src").with_suffix("").parts for path in sorted(folder.rglob("*.py")))
    names = (".".join(part for part in path if part != "__init__") for path in parts)
    return "import " + ", ".join(names)


def test_importing_a_campaigns_server_loads_no_truth_and_no_client() -> None:
    loaded = modules_after(every_module_of("campaign/server"))
    assert leaks(loaded) == set()
    assert not {name for name in loaded if name.startswith(f"{PACKAGE}.campaign.participant")}


def test_importing_a_participants_program_loads_nothing_of_the_other_side() -> None:
    loaded = modules_after(every_module_of("campaign/participant"))
    assert leaks(loaded) <= {"client"}
    assert not {name for name in loaded if name.startswith((f"{PACKAGE}.campaign.server", f"{PACKAGE}.aggregator"))}
    assert {"scipy", "matplotlib", "uvicorn", "apsw", "psycopg"} & loaded == set()


def run_contracts(source: Path) -> subprocess.CompletedProcess[str]:
    lint = Path(sys.executable).with_name("lint-imports")
    environment = {**os.environ, "PYTHONPATH": str(source / "src")}
    return subprocess.run(
        [str(lint), "--no-cache"], cwd=source, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def copy_of_source(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    return tmp_path


def test_contracts_hold(copy_of_source: Path) -> None:
    done = run_contracts(copy_of_source)
    assert done.returncode == 0, done.stdout
    assert f"Contracts: {CONTRACTS} kept, 0 broken." in done.stdout


@pytest.mark.parametrize(
    ("where", "planted"),
    [
        ("aggregator/position.py", "from visibility_aware_edge_ldp.truth.graph import Graph"),
        ("aggregator/score_estimates.py", "from visibility_aware_edge_ldp.client.position import PositionClient"),
        ("public/view.py", "import networkx"),
        ("client/position.py", "from visibility_aware_edge_ldp.truth.graph import Graph"),
        ("campaign/server/__init__.py", "from visibility_aware_edge_ldp.client.position import PositionClient"),
        ("campaign/participant/__init__.py", "import scipy"),
        ("campaign/terms.py", "from visibility_aware_edge_ldp.aggregator.estimate import Estimate"),
        ("counts/triangles.py", "from visibility_aware_edge_ldp.public.view import PublicView"),
    ],
)
def test_contracts_break_on_a_planted_import(copy_of_source: Path, where: str, planted: str) -> None:
    file = copy_of_source / "src" / PACKAGE / where
    file.write_text(file.read_text(encoding="utf-8") + f"\n{planted}\n", encoding="utf-8")
    done = run_contracts(copy_of_source)
    assert done.returncode != 0
    assert "broken" in done.stdout.lower()


def test_a_module_without_a_floor_breaks_the_contracts(copy_of_source: Path) -> None:
    (copy_of_source / "src" / PACKAGE / "attic.py").write_text("", encoding="utf-8")
    assert run_contracts(copy_of_source).returncode != 0
