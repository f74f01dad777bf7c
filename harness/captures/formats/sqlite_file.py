"""Opens an SQLite file that somebody else made: read only, and nothing in it is run.

What a table holds is probed with the standard library; columns are then fetched in Arrow batches
through ADBC, which is several times faster than rows as Python objects. The work is bounded by the
size of the file, also where its pages are forged: only stored columns of real tables are read, no
view, index or expression, and no more rows than the file has room for.
"""

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import quote

from harness.captures.formats.sqlite_packed import PACKED, Packing
from harness.ground.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl

Columns = Mapping[str, str]
"""Column name to what it has to hold: ``INTEGER`` or ``TEXT``; either may be null."""

_LONGEST_VALUE = 1 << 24  # a kernel name is long, a planted blob of a gigabyte is not one
_BATCH_ROWS = 1 << 12
_VERSION = re.compile(r"(.+)_V([0-9]{1,3})")
_NO_MEMORY = ("Cannot allocate memory", "out of memory")
_PART_ROWS = 1 << 17  # worth a thread
# Least bytes of a row (https://sqlite.org/fileformat2.html, 1.6 and 2.1): cell pointer 2, payload
# size 1, row id 1, header size 1; and then at least one for each column.
_ROW_BYTES = 5


class SqliteFile:
    """An open file; made by ``opened``. ``NAME_V3`` is the table ``NAME`` where there is none.

    ``dropped``: by table and reason, how many of how many rows a reader of it left out.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, uri: str, only: Mapping[str, str]
    ) -> None:
        self.path = path
        self._connection = connection
        self._uri = uri
        self._only = only
        self._versioned = _versioned(self.tables())
        self.dropped: dict[tuple[str, str], tuple[int, int]] = {}

    def columns(self, table: str) -> frozenset[str]:
        """Return the names of ``table``'s columns, none if there is no such table.

        Raises CaptureError for a view, a virtual table and computed columns: what those yield is
        not stored, and may have no end.
        """
        table = self._versioned.get(table, table)
        entry = self._connection.execute(
            "SELECT type, sql FROM sqlite_master WHERE name = ? AND type IN ('table', 'view')",
            (table,),
        ).fetchone()
        if entry is None:
            return frozenset()
        if entry[0] != "table" or not entry[1].upper().startswith("CREATE TABLE"):
            raise CaptureError(f"{table} is no table but a view", where=self.path)
        rows = self._connection.execute(f"PRAGMA table_xinfo({_quoted(table)})").fetchall()
        if any(hidden for *_, hidden in rows):
            raise CaptureError(f"table {table} has computed columns", where=self.path)
        return frozenset(name for _, name, *_ in rows)

    def tables(self) -> list[str]:
        """Return the names of all tables, without views and virtual tables."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
        return [name for (name,) in self._connection.execute(query)]

    def count(self, table: str, most: int | None = None) -> int:
        """Return how many rows ``table`` has, ``most`` if it has more than that.

        CaptureError for more than the file has room for.
        """
        room = self._most_rows(columns=1)
        limit = room + 1 if most is None else min(most, room + 1)
        rows = f"SELECT 1 FROM {_quoted(table)} NOT INDEXED LIMIT {limit}"  # noqa: S608
        (count,) = self._connection.execute(f"SELECT count(*) FROM ({rows})").fetchone()  # noqa: S608
        if count > room:
            raise self._damaged(table, "it has more rows than the file has room for")
        return int(count)

    def not_null(self, table: str) -> frozenset[str]:
        """Return the columns of ``table`` that are declared to hold no null."""
        table = self._versioned.get(table, table)
        rows = self._connection.execute(f"PRAGMA table_info({_quoted(table)})")
        return frozenset(name for _, name, _, not_null, *_ in rows if not_null)

    def fetch(
        self, table: str, columns: Columns, packed: Packing | None = None, *, foreign: bool = False
    ) -> "pl.DataFrame":
        """Return ``columns`` of ``table`` as Int64 and String, in the order of the rows.

        ``packed`` columns are one more, of bytes, which ``Packed.unpacked`` takes apart. If
        ``foreign``, a text that is no UTF-8 becomes null, else the table counts as damaged.
        Raises CaptureError if a column is lacking or holds something else, such as text in a number
        column, and if the table is damaged.
        """
        import polars as pl
        from adbc_driver_manager import Error as AdbcError

        only = self._only.get(table, "TRUE")
        table = self._versioned.get(table, table)
        stored = {**columns, **dict.fromkeys(packed.columns if packed else (), "INTEGER")}
        self._check(table, stored)
        most_rows = self._most_rows(len(stored))
        texts = [name for name, kind in columns.items() if kind == "TEXT"]
        shown = [_shown(name, kind) for name, kind in columns.items()]
        if packed:
            shown.append((f"x'' AS {PACKED}", packed.expression()))
        parts = [f"({part}) AND ({only})" for part in self._parts(table)]
        queries = [_query(table, shown, part, most_rows + 1) for part in parts]
        try:
            with ThreadPoolExecutor(len(queries)) as threads:
                fetched = list(threads.map(partial(_arrow, self._uri), queries))
            rows = _as_texts(pl.concat(part[1:] for part in fetched), texts, foreign=foreign)
        except (AdbcError, pl.exceptions.PolarsError) as error:
            if any(words in str(error) for words in _NO_MEMORY):
                raise MemoryError from None
            raise self._damaged(table, error) from error
        if rows.height > most_rows:
            raise self._damaged(table, "it has more rows than the file has room for")
        return rows

    def _check(self, table: str, columns: Columns) -> None:
        """Refuse what would be misread, or read at a cost beyond the file's size."""
        missing = sorted(set(columns) - self.columns(table))
        if missing:
            raise CaptureError(
                f"table {table} has no column {', '.join(missing)}",
                where=self.path,
                remedy="export it again with a current nsys",
            )
        numbers = [name for name, kind in columns.items() if kind == "INTEGER"]
        for name in _strays(self._connection, table, numbers) if numbers else ():
            raise self._damaged(table, f"column {name} holds other things than integers")
        if len(numbers) < len(columns):
            for name in _with_default(self._connection, table) & (set(columns) - set(numbers)):
                raise self._damaged(table, f"column {name} has a default, which nsys never writes")
            # Forged rows can share the pages of one long text, so that a small file holds much.
            check = f"PRAGMA quick_check({_quoted(table)})"
            (verdict,) = self._connection.execute(check).fetchone()
            if verdict != "ok":
                raise self._damaged(table, verdict)

    def _parts(self, table: str) -> list[str]:
        """Return conditions that each row meets one of, in the order of the rows.

        One a core: the driver works without Python's lock, so large tables are read in parallel.
        """
        if "rowid" in map(str.lower, self.columns(table)):  # then it is no row's number
            return ["TRUE"]
        least, most = (  # asked for one by one, SQLite takes each from an end of the tree
            self._connection.execute(f"SELECT {end}(rowid) FROM {_quoted(table)}").fetchone()[0]  # noqa: S608
            for end in ("min", "max")
        )
        if least is None or most - least < _PART_ROWS:
            return ["TRUE"]
        count = min(os.cpu_count() or 1, (most - least) // _PART_ROWS + 1)
        bounds = [least + (most - least) * part // count for part in range(1, count)]
        froms = ["TRUE", *(f"rowid > {bound}" for bound in bounds)]
        tos = [*(f"rowid <= {bound}" for bound in bounds), "TRUE"]
        return [f"{start} AND {end}" for start, end in zip(froms, tos, strict=True)]

    def _most_rows(self, columns: int) -> int:
        pages, size = (
            int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "page_size")
        )
        return pages * size // (_ROW_BYTES + columns)

    def _damaged(self, table: str, why: object) -> CaptureError:
        first_line = str(why).partition("\n")[0]
        if "locked" in first_line:
            return _locked(self.path)
        return CaptureError(f"table {table} is damaged: {first_line}", where=self.path)


@contextmanager
def opened(path: Path, only: Mapping[str, str] = MappingProxyType({})) -> Iterator[SqliteFile]:
    """Open ``path`` for reading; CaptureError if it is no SQLite file, is damaged or locked.

    ``only`` holds an SQL condition, ours, by table: rows that do not meet it are not fetched.
    """
    if not path.is_file():
        what = "not a regular file" if path.exists() else "no such file"
        raise CaptureError(what, where=path)
    # Percent-encoded, so that '?' and '#' in a name are no URI syntax; ro never makes a file.
    uri = f"file://{quote(os.fsencode(path.absolute()))}?mode=ro"
    check(path)
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=1)
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA ignore_check_constraints = ON")
            if connection.execute("PRAGMA encoding").fetchone()[0] != "UTF-8":
                raise CaptureError("an SQLite file in UTF-16, which nsys never writes", where=path)
            yield SqliteFile(path, connection, uri, only)
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: in its table of tables
        if "locked" in str(error):
            raise _locked(path) from error
        raise CaptureError(f"not readable as SQLite: {error}", where=path) from error


