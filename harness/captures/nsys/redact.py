"""Exports as they may be published: Nsight Systems records every process's environment."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

_ENVIRONMENT = {
    "TARGET_INFO_SYSTEM_ENV": "name = 'DeviceEnvironment'",
    "META_DATA_CAPTURE": "name LIKE '%ENVIRONMENT_VARIABLE%'",
}
"""Tables of an export of nsys 2025.3 to the rows that hold environment variables."""


def without_environment(export: Path, target: Path) -> None:
    """Copy an nsys export to ``target`` without the environment variables of any process.

    They may hold tokens and passwords, and no reader needs them. An ``.nsys-rep`` holds them, too,
    in a format that only nsys writes, so reports keep none. The same export gives the same bytes.
    """
    shutil.copyfile(export, target)
    with closing(sqlite3.connect(target)) as database:
        rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = {name for (name,) in rows}
        for table, condition in _ENVIRONMENT.items():
            if table in tables:
                database.execute(f"DELETE FROM {table} WHERE {condition}")  # noqa: S608 - constants
        if "StringIds" in tables:
            # A process's environment is one string: its variables, separated by zero bytes.
            database.execute(
                "UPDATE StringIds SET value = '(environment left out)'"
                " WHERE instr(CAST(value AS BLOB), x'00') > 0"
            )
        database.commit()
        database.execute("VACUUM")  # deleted rows stay in the file's free pages until then
