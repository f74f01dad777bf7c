"""What is published of an nsys export holds no environment, and reads as before."""

import sqlite3
from contextlib import closing
from pathlib import Path

import zstandard

from harness.captures.nsys import read as nsys
from harness.captures.nsys import redact
from tests.support.paths import DATA

EXPORT = DATA / "nsys/streams.sqlite.zst"
PLANTED = "COLOUR_OF_THE_SKY=blue"


def test_environment_variables_are_left_out_wherever_nsys_writes_them(tmp_path: Path) -> None:
    export, kept = tmp_path / "trace.sqlite", tmp_path / "kept.sqlite"
    with EXPORT.open("rb") as packed:
        export.write_bytes(zstandard.ZstdDecompressor().stream_reader(packed).read())
    with closing(sqlite3.connect(export)) as file:
        file.execute(
            "UPDATE TARGET_INFO_SYSTEM_ENV SET name = 'DeviceEnvironment', value = ?"
            " WHERE name = 'CpuSpeedMhz'",
            (PLANTED,),
        )
        file.execute(
            "UPDATE META_DATA_CAPTURE SET name = 'PROCESS_0:ENVIRONMENT_VARIABLE', value = ?"
            " WHERE name = 'RATE_HZ'",
            (PLANTED,),
        )
        file.execute("INSERT INTO StringIds VALUES (999999, ?)", (f"HOME=/x\0{PLANTED}\0A=b",))
        file.commit()
    assert export.read_bytes().count(PLANTED.encode()) == 3
    redact.without_environment(export, kept)
    assert PLANTED.encode() not in kept.read_bytes()
    before, after = nsys.read(export), nsys.read(kept)
    assert all(before[name].equals(after[name]) for name in before)
    assert export.read_bytes().count(PLANTED.encode()) == 3  # what was captured stays as it was


def test_what_is_no_export_of_today_is_copied(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as file:
        file.execute("CREATE TABLE other (name TEXT)")
        file.execute("INSERT INTO other VALUES ('kept')")
        file.commit()
    redact.without_environment(tmp_path / "a.sqlite", tmp_path / "b.sqlite")
    with closing(sqlite3.connect(tmp_path / "b.sqlite")) as file:
        assert file.execute("SELECT name FROM other").fetchall() == [("kept",)]