def _strays(connection: sqlite3.Connection, table: str, numbers: list[str]) -> list[str]:
    """Return the columns of ``numbers`` whose first values are not all integers.

    ADBC takes a column's type from its first batch, and would make a text of each number for one
    stray text there. In later batches it refuses such a value itself.
    """
    strays = (f"total(typeof({_quoted(name)}) NOT IN ('integer', 'null'))" for name in numbers)
    first = f"(SELECT * FROM {_quoted(table)} NOT INDEXED LIMIT {_BATCH_ROWS})"  # noqa: S608
    counts = connection.execute(f"SELECT {', '.join(strays)} FROM {first}").fetchone()  # noqa: S608
    return [name for name, count in zip(numbers, counts, strict=True) if count]


def _versioned(tables: list[str]) -> dict[str, str]:
    """Return by its plain name the table of the highest version, where none has that name."""
    found = [each for name in tables if (each := _VERSION.fullmatch(name))]
    found.sort(key=lambda each: int(each[2]))
    return {each[1]: each[0] for each in found if each[1] not in tables}


def _as_texts(rows: "pl.DataFrame", names: list[str], *, foreign: bool) -> "pl.DataFrame":
    """Return rows with columns of bytes as texts; what is no UTF-8 is null if ``foreign``.

    They are bytes until here: polars takes an Arrow string for UTF-8 without looking.
    """
    import polars as pl

    if not foreign:
        return rows.with_columns(pl.col(names).cast(pl.String))
    columns = {name: [_text(value) for value in rows[name].to_list()] for name in names}
    return rows.with_columns(pl.Series(name, texts, pl.String) for name, texts in columns.items())


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _with_default(connection: sqlite3.Connection, table: str) -> set[str]:
    """Return the columns with a default: stored once, it stands in each row from before it."""
    rows = connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    return {name for _, name, _, _, default, _ in rows if default is not None}


