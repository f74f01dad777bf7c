"""Which calls of a run measured what a claim reads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harness.analysis.claims import calls_behind
from harness.analysis.metrics import Metrics
from harness.evidence import tables as evidence
from harness.evidence.provenance import Provenance
from harness.problem import manifest
from tests.support.manifests import GOOD, written
from tests.support.origins import origin, utc

FIRST, SECOND, THIRD = 1_700_000_000, 1_700_001_000, 1_700_002_000


def call(began: float | None, **more: Any) -> dict[str, Any]:
    told = None if began is None else utc(began)
    return origin(started=told, **more).as_json()


def measured(
    folder: Path, cells: Sequence[tuple[str, float | None]], *began: dict[str, Any]
) -> list[int]:
    """Return the numbers of the calls behind the claim of the example, by its cells."""
    problem = manifest.load(written(folder, GOOD))
    rows = [
        {"cell": f"{at}", "variant": variant, "case": "small", "capture": "timing", "round": at}
        | {"status": "ok", "started": time}
        for at, (variant, time) in enumerate(cells)
    ]
    tables = {
        name: pl.DataFrame(rows if name == "cells" else [], evidence.frame(name, {}).schema)
        for name in evidence.SCHEMAS
    }
    first, *further = began
    run = Provenance.model_validate(first | {"version": 1, "id": "1", "resumed": further})
    found = calls_behind(problem, problem.claims[0], Metrics(problem, tables), run)
    return [at for at, each in enumerate(run.origins) if any(each is one for one in found)]


THREE = (call(FIRST), call(SECOND), call(THIRD))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((SECOND + 0.4, SECOND + 999), [1]),
        ((FIRST, THIRD + 5), [0, 2]),
        ((THIRD + 5, THIRD + 6), [2]),
        ((None, THIRD + 6), [0, 1, 2]),  # of an earlier harness
        ((FIRST - 1, THIRD + 6), [0, 1, 2]),  # another machine's clock
    ],
)
def test_a_cell_is_of_the_last_call_before_it(
    times: tuple[float | None, float], expected: list[int], tmp_path: Path
) -> None:
    cells = [("slow", times[0]), ("fast", times[1])]
    assert measured(tmp_path, cells, *THREE) == expected


def test_cells_that_the_claim_does_not_read_say_nothing(tmp_path: Path) -> None:
    cells = [("slow", SECOND + 1.0), ("fast", SECOND + 2.0), ("other", FIRST + 1.0)]
    assert measured(tmp_path, cells, *THREE) == [1]


def test_it_is_not_known_of_jobs_and_where_nothing_ran(tmp_path: Path) -> None:
    cells = [("slow", SECOND + 1.0), ("fast", SECOND + 2.0)]
    job = {"system": "slurm", "id": "7", "node": "n1"}
    assert measured(tmp_path, [], *THREE) == [0, 1, 2]
    assert measured(tmp_path, cells, call(None), call(SECOND)) == [0, 1]
    assert measured(tmp_path, cells, call(FIRST) | {"started": "at noon"}, call(SECOND)) == [0, 1]
    jobs = call(SECOND, job=job)
    assert measured(tmp_path, cells, call(FIRST), jobs) == [0, 1]
