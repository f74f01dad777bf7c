"""Runs tests over and over, each time in a fork that has imported no module of this checkout.

    python -m tests.support.suite_server

reads a JSON object a line, {"tests": [...], "deadline_s": 60}, and answers with a line each:
{"status": "passed" | "failed" | "broken" | "timeout", "told": what pytest said last}.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

PRELOADED = ("pytest", "hypothesis", "polars", "pydantic", "yaml", "jinja2", "msgspec", "typer")
OPTIONS = (
    *("-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # that hypothesis is imported already
)
STATUS = {0: "passed", 1: "failed"}
POLL_S = 0.02


def answer(tests: list[str], deadline_s: float) -> dict[str, str]:
    """Run tests until the first fails, and say how that ended."""
    with tempfile.TemporaryFile() as log:
        child = os.fork()
        if child == 0:
            os.setsid()
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            _run(tests)
        status = _ended(child, time.monotonic() + deadline_s)
        log.seek(0)
        told = log.read().decode("utf-8", "replace").strip().splitlines()
    failed = [line for line in told if line.startswith(("FAILED", "ERROR"))]
    return {"status": status, "told": (failed or told or [""])[-1]}


def _run(tests: list[str]) -> None:
    """Become pytest."""
    code = 3
    try:
        import pytest

        code = int(pytest.main([*OPTIONS, *tests]))
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _ended(child: int, until: float) -> str:
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return STATUS.get(os.waitstatus_to_exitcode(status), "broken")
        time.sleep(POLL_S)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def main() -> None:
    """Serve until stdin ends."""
    sys.path[0] = str(Path.cwd())
    answers = os.fdopen(os.dup(1), "w")
    for name in PRELOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
