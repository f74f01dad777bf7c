"""``harness check`` and ``harness report`` on published evidence, and ``inspect`` on folders."""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.captures import sniff
from harness.evidence.provenance import FILE
from harness.extract import door
from harness.ground import files
from harness.problem import manifest
from harness.store import run_folder
from tests.support import reports, warm
from tests.support.manifests import GOOD, written
from tests.support.origins import TARGET, origin
from tests.support.paths import DATA, ROOT
from tests.support.run_cells import cell, claims_of

pytestmark = pytest.mark.slow


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one small problem and neither a run nor a report."""
    (tmp_path / "problems").mkdir()
    problem = written(tmp_path / "problems", GOOD)
    (problem / "worklog.md.j2").write_text("# {{ w.verdict_line() }}\n")
    return tmp_path


def harness(checkout: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return warm.harness(*arguments, env=os.environ | {"WORKLOGS_CHECKOUT": str(checkout)})


def made_run(folder: Path, ratio: float, **more: Any) -> run_folder.Run:
    """A run in which the fast variant takes ``ratio`` times as long as the slow one."""
    run = run_folder.Run.create(
        folder, "9-example", origin(started="2026-01-01", claims=claims_of(GOOD), **more)
    )
    for variant, value in (("slow", 1.0), ("fast", ratio)):
        samples = [
            {"region": "r", "metric": "wall_time", "unit": "ms", "index": index, "value": value}
            for index in range(20)
        ]
        workload = {"samples": samples, "facts": [], "declared": {}, "packages": {}}
        for number in range(3):
            cell(run, "timing", {}, variant=variant, workload=workload, round=number)
    return run


def published(checkout: Path, ratio: float, slug: str = "nvidia-h200") -> Path:
    """A report of the small problem whose evidence says that."""
    folder = checkout / "reports" / "9-example" / slug
    folder.mkdir(parents=True)
    run = made_run(checkout / "elsewhere" / slug, ratio, target=TARGET | {"slug": slug})
    door.run(run, folder / "evidence")
    return folder


@pytest.mark.parametrize("report", reports.COMMITTED, ids=lambda folder: folder.parent.name)
def test_a_fresh_clone_judges_what_its_pages_say(report: Path, tmp_path: Path) -> None:
    (tmp_path / "problems").symlink_to(ROOT / "problems")
    (tmp_path / "reports" / report.parent.name).mkdir(parents=True)
    (tmp_path / "reports" / report.parent.name / report.name).symlink_to(report)
    done = harness(tmp_path, "check", report.parent.name.partition("-")[0], "--json")
    study = manifest.load(ROOT / "problems" / report.parent.name)
    of_a_cpu = {
        claim.id
        for claim in study.claims
        if claim.kind == "bound" and study.cases[claim.sides[0][2]].needs == "cpu"
    }
    judged = [claim for claim in json.loads(done.stdout) if claim["id"] not in of_a_cpu]
    verdicts = Counter(claim["verdict"] for claim in judged)
    page = (report / "README.md").read_text()
    line = re.search(
        r"\((?:(\d+) of (\d+) tested claims reproduced|no claim tested)([^)]*)\)", page
    )
    assert line
    others = {verdict: int(count) for count, verdict in re.findall(r"(\d+) ([a-z ]+)", line[3])}
    assert verdicts == Counter({"reproduced": int(line[1] or 0), **others})
    untested = verdicts["described"] + verdicts["not measured"]
    assert verdicts.total() - untested == int(line[2] or 0)
    nothing_tested = untested == verdicts.total()
    undecided = 3 if nothing_tested or "Unfinished:" in page else 0  # as docs/statistics.md says
    assert done.returncode == (1 if verdicts["refuted"] else undecided)
    assert not (tmp_path / "runs").exists()


def test_the_newest_run_is_judged_before_the_published_report(checkout: Path) -> None:
    report = published(checkout, 0.5)
    done = harness(checkout, "check", "9")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"judged: report {report}")
    run = made_run(checkout / "runs", 2.0)
    done = harness(checkout, "check", "9")
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, f"judged: run {run.folder}")
    done = harness(checkout, "check", "--report", report)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"judged: report {report}")
    (claim,) = json.loads(harness(checkout, "check", "9", "--report", report, "--json").stdout)
    assert (claim["id"], claim["verdict"], claim["value"]) == ("faster", "reproduced", 0.5)


def test_a_report_of_published_evidence_is_rendered_in_place(checkout: Path) -> None:
    report = published(checkout, 0.5)
    before = (report / "evidence" / FILE).read_bytes()
    done = harness(checkout, "report", "9")
    assert done.stdout == f"worklog: {report / 'README.md'}\n", done.stderr
    assert "(1 of 1 tested claims reproduced)" in (report / "README.md").read_text()
    assert (report / "evidence" / FILE).read_bytes() == before
    assert "9-example" in (checkout / "reports" / "README.md").read_text()
    moved = shutil.copytree(report / "evidence", checkout / "theirs" / "evidence").parent
    done = harness(checkout, "report", "--report", moved)
    assert (moved / "README.md").read_bytes() == (report / "README.md").read_bytes(), done.stderr


def test_of_several_targets_each_is_judged_under_its_heading(checkout: Path) -> None:
    good, bad = (published(checkout, *what) for what in ((0.5, "some-gpu"), (2.0, "some-other")))
    junit = checkout / "junit.xml"
    done = harness(checkout, "check", "9", "--junit", junit, "--github")
    assert done.returncode == 1  # one of them refutes the claim
    lines = done.stdout.splitlines()
    first, second = (lines.index(f"judged: report {report}") for report in (good, bad))
    assert first < lines.index("1 of 1 tested claims reproduced") < second
    assert lines.index("0 of 1 tested claims reproduced, 1 refuted") > second
    assert 'tests="2" failures="1"' in junit.read_text()
    assert "claims on some-other faster::" in done.stderr
    each = json.loads(harness(checkout, "check", "9", "--json").stdout)
    verdicts = {target: [claim["verdict"] for claim in claims] for target, claims in each.items()}
    assert verdicts == {"some-gpu": ["reproduced"], "some-other": ["refuted"]}
    assert harness(checkout, "check", "9", "--report", good).returncode == 0


def test_of_several_targets_one_has_to_be_named_to_compare_or_explain(checkout: Path) -> None:
    report, _ = (published(checkout, 0.5, slug) for slug in ("some-gpu", "some-other"))
    for arguments in (("check", "9", "--against", report), ("check", "9", "--claim", "faster")):
        refused = harness(checkout, *arguments)
        assert (refused.returncode, refused.stdout) == (2, "")
        (line,) = refused.stderr.splitlines()
        assert "some-gpu, some-other" in line
        assert "--report DIR" in line


def test_without_a_run_and_a_report_the_first_step_is_said(checkout: Path) -> None:
    done = harness(checkout, "check", "9")
    assert done.returncode == 2
    assert done.stderr.endswith("no run of 9-example (make one: harness run 9-example)\n")


def damaged(report: Path) -> None:
    record = files.read_json(report / "evidence" / FILE)
    record["run"]["target"]["device"] = "tpu"
    files.write_json(report / "evidence" / FILE, record)


def cut(report: Path) -> None:
    path = report / "evidence" / "samples.parquet"
    path.write_bytes(path.read_bytes()[:100])


WRONG = {
    "missing folder": (("check", "--report", "{report}/absent"), None, "no such folder"),
    "no evidence": (("check", "--report", "{report}/evidence"), None, "no evidence in this folder"),
    "no capture": (("inspect", "README.md"), None, "README.md: not a capture"),
    "damaged provenance": (
        ("check", "9"),
        damaged,
        "provenance.json: run.target.device: Input should be 'cuda' or 'cpu'",
    ),
    "damaged table": (("check", "9"), cut, "samples.parquet: changed since it was written"),
    "another problem": (
        ("check", "1", "--report", "{report}"),
        None,
        "{report}: a report of 9-example",
    ),
    "run and report": (
        ("check", "9", "--run", "{report}", "--report", "{report}"),
        None,
        "--run and --report exclude each other",
    ),
    "nothing named": (("check",), None, "no problem named"),
}


@pytest.mark.parametrize(("arguments", "spoil", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_input_is_one_line_and_exit_2(
    checkout: Path, arguments: tuple[str, ...], spoil: Any, message: str
) -> None:
    report = published(checkout, 0.5)
    shutil.copytree(checkout / "problems" / "9-example", checkout / "problems" / "1-other")
    if spoil:
        spoil(report)
    done = harness(checkout, *(text.format(report=report) for text in arguments))
    assert (done.returncode, done.stdout) == (2, ""), done
    (line,) = done.stderr.splitlines()
    assert message.format(report=report) in line


def test_a_report_is_inspected_as_its_cells(checkout: Path) -> None:
    report = published(checkout, 0.5)
    listed = json.loads(harness(checkout, "inspect", report, "--json").stdout)
    assert listed["cells"] == [
        {"case": "small", "variant": variant, "captures": ["timing"]}
        for variant in ("fast", "slow")
    ]
    text = harness(checkout, "inspect", report).stdout
    assert f"one cell: harness inspect {report}:small.fast" in text
    shown = json.loads(harness(checkout, "inspect", f"{report}:small.fast", "--json").stdout)
    (metric,) = shown["samples"]
    assert (metric["median"], metric["count"], metric["rounds"]) == (0.5, 60, 3)


def test_a_folder_of_captures_is_inspected_file_by_file(checkout: Path) -> None:
    folder = checkout / "captures"
    folder.mkdir()
    names = ("ncu/small.ncu-rep.zst", "torch/graph.json.gz")
    for name in names:
        shutil.copy(DATA / name, folder)
    (folder / "notes.txt").write_text("no capture")
    (folder / "cut.json.gz").write_bytes((DATA / names[1]).read_bytes()[:2000])
    documents = json.loads(harness(checkout, "inspect", folder, "--json").stdout)
    assert [Path(document["label"]).name for document in documents] == [
        "graph.json.gz",
        "small.ncu-rep.zst",
        "cut.json.gz",
    ]
    for document, name in zip(documents, reversed(names), strict=False):
        alone = json.loads(harness(checkout, "inspect", DATA / name, "--json").stdout)
        assert {key: document[key] for key in alone if key != "findings"} == {
            key: value
            for key, value in alone.items()
            if key != "findings"  # these name the file
        }
        assert ids(document) == ids(alone)
    text = harness(checkout, "inspect", folder).stdout
    assert f"not read: {folder / 'cut.json.gz'}: " in text
    assert f"{folder / 'small.ncu-rep.zst'}: ncu\n" in text


def ids(document: dict[str, Any]) -> list[str]:
    """Return the findings of a capture that was inspected."""
    return [finding["id"] for finding in document["findings"]]


def test_a_cell_s_own_folder_is_its_capture(checkout: Path) -> None:
    run = run_folder.Run.create(checkout / "runs", "9-example", origin())
    with sniff.opened(DATA / "nsys/streams.sqlite.zst") as export:
        report = DATA / "nsys/streams.nsys-rep"
        artifacts = {"trace.sqlite": export, "trace.nsys-rep": report}
        folder = cell(run, "nsys", artifacts)
    timing = cell(run, "timing", {}, variant="slow")
    document = json.loads(harness(checkout, "inspect", folder, "--json").stdout)
    alone = json.loads(
        harness(checkout, "inspect", DATA / "nsys/streams.sqlite.zst", "--json").stdout
    )
    assert ids(document) == ids(alone)
    del document["findings"], alone["findings"]  # these name the file
    assert document == alone
    refused = harness(checkout, "inspect", timing)
    assert refused.returncode == 2
    assert "a timing cell leaves no capture file (name the cell of its run: " in refused.stderr
