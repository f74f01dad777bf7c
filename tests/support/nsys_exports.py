"""Exports of nsys from tests/data, with what a test changes in them, and queries of them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from harness.captures import sniff
from tests.support.paths import DATA


def altered(name: str, folder: Path, *statements: str) -> Path:
    """Unpack an export into ``folder``, run SQL statements on it and return its path."""
    path = folder / f"{name}.sqlite"
    with sniff.opened(DATA / f"nsys/{name}.sqlite.zst") as plain:
        path.write_bytes(plain.read_bytes())
    with closing(sqlite3.connect(path)) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()
    return path


def rows(path: Path, query: str) -> list[Any]:
    """Return what SQLite itself makes of ``query``."""
    with closing(sqlite3.connect(path)) as file:
        return file.execute(query).fetchall()
