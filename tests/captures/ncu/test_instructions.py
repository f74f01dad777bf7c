"""The instructions of profiled kernels, against the source page that ncu prints of the report."""

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from harness.captures import sniff
from harness.captures.ncu import read as ncu
from tests.support.paths import DATA


@pytest.fixture(scope="module")
def report() -> Iterator[Path]:
    with sniff.opened(DATA / "ncu" / "source.ncu-rep.zst") as plain:
        yield plain


@pytest.fixture(scope="module")
def instructions(report: Path) -> pl.DataFrame:
    return ncu.read(report)["instructions"].with_columns(pl.col("stall").cast(pl.String))


@pytest.fixture(scope="module")
def printed() -> list[list[tuple[str, int, int, int]]]:
    """What `ncu --page source --csv` printed: SASS, samples, executions, long scoreboard."""
    launches: list[list[tuple[str, int, int, int]]] = []
    with gzip.open(DATA / "ncu" / "source.csv.gz", "rt", newline="") as file:
        for first, *rest in csv.reader(file):
            if first == "Kernel Name":
                launches.append([])
            elif first != "Source":
                samples, executed, waited = (int(text or 0) for text in rest)
                launches[-1].append((" ".join(first.split()), samples, executed, waited))
    return launches


def test_every_instruction_that_ran_agrees_with_ncu(
    instructions: pl.DataFrame, printed: list[list[tuple[str, int, int, int]]]
) -> None:
    assert instructions["launch"].n_unique() == len(printed) == 2
    for launch, lines in enumerate(printed):
        counted = (pl.col("samples") > 0) | (pl.col("executed") > 0)
        rows = instructions.filter((pl.col("launch") == launch) & counted).sort("index")
        sass = [" ".join(text.split()) for text in rows["sass"]]
        assert list(zip(sass, rows["samples"], rows["executed"], strict=True)) == [
            (text, samples, executed) for text, samples, executed, _ in lines if samples or executed
        ]


def test_the_most_frequent_stall_is_the_one_that_ncu_counts(
    instructions: pl.DataFrame, printed: list[list[tuple[str, int, int, int]]]
) -> None:
    waited = instructions.filter(pl.col("stall") == "long_scoreboard")
    assert waited.height > 3
    for launch, index, stalled in waited.select("launch", "index", "stalled").rows():
        assert printed[launch][index][3] == stalled
