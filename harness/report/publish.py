"""Writes reports/<problem>/<target>/: evidence, captures, figures and the worklog itself."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from harness import files
from harness.analysis import claims
from harness.analysis.metrics import Metrics
from harness.evidence import tables as evidence
from harness.extract import run as extraction
from harness.problem.model import Problem
from harness.report import redact
from harness.report.worklog import Worklog
from harness.report.worklog import render as render_template
from harness.store import run_folder

_CAPTURES_BYTES = 8_000_000
_CODE_OF = ("timing", 0)  # one cell's generated code is enough of each variant
_KEPT = {
    "memory.json.gz": "",
    "trace.json.gz": "",
    "output_code.py": ".zst",
    "trace.sqlite": ".zst",
    "counters.ncu-rep": ".zst",
}
"""Artifacts worth keeping, in the order in which room is given, and how they are compressed."""


def publish(problem: Problem, run: run_folder.Run, reports: Path) -> Path:
    """Extract a run and write its report; returns the report's folder."""
    slug = files.safe_name(run.provenance["target"]["slug"])
    folder = reports / problem.folder.name / slug
    extraction.extract(run, folder / "evidence")
    _captures(run, folder / "captures")
    render(problem, folder)
    return folder


def render(problem: Problem, folder: Path) -> None:
    """Write worklog and figures from the evidence that stands in ``folder``."""
    tables = evidence.load(folder / "evidence")
    origin = extraction.provenance(folder / "evidence")
    metrics = Metrics(problem, tables, extraction.gpus(origin))
    judged = claims.judge(problem, metrics, origin["run"]["target"]["device"])
    worklog = Worklog(problem, metrics, judged, origin, tables)
    text = render_template(problem.folder / "worklog.md.j2", worklog)
    with files.atomic_folder(folder / "figures") as building:
        for name, svg in worklog.figures.items():
            (building / name).write_text(svg, encoding="utf-8")
    files.write_text(folder / "README.md", text)


def _captures(run: run_folder.Run, folder: Path) -> None:
    """Keep raw captures beside the report, small and telling ones first, while there is room."""
    found: list[tuple[int, Path, dict[str, Any]]] = []
    for path, record in run.records():
        if record["status"] == "ok":
            names = [name for name in _KEPT if name in record["artifacts"]]
            found += [(list(_KEPT).index(name), path / name, record) for name in names]
    room = _CAPTURES_BYTES
    with files.atomic_folder(folder) as building:
        for _, path, record in sorted(found, key=lambda one: (one[0], one[1].stat().st_size)):
            if path.name == "output_code.py" and (record["capture"], record["round"]) != _CODE_OF:
                continue
            run_folder.verified(path.parent, record, path.name)
            stem = f"{record['case']}.{record['variant']}.{path.name}{_KEPT[path.name]}"
            kept = building / files.safe_name(stem)
            _compress(path, kept)
            room -= kept.stat().st_size
            if room < 0:
                kept.unlink()
                break


def _compress(source: Path, target: Path) -> None:
    if target.suffix != ".zst":
        shutil.copyfile(source, target)
        return
    import zstandard

    with tempfile.TemporaryDirectory(prefix="capture-") as scratch:
        if source.suffix == ".sqlite":
            redact.without_environment(source, Path(scratch) / source.name)
            source = Path(scratch) / source.name
        compressor = zstandard.ZstdCompressor(level=19)
        target.write_bytes(compressor.compress(source.read_bytes()))
