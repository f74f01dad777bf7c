"""What docs/promises.md promises, each by a test: the bold words of a promise are its name."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.analysis import claims
from harness.analysis.metrics import Metrics
from harness.analysis.verdict import LEAST_PROCESSES
from harness.captures import sniff
from harness.evidence.tables import Tables
from harness.extract import run as extraction
from harness.ground.errors import ManifestError
from harness.problem import manifest
from harness.problem.model import Bound, Problem
from harness.problem.plan import Selected, plan
from harness.report import publish
from harness.report.page import Page
from harness.report.sections.advice import advice
from harness.report.worklog import render
from harness.run.execute import Retries
from harness.store import run_folder
from tests.support.advice import CLEAR, advising, changed, timed
from tests.support.manifests import GOOD, written
from tests.support.origins import origin
from tests.support.pages import page, timed_page
from tests.support.paths import DATA, ROOT
from tests.support.reports import KEPT, copied, kept_study
from tests.support.run_cells import cell
from tests.support.small_evidence import cell as row
from tests.support.small_evidence import samples, tables

POWER_CAP = "power cap in 9 of 9 looks"
STRANGER = "on the GPU, too: a.out (process 7)"


def measured(slow: Sequence[float], fast: Sequence[float], **of_cells: Any) -> Tables:
    """Return three samples about each time in ms, of a process each."""
    rows, cells = [], []
    for variant, times in (("slow", slow), ("fast", fast)):
        for number, time in enumerate(times):
            cells.append(row(variant, number, **of_cells))
            rows += samples(cells[-1], "wall_time", time, time * 1.001, time * 0.999)
    return tables(cells=cells, samples=rows)


def judged(
    problem: Problem, evidence: Tables, untested: Mapping[str, str] | None = None
) -> claims.ClaimResult:
    (result,) = claims.judge(problem, Metrics(problem, evidence), "cuda", untested)
    return result


def verdict(problem: Problem, evidence: Tables) -> str:
    return judged(problem, evidence).verdict


def rendered(shown: Page, text: str) -> str:
    template = shown.problem.folder / "worklog.md.j2"
    template.write_text(text, encoding="utf-8")
    return render(template, shown)


def test_every_promise_has_a_test_of_its_name() -> None:
    promises = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    bullets = re.findall(r"^- (.*)", promises, re.MULTILINE)
    names = re.findall(r"^- \*\*(.+?)\.\*\*", promises, re.MULTILINE)
    assert len(names) == len(bullets) > 0
    tests = {f"test_{re.sub(r'[ -]+', '_', name.lower().replace(',', ''))}" for name in names}
    own = {name for name in globals() if name.startswith("test_")}
    assert own - tests == {"test_every_promise_has_a_test_of_its_name"}
    assert tests <= own


def test_numbers_are_looked_up(example: Problem) -> None:
    text = "{{ w.m('time', 'slow', 'small') }}"
    assert rendered(timed_page(example, slow=2.0), text) == "2 ms"
    assert rendered(timed_page(example, slow=3.0), text) == "3 ms"
    with pytest.raises(ManifestError, match="rate"):
        rendered(timed_page(example, slow=2.0), text.replace("time", "rate"))


def test_figures_of_others_carry_their_source(tmp_path: Path) -> None:
    figures = '{source: a page, gpu: A100, software: a, columns: [x], rows: [["9 ms"]]}'
    of_others = f"references:\n  a: {figures}\n"
    shown = timed_page(manifest.load(written(tmp_path / "a", GOOD + of_others)))
    text = rendered(shown, "{{ w.reference('a') }}")
    assert all(word in text for word in ("a page", "A100", "9 ms"))
    for key in ("source: a page, ", "gpu: A100, "):
        with pytest.raises(ManifestError):
            manifest.load(written(tmp_path / key[:3], GOOD + of_others.replace(key, "")))


def test_advice_has_to_beat_its_alternatives(example: Problem) -> None:
    study = advising(example)
    assert verdict(study, timed(CLEAR)) == "reproduced"
    for case in CLEAR:
        for other, expected in ((1.8, "refuted"), (2.0, "tie")):
            times = {**CLEAR, case: {**CLEAR[case], "other": other}}
            assert verdict(study, timed(times)) == expected
    without = changed(study, but={"other": "it needs a network"})
    worse = timed({**CLEAR, "low": {**CLEAR["low"], "other": 1.8}})
    result = judged(without, worse)
    assert result.verdict == "reproduced"
    table = advice(replace(page(without, worse), results=[result]))
    assert (
        "none measured; 1 left out" in table and ") leaves out Other (it needs a network)." in table
    )


def test_conclusions_rest_on_claims(example: Problem) -> None:
    text = "{% call w.concludes('faster') %}Fast wins.{% endcall %}"
    for fast, expected in (
        ([1.0, 1.01, 0.99], "reproduced"),
        ([4.0, 4.01, 3.99], "refuted"),
        ([2.0, 2.001, 1.999], "tie"),
        ([1.0, 3.0, 2.0], "undecided"),
        ([1.0, 1.01], "described"),
        ([], "not measured"),
    ):
        shown = page(example, measured([2.0, 2.001, 1.999][: len(fast) or 3], fast))
        result = judged(example, shown.tables)
        assert result.verdict == expected
        told = rendered(replace(shown, results=[result]), text)
        # What two processes bear out stands, and says that nothing was put to the test.
        assert ("Fast wins" in told) == (expected in ("reproduced", "described"))
        assert ("[described]" in told) == (expected == "described")
        assert ("×" in told) == (expected in ("refuted", "tie", "undecided"))


def test_times_come_from_unprofiled_processes(tmp_path: Path) -> None:
    text = GOOD.replace("timing: {}", "timing: {rounds: 3}\n  nsys: {}")
    problem = manifest.load(written(tmp_path, text))
    cells = [each for each in plan(problem, Selected(), "cuda") if each.capture == "timing"]
    assert [each.variant for each in cells] == ["slow", "fast", "fast", "slow", "slow", "fast"]
    assert len({each.id for each in cells}) == 6


def test_three_processes_decide(example: Problem) -> None:
    for count in range(1, LEAST_PROCESSES):
        assert verdict(example, measured([2.0] * count, [1.0] * count)) == "described"
    assert verdict(example, measured([2.0] * 3, [1.0] * 3)) == "reproduced"
    assert LEAST_PROCESSES == 3
    # The whole interval, and by 1 %: of the same mean, what varies more is undecided.
    assert verdict(example, measured([2.0] * 3, [1.6, 1.65, 1.62])) == "reproduced"
    assert verdict(example, measured([2.0] * 3, [1.2, 2.0, 1.7])) == "undecided"
    assert verdict(example, measured([2.0] * 3, [1.99] * 3)) == "tie"


def test_missing_is_not_measured(example: Problem) -> None:
    result = judged(example, measured([2.0] * 3, []))
    assert (result.verdict, result.measured.value) == ("not measured", None)
    assert claims.exit_code([result]) == 3


def test_a_run_is_judged_by_the_claims_that_it_began_with(example: Problem) -> None:
    evidence = measured([2.0] * 3, [1.0] * 3)
    result = judged(example, evidence, {"faster": "the claim's bound was ≤ 0.4 when the run began"})
    assert (result.verdict, result.untested[:21]) == ("described", "the claim's bound was")
    assert claims.exit_code([result]) == 3


def test_the_gpu_is_watched(example: Problem, tmp_path: Path) -> None:
    run = run_folder.Run.create(tmp_path / "runs", "9-example", origin())
    capped = run_folder.record_of(cell(run, "timing", {}, doubts=[POWER_CAP]))
    retries = Retries()
    with retries.turn(capped) as again:
        assert again
    retries.learn(capped.model_copy(update={"retried": capped.doubts}))
    with retries.turn(capped) as again:
        assert not again
    (claim,) = example.claims
    times = ([2.0] * 3, [1.0] * 3)
    seen: dict[str, Any] = {"sm_mhz_min": 1500.0, "sm_mhz_max": 1980.0}
    for doubt, bound, expected in (
        (POWER_CAP, 0.9, "reproduced"),  # 0.5 at any clock that was seen
        (POWER_CAP, 0.55, "undecided"),  # not at the lowest over the highest
        (STRANGER, 0.9, "undecided"),
    ):
        asked = claim.model_copy(update={"bound": Bound(below=bound)})
        problem = example.model_copy(update={"claims": [asked]})
        assert verdict(problem, measured(*times, doubt=doubt, **seen)) == expected


def test_artifacts_are_checked(tmp_path: Path) -> None:
    run = run_folder.Run.create(tmp_path / "runs", "9-example", origin())
    with sniff.opened(DATA / "nsys/streams.sqlite.zst") as plain:
        export = Path(shutil.copyfile(plain, tmp_path / "streams.sqlite"))
    kept = {"trace.sqlite": export, "trace.nsys-rep": DATA / "nsys/streams.nsys-rep"}
    for steps, variant in ((3, "whole"), (4, "fewer"), (3, "changed")):
        workload = {"samples": [], "facts": [], "declared": {"step": steps}, "packages": {}}
        folder = cell(run, "nsys", kept, variant=variant, workload=workload)
        if variant == "changed":
            with (folder / "trace.sqlite").open("r+b") as file:
                file.seek(5000)
                file.write(b"\xff")
    known = extraction.extract(run, tmp_path / "evidence")["cells"]
    found = dict(known.select("variant", "reason").rows())
    assert found["whole"] == ""
    assert "3 ranges named 'step', but 4 were recorded" in found["fewer"]
    assert "changed since it was recorded" in found["changed"]


def test_only_recording_needs_a_gpu(tmp_path: Path) -> None:
    pages = []
    for name in ("first", "second"):
        report = copied(KEPT, tmp_path / name)
        publish.render(kept_study(), report)
        pages.append({path.name: path.read_bytes() for path in report.rglob("*.md")})
    first, second = pages
    assert first == second and first
