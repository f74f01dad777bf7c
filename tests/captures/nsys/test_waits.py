"""Calls into the operating system of an export, in which host threads waited."""

from pathlib import Path

from harness.captures.nsys import read as nsys
from tests.support.nsys_exports import altered, rows

MADE = (
    "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,"
    " nameId INTEGER)",
    "INSERT INTO StringIds (id, value) VALUES (900001, 'sem_wait'), (900002, 'ioctl'),"
    " (900003, 'pthread_cond_timedwait'), (900004, 'read')",
    "INSERT INTO OSRT_API VALUES (1000, 51000, 27, 7, 900001), (60000, 79999, 27, 7, 900001),"
    " (1000, 90000, 27, 7, 900002), (1000, 90000, 27, 7, 900003), (2000, 22000, 27, 8, 900004)",
)


def test_waits_of_20_µs_and_more_are_read_and_calls_that_do_not_wait_are_not(
    tmp_path: Path,
) -> None:
    found = nsys.read(altered("streams", tmp_path, *MADE))["waits"]
    assert found.rows() == [
        ("sem_wait", 1000, 50000, 7),
        ("pthread_cond_timedwait", 1000, 89000, 7),
        ("read", 2000, 20000, 8),
    ]


def test_an_export_without_threads_of_such_calls_is_read_without_them(tmp_path: Path) -> None:
    path = altered("streams", tmp_path, *MADE, "ALTER TABLE OSRT_API DROP COLUMN globalTid")
    assert rows(path, "SELECT count(*) FROM OSRT_API")[0][0] == 5
    assert nsys.read(path)["waits"].is_empty()
