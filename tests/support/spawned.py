"""Shell scripts under the spawner, and whether anything that they started still runs."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from harness.ground import process

UNIQUE = f"9{os.getpid():07}"  # seconds of sleep that no other test run asks for


def run(tmp_path: Path, script: str, deadline_s: float = 20, **more: object) -> process.Outcome:
    return process.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=process.environment({}),
        log=tmp_path / "log.txt",
        deadline_s=deadline_s,
        **more,  # type: ignore[arg-type]  # passed on as given
    )


def alive(word: str) -> bool:
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in cmdline.read_bytes():
                return True
        except OSError:
            continue
    return False


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)
