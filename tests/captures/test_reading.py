"""What every reader's tables are checked for: numbers that no sum or ratio of theirs can hold."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.cli import inspect
from harness.evidence.subject import Subject
from harness.extract import door
from harness.ground.errors import CaptureError
from tests.support.commands_in_process import in_process
from tests.support.nsys_exports import altered

KERNELS, COPIES = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"
QUARTER = 1 << 62
"""A quarter of what 64 bits hold: two of them are no number of a column."""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (f"UPDATE {KERNELS} SET end = start + {QUARTER}", "duration_ns that sum to 2.26e+20"),
        (f"UPDATE {COPIES} SET bytes = {QUARTER}", "bytes that sum to 5.534e+19"),
        (f"UPDATE {COPIES} SET bytes = -{QUARTER}", "bytes that sum to 5.534e+19"),
        (
            f"UPDATE {KERNELS} SET start = {QUARTER}, end = {QUARTER} + 1 WHERE rowid = 1",
            "a start_ns of 4.612e+18",
        ),
    ],
)
def test_whole_numbers_whose_sums_fit_no_column_are_refused(
    tmp_path: Path, change: str, told: str
) -> None:
    path = altered("streams", tmp_path, change)
    with in_process(), pytest.raises(CaptureError) as refused:
        door.opened(str(path))
    assert str(refused.value) == f"{path}: {told}, which nothing measures, in the table gpu_ops"


@pytest.mark.parametrize("name", ["streams", "graph_node", "processes"])
def test_what_was_measured_is_not_refused(tmp_path: Path, name: str) -> None:
    with in_process():
        assert door.opened(str(altered(name, tmp_path))).label


@pytest.mark.parametrize(
    ("change", "table"),
    [
        (f"UPDATE {COPIES} SET copyKind = NULL, srcKind = NULL", "gpu_ops"),
        (f"UPDATE {KERNELS} SET demangledName = NULL", "gpu_ops"),
        ("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = NULL", "api_calls"),
    ],
)
def test_what_ran_without_a_name_is_shown_so(tmp_path: Path, change: str, table: str) -> None:
    unchecked = "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')"
    path = altered("streams", tmp_path, "PRAGMA writable_schema = 1", unchecked)
    with closing(sqlite3.connect(path)) as file:
        file.execute(change)
        file.commit()
    with in_process():
        subject = door.opened(str(path))
        inspect.inspect(path)
    assert isinstance(subject, Subject)
    names = subject.captures["nsys"].tables[table]["name"]
    assert names.null_count() == 0
    assert "[no name]" in names.unique().to_list()
