"""The table of mutants is true to the code, and a few of them are planted and caught."""

from collections import Counter
from pathlib import Path

import pytest

from mutants import run
from mutants.table import PACKAGE, MisplacedError, Mutant, read

MUTANTS = read()
LEAST = 80


def test_there_are_many_of_them_each_with_a_name_of_its_own() -> None:
    assert len([mutant for mutant in MUTANTS if not mutant.harmless]) >= LEAST
    assert [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_stands_where_the_table_says(mutant: Mutant) -> None:
    compile(mutant.source(), mutant.file, "exec")
    assert not mutant.changes_nothing()
    assert mutant.breaks
    assert mutant.loss
    assert mutant.audits
    assert all(Path(test).exists() for test in mutant.tests)
    assert mutant.tests


def test_text_that_has_moved_is_an_error_by_name() -> None:
    gone = Mutant("moved", "client/rows.py", "no such text", "x", "-", "-")
    with pytest.raises(MisplacedError, match=r"^moved: 'no such text' stands 0 times in client/rows.py"):
        run.chosen([*MUTANTS[:1], gone], None, short=False)
    with pytest.raises(MisplacedError, match=r"^gone: there is no client/nowhere.py"):
        Mutant("gone", "client/nowhere.py", "x", "y", "-", "-").source()
    with pytest.raises(MisplacedError, match=r"stands \d+ times"):
        Mutant("often", "client/rows.py", "import", "export", "-", "-").source()


def test_a_comment_is_no_mutant_and_a_mutant_that_cannot_be_imported_does_not_count() -> None:
    text = "# Double precision errs by far less than these"
    assert Mutant("comment", "client/rows.py", text, "# Nothing", "-", "-").changes_nothing()
    broken = Mutant("broken", "client/pace.py", "import math", "import no_such_module", "-", "-")
    result = run.tried(broken, "near", with_tests=False, limit=60)
    assert result.verdict == "invalid"
    assert "no_such_module" in result.invalid
    found = run.summary([result])
    assert (found["mutants"], found["invalid"]) == (0, ["broken"])


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, name = tmp_path / "new" / "tried.jsonl", "response-epsilon-doubled"
    assert run.kept(file, MUTANTS) == run.kept(None, MUTANTS) == []
    before = run.Result(name, "mechanisms/randomized_response.py", "2 ε", False, audit="another", found="0.2 of 0.1")
    run.keep(file, before)
    run.keep(file, run.Result("unknown", "x.py", "-", False))
    assert run.kept(file, MUTANTS) == [before]
    assert run.main(["--only", name, "--resume", str(file)]) == 0
    assert capsys.readouterr().out == "1 mutants: 1 caught by the audit (100%), 0 by tests alone, 0 by nothing.\n"
    assert len(file.read_text("utf-8").splitlines()) == 2


def test_more_noise_is_another_law_and_no_loss() -> None:
    """The audit tells a difference from the law otherwise than a loss.  [LARGE.3]"""
    (control,) = (each for each in MUTANTS if each.name == "control-more-flips")
    result = run.tried(control, "near", with_tests=False, limit=120)
    assert result.found.startswith(run.ANOTHER_LAW)
    assert not result.rang
    assert run.summary([result])["controls_that_rang"] == []
    result.found = "PRIVATE 1.1 of 1"
    assert run.summary([result])["controls_that_rang"] == ["control-more-flips"]


def test_nothing_in_the_work_tree_changes() -> None:
    file = PACKAGE / "mechanisms" / "randomized_response.py"
    before = file.read_bytes()
    (mutant,) = (each for each in MUTANTS if each.name == "response-epsilon-doubled")
    result = run.tried(mutant, "near", with_tests=False, limit=120)
    assert (result.verdict, result.audit) == ("audit", "randomized response (exact)")
    assert "0.2 of 0.1" in result.found
    assert file.read_bytes() == before


@pytest.mark.long
def test_a_few_of_every_part_are_caught_by_the_audit(capsys: pytest.CaptureFixture[str]) -> None:
    status = run.main(["--short", "--no-tests"])
    assert status == 0, capsys.readouterr().out
