"""Captures as they may be shown to others: Nsight Systems writes down the whole environment."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

_ENVIRONMENT = {
    "TARGET_INFO_SYSTEM_ENV": "name = 'DeviceEnvironment'",
    "META_DATA_CAPTURE": "name LIKE '%ENVIRONMENT_VARIABLE%'",
}
"""Tables of an export of nsys 2025.3 to the rows that hold environment variables."""


def without_environment(export: Path, kept: Path) -> None:
    """Copy an nsys export without the environment variables of the processes that it saw.

    They may hold tokens and passwords; no reader needs them. An ``.nsys-rep`` holds them, too, in a
    format that only nsys writes, so reports keep none.
    """
    shutil.copyfile(export, kept)
    with closing(sqlite3.connect(kept)) as file:
        rows = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        there = {name for (name,) in rows}
        for table, condition in _ENVIRONMENT.items():
            if table in there:
                file.execute(f"DELETE FROM {table} WHERE {condition}")  # noqa: S608 - ours
        if (
            "StringIds" in there
        ):  # a process's environment is one string of many, with zeros between
            file.execute(
                "UPDATE StringIds SET value = '(environment left out)'"
                " WHERE instr(CAST(value AS BLOB), x'00') > 0"
            )
        file.commit()
        file.execute("VACUUM")  # what is deleted stays in the file's free pages until then
