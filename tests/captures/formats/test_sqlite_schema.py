"""How long a schema is, by the file's own pages."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.captures.formats import sqlite_file
from harness.ground.errors import CaptureError


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
@pytest.mark.parametrize("tables", [1, 4000, 4001])
def test_a_schema_is_refused_above_its_bound(page_size: int, tables: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with closing(sqlite3.connect(":memory:")) as file:
        file.execute(f"PRAGMA page_size = {page_size}")
        file.execute("BEGIN")
        for number in range(tables):
            file.execute(f"CREATE TABLE t{number} (a)")
        file.execute("COMMIT")
        path.write_bytes(file.serialize())
    if tables > 4000:
        with pytest.raises(CaptureError, match="a schema of more than 4,000 tables"):
            sqlite_file.check(path)
    else:
        sqlite_file.check(path)


def test_pages_that_lead_in_a_circle_are_walked_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    page = bytearray(512)
    page[16:18] = (512).to_bytes(2, "big")
    page[100:112] = b"\x05\0\0\0\x01" + bytes(3) + (1).to_bytes(4, "big")  # below it: itself
    path.write_bytes(page)
    sqlite_file.check(path)
