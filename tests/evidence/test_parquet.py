"""The files of tables: which are refused before they are read, and which while they are."""

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from harness.evidence import tables as evidence
from harness.ground.errors import CaptureError, EvidenceError, HarnessError
from tests.support import small_evidence
from tests.support.evidence_folders import saved, vouch

SLOW, FAST = small_evidence.cell("slow"), small_evidence.cell("fast")
TABLES = small_evidence.tables(
    cells=[SLOW, FAST], samples=small_evidence.samples(SLOW, "wall_time", 2.0, 2.5)
)


def other(folder: Path, table: pl.DataFrame, version: int = evidence.VERSION) -> Path:
    """Write evidence whose samples are another table, and vouch for it."""
    saved(folder, TABLES)
    table.write_parquet(folder / "samples.parquet", metadata={"evidence": str(version)})
    vouch(folder)
    return folder


def test_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    again = evidence.load(saved(tmp_path, TABLES))
    assert list(again) == list(evidence.SCHEMAS)
    for name, table in again.items():
        assert_frame_equal(table, TABLES[name], categorical_as_str=True)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda at: at.write_bytes(at.read_bytes()[:-1]), "changed since it was written"),
        (
            lambda at: at.write_bytes(bytes([at.read_bytes()[0] ^ 1]) + at.read_bytes()[1:]),
            "changed",
        ),
        (lambda at: at.unlink(), "not readable: No such file or directory"),
    ],
)
def test_a_file_that_is_not_the_one_written_is_refused(
    tmp_path: Path, damage: Callable[[Path], object], what: str
) -> None:
    damage(saved(tmp_path, TABLES) / "samples.parquet")
    with pytest.raises(EvidenceError, match=what) as error:
        evidence.load(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'samples.parquet'}: ")


def test_a_file_that_nothing_vouches_for_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, {name: TABLES[name] for name in ("cells", "samples")})
    shutil.copy(tmp_path / "samples.parquet", tmp_path / "facts.parquet")
    with pytest.raises(EvidenceError, match=r"facts\.parquet: .* lists no such table"):
        evidence.load(tmp_path)


@pytest.mark.parametrize(
    ("table", "version", "what"),
    [
        (TABLES["samples"], 1, "evidence of version 1, this harness reads 2"),
        (TABLES["samples"].rename({"unit": "units"}), 2, "unexpected column 'units'"),
        (TABLES["samples"].drop("cell"), 2, "has no column 'cell'"),
        (TABLES["samples"].with_columns(value=pl.lit("two")), 2, "'value' is of type String"),
        (TABLES["samples"].with_columns(index=pl.lit([1])), 2, "'index' is of type List"),
    ],
)
def test_another_table_is_refused_although_its_hash_holds(
    tmp_path: Path, table: pl.DataFrame, version: int, what: str
) -> None:
    with pytest.raises(EvidenceError, match=what):
        evidence.load(other(tmp_path, table, version))


def test_a_file_of_garbage_is_refused_although_its_hash_holds(tmp_path: Path) -> None:
    saved(tmp_path, TABLES)
    path = tmp_path / "samples.parquet"
    path.write_bytes(b"PAR1" + bytes(range(256)) + b"PAR1")
    vouch(tmp_path)
    with pytest.raises(EvidenceError, match=r"samples\.parquet: not readable as a table"):
        evidence.load(tmp_path)


def constant(rows: int) -> pl.DataFrame:
    return pl.select(pl.repeat("a", rows).alias("cell"), pl.repeat(1.0, rows).alias("value"))


BOMBS = {
    "many rows": lambda: constant(30_000_000),
    "rows that take no room": lambda: constant(3_000_000),
    "long texts": lambda: pl.select(
        pl.repeat("x" * 500_000, 1_200).alias("cell"), pl.repeat(1.0, 1_200).alias("value")
    ),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_small_file_of_a_large_table_is_refused(
    tmp_path: Path, bomb: Callable[[], pl.DataFrame]
) -> None:
    folder = other(tmp_path, bomb())
    assert (folder / "samples.parquet").stat().st_size < 2_000_000
    with pytest.raises(HarnessError, match=r"memory|more than evidence of this size may") as error:
        evidence.load(folder)
    assert isinstance(error.value, EvidenceError | CaptureError)


@pytest.mark.parametrize("value", [1e308, -1e61, 1e-300])
def test_a_number_that_nothing_measures_is_refused(tmp_path: Path, value: float) -> None:
    table = TABLES["samples"].with_columns(value=pl.lit(value))
    with pytest.raises(EvidenceError, match=r"samples\.parquet: a value of .* nothing measures"):
        evidence.load(other(tmp_path, table))


def test_a_large_table_is_read(tmp_path: Path) -> None:
    assert evidence.load(other(tmp_path, constant(1_900_000)))["samples"].height == 1_900_000
