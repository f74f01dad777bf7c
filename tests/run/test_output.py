"""What a hostile workload leaves: no host file is read or written, and the cell says why."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.engines.engine import Command
from harness.evidence.cell_record import CellRecord
from harness.ground.errors import CaptureError
from harness.problem.plan import Cell
from harness.run import attempt, output
from harness.run.output import Output
from harness.store import run_folder
from tests.support.bench import WELL, Bench, Scripts

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own")

LINE = "a line of the host that no workload may have"
ONLY = "only regular files with plain names are taken"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text(LINE + "\n")
    return path


def ran(tmp_path: Path, script: str) -> tuple[Path, CellRecord]:
    """Run one cell of that script; return its folder and its record."""
    bench = Bench(tmp_path, slow=script, fast=WELL)
    assert bench.execute()["fast"] == "ok"  # a hostile cell fails alone
    assert not list((bench.run.folder / "cells").glob(".*"))
    return next(cell for cell in bench.run.records() if cell[1].variant == "slow")


def held(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("attack", "reason"),
    [
        ("ln -s SECRET $OUT/output_code.py", "'output_code.py' (a link)"),
        ("ln SECRET $OUT/output_code.py", "'output_code.py' (a hard link)"),
        ("ln -s $OUT/workload.json $OUT/a", "'a' (a link)"),
        ("mkfifo $OUT/trace.json", "'trace.json' (a FIFO)"),
        ("ln -s /dev/zero $OUT/trace.json", "'trace.json' (a link)"),
        ("ln -s SECRET $OUT/log.txt", "'log.txt' (a link)"),
        ("mkfifo $OUT/log.txt", "'log.txt' (a FIFO)"),
        ("echo x > $OUT/log.txt", "'log.txt' (a name of the harness)"),
        ("echo x > $OUT/cell.json", "'cell.json' (a name of the harness)"),
        ("ln -s SECRET $OUT/export.txt", "'export.txt' (a link)"),
        ("echo x > $OUT/$'a\\nb\\e[31m'", "'a\\nb\\x1b[31m' (no plain name)"),
        ("echo x > $OUT/$'\\xff'", "'\\udcff' (no plain name)"),
        ("echo x > $OUT/.hidden", "'.hidden' (no plain name)"),
        ("rm $OUT/workload.json; ln -s SECRET $OUT/workload.json", "'workload.json' (a link)"),
        (
            """cd $OUT; python3 -c 'import socket; socket.socket(1).bind("s")'""",
            "'s' (a socket)",
        ),
    ],
)
def test_what_is_no_regular_file_fails_the_cell_and_is_not_kept(
    tmp_path: Path, secret: Path, attack: str, reason: str
) -> None:
    folder, record = ran(tmp_path, f"{WELL}; {attack.replace('SECRET', str(secret))}")
    assert record.status == "failed"
    assert record.reason == f"its output holds {reason}: {ONLY}"
    assert secret.read_text() == LINE + "\n"
    assert LINE.encode() not in held(folder)
    assert all(path.is_file() and not path.is_symlink() for path in folder.iterdir())
    assert {"log.txt"} <= set(record.artifacts) <= {"log.txt", "workload.json"}


def test_many_refusals_are_one_line(tmp_path: Path) -> None:
    script = f"{WELL}; for name in a b c d; do ln -s / $OUT/$name; done"
    _, record = ran(tmp_path, script)
    assert record.reason == f"its output holds 'a' (a link), 'b' (a link), 'c' (a link) …: {ONLY}"


def test_a_cell_that_failed_keeps_its_reason_before_what_it_left(tmp_path: Path) -> None:
    _, record = ran(tmp_path, "ln -s / $OUT/a; echo no such kernel >&2; exit 1")
    assert record.reason == f"no such kernel; its output holds 'a' (a link): {ONLY}"


@pytest.mark.parametrize("log", ["ln -s SECRET", "mkfifo", "mkdir"])
def test_a_process_of_the_host_that_climbs_out_is_not_followed(
    tmp_path: Path, secret: Path, log: str
) -> None:
    replaced = f"cd $OUT/..; rm log.txt; {log} log.txt; ln -s SECRET link; ln -s SECRET cell.json"
    folder, record = ran(
        tmp_path, f"{WELL}; {replaced}; mkfifo fifo".replace("SECRET", str(secret))
    )
    assert (record.status, record.artifacts) == ("ok", {})
    assert secret.read_text() == LINE + "\n"
    with pytest.raises(CaptureError, match="left no such file"):
        run_folder.verified(folder, record, "link")


def test_folders_are_no_artifacts_however_deep(tmp_path: Path) -> None:
    folder, record = ran(tmp_path, f"mkdir -p $OUT/a/b; ln -s / $OUT/a/b/c; {WELL}")
    assert (record.status, set(record.artifacts)) == ("ok", {"log.txt"})
    assert {path.name for path in folder.iterdir()} == {"cell.json", "log.txt"}


DEEPER = 'cd "$OUT"; for _ in $(seq 100); do mkdir d; cd d; done'


def test_folders_that_nest_too_deep_are_refused_and_removed(tmp_path: Path) -> None:
    _, record = ran(tmp_path, f"{WELL}; {DEEPER}")
    assert record.status == "failed"
    assert record.reason == "its output cannot be looked into: folders below 16 others"


def test_files_are_the_harness_own_once_they_are_taken(tmp_path: Path) -> None:
    script = f"echo x > $OUT/tool; chmod 4777 $OUT/tool; {WELL}"
    folder, _ = ran(tmp_path, script)
    assert (folder / "tool").stat().st_mode & 0o7777 == 0o644


@pytest.mark.parametrize("write", ["head -c 1M /dev/zero > $OUT/f$n", "truncate -s 1M $OUT/f$n"])
@pytest.mark.parametrize("then", ["sleep 30", "exit 0"])
def test_what_is_too_large_ends_the_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str, write: str
) -> None:
    monkeypatch.setattr(output, "MOST_OUTPUT_BYTES", 3 << 20)
    folder, record = ran(tmp_path, f"for n in 1 2 3 4; do {write}; done; {WELL}; {then}")
    limit = f"its output is more than {3 / 1024:.3g} GiB"
    assert (record.status, record.reason) == ("failed", limit)
    assert {path.name for path in folder.iterdir()} == {"cell.json", "log.txt"}


def test_too_many_files_end_the_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MOST_FILES", 20)
    # What the engine says of a cell that the harness ended is no reason.
    script = "echo cannot connect; for n in $(seq 30); do mkdir $OUT/$n; done; sleep 30"
    _, record = ran(tmp_path, script)
    assert (record.status, record.reason) == ("failed", "its output is more than 20 files")


def test_no_single_file_grows_past_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "MOST_OUTPUT_BYTES", 1 << 20)
    _, record = ran(tmp_path, "sleep 0.2; truncate -s 1T $OUT/sparse || exit 3")
    assert record.status == "failed"
    assert "File size limit exceeded" in record.reason
    assert record.artifacts["sparse"].bytes == 0


def test_the_disk_keeps_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = tmp_path / "cell"
    cell.mkdir()
    kept = Output(cell)
    assert kept.excess() == ""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    assert re.fullmatch(r"it left less than [\d.e-]+ GiB free on the disk", kept.excess())


class Exporting(Scripts):
    """An engine whose exporter appends to a file by its name, as nsys overwrites one."""

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        return [Command(["bash", "-c", f"echo overwritten >> {out}/trace.sqlite"], {}, out)]


def test_a_profiler_exports_nothing_among_links(tmp_path: Path, secret: Path) -> None:
    bench = Bench(tmp_path, slow=f"{WELL}; ln -s {secret} $OUT/trace.sqlite", fast=WELL)
    bench.engine = Exporting(bench.engine.scripts, bench.engine.node)
    assert bench.execute() == {"slow": "failed", "fast": "ok"}
    assert secret.read_text() == LINE + "\n"
    (fast,) = (folder for folder, record in bench.run.records() if record.variant == "fast")
    assert (fast / "trace.sqlite").read_text() == "overwritten\n"


def test_a_log_is_out_of_the_workloads_way(tmp_path: Path) -> None:
    folder, record = ran(tmp_path, f"{WELL}; echo said; ls $OUT")
    assert (folder / "log.txt").read_text() == "said\nworkload.json\n"
    assert run_folder.verified(folder, record, "log.txt") == folder / "log.txt"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("'{\"a\": ' + '[' * 100000", "more than 16 MiB"),
        ("'{\"a\": ' + '[' * 2000", "not readable as JSON: nested too deeply"),
        ("' ' * (17 << 20) + '{}'", "more than 16 MiB"),
        ("'{\"a\": ' + '[' * 60 + '0,' * 200000 + '0' + ']' * 60 + '}'", "more than 16 MiB"),
    ],
)
def test_a_record_that_exhausts_its_reader_is_refused(
    tmp_path: Path, content: str, reason: str
) -> None:
    (tmp_path / "bomb.py").write_text(f"print({content})")
    _, record = ran(tmp_path, f"python3 {tmp_path}/bomb.py > $OUT/workload.json")
    assert (record.status, record.reason) == ("failed", f"workload.json: {reason}")
