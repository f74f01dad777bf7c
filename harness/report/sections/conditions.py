"""The conditions of a run: target, software, clocks, samples, and notes on its measurements."""

from collections import Counter
from collections.abc import Callable, Sequence

from harness.analysis import reliability
from harness.evidence import calls, kinds
from harness.evidence.provenance import (
    CellProvenance,
    EngineRecord,
    Origin,
    Provenance,
    TargetRecord,
)
from harness.evidence.tables import Tables
from harness.problem import meaning
from harness.report.arguments import CaseName
from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page

_MOST_NOTES = 8
_WATCHED = (
    ("sm_mhz", "SM clock seen", "MHz"),
    ("memory_mhz", "memory clock seen", "MHz"),
    ("power_w", "power seen", "W"),
    ("temperature_c", "temperature seen", "°C"),
)
"""Readings of the monitor: key, label and unit."""


def conditions(page: Page) -> Markdown:
    """Return the table of a run's target, software, clocks, samples and notes."""
    run, cells = page.provenance.run, page.provenance.cells
    rows = [
        *_target_rows(run, cells),
        _packages(cells),
        *_clock_rows(cells),
        *(_engine_rows(run.engine) if run.engine else []),
        *_imported_rows(cells),
        *_cell_rows(run.arguments.jobs or 1, cells),
        *_source_rows(run, cells),
        *sampling_rows(page.tables),
        *noticed_rows(page.tables),
    ]
    return table(["", ""], rows, numeric_from=2)


def timed_on(page: Page, case: CaseName) -> Markdown:
    """Return how many GPUs timed a case and what its ratios are then, "" if one GPU timed all."""
    import polars as pl

    gpus = page.provenance.gpus
    unprofiled = pl.col("capture") == kinds.unprofiled()
    timed = page.tables["cells"].filter(
        pl.col("case") == case, unprofiled, pl.col("status") == "ok"
    )
    count = len({gpus[cell] for cell in timed["cell"]})
    if count < 2:
        return Markdown("")
    return Markdown(
        f"*Timed on {count} GPUs of this model. A ratio takes the rounds in which both sides ran on"
        " one GPU. Where there are fewer than two such rounds it takes all, and its interval is"
        " widened by what the GPUs differ by.*"
    )


def _target_rows(run: Provenance, cells: Sequence[CellProvenance]) -> list[list[str]]:
    """Return rows on a run's GPU, the hosts that ran its cells, and the profilers."""
    hosts = _by_call(run, cells, lambda origin: _host(origin.target))
    rows = [["target", _target(run.target)]]
    rows.append(["host" if len(hosts) == 1 else "hosts", "; ".join(hosts)])
    return rows + [[name, tool.version] for name, tool in run.target.tools.items() if tool]


def _host(target: TargetRecord) -> str:
    cores = f"{target.cores} cores" if target.cores else None
    return ", ".join(filter(None, [target.cpu, cores, target.system])) or "not recorded"


def _target(target: TargetRecord) -> str:
    gpu = target.gpu
    if gpu is None:
        return f"{target.cpu}, {target.cores} cores"
    memory = "" if gpu.memory_bytes is None else f"{gpu.memory_bytes / 2**30:.0f} GiB, "
    return f"{gpu.name}, {memory}driver {gpu.driver}, CUDA {gpu.cuda}"


def _packages(cells: Sequence[CellProvenance]) -> list[str]:
    packages = {f"{name} {version}" for cell in cells for name, version in cell.packages.items()}
    return ["packages as imported", ", ".join(sorted(packages))]


def _clock_rows(cells: Sequence[CellProvenance]) -> list[list[str]]:
    """Return the range of clocks, power and temperature over all unprofiled cells."""
    kind = kinds.unprofiled()
    seen = [cell.seen for cell in cells if f".{kind}." in cell.cell and cell.seen.samples]
    rows = []
    for key, label, unit in _WATCHED:
        readings = [spread for summary in seen if (spread := getattr(summary, key)) is not None]
        if readings:
            low = min(spread.min for spread in readings)
            high = max(spread.max for spread in readings)
            rows.append([label, f"{number(low)} to {number(high)} {unit} in {kind} cells"])
    if seen:
        reasons = sorted({reason for summary in seen for reason in summary.throttle_reasons})
        rows.append(["clocks held back by", ", ".join(reasons) or "nothing seen"])
    return rows


