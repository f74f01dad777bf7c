"""docs/findings.md: what it says of each finding is what the finding says of itself."""

import re

from harness.analysis.diagnose.known_findings import kinds
from tests.support import findings_page


def test_the_page_is_what_the_findings_say() -> None:
    written = findings_page.PAGE.read_text(encoding="utf-8")
    assert written == findings_page.text(), "run: python -m tests.support.findings_page"


def test_every_finding_is_listed_once_with_its_sentence() -> None:
    written = findings_page.PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[`([a-z0-9-]+)`\]\([^)]+\) \| (.+) \|$", written, re.MULTILINE)
    assert sorted(listed) == sorted((kind.id, kind.title) for kind in kinds().values())
