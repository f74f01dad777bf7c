"""``harness check --claim``: what it names is what lies in the evidence, and hashes to that."""

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.ground import checkout
from harness.problem import manifest
from harness.problem.model import BoundClaim
from tests.support.manifests import GOOD, written
from tests.support.paths import DATA, ROOT
from tests.support.reports import committed
from tests.support.run_cells import cell, timed

REPORT = committed("1-torchao-float8")
STUDY = manifest.load(ROOT / "problems" / "1-torchao-float8")


def explained(claim: str, *arguments: object) -> Any:
    argv = ["check", "--claim", claim, *map(str, arguments), "--json"]
    done = CliRunner().invoke(app, argv, catch_exceptions=False)
    return json.loads(done.stdout)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def claim_on(source: str) -> BoundClaim:
    """Return the problem's first claim on a metric of that source which a kept capture bears."""
    return next(
        claim
        for claim in STUDY.claims
        if isinstance(claim, BoundClaim) and getattr(STUDY.metric(claim.metric), source)
    )


@pytest.mark.parametrize("source", ["sample", "fact", "measure"])
def test_values_and_hashes_are_those_of_the_report_s_files(source: str) -> None:
    claim = claim_on(source)
    document = explained(claim.id, "--report", REPORT)
    assert document["statement"] == claim.statement
    first = document["metrics"][0]
    assert (first["variant"], first["case"]) == (claim.of.variant, claim.of.case)
    for name, table in first["tables"].items():
        path = REPORT / "evidence" / f"{name}.parquet"
        assert (table["sha256"], table["bytes"]) == (sha256(path), path.stat().st_size)
    for origin in first["cells"]:
        metric = STUDY.metric(first["metric"])
        if metric.sample and not metric.per:
            rows = pl.read_parquet(REPORT / "evidence" / "samples.parquet").filter(
                pl.col("cell") == origin["cell"], pl.col("metric") == metric.sample
            )
            kept = rows.filter(pl.col("mark").is_null() | (pl.col("mark") != "warm-up"))
            assert set(origin["values"]) <= set(kept["value"])
            assert origin["values"]
        artifact = origin["artifact"]
        if artifact and artifact["kept"] and artifact["kept"]["file"]:
            file = Path(artifact["kept"]["file"])
            assert (artifact["kept"]["sha256"], artifact["kept"]["bytes"]) == (
                sha256(file),
                file.stat().st_size,
            )


def test_a_kept_capture_is_named_with_its_path() -> None:
    kept = [
        artifact["kept"]["file"]
        for each in explained(claim_on("measure").id, "--report", REPORT)["metrics"]
        for origin in each["cells"]
        if (artifact := origin["artifact"]) and artifact["kept"]
    ]
    assert kept
    assert all(Path(file).is_file() for file in kept if file)


def test_an_advice_names_the_alternative_that_it_had_to_beat() -> None:
    advice = next(claim for claim in STUDY.claims if claim.kind == "advice")
    document = explained(advice.id, "--report", REPORT)
    variants = {each["variant"] for each in document["metrics"]}
    assert {advice.take, advice.instead_of} < variants
    judged = CliRunner().invoke(app, ["check", "--report", str(REPORT), "--json"])
    (same,) = (each for each in json.loads(judged.stdout) if each["id"] == advice.id)
    assert same == {key: document[key] for key in same}


def test_a_run_names_its_artifacts_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    counted = GOOD.replace("timing: {}", "timing: {}\n  nsys: {}").replace(
        "sample: wall_time}",
        "sample: wall_time}\n  kernels: {label: kernels, unit: '', capture: nsys,"
        " measure: kernels_per_step}",
    )
    claim = counted.partition("claims:\n")[2].replace("faster", "fewer", 1)
    written(tmp_path / "problems", counted + claim.replace("metric: time", "metric: kernels"))
    run = timed(tmp_path / "runs", 2.0)
    for variant in ("slow", "fast"):
        trace = {"trace.sqlite": DATA / "nsys" / "streams.sqlite.zst"}
        cell(run, "nsys", trace, variant=variant)
    document = explained("faster", "9")
    assert document["subject"] == str(run.folder)
    assert [origin["artifact"] for origin in document["metrics"][0]["cells"]] == [None] * 3
    assert not (run.folder / "evidence").exists()


def test_an_unknown_claim_gets_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    written(tmp_path / "problems", GOOD)
    run = timed(tmp_path / "runs", 2.0)
    argv = ["check", "--claim", "fastr", "--run", str(run.folder)]
    error = CliRunner().invoke(app, argv).exception
    assert str(error) == "9-example: no claim 'fastr' (did you mean faster?)"


def test_it_fits_a_terminal_of_80_columns() -> None:
    argv = ["check", "--claim", claim_on("measure").id, "--report", str(REPORT.relative_to(ROOT))]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        shown = CliRunner().invoke(app, argv, env={"COLUMNS": "80"}).stdout.splitlines()
    assert [line for line in shown if len(line) > 80 and "kept: " not in line] == []
