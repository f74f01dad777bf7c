"""Reports of several GPUs of one study: which claims hold on which of them."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis.claims import judge
from harness.evidence import provenance
from harness.evidence.provenance import TargetRecord
from harness.problem.model import Problem
from harness.problem.state import state
from harness.report import across, publish
from harness.report.page import Page
from tests.support.pages import rows_of, timed_page
from tests.support.reports import KEPT, copied, kept_study


def on(problem: Problem, gpu: str, fast_ms: float | None) -> Page:
    """Return a page of a GPU on which slow takes 2 ms."""
    times = {"slow": 2.0} | ({} if fast_ms is None else {"fast": fast_ms})
    made = timed_page(problem, **times)
    target = TargetRecord(name=gpu, slug=gpu.lower(), device="cuda")
    run = made.provenance.run.model_copy(update={"target": target})
    origin = made.provenance.model_copy(update={"run": run})
    results = judge(problem, made.metrics, "cuda")
    return replace(made, provenance=origin, results=results, folder=Path("reports") / gpu.lower())


def test_claims_that_depend_on_the_gpu_come_first(example: Problem) -> None:
    (claim,) = example.claims
    stronger = claim.model_copy(update={"id": "stronger", "otherwise": ""})
    problem = example.model_copy(update={"claims": [claim, stronger]})
    text = across.compared(problem, [on(problem, "One", 1.0), on(problem, "Two", 3.0)])
    depends, *alike = text.partition("## Claims with one verdict")
    assert "".join(alike) == ""
    head, row, _ = rows_of(depends)
    assert head == ["claim", "bound", "One", "Two"]
    assert row[0] == "`faster`: Fast is faster."
    assert row[2].startswith("reproduced: 0.5×") and row[3].startswith("**refuted**: 1.5×")
    assert (
        "[One](one/README.md) 2 of 2 tested claims reproduced; [Two](two/README.md) 0 of 2" in text
    )


def test_what_one_gpu_did_not_measure_is_no_difference(example: Problem) -> None:
    text = across.compared(example, [on(example, "One", 1.0), on(example, "Two", None)])
    assert "depends on the GPU" not in text
    assert rows_of(text)[1][2:] == ["reproduced: 0.5×", "not measured"]


def test_a_run_before_a_change_may_differ_by_it(example: Problem) -> None:
    pages = []
    for gpu, before in (("One", {}), ("Two", {"repro.py": "0"})):
        page = on(example, gpu, 1.0)
        run = page.provenance.run.model_copy(update={"state": state(example) | before})
        origin = page.provenance.model_copy(update={"run": run})
        pages.append(replace(page, provenance=origin))
    text = across.compared(example, pages)
    assert "**Stale: since the run on Two repro.py changed.** What differs there may" in text
    assert "changed" not in across.compared(example, pages[:1])


def test_many_gpus_stand_four_by_four(example: Problem) -> None:
    pages = [on(example, f"GPU{number}", 1.0) for number in range(5)]
    tables = [line for line in across.compared(example, pages).splitlines() if "| bound |" in line]
    assert [table.count("GPU") for table in tables] == [4, 1]


def test_the_page_stands_beside_the_reports_and_the_index_links_it(tmp_path: Path) -> None:
    first = copied(KEPT, tmp_path)
    problems = KEPT.parents[1]
    assert across.renew(tmp_path, problems) == []
    assert not (first.parent / "README.md").exists()  # of one GPU alone
    second = first.with_name("other")
    shutil.copytree(first, second)
    known = provenance.load(second / "evidence")
    target = known.run.target.model_copy(update={"name": "Other <GPU>", "slug": "other"})
    run = known.run.model_copy(update={"target": target})
    provenance.save(second / "evidence", run, list(known.cells), known.tables)
    for report in (first, second):
        publish.render(kept_study(), report)
    assert across.renew(tmp_path, problems) == []
    index = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert index.count("[GPU by GPU](1-torchao-float8/README.md)") == 1
    page = (first.parent / "README.md").read_text(encoding="utf-8")
    assert "[NVIDIA H200](nvidia-h200/README.md) 1 of 1 tested claims reproduced" in page
    assert "Other &#60;GPU>" in page


@pytest.mark.parametrize("damaged", ["provenance.json", "samples.parquet"])
def test_a_damaged_report_is_told_once(tmp_path: Path, damaged: str) -> None:
    first = copied(KEPT, tmp_path)
    second = first.with_name("other")
    shutil.copytree(first, second)
    (second / "evidence" / damaged).write_bytes(b"{")
    errors = across.renew(tmp_path, KEPT.parents[1])
    assert len(errors) == 1 and damaged in str(errors[0])
