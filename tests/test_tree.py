"""The tests stand in the same tree as the source: every file of the package has a test file of its own."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "visibility_aware_edge_ldp"
# The names of the package itself are tested as users find them; its command line is started by test_cli.
ELSEWHERE = {"__init__.py": "test_front_door.py", "__main__.py": "test_cli.py"}


def file_for(module: Path) -> Path:
    """client/position.py → client/test_position.py; compute/compiled/__init__.py → compute/compiled/test_init.py."""
    inside = module.relative_to(SOURCE)
    name = ELSEWHERE.get(inside.as_posix(), f"test_{inside.stem.strip('_')}.py")
    return TESTS / inside.parent / name


def has_code(module: Path) -> bool:
    """Whether there is more in it than a docstring."""
    return len(ast.parse(module.read_text(encoding="utf-8")).body) > 1


def test_every_source_file_has_its_test_file() -> None:
    files = sorted(path for path in SOURCE.rglob("*.py") if has_code(path))
    assert len(files) > 200
    missing = [path.relative_to(SOURCE).as_posix() for path in files if not file_for(path).is_file()]
    assert missing == [], "write a test file for each, beside those of its package"


def test_test_files_stand_where_the_source_stands() -> None:
    assert file_for(SOURCE / "client" / "position.py") == TESTS / "client" / "test_position.py"
    assert file_for(SOURCE / "audit" / "__init__.py") == TESTS / "audit" / "test_init.py"
    assert file_for(SOURCE / "__main__.py") == TESTS / "test_cli.py"
    assert not file_for(SOURCE / "client" / "nobody_wrote_this.py").is_file()
