"""The committed reports record what their runs began with, as git has it still."""

from pathlib import Path

import pytest

from harness.evidence import provenance
from tests.support.begun import with_begun
from tests.support.reports import COMMITTED


@pytest.mark.parametrize("report", COMMITTED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_report_records_claims_and_state_of_its_commits(report: Path) -> None:
    origins = provenance.load(report / "evidence").run.origins
    for origin in origins:
        assert origin.claims and origin.state
        assert with_begun(origin) == origin
