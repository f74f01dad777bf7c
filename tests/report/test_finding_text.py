"""Findings as text: what is printed, what it costs, and where lines break."""

from dataclasses import replace

from harness.analysis.diagnose.finding import Diagnosis, Evidence, Finding
from harness.report import finding_text

HEALTHY = Finding("healthy", "SM", "launch 0", "k", share=1.0, gain=0.0, title="Nothing is wasted.")
BOUND = Finding("dram-bound", "SM", "launch 0", "k", share=0.73, gain=0.0, title="DRAM limits.")


def test_the_bound_of_a_healthy_launch_is_printed_with_its_fix() -> None:
    diagnosis = Diagnosis((HEALTHY, replace(BOUND, fix=("fuse it",))))
    text = list(finding_text.lines(diagnosis))
    assert "2. DRAM limits. [dram-bound]" in text
    assert "   73.0 % of the time is spent at this limit" in text
    assert "   fix: fuse it" in text
    assert finding_text.costs(HEALTHY) == ""


def test_a_fault_or_a_cause_that_gains_nothing_is_counted_not_printed() -> None:
    others = (
        replace(BOUND, id="tail-effect"),
        replace(BOUND, id="host-bound", level="timeline", kernel=None),
        replace(BOUND, share=0.04),
    )
    text = list(finding_text.lines(Diagnosis((HEALTHY, *others))))
    assert text[-1] == "3 more findings: harness diagnose --json"
    assert not [line for line in text if "limit" in line]


def test_no_line_begins_with_the_sign_of_a_percentage() -> None:
    for width in range(40, 70):
        finding = replace(
            BOUND, id="leak", gain=0.643, evidence=(Evidence("m" * width, 64.3, 9, "s", "%"),)
        )
        text = list(finding_text.lines(Diagnosis((finding,))))
        assert not [line for line in text if line.strip().startswith("%")]
        assert max(map(len, text)) <= 80
        assert "64.3 %" in " ".join(text)
