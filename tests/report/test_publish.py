"""Reports: every committed one renders again byte for byte from its evidence."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.captures import sniff
from harness.captures.formats.compressed import blocks
from harness.evidence import capture_list, provenance
from harness.evidence import tables as evidence
from harness.evidence.capture_list import KeptCapture
from harness.evidence.provenance import RunArguments
from harness.ground import files
from harness.ground.errors import CaptureError, HarnessError, ManifestError
from harness.problem import manifest
from harness.problem.model import Problem
from harness.report import card, index, kept_captures, publish
from harness.store import capture_store
from harness.store.run_folder import Run
from tests.support.manifests import GOOD, written
from tests.support.origins import origin
from tests.support.paths import DATA, ROOT
from tests.support.reports import COMMITTED, KEPT, committed, copied
from tests.support.run_cells import cell, timed

QUICK = "3-cudagraph-memory"
"""tests/contribute/test_contribution.py renders every committed report again."""


def test_there_are_committed_reports() -> None:
    assert COMMITTED


def test_a_report_renders_again_byte_for_byte(tmp_path: Path) -> None:
    folder = committed(QUICK)
    again = tmp_path / folder.name
    shutil.copytree(folder / "evidence", again / "evidence")
    shutil.copytree(folder / "captures", again / "captures")
    publish.render(manifest.find(ROOT / "problems", folder.parent.name), again)
    rendered = {path.relative_to(again) for path in again.rglob("*") if path.is_file()}
    for path in rendered:
        assert (again / path).read_bytes() == (folder / path).read_bytes(), path
    pages = {path for path in rendered if path.suffix in (".svg", ".md")}
    assert {path.suffix for path in pages} == {".svg", ".md"}
    standing = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    assert pages == {path for path in standing if path.suffix in (".svg", ".md")}


@pytest.mark.parametrize(
    "folder", COMMITTED, ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def test_what_is_linked_is_there_and_small_enough(folder: Path) -> None:
    import re

    for page in (folder / "README.md", *folder.glob("pages/*.md")):
        prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)#][^)]*)\)", prose):
            target = page.parent / link.partition("#")[0]
            assert link.startswith("https://") or target.exists(), link
    size = sum(path.stat().st_size for path in (folder / "captures").glob("*"))
    listed = (folder / "evidence" / capture_list.NAME).exists()
    assert size <= (kept_captures.GIT_BYTES if listed else 8_000_000)


@pytest.mark.parametrize(
    "folder", COMMITTED, ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def test_everything_that_a_report_holds_is_what_was_published(folder: Path) -> None:
    tables = evidence.load(folder / "evidence")
    vouched = provenance.load(folder / "evidence").tables
    assert vouched.keys() >= {name for name, table in tables.items() if table.height}
    for capture in (folder / "captures").glob("*"):  # git keeps no empty folder
        capture_list.check(capture)
    assert card.read(folder)


def test_a_template_that_asks_for_what_is_not_there_is_told(
    problem: Problem, tmp_path: Path
) -> None:
    report, template = copied(KEPT, tmp_path), problem.folder / "worklog.md.j2"
    template.write_text('{{ w.m("speed", "fast", "small") }}')
    with pytest.raises(HarnessError, match="no metric 'speed'"):
        publish.render(problem, report)
    template.write_text("{% if %}")
    with pytest.raises(ManifestError, match=r"worklog.md.j2, line 1"):
        publish.render(problem, report)
    template.write_text("One line.\n{{ w.gpu_timeline('fast', 'small') }}")
    with pytest.raises(ManifestError, match=r"worklog.md.j2, line 2: w.gpu_timeline: .*caption"):
        publish.render(problem, report)
    (template.parent / "part.md.j2").write_text("\n\n{{ w.timelin('fast') }}")
    template.write_text("{% include 'part.md.j2' %}")
    with pytest.raises(ManifestError, match=r"part.md.j2, line 3: .*'timelin'"):
        publish.render(problem, report)
    assert not (report / "README.md").exists()


def test_every_figure_in_the_evidence_names_its_gpu() -> None:
    for folder in COMMITTED:
        run = provenance.load(folder / "evidence").run
        assert run.target.device == "cuda"
        assert run.target.name in (folder / "README.md").read_text()


TARGET = {"slug": "gpu", "name": "a GPU", "device": "cuda"}
PAGE = "Opened on this page: `captures/small.slow.trace.json.gz`.\n"

RunOf = Callable[..., Run]


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    captures = "captures:\n  timing: {}\n  torch: {}\n  nsys: {}\n"
    text = GOOD.replace("captures:\n  timing: {}\n", captures) + "keep: [output_code.py]\n"
    folder = written(tmp_path, text)
    (folder / "worklog.md.j2").write_text(PAGE, encoding="utf-8")
    return manifest.load(folder)


@pytest.fixture
def run_of(tmp_path: Path) -> Iterator[RunOf]:
    """A function that makes a run: each named variant timed, traced and exported by nsys."""

    def recorded(name: str, *variants: str, profiled: bool = True) -> Run:
        run = Run.create(tmp_path / name, "9-example", origin(target=TARGET, started="2026-01-01"))
        for variant in variants:
            cell(run, "timing", {}, variant=variant)
            if profiled:
                trace = {"slow": "streams", "fast": "graph"}[variant]
                traced = {"trace.json.gz": DATA / f"torch/{trace}.json.gz"}
                cell(run, "torch", traced, variant=variant)
                report = DATA / "nsys/streams.nsys-rep"
                exported = {"trace.sqlite": export, "trace.nsys-rep": report}
                cell(run, "nsys", exported, variant=variant)
        return run

    with sniff.opened(DATA / "nsys/streams.sqlite.zst") as export:
        yield recorded


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def listed(report: Path) -> dict[str, KeptCapture]:
    captures = capture_list.read(report / "evidence")
    assert captures
    return {capture.name: capture for capture in captures.captures}


def test_a_run_with_fewer_cells_is_written_beside_the_report(
    problem: Problem, run_of: RunOf, tmp_path: Path
) -> None:
    reports, store = tmp_path / "reports", tmp_path / "store"
    whole = publish.publish(problem, run_of("whole", "slow", "fast"), reports, store)
    assert whole == publish.Published(reports / "9-example" / "gpu")
    before = content(whole.folder)
    part = run_of("part", "fast")
    partial = publish.publish(problem, part, reports, store)
    assert partial.folder.name == "gpu.partial"
    assert partial.loss == (
        "3 of the report's 6 cells (no small.slow.nsys.r0 and 2 more),"
        " 2 of the report's 4 captures (no small.slow.trace.json.gz and 1 more)"
    )
    assert content(whole.folder) == before
    assert index.reports(reports) == [whole.folder]
    replaced = publish.publish(problem, part, reports, store, replace=True)
    assert replaced == publish.Published(whole.folder)
    assert set(listed(replaced.folder)) == {
        "small.fast.trace.json.gz",
        "small.fast.trace.sqlite.zst",
    }


def test_a_run_with_fewer_rounds_is_written_beside_the_report(
    problem: Problem, run_of: RunOf, tmp_path: Path
) -> None:
    reports, store = tmp_path / "reports", tmp_path / "store"
    thrice, once = run_of("thrice", "fast"), run_of("once", "fast")
    for number in (1, 2):
        cell(thrice, "timing", {}, round=number)
    publish.publish(problem, thrice, reports, store)
    assert publish.publish(problem, once, reports, store) == publish.Published(
        reports / "9-example" / "gpu.partial",
        "3 of the report's 5 cells (no small.fast.timing.r1 and 1 more)",
    )


def test_a_short_run_never_replaces_a_full_one(
    problem: Problem, run_of: RunOf, tmp_path: Path
) -> None:
    reports, store = tmp_path / "reports", tmp_path / "store"
    full, short = run_of("full", "fast"), run_of("short", "fast")
    for run, is_short in ((full, False), (short, True)):
        arguments = RunArguments(short=is_short)
        run.note(run.provenance.model_copy(update={"arguments": arguments}))
    standing = publish.publish(problem, full, reports, store).folder
    beside = publish.publish(problem, short, reports, store)
    assert beside.loss == "the claims outside of the short path"
    assert (beside.folder / "README.md").read_text().startswith("# A title\n\n**")
    assert (standing / "README.md").read_text() == PAGE
    assert publish.publish(problem, full, reports, store).loss == ""


def test_a_run_with_as_many_cells_replaces_the_report(
    problem: Problem, run_of: RunOf, tmp_path: Path
) -> None:
    reports, store = tmp_path / "reports", tmp_path / "store"
    publish.publish(problem, run_of("part", "fast"), reports, store)
    more = publish.publish(problem, run_of("whole", "fast", "slow"), reports, store)
    assert more.loss == ""
    assert len(listed(more.folder)) == 4
    assert [path.name for path in more.folder.parent.iterdir()] == ["gpu"]


def test_a_report_says_how_many_of_its_claims_earlier_runs_had_met(tmp_path: Path) -> None:
    folder = written(tmp_path, GOOD)
    places = tmp_path / "reports", tmp_path / "store"
    runs = [timed(tmp_path / str(number), 2.0) for number in range(3)]
    for number, run in enumerate(runs):
        run.note(run.recorded.model_copy(update={"id": f"run-{number}"}))
    told = "1 of them an earlier run had met as well."
    for number, met in enumerate(([], ["run-0"], ["run-0", "run-1"])):
        report = publish.publish(manifest.load(folder), runs[number], *places).folder
        known = provenance.load(report / "evidence")
        assert known.met == ({"faster": tuple(met)} if met else {})
        assert (told in (report / "README.md").read_text()) == bool(met)
    again = tmp_path / "again", tmp_path / "its store"
    for _ in range(2):  # the same run twice is no earlier run
        report = publish.publish(manifest.load(folder), runs[0], *again).folder
        assert provenance.load(report / "evidence").met == {}
    moved = timed(tmp_path / "moved", 2.0)  # begins with the bound as it was
    (folder / "problem.yaml").write_text(GOOD.replace("bound: {below: 1}", "bound: {below: 0.9}"))
    report = publish.publish(manifest.load(folder), moved, *places).folder
    assert provenance.load(report / "evidence").met == {}


def test_a_page_of_a_cpu_shows_the_report_of_a_gpu_beside_it(tmp_path: Path) -> None:
    asked = "    needs: cuda\n    headline: true\n"
    study = manifest.load(written(tmp_path, GOOD + asked))
    places = tmp_path / "reports", tmp_path / "store"
    of_gpu = publish.publish(study, timed(tmp_path / "gpu", 2.0), *places).folder
    run = timed(tmp_path / "cpu", 1.0)
    target = {"name": "a CPU", "slug": "cpu", "device": "cpu"}
    run.note(run.recorded.model_copy(update={"target": origin(target=target).target}))
    text = (publish.publish(study, run, *places).folder / "README.md").read_text()
    assert f"(../{of_gpu.name}/README.md) shows" in text
    assert "| `faster`: Fast is faster. | 0.5× |" in text
    assert publish.render(study, places[0] / "9-example" / "cpu")["README.md"] == text


def test_a_report_whose_evidence_is_damaged_is_not_replaced(
    problem: Problem, run_of: RunOf, tmp_path: Path
) -> None:
    reports, store = tmp_path / "reports", tmp_path / "store"
    run = run_of("run", "fast", profiled=False)
    standing = publish.publish(problem, run, reports, store).folder
    files.write_json(standing / "evidence" / capture_list.NAME, {"version": 9, "captures": []})
    again = publish.publish(problem, run, reports, store)
    assert again.folder.name == "gpu.partial"
    assert "cannot be compared" in again.loss
    assert "version" in again.loss


def test_a_report_changes_as_a_whole_or_not_at_all(
    problem: Problem, run_of: RunOf, tmp_path: Path
) -> None:
    reports, store = tmp_path / "reports", tmp_path / "store"
    publish.publish(problem, run_of("first", "fast"), reports, store)
    before = content(reports)
    run = run_of("second", "fast", "slow")
    (problem.folder / "worklog.md.j2").write_text("{{ nothing.of.that }}")
    with pytest.raises(HarnessError, match=r"worklog.md.j2"):
        publish.publish(problem, run, reports, store)
    (problem.folder / "worklog.md.j2").write_text(PAGE)
    code = cell(run, "timing", {"output_code.py": Path(__file__)}, variant="fast")
    (code / "output_code.py").write_text("another code")
    with pytest.raises(CaptureError, match="changed since it was recorded"):
        publish.publish(problem, run, reports, store)
    assert content(reports) == before
    assert [path.name for path in (reports / "9-example").iterdir()] == ["gpu"]


def test_no_capture_of_an_unusable_cell_is_kept(
    problem: Problem, run_of: RunOf, tmp_path: Path
) -> None:
    run = run_of("run", "fast", "slow")
    trace = run.folder / "cells" / "small.slow.torch.r0" / "trace.json.gz"
    trace.write_bytes(trace.read_bytes() + b"\0")
    report = publish.publish(problem, run, tmp_path / "reports", tmp_path / "store").folder
    assert "small.fast.trace.json.gz" in listed(report)
    assert "small.slow.trace.json.gz" not in listed(report)


def test_captures_beyond_the_limit_go_to_the_store(
    problem: Problem, run_of: RunOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports, store = tmp_path / "reports", tmp_path / "store"
    run = run_of("run", "slow", "fast")
    sizes = {
        name: capture.bytes
        for name, capture in listed(publish.publish(problem, run, reports, store).folder).items()
    }
    assert not store.exists()
    named = "small.slow.trace.json.gz"
    assert sizes[named] > sizes["small.fast.trace.json.gz"]  # the page opens the larger one
    monkeypatch.setattr(kept_captures, "GIT_BYTES", sizes[named])
    report = publish.publish(problem, run, reports, store).folder
    assert [path.name for path in (report / "captures").iterdir()] == [named]
    captures = listed(report)
    assert captures.keys() == sizes.keys()
    for name, capture in captures.items():
        place = store / capture_store.relative(capture.sha256)
        path = report / "captures" / name if capture.in_git else place
        assert (files.sha256(path), path.stat().st_size) == (capture.sha256, capture.bytes)
        assert capture.in_git == (name == named)
        origin = run.folder / "cells" / capture.cell / capture.artifact
        assert files.sha256(origin) == capture.artifact_sha256


def test_kept_captures_are_the_same_bytes_each_time(
    problem: Problem, run_of: RunOf, tmp_path: Path
) -> None:
    run = run_of("run", "slow")
    first, second = (
        publish.publish(problem, run, tmp_path / name, tmp_path / "store").folder
        for name in ("first", "second")
    )
    assert content(first / "captures") == content(second / "captures")
    assert listed(first) == listed(second)
    assert any(name.endswith(".sqlite.zst") for name in listed(first))


def test_of_a_problem_s_own_artifacts_one_a_variant_is_kept(
    problem: Problem, run_of: RunOf, tmp_path: Path
) -> None:
    run = run_of("run", profiled=False)
    code = tmp_path / "code.py"
    for number, kind in ((0, "torch"), (1, "timing"), (0, "timing")):
        code.write_text(f"{kind} {number}")
        artifacts = {"output_code.py": code}
        if kind == "torch":
            artifacts["trace.json.gz"] = DATA / "torch/streams.json.gz"
        cell(run, kind, artifacts, round=number)
    report = publish.publish(problem, run, tmp_path / "reports", tmp_path / "store").folder
    assert list(listed(report)) == ["small.fast.output_code.py.zst", "small.fast.trace.json.gz"]
    plain = b"".join(blocks(report / "captures" / "small.fast.output_code.py.zst", 100))
    assert plain == b"timing 0"
