"""What was really planted between two captures of one workload on an H200 is what is named.

The captures are made by tests/data/make_differences.py, each by a process of its own.
"""

import itertools
from pathlib import Path

import pytest

from harness import comparison
from harness.analysis.diff.cells import CellDiff
from harness.analysis.diff.gpu import GpuDiff

DATA = Path(__file__).parents[2] / "data/differences"
SAME = ("same_1", "same_2", "same_3", "same_4")
EXACT = {"changed", "added", "removed", "split", "merged"}
KINDS = ("sqlite.zst", "json.gz")


def differ(a: str, b: str, kind: str) -> CellDiff:
    sides = [comparison.subject_or_folder(str(DATA / f"{name}.{kind}")) for name in (a, b)]
    assert all(isinstance(one, comparison.Subject) for one in sides)
    return comparison.compare(*sides)  # type: ignore[arg-type]


def gpu_of(found: CellDiff) -> GpuDiff:
    assert found.gpu is not None
    assert found.gpu.b_ns - found.gpu.a_ns == sum(row.delta_ns for row in found.gpu.rows)
    return found.gpu


@pytest.mark.parametrize("kind", KINDS)
def test_four_processes_of_the_same_workload_differ_in_nothing(kind: str) -> None:
    for a, b in itertools.combinations(SAME, 2):
        found = differ(a, b, kind)
        assert found.differing == ()
        assert [row.label for row in gpu_of(found).rows if row.change in EXACT] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_template_argument_is_the_one_change(kind: str) -> None:
    for name in SAME:
        gpu = gpu_of(differ(name, "template", kind))
        (row,) = (row for row in gpu.rows if row.change in EXACT)
        assert "CUDAFunctor_add" in row.label
        assert row.why[0] == "4 → 2"
        assert row.a.count == row.b.count == gpu.steps == 11


def test_what_was_not_freed_is_named_by_its_line() -> None:
    found = differ("held", "leaked", "pickle").memory
    assert found is not None
    (grown,) = (site for site in found.sites if site.delta)
    assert grown.delta == 12 << 22
    assert "make_differences.py" in grown.site
    (pool,) = found.pools
    assert pool.allocated[1] - pool.allocated[0] == 12 << 22
