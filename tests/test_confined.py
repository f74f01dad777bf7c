"""A call in a process of its own, with a budget: what it returns, and how it fails."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from harness.ground import confined, errors
from harness.ground.confined import Budget
from harness.ground.errors import CaptureError, HarnessError, ToolError, UsageError

WIDE = Budget(memory=1 << 30, cpu_s=20, wall_s=60)
FILE = Path("some.capture")


def doubled(number: int) -> int:
    return 2 * number


def writes(folder: str) -> list[str]:
    (Path(folder) / "table").write_text("rows")
    return [str(os.getpid())]


def refused(kind: str) -> None:
    raise getattr(errors, kind)("it is odd", where="byte 7", remedy="record it again")


def wrong() -> None:
    raise KeyError("colour\nof money")


def fills_memory() -> int:
    return len(bytearray(2 << 30))


def fills_memory_natively() -> int:
    import polars as pl

    return pl.Series([0], dtype=pl.Int64).new_from_index(0, 1 << 28).len()


def computes() -> None:
    while True:
        pass


def sleeps() -> None:
    time.sleep(600)


def ends(number: int) -> None:
    os.kill(os.getpid(), number)


def exits() -> None:
    os._exit(0)


def call(
    function: Any, folder: Path, arguments: dict[str, Any] | None = None, allowed: Budget = WIDE
) -> Any:
    return confined.call(function, FILE, folder, arguments or {}, allowed)


def test_a_call_returns_what_the_function_returns(tmp_path: Path) -> None:
    assert call(doubled, tmp_path, {"number": 21}) == 42


def test_it_is_made_in_another_process_that_has_ended(tmp_path: Path) -> None:
    (pid,) = call(writes, tmp_path, {"folder": str(tmp_path)})
    assert int(pid) != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
    assert (tmp_path / "table").read_text() == "rows"


@pytest.mark.parametrize("kind", [CaptureError, ToolError, UsageError])
def test_an_error_of_the_user_keeps_its_kind_and_words(
    kind: type[HarnessError], tmp_path: Path
) -> None:
    with pytest.raises(kind) as error:
        call(refused, tmp_path, {"kind": kind.__name__})
    assert str(error.value) == "byte 7: it is odd (record it again)"


@pytest.mark.parametrize("function", [fills_memory, fills_memory_natively])
def test_memory_beyond_the_budget_is_refused_in_one_line(function: Any, tmp_path: Path) -> None:
    with pytest.raises(CaptureError) as error:
        call(function, tmp_path, allowed=Budget(memory=256 << 20, cpu_s=20, wall_s=60))
    assert str(error.value) == (
        "some.capture: reading it takes more than 256 MB of memory (if you trust the file,"
        " HARNESS_READ_BUDGET=4 allows four times as much memory and time)"
    )


@pytest.mark.parametrize(
    ("function", "allowed", "said"),
    [
        (computes, Budget(memory=1 << 30, cpu_s=1, wall_s=60), "more than 1 s of CPU time"),
        (sleeps, Budget(memory=1 << 30, cpu_s=9, wall_s=0.5), r"more than 0\.5 s \("),
    ],
)
def test_what_takes_too_long_is_ended(
    function: Any, allowed: Budget, said: str, tmp_path: Path
) -> None:
    with pytest.raises(CaptureError, match=said):
        call(function, tmp_path, allowed=allowed)


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (ends, {"number": int(signal.SIGSEGV)}, "its reader failed: Segmentation fault"),
        (ends, {"number": int(signal.SIGABRT)}, "its reader failed: Aborted"),
        (exits, {}, "its reader failed: left no answer"),
        (wrong, {}, r"its reader failed: KeyError: 'colour\\nof money'"),
    ],
)
def test_a_function_that_dies_is_one_line_and_the_next_call_works(
    function: Any, arguments: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(CaptureError, match=said) as error:
        call(function, tmp_path, arguments)
    assert "please report it" in str(error.value)
    assert call(doubled, tmp_path, {"number": 4}) == 8


def test_a_server_that_died_is_replaced(tmp_path: Path) -> None:
    call(doubled, tmp_path, {"number": 1})
    (pid,) = call(parent, tmp_path)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(ToolError, match="run the command again"):
        call(doubled, tmp_path, {"number": 1})
    assert call(doubled, tmp_path, {"number": 1}) == 2
    assert call(parent, tmp_path) != [pid]


def parent() -> list[int]:
    return [os.getppid()]


def test_the_budget_grows_with_the_file_and_by_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, packed = tmp_path / "small", tmp_path / "packed"
    small.write_bytes(bytes(1 << 20))
    packed.write_bytes(b"\x1f\x8b" + bytes(1 << 20))
    plain, dense = confined.budget(small), confined.budget(packed)
    assert plain.memory < dense.memory < 2 << 30
    assert plain.cpu_s < 11 < plain.wall_s
    monkeypatch.setenv(confined.VARIABLE, "2")
    assert confined.budget(small).memory == 2 * plain.memory
    assert confined.budget(small).cpu_s == 2 * plain.cpu_s
    monkeypatch.setenv(confined.VARIABLE, "-1")
    with pytest.raises(UsageError, match="HARNESS_READ_BUDGET: '-1' is no factor"):
        confined.budget(small)
