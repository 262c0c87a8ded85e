"""The report in a real browser, from the disk, at the size of a desk and of a phone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.evaluation.comparison import compare
from visibility_aware_edge_ldp.evaluation.report.files import write_results
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    folder = tmp_path_factory.mktemp("report")
    asked = ["edges", "triangles"]
    found = compare(erdos_renyi(30, 100), VisibilityPolicy("0.5"), [1, 2], 2, asked, trust="all", seed=1)
    write_results(found, folder, "va-edge-ldp compare")
    return folder / "report.html"


def browse(report: Path, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        str(CHROMIUM),
        *QUIET,
        f"--user-data-dir={profile}",
        "--enable-logging=stderr",
        *options,
        report.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def test_the_page_is_whole_and_says_nothing_on_the_console(report: Path, tmp_path: Path) -> None:
    done = browse(report, tmp_path, "--dump-dom")
    assert "<svg" in done.stdout
    assert all(word in done.stdout for word in ("triangles", "POSITION", "CURATOR", "Gain from visibility"))
    assert "CONSOLE" not in done.stderr


@pytest.mark.parametrize(("name", "size"), [("desk", "1200,1600"), ("phone", "390,1600")])
def test_the_page_is_drawn(report: Path, tmp_path: Path, name: str, size: str) -> None:
    picture = tmp_path / f"{name}.png"
    browse(report, tmp_path / "profile", f"--screenshot={picture}", f"--window-size={size}")
    matplotlib = pytest.importorskip("matplotlib.image")
    pixels = matplotlib.imread(picture)
    assert pixels.shape[1] == int(size.split(",")[0])
    # A page that failed to draw is one colour.
    assert pixels.std() > 0.05
