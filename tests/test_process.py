"""The spawner: nothing survives a deadline, nothing blocks on a full pipe."""

import os
import threading
import time
from pathlib import Path

import pytest

from harness import process
from harness.errors import ToolError

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


def test_the_last_line_tells_why_it_failed(tmp_path: Path) -> None:
    done = run(tmp_path, "echo fine; printf '\\033[31mno such kernel\\033[0m\\n\\n' >&2; exit 3")
    assert (done.status, done.returncode, done.detail) == ("failed", 3, "no such kernel")


def test_a_deadline_ends_it_and_all_that_it_started(tmp_path: Path) -> None:
    script = f"(setsid sleep {UNIQUE}.1 &); (trap '' TERM; sleep {UNIQUE}.2) & sleep {UNIQUE}.3"
    done = run(tmp_path, script, deadline_s=0.5)
    assert done.status == "timeout"
    assert not alive(f"{UNIQUE}.")


def test_what_it_leaves_running_is_ended_too(tmp_path: Path) -> None:
    done = run(tmp_path, f"setsid sleep {UNIQUE}.4 > /dev/null 2>&1 & exit 0")
    assert done.status == "ok"
    assert not alive(f"{UNIQUE}.4")


def test_a_stop_from_another_thread_ends_it(tmp_path: Path) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    begun = time.monotonic()
    assert run(tmp_path, f"sleep {UNIQUE}.5", stop=stop).status == "interrupted"
    assert time.monotonic() - begun < 20
    assert not alive(f"{UNIQUE}.5")


def test_a_noisy_process_ends_and_its_log_is_cut(tmp_path: Path) -> None:
    done = run(tmp_path, "head -c 40000000 /dev/zero; exit 0")
    assert done.status == "ok"
    assert (tmp_path / "log.txt").stat().st_size < 17 << 20
    assert b"the log was cut" in (tmp_path / "log.txt").read_bytes()[-100:]


def test_only_the_allowed_environment_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    run(tmp_path, "env")
    seen = (tmp_path / "log.txt").read_text()
    assert "SECRET" not in seen
    assert "CUDA_VISIBLE_DEVICES=1" in seen


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no-such-program: cannot start"):
        process.run(["no-such-program"], cwd=tmp_path, env={}, log=tmp_path / "l", deadline_s=1)


def test_a_query_that_hangs_or_fails_is_a_tool_error() -> None:
    with pytest.raises(ToolError, match="no answer"):
        process.output(["sleep", "9"], deadline_s=0.2)
    with pytest.raises(ToolError, match="cat"):
        process.output(["cat", "/no/such/file"])
