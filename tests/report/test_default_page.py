"""The worklog of a problem without a template: every level that was captured, and no other."""

import re
from pathlib import Path

import pytest

from harness.ground.errors import ManifestError
from harness.lint.sentences import concluding
from harness.problem.model import Problem
from harness.report import publish
from harness.report.sections import inventory
from tests.support.pages import page
from tests.support.reports import KEPT, copied, kept_study
from tests.support.small_evidence import cell, samples, tables

VARIANTS = BASE, TUNED, OTHER = "bf16-eager", "bf16-tuned", "f8-0.13.0-compiled"
CASE = "stack-m1"
LEVELS = [
    "One step on the GPU",
    "What limits it",
    "Memory",
    "Operators",
    "Kernels",
    "Hardware counters",
    "What changed from variant to variant",
]


@pytest.fixture
def small(tmp_path: Path) -> Problem:
    """Return the kept study with three variants and one case, in a folder without a template."""
    study = kept_study()
    variants = {name: study.variants[name] for name in VARIANTS}
    smaller = study.model_copy(update={"variants": variants, "cases": {CASE: study.cases[CASE]}})
    smaller.lie_in(tmp_path / study.folder.name)
    return smaller


def test_it_shows_each_level_that_was_captured(small: Problem, tmp_path: Path) -> None:
    report = copied(KEPT, tmp_path)
    text = publish.render(small, report)["README.md"]
    assert re.findall(r"^### (.+)$", text, re.MULTILINE) == LEVELS
    assert "not measured" not in text
    figures = re.findall(r"\]\((figures/[^)]+)\)", text)
    assert len(figures) == 5  # timeline, memory of each variant, waterfall
    assert all((report / figure).is_file() for figure in figures)
    metrics = publish.page_of(small, report).metrics
    for variant in VARIANTS:
        row = next(
            line
            for line in text.splitlines()
            if line.startswith(f"| {small.variants[variant].label} |")
        )
        value = metrics.get("wall_time", variant, CASE).value
        assert value is not None
        shown = float(row.split("|")[2].split()[0])
        # As many digits as the interval of few processes bears out.
        assert shown in (pytest.approx(value, rel=0.05), pytest.approx(1e3 * value, rel=0.05))


def test_what_was_not_captured_has_no_heading(example: Problem, tmp_path: Path) -> None:
    report = copied(KEPT, tmp_path)
    text = publish.render(example, report)["README.md"]
    assert "###" not in text
    assert not (report / "figures").exists()


def test_it_concludes_nothing() -> None:
    assert list(concluding(publish.DEFAULT.read_text(encoding="utf-8"))) == []


def test_a_template_takes_its_place(example: Problem, tmp_path: Path) -> None:
    report = copied(KEPT, tmp_path)
    template = example.folder / publish.WORKLOG
    template.write_text("# Mine\n", encoding="utf-8")
    assert publish.render(example, report)["README.md"] == "# Mine\n"
    template.unlink()
    template.symlink_to("gone")
    with pytest.raises(ManifestError, match=publish.WORKLOG):
        publish.render(example, report)


def test_a_page_asks_which_metrics_and_captures_there_are(example: Problem) -> None:
    timed = page(
        example, tables(cells=[cell("fast")], samples=samples(cell("fast"), "wall_time", 1))
    )
    assert inventory.measured(timed, "small") == ["time"]
    assert inventory.measured(page(example, tables()), "small") == []
    assert inventory.captured(timed, "gpu_ops", "small") == []


def test_the_baseline_comes_first_of_what_was_captured() -> None:
    study = kept_study().model_copy(update={"baseline": OTHER})
    first, *others = inventory.captured(publish.page_of(study, KEPT), "gpu_ops", CASE)
    assert first == OTHER
    assert others == [name for name in study.variants if name in others]
    assert BASE in others
    assert "bf16-compiled" not in others  # captured in the other case alone
