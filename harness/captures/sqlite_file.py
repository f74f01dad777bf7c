"""Opens an SQLite file that somebody else made: read only, and nothing in it is run.

What a table holds is probed with the standard library; columns are then fetched in Arrow batches
through ADBC, which is several times faster than rows as Python objects.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from harness.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl

_LONGEST_TEXT = 1 << 24  # a kernel name is long, a planted blob of a gigabyte is not one


class SqliteFile:
    """An open file and what is in it: table name to its columns; views are not tables."""

    def __init__(self, path: Path, connection: sqlite3.Connection, uri: str) -> None:
        self.path = path
        self._uri = uri
        self.tables = {
            name: {row[1] for row in connection.execute(f'PRAGMA table_info("{_quoted(name)}")')}
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }

    def fetch(self, table: str, columns: dict[str, str]) -> "pl.DataFrame":
        """Return ``columns`` of ``table``, each cast to its SQL type; CaptureError if one is gone.

        A value that is not of its type, such as text in a number column, is an error and not 0.
        """
        import polars as pl
        from adbc_driver_manager import AdbcConnection, AdbcDatabase, AdbcStatement
        from adbc_driver_manager import Error as AdbcError
        from adbc_driver_sqlite import _driver_path

        missing = sorted(set(columns) - self.tables[table])
        if missing:
            raise CaptureError(
                f"table {table} has no column {', '.join(missing)}",
                where=self.path,
                remedy="export it again with a current nsys",
            )
        wanted = ", ".join(f'"{name}"' for name in columns)
        types = {"INTEGER": pl.Int64, "TEXT": pl.String}
        try:
            with (
                AdbcDatabase(driver=_driver_path(), uri=self._uri) as database,
                AdbcConnection(database) as connection,
                AdbcStatement(connection) as statement,
            ):
                statement.set_options(**{"adbc.sqlite.query.batch_rows": str(1 << 16)})
                statement.set_sql_query(f'SELECT {wanted} FROM "{_quoted(table)}"')  # noqa: S608
                stream, _ = statement.execute_query()
                rows = pl.DataFrame(stream)
            return rows.select(pl.col(name).cast(types[kind]) for name, kind in columns.items())
        except (AdbcError, pl.exceptions.PolarsError, ValueError) as error:
            raise CaptureError(f"table {table} is damaged: {error}", where=self.path) from error


@contextmanager
def opened(path: Path) -> Iterator[SqliteFile]:
    """Open ``path`` for reading; CaptureError for what is no SQLite file, is damaged or locked."""
    # Percent-encoded, so that '?' and '#' in a name are no URI syntax; ro never makes a file.
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=1)
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_TEXT)
            connection.execute("PRAGMA trusted_schema = OFF")
            yield SqliteFile(path, connection, uri)
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        locked = "locked" in str(error)
        remedy = "wait until the export has ended" if locked else ""
        raise CaptureError(f"not readable as SQLite: {error}", where=path, remedy=remedy) from error
    except sqlite3.DatabaseError as error:
        raise CaptureError(f"not readable as SQLite: {error}", where=path) from error


def _quoted(name: str) -> str:
    return name.replace('"', '""')
