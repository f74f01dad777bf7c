"""The spawner: nothing survives a deadline, nothing blocks on a full pipe."""

import io
import resource
import threading
import time
from pathlib import Path

import pytest

from harness.ground import process
from harness.ground.errors import StoreError, ToolError
from harness.ground.program import Program
from tests.support.spawned import UNIQUE, alive, run


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
    kept, said = bytes(16 << 20), b"\n[the log was cut at 16777216 bytes]\n"
    assert (tmp_path / "log.txt").read_bytes() == kept + said


def test_a_watch_that_gives_a_reason_ends_it(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    watch = lambda: "it grows" if log.stat().st_size else ""  # noqa: E731
    done = run(tmp_path, f"echo said; sleep {UNIQUE}.6", watch=watch)
    assert (done.status, done.ill, done.detail) == ("failed", "it grows", "said")
    assert not alive(f"{UNIQUE}.6")


def test_a_file_grows_to_its_limit_and_no_further(tmp_path: Path) -> None:
    write = "head -c 3000000 /dev/zero > big"
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


@pytest.mark.parametrize(
    ("name", "folder", "why"),
    [
        ("no-such-program", "", "not found on PATH"),
        ("./no-such-program", "", "No such file or directory"),
        ("/etc/passwd", "", "Permission denied"),
        ("true", "no-such-folder", "No such file or directory"),
    ],
)
def test_a_program_that_cannot_start(tmp_path: Path, name: str, folder: str, why: str) -> None:
    env = process.environment({})
    with pytest.raises(ToolError, match=f"^{name}: cannot start: {why}$"):
        process.run([name], cwd=tmp_path / folder, env=env, log=tmp_path / "l", deadline_s=9)


def test_a_query_that_hangs_or_fails_is_a_tool_error() -> None:
    with pytest.raises(ToolError, match=r"^sleep: no answer within 0 s"):
        process.output(["sleep", f"{UNIQUE}.7"], deadline_s=0.2)
    assert not alive(f"{UNIQUE}.7")
    with pytest.raises(ToolError, match=r"^cat: .*/no/such/file: No such file or directory"):
        process.output(["cat", "/no/such/file"])
    with pytest.raises(ToolError, match=r"^false: exit 1"):
        process.output(["false"])


def test_a_query_runs_in_a_folder_and_gives_its_stdout_alone(tmp_path: Path) -> None:
    assert process.output(["sh", "-c", "pwd; echo aside >&2"], cwd=tmp_path) == str(tmp_path)


def test_a_guardian_has_a_session_of_its_own_until_its_stdin_ends(tmp_path: Path) -> None:
    script = "echo set; cat > /dev/null; ps -o sid= -p $$; pwd"
    guardian = process.guardian(["bash", "-c", script], cwd=tmp_path, env=process.environment({}))
    assert guardian.stdout
    assert guardian.stdout.readline() == "set\n"
    assert guardian.poll() is None
    session, folder = guardian.communicate(timeout=20)[0].split()
    assert (int(session), folder) == (guardian.pid, str(tmp_path))
    with pytest.raises(ToolError, match=r"^no-such-program: cannot start"):
        process.guardian(["no-such-program"], cwd=tmp_path, env={})


def test_the_end_of_a_log_is_short_and_that_of_none_is_empty(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    run(tmp_path, "seq 9999; printf %0999d 7")
    assert len(process.text(log)) > 40_000
    assert process.tail(log) == process.text(log)[-8192:]
    assert process.last_line(log) == "0" * 300
    log.unlink()
    assert (process.text(log), process.tail(log), process.last_line(log)) == ("", "", "")


def test_a_run_says_how_long_it_took_and_replaces_the_log_of_the_last(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = run(tmp_path, "echo first; sleep 0.2")
    assert 0.2 <= done.wall_s <= time.monotonic() - begun
    run(tmp_path, "echo second")
    assert process.text(tmp_path / "log.txt") == "second\n"


def test_what_hides_from_its_environment_is_ended_too(tmp_path: Path) -> None:
    done = run(tmp_path, f"env -i setsid sleep {UNIQUE}.6 > /dev/null 2>&1 & exit 0")
    assert done.status == "ok"
    assert not alive(f"{UNIQUE}.6")


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


def test_output_after_its_place_was_closed_is_dropped(tmp_path: Path) -> None:
    sink = io.BytesIO()
    sink.close()
    program = Program(["/bin/sh", "-c", "echo late"], tmp_path, {}, sink)
    assert program.wait(time.monotonic() + 20) == "ok"
    program.end()  # an error of the thread that copies would fail this test
    assert not program.trouble