def _arrow(uri: str, query: str) -> "pl.DataFrame":
    import polars as pl
    from adbc_driver_manager import AdbcConnection, AdbcDatabase, AdbcStatement
    from adbc_driver_sqlite import _driver_path

    with (
        AdbcDatabase(driver=_driver_path(), uri=uri) as database,
        AdbcConnection(database) as connection,
        AdbcStatement(connection) as statement,
    ):
        statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_BATCH_ROWS)})
        statement.set_sql_query(query)
        stream, _ = statement.execute_query()
        return pl.DataFrame(stream)


def _shown(name: str, kind: str) -> tuple[str, str]:
    """Return a column of the first row, which shows ADBC its type, and the stored column."""
    column = _quoted(name)
    return (
        (f"x'' AS {column}", f"CAST({column} AS BLOB)")
        if kind == "TEXT"
        else (f"0 AS {column}", column)
    )


def _query(table: str, shown: list[tuple[str, str]], part: str, most_rows: int) -> str:
    """Return a query for ``part``; its first row shows ADBC the types, as the next may be null."""
    first, stored = (", ".join(column) for column in zip(*shown, strict=True))
    rows = f"SELECT {stored} FROM {_quoted(table)} NOT INDEXED WHERE {part}"  # noqa: S608
    return f"SELECT {first} UNION ALL {rows} LIMIT {most_rows + 1}"


def _locked(path: Path) -> CaptureError:
    return CaptureError(
        "locked: something is writing it", where=path, remedy="wait until the export has ended"
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_MOST_ROWS = 4000
"""Tables, indices, views and triggers; exports of nsys have up to 150."""
_HEADER = 100  # bytes of the file before the first page's own
_INTERIOR, _LEAF = 5, 13


def check(path: Path) -> None:
    """Raise CaptureError if the schema of the file at ``path`` has too many rows.

    What is no b-tree of tables counts as none: SQLite will say so.
    """
    rows, pages, seen = 0, [1], set[int]()
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(18)[16:], "big")
            size = 1 << 16 if size == 1 else size
            while pages and rows <= _MOST_ROWS and len(seen) <= _MOST_ROWS:
                number = pages.pop()
                if number in seen:
                    continue
                seen.add(number)
                file.seek((number - 1) * size)
                page = file.read(size)
                leaves, children = _cells(page, _HEADER if number == 1 else 0)
                rows += leaves
                pages += children
    except OSError as error:
        raise CaptureError(f"not readable: {error.strerror}", where=path) from error
    if rows > _MOST_ROWS or len(seen) > _MOST_ROWS:
        raise CaptureError(
            f"a schema of more than {_MOST_ROWS:,} tables, indices and views", where=path
        )


def _cells(page: bytes, at: int) -> tuple[int, list[int]]:
    """Return how many rows a page holds, and the numbers of the pages below it."""
    kind, count = page[at : at + 1], int.from_bytes(page[at + 3 : at + 5], "big")
    if kind == bytes([_LEAF]):
        return count, []
    if kind != bytes([_INTERIOR]):
        return 0, []
    pointers = [
        int.from_bytes(page[start : start + 2], "big")
        for start in range(at + 12, at + 12 + 2 * count, 2)
    ]
    below = [int.from_bytes(page[pointer : pointer + 4], "big") for pointer in pointers]
    below.append(int.from_bytes(page[at + 8 : at + 12], "big"))
    return 0, [number for number in below if number > 0]
