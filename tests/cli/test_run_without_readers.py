"""``harness run`` beside a GPU: with what requirements/run.lock holds, and nothing that reads."""

import re
import subprocess
import sys

from tests.support.paths import ROOT

START = """
import sys
for name in {absent!r}:
    sys.modules[name] = None
from harness.cli.app import app
app(["run", "1", "--dry-run", "--engine", "local", "--python", sys.executable])
"""


def names(lock: str) -> set[str]:
    text = (ROOT / "requirements" / lock).read_text()
    return {name.replace("-", "_") for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}


def test_a_run_needs_no_reader() -> None:
    absent = sorted(names("harness.lock") - names("run.lock"))
    assert {"polars", "altair", "jinja2"} <= set(absent)
    done = subprocess.run(
        [sys.executable, "-c", START.format(absent=absent)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "repro.py" in done.stdout
