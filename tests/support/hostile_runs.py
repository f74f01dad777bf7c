"""Runs of hostile cells on any engine, and what has to hold after them."""

import os
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from harness.engines import rights
from harness.engines.choose import make
from harness.engines.options import Options
from harness.evidence.cell_record import CellRecord
from harness.evidence.provenance import RunArguments
from harness.extract import run as extraction
from harness.machine import target
from harness.machine.host import Host
from harness.problem import manifest
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from harness.run import attempt, output, provenance
from harness.run.execute import Execution
from harness.store import run_folder
from tests.support import hostile_cell
from tests.support.hostile_cell import ATTACKS

_LINE = b"a line of the host that no workload may see"
_BEFORE = (1_000_000_000, 1_000_000_001)  # read before it was written: the next read is noted


def attacked(name: str, folder: Path, seeds: range, options: Options) -> Counter[str]:
    """Run a hostile cell a seed on an engine; check the host and return what the cells made."""
    secret = folder / "host" / "secret"
    secret.parent.mkdir(parents=True)
    secret.write_bytes(_LINE)
    secret.chmod(0o600)
    os.utime(secret, _BEFORE)
    known = secret.stat()
    run = _executed(name, _problem(folder, secret, seeds), folder / "runs", options)
    now = secret.stat()
    assert (now.st_atime, now.st_mtime, now.st_mode) == (*_BEFORE, known.st_mode)
    assert [path.name for path in secret.parent.iterdir()] == ["secret"]
    assert (secret.read_bytes(), now.st_nlink) == (_LINE, 1)
    made: Counter[str] = Counter()
    for cell, record in run.records():
        attacks = hostile_cell.chosen(record.params["seed"])
        _check(cell, record, [attack for attack, _ in attacks])
        made.update(cells=1, attacks=len(attacks), refused=record.status == "failed")
    assert made["cells"] == len(seeds)
    hidden = [*(run.folder / "cells").glob(".*"), *(run.folder / "scratch" / "tmp").iterdir()]
    assert hidden == []
    for path in run.folder.rglob("*"):
        assert path.is_dir() or _LINE not in path.read_bytes()
    tables = extraction.extract(run, folder / "evidence")
    assert tables["cells"].height == len(seeds)
    return made


def _problem(folder: Path, secret: Path, seeds: range) -> Problem:
    """Write a problem with a variant for each seed."""
    variant = {"label": "Attack", "environment": "plain"}
    variants = {
        f"v{seed}": variant | {"options": {"seed": seed, "secret": str(secret)}} for seed in seeds
    }
    content = {
        "title": "Attacks",
        "summary": "Leaves what must not be opened.",
        "environments": {"plain": {}},
        "baseline": next(iter(variants)),
        "variants": variants,
        "cases": {"here": {"label": "Here"}},
        "captures": {"timing": {}},
        "metrics": {
            "time": {"label": "time", "unit": "ms", "capture": "timing", "sample": "wall_time"}
        },
        "claims": [],
    }
    problem = folder / "9-attacks"
    problem.mkdir()
    (problem / "problem.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    shutil.copyfile(hostile_cell.__file__, problem / "repro.py")
    return manifest.load(problem)


def _executed(name: str, problem: Problem, runs: Path, options: Options) -> run_folder.Run:
    """Run all cells, with bounds that a test can reach."""
    here = replace(target.detect(), gpu=None, memory_bytes=4 << 30)
    engine = make(name, problem, Host(here), options)
    engine.prepare([], runs.parent / "install.txt")
    origin = provenance.origin_of(problem, engine, RunArguments(jobs=1))
    run = run_folder.Run.create(runs, problem.folder.name, origin)
    cells = [replace(cell, deadline_s=60.0) for cell in plan(problem, Selected(rounds=1), "cpu")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.machine.gpu_lock.FOLDER", runs.parent)
        for module in (attempt, output, rights):
            patch.setattr(module, "MOST_OUTPUT_BYTES", hostile_cell.MOST_BYTES)
        Execution(engine, run, lambda *_: None).execute(cells)
    return run


def _check(cell: Path, record: CellRecord, attacks: list[str]) -> None:
    """Check that a cell's record tells of its attacks, and that its folder holds files alone."""
    told = [ATTACKS[attack].told for attack in attacks if ATTACKS[attack].told]
    what = f"{attacks}: {record.status}: {record.reason}"
    if attacks == [hostile_cell.EITHER]:
        assert record.status == "ok" or "(a link)" in record.reason, what
    else:
        assert record.status == ("failed" if told else "ok"), what
        assert len(told) > output.TOLD or all(word in record.reason for word in told), what
    assert re.fullmatch(r"[ -~]*…?[ -~]*", record.reason), what
    left = sorted(path.name for path in cell.iterdir())
    assert left == sorted([run_folder.RECORD, *record.artifacts]), what
    for name in record.artifacts:
        path = run_folder.verified(cell, record, name)
        assert path.stat().st_mode & 0o7777 == 0o644
        assert path.stat().st_uid == os.getuid()
        assert path.stat().st_size <= 17 << 20
