"""The audit of eight linears on an H200, by captures of problem 1's f8-0.13.0-eager."""

from dataclasses import replace

import pytest

from harness.analysis import derived
from harness.analysis.audit import conclude
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.evidence.subject import Subject
from harness.extract import door
from harness.ground.errors import UsageError
from tests.support.paths import DATA

LINEARS = 8


def opened(name: str) -> Subject:
    subject = door.opened(str(DATA / "audit" / f"float8_linears.{name}"))
    assert isinstance(subject, Subject)
    return subject


def captures(subject: Subject) -> list[Capture]:
    return list(subject.captures.values())


def test_each_linear_s_kernels_get_their_counters_and_the_copies_are_worth_most() -> None:
    trace, report = opened("trace.json.gz"), opened("ncu-rep.zst")
    audit = conclude.audit([*captures(trace), *captures(report)])
    assert audit.unattributed == 0
    assert audit.counted == 1
    assert {row.launches for row in audit.rows} == {LINEARS}
    moved = derived.dram_bytes(report.captures["ncu"].tables)
    assert moved == pytest.approx((audit.dram_read_bytes or 0) + (audit.dram_write_bytes or 0))
    most = max(audit.rows, key=lambda row: row.savings[1].ms if row.savings else 0.0)
    assert most.operator == "aten::copy_"
    assert (audit.floor_ms or 0) + audit.saved_ms(1) == pytest.approx(audit.busy_ms, rel=1e-3)


def test_evidence_of_before_origins_sends_to_the_trace() -> None:
    (trace,) = captures(opened("trace.json.gz"))
    older = replace(trace, tables=trace.tables | {"origins": evidence.empty("origins")})
    with pytest.raises(UsageError, match="name the trace among the report's captures"):
        conclude.audit([older])
