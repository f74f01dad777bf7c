"""The spawner: nothing survives a deadline, nothing blocks on a full pipe."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import process
from harness.checkout import CHECKOUT
from harness.errors import StoreError, ToolError

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


def test_a_watch_that_gives_a_reason_ends_it(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    watch = lambda: "it grows" if log.stat().st_size else ""  # noqa: E731
    done = run(tmp_path, f"echo said; sleep {UNIQUE}.6", watch=watch)
    assert (done.status, done.ill, done.detail) == ("failed", "it grows", "said")
    assert not alive(f"{UNIQUE}.6")


def test_a_file_grows_to_its_limit_and_no_further(tmp_path: Path) -> None:
    write = "sleep 0.2; head -c 3000000 /dev/zero > big"
    assert run(tmp_path, write, file_bytes=1_000_000).status == "failed"
    assert (tmp_path / "big").stat().st_size == 1_000_000


def test_a_log_takes_the_place_of_a_link_and_not_of_its_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "log.txt").symlink_to("target")
    assert run(tmp_path, "echo said").detail == "said"
    assert (tmp_path / "target").read_text() == "kept"
    assert process.text(tmp_path / "log.txt") == "said\n"


def test_a_log_that_was_replaced_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("secret")
    script = "echo said; sleep 0.2; rm log.txt; {} log.txt"
    assert run(tmp_path, script.format("ln -s target")).detail == ""
    assert run(tmp_path, script.format("mkfifo")).detail == ""


def test_a_log_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "log.txt").mkdir()
    with pytest.raises(StoreError, match=r"log\.txt: not written"):
        run(tmp_path, "echo said")


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


def test_what_hides_from_its_environment_is_ended_too(tmp_path: Path) -> None:
    done = run(tmp_path, f"env -i setsid sleep {UNIQUE}.6 > /dev/null 2>&1 & exit 0")
    assert done.status == "ok"
    assert not alive(f"{UNIQUE}.6")


HARNESS = """
import sys
from pathlib import Path
from harness import process
removal = [sys.executable, "-c", "open('removed', 'w')"]
script = "(setsid env -i sleep {0}.7 &); trap '' TERM; touch begun; sleep {0}.8; sleep {0}.9"
process.run(
    ["bash", "-c", script.format(sys.argv[1])],
    cwd=Path(), env=process.environment(dict()), log=Path("log"), deadline_s=60, removal=removal,
)
"""


def test_nothing_outlives_a_harness_that_is_killed(tmp_path: Path) -> None:
    call = [sys.executable, "-c", HARNESS, UNIQUE]
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(call, cwd=tmp_path, env=env) as harness:
        wait_for((tmp_path / "begun").exists)
        harness.kill()
    wait_for(lambda: not alive(f"{UNIQUE}."))
    wait_for((tmp_path / "removed").exists)


def test_a_program_whose_warden_is_killed_dies_with_it(tmp_path: Path) -> None:
    def kill_warden() -> None:
        wait_for((tmp_path / "begun").exists)
        for line in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if b"warden.py" in (words := line.read_bytes()) and UNIQUE.encode() in words:
                    os.kill(int(line.parent.name), signal.SIGKILL)

    killer = threading.Thread(target=kill_warden)
    killer.start()
    done = run(tmp_path, f"(setsid sleep {UNIQUE}.1 &); touch begun; sleep {UNIQUE}.2; true")
    killer.join()
    assert (done.status, done.returncode) == ("failed", None)
    assert not alive(f"{UNIQUE}.")


@pytest.mark.parametrize(("script", "removed"), [("true", False), ("exit 3", True)])
def test_a_removal_follows_a_program_that_failed(
    tmp_path: Path, script: str, removed: bool
) -> None:
    done = run(tmp_path, script, removal=["touch", str(tmp_path / "removed")])
    assert (done.left, (tmp_path / "removed").exists()) == (False, removed)


def test_a_removal_that_hangs_is_left_and_said(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = run(tmp_path, "trap '' TERM; sleep 60", deadline_s=0.1, removal=["sleep", "60"])
    assert (done.status, done.left) == ("timeout", True)
    assert time.monotonic() - begun < 30


def test_a_log_that_cannot_be_written_is_said_once_the_program_has_ended(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(StoreError, match="not written: File too large"):
            run(tmp_path, "head -c 1000000 /dev/zero; touch ended")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "ended").exists()


def test_output_that_is_no_text_is_read(tmp_path: Path) -> None:
    assert process.output(["printf", r"a\377b"]) == "a\N{REPLACEMENT CHARACTER}b"
    done = run(tmp_path, r"printf 'a\377b\n'; exit 1")
    assert done.detail == "a\N{REPLACEMENT CHARACTER}b"
