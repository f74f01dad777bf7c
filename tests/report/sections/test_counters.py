"""The table of counters: how often a kernel was launched stands there where it says something."""

import polars as pl
import pytest

from harness.analysis import step_parts
from harness.report import publish
from harness.report.sections.counters import counters
from tests.support.reports import KEPT, kept_study


@pytest.mark.parametrize(("launches", "told"), [([1, 1], False), ([8, 1], True), ([8, 8], True)])
def test_launches_stand_there_unless_each_kernel_has_one(
    launches: list[int], *, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {key: [1.5, 2.5] for key in step_parts.COUNTERS}
    made = pl.DataFrame({"name": ["gemm", "copy"], "launches": launches, **columns})
    monkeypatch.setattr(step_parts, "counters", lambda *_: made)
    page = publish.page_of(kept_study(), KEPT)
    assert ("launches" in counters(page, "f8-0.13.0-eager", "stack-m1")) is told