def _engine_rows(engine: EngineRecord) -> list[list[str]]:
    rows = [["where", f"{engine.where}, {engine.engine} engine, {engine.python}"]]
    if engine.image:
        rows.append(["image", f"{engine.image}, {engine.image_digest}"])
        rights = ", ".join(engine.capabilities) or "none"
        rows.append(["rights of a container", f"{engine.version}; capabilities: {rights}"])
    return rows + [
        [f"lock of {name}", f"sha256 {digest[:16]}…"] for name, digest in engine.locks.items()
    ]


def _imported_rows(cells: Sequence[CellProvenance]) -> list[list[str]]:
    """Return a row on captures that were made without the harness, and what that leaves open."""
    names = [cell.cell for cell in cells if cell.imported is not None]
    if not names:
        return []
    said = (
        f"{len(names)} of {len(cells)} cells: captures made without the harness. Not known: their"
        " packages, parameters and commands, and what else the GPU did; no unprofiled times"
    )
    return [["imported", said]]


def _cell_rows(jobs: int, cells: Sequence[CellProvenance]) -> list[list[str]]:
    """Return rows of counts: cells side by side, GPUs, and cells that failed, with some names."""
    rows = []
    if jobs > 1:
        rows.append(["cells side by side", f"{jobs} set up at once; each measured alone"])
    gpus = {cell.gpu for cell in cells}
    if len(gpus) > 1:
        rows.append(["GPUs", f"{len(gpus)} of this model; provenance.json tells which ran what"])
    failed = [f"{cell.cell}: {cell.status}" for cell in cells if cell.status != "ok"]
    named = f" ({'; '.join(failed[:_MOST_NOTES])})" if failed else ""
    return [*rows, ["cells", f"{len(cells)}, of which {len(failed)} failed{named}"]]


def _source_rows(run: Provenance, cells: Sequence[CellProvenance]) -> list[list[str]]:
    """Return rows on the harness, manifest and sources that a run and its resumptions used."""
    jobs = [origin.job for origin in run.origins if origin.job]
    ran = ", ".join(f"{job.system} {job.id} on {job.node}" for job in jobs)
    return [
        *([["jobs", ran]] if jobs else []),
        ["harness", "; ".join(_by_call(run, cells, _harness))],
        ["manifest", _digest(run.manifest_sha256)],
        ["sources", _digest(run.sources_sha256 or _of_state(run))],
    ]


def _by_call(
    run: Provenance, cells: Sequence[CellProvenance], in_words: Callable[[Origin], str]
) -> list[str]:
    """Return the words on a run's calls; where they differ, with the number of cells of each."""
    by_cell = calls.of_cells(run, [cell.started for cell in cells])
    counts = Counter(in_words(origin) for origin in by_cell or run.origins)
    if by_cell is None or len(counts) == 1:
        return list(counts)
    return [f"{said} ({count} of the cells)" for said, count in counts.items()]


def _of_state(run: Provenance) -> str | None:
    return None if run.state is None else meaning.digest(run.state)


def _digest(sha256: str | None) -> str:
    return f"sha256 {sha256[:16]}…" if sha256 else "not recorded"


def _harness(origin: Origin) -> str:
    commit = origin.git.commit or "not in a git checkout"
    changed = " with uncommitted changes" if origin.git.changed else ""
    return f"{origin.harness}, commit {commit}{changed}"


def sampling_rows(tables: Tables) -> list[list[str]]:
    """Return rows on the ends of the series of samples, and on warm-up and outliers."""
    rows = tables["sampling"]
    if rows.is_empty():
        return []
    reasons = Counter(rows["stopped"].to_list())
    ended = ", ".join(f"{count} by {reason}" for reason, count in reasons.most_common())
    taken, warmup, outliers = (int(rows[name].sum()) for name in ("taken", "warmup", "outliers"))
    return [
        ["series of samples", f"{rows.height}, ended {ended}"],
        ["samples", f"{taken}, of which {warmup} left out as warm-up; {outliers} far off and kept"],
    ]


def noticed_rows(tables: Tables) -> list[list[str]]:
    """Return a row for each of the first eight notes, and a row that counts the others."""
    notes = reliability.notes(tables)
    rows = [["noticed", note] for note in notes[:_MOST_NOTES]]
    if len(notes) > _MOST_NOTES:
        rows.append(
            ["noticed", f"and {len(notes) - _MOST_NOTES} more, which `harness check` tells"]
        )
    return rows
