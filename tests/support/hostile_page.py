"""A page of every kind of capture: the words of strangers and of the manifest hold one text."""

from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel

from harness.analysis import claims
from harness.analysis.metrics import Metrics
from harness.captures import sniff
from harness.captures.memory import read as memory
from harness.captures.ncu import read as ncu
from harness.evidence.provenance import EvidenceProvenance
from harness.evidence.tables import Tables
from harness.extract import door
from harness.problem.model import Problem
from harness.report.page import Page
from tests.support.paths import DATA
from tests.support.reports import KEPT
from tests.support.small_evidence import ceiling, cell, samples
from tests.support.small_evidence import tables as made

VARIANTS = {"slow": "bf16-eager", "fast": "f8-0.13.0-eager"}
"""Our variants to those of the kept report whose captures they take."""

WORDS = {
    "cells": ["doubt", "retried"],
    "ceilings": ["unit"],
    "facts": ["text"],
    "gpu_ops": ["name"],
    "api_calls": ["name"],
    "operators": ["name"],
    "origins": ["operator", "node", "scope"],
    "counters": ["name", "unit"],
    "instructions": ["name", "sass", "stall"],
    "memory_pools": ["pool"],
    "memory_parts": ["pool"],
    "memory_by_pool": ["pool"],
    "memory_live": ["pool", "site", "stack"],
    "memory_pool_peaks": ["pool", "site", "stack"],
    "memory_timeline": ["phase"],
    "memory_marks": ["phase"],
    "memory_mark_parts": ["pool"],
    "memory_sites": ["site", "phase"],
    "memory_blocks": ["site"],
}
"""Columns of texts that a capture or a workload states freely."""

BEGIN = {"sass": "", "pool": ""}
"""Columns whose first word is read, so that a text stands behind it alone."""


@cache
def real() -> Tables:
    """Return real captures of both variants in case small, and timings made by hand."""
    kept = door.report(KEPT).tables
    with sniff.opened(DATA / "ncu" / "source.ncu-rep.zst") as plain:
        counted = ncu.read(plain)
    allocated = memory.read(DATA / "memory" / "stack_013_graphs.json.gz")
    timed = {name: cell(name) for name in VARIANTS}
    large = {name: cell(name, cell=f"large.{name}.timing.r0", case="large") for name in VARIANTS}
    parts = [
        made(
            cells=[
                *timed.values(),
                *large.values(),
                *(cell(name, capture="nsys", doubt="warm", retried="cold") for name in VARIANTS),
                *(
                    cell(name, capture=kind)
                    for name in VARIANTS
                    for kind in ("torch", "ncu", "memory")
                ),
            ],
            samples=[
                row | {"region": region, "unit": "ms"}
                for name, time in (("slow", 2.0), ("fast", 1.0))
                for region in ("slow", "fast")
                for of in (timed, large)
                for row in samples(of[name], "wall_time", time)
            ],
            facts=[
                {"cell": row["cell"], "name": "says", "text": "a text"} for row in timed.values()
            ],
            ceilings=[ceiling("", "dram_read", 4000.0)],
        )
    ]
    for name, other in VARIANTS.items():
        for kind in ("nsys", "torch"):
            ours = f"small.{name}.{kind}.r0"
            theirs = {
                table: rows.filter(pl.col("cell").cast(pl.String) == f"stack-m1.{other}.{kind}.r0")
                for table, rows in kept.items()
                if table not in ("cells", "samples", "sampling", "ceilings")
            }
            if kind == "torch":
                theirs["origins"] = _origins(theirs["gpu_ops"])
            parts.append({table: _of(rows, ours) for table, rows in theirs.items()})
        parts.append({table: _of(rows, f"small.{name}.ncu.r0") for table, rows in counted.items()})
        parts.append(
            {table: _of(rows, f"small.{name}.memory.r0") for table, rows in allocated.items()}
        )
    return {
        table: pl.concat(
            [_texts(part[table]) for part in parts if table in part],
            how="diagonal_relaxed",
        ).cast(rows.schema)
        for table, rows in parts[0].items()
    }


def _origins(gpu_ops: pl.DataFrame) -> pl.DataFrame:
    """Return what launched each operation, which the kept report is too old to hold."""
    named = {"operator": "aten::mm", "node": "MmBackward0", "scope": "model / block"}
    return (
        gpu_ops.select("cell", "correlation")
        .unique()
        .with_columns(pl.lit(word).alias(column) for column, word in named.items())
    )


def _of(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    return rows.select(pl.lit(name).alias("cell"), pl.all().exclude("cell"))


def _texts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose categories are texts, which can be joined with others."""
    return rows.with_columns(pl.col(pl.Categorical).cast(pl.String))


def hostile_tables(text: str) -> Tables:
    """Return the real tables whose free texts all begin and end with ``text``."""
    changed = dict(real())
    for table, columns in WORDS.items():
        for column in columns:
            begin = BEGIN.get(column, f"{text} ")
            word = pl.col(column).cast(pl.String)
            words = pl.when(word != "").then(pl.lit(begin) + word + pl.lit(f" {text}"))
            kept = changed[table].schema[column]
            changed[table] = changed[table].with_columns(
                words.otherwise(word).cast(kept).alias(column)
            )
    return changed


MANIFEST: dict[str, Any] = {
    "title": "word",
    "summary": "word",
    "environments": {"plain": {}},
    "baseline": "slow",
    "variants": {name: {"label": f"word {name}", "environment": "plain"} for name in VARIANTS},
    "cases": {
        "small": {"label": "word", "params": {"m": 1}},
        "large": {"label": "large word", "params": {"m": 16}},
    },
    "captures": {kind: {} for kind in ("timing", "nsys", "torch", "ncu", "memory")},
    "metrics": {
        name: {"label": f"word {name}", "unit": "u", "capture": "timing", "sample": sample} | more
        for name, sample, more in (
            ("time", "wall_time", {"region": "slow"}),
            ("part", "wall_time", {"region": "fast"}),
            ("none", "none", {}),
        )
    },
    "claims": [
        *(
            {
                "id": name,
                "statement": "Word.",
                "otherwise": "word",
                "metric": "none" if name == "unmeasured" else "time",
                "of": {"variant": "fast", "case": "small"},
                "over": {"variant": "slow"},
                "bound": bound,
                "headline": True,
            }
            for name, bound in (
                ("reproduced", {"below": 1}),
                ("refuted", {"above": 1}),
                ("unmeasured", {"below": 1}),
            )
        ),
        *(
            {
                "id": f"advice-{least}",
                "kind": "advice",
                "statement": "Word.",
                "metric": "time",
                "take": "fast",
                "instead_of": "slow",
                "at": ["small"],
                **dict.fromkeys(("holds_for", "costs", "otherwise"), "word"),
                "pays": ["part"],
                "bound": {"above": least},
            }
            for least in (1, 9)
        ),
    ],
    "references": {
        "other": {
            **dict.fromkeys(("source", "gpu", "software"), "word"),
            "columns": ["word", "number"],
            "rows": [["word", 1.5], [None, "word"]],
        }
    },
    "card": {"sentence": "word", "claim": "reproduced", "number": "word"},
}
_IN_MANIFEST = (
    *("title", "summary", "label", "unit", "id", "statement", "otherwise", "holds_for", "costs"),
    *("source", "gpu", "software", "columns", "rows", "sentence", "number", "claim"),
)


def hostile_problem(text: str, folder: Path) -> Problem:
    """Return a manifest all of whose words end with ``text``; none that is read has such words."""
    problem = _ending(Problem.model_validate(MANIFEST), text)
    assert isinstance(problem, Problem)
    problem.lie_in(folder)
    return problem


def _ending(part: Any, text: str, key: str = "") -> Any:
    """Return a part of a manifest whose free texts hold ``text``; names end with it."""
    if isinstance(part, BaseModel):
        changed = {
            name: _ending(getattr(part, name), text, name) for name in type(part).model_fields
        }
        return part.model_copy(update=changed)
    if isinstance(part, dict):
        return {name: _ending(value, text) for name, value in part.items()}
    if isinstance(part, list):
        return [_ending(value, text, key) for value in part]
    if not isinstance(part, str) or key not in _IN_MANIFEST:
        return part
    return f"{part}{text}" if key in ("id", "claim", "unit") else f"{text} {part} {text}"


def hostile_provenance(text: str, problem: Problem) -> EvidenceProvenance:
    """Return the kept report's provenance whose names of machines and software hold ``text``."""
    document = door.report(KEPT).origin.model_dump(mode="json")
    run = _worded(document["run"], text) | {"problem": problem.folder.name}
    cells = [
        _worded(record, text) | {"cell": f"small.{name}.timing.r0"}
        for record, name in zip(document["cells"], VARIANTS, strict=False)
    ]
    return EvidenceProvenance.model_validate(document | {"run": run, "cells": cells})


_FREE = (
    *("name", "cpu", "system", "driver", "cuda", "version", "engine", "where", "python", "image"),
    *("commit", "started", "packages_from", "torch", "triton", "numpy", "harness"),
)


def _worded(part: Any, text: str, key: str = "") -> Any:
    """Return a part of a document whose free texts hold ``text``."""
    if isinstance(part, dict):
        return {name: _worded(value, text, name) for name, value in part.items()}
    if isinstance(part, list):
        return [_worded(value, text) for value in part]
    return f"{text} {part} {text}" if key in _FREE and isinstance(part, str) else part


def hostile_page(text: str, folder: Path) -> Page:
    """Return the page of all these; neither tables nor manifests hold lone surrogates."""
    text = text.encode("utf-8", "replace").decode()
    problem = hostile_problem(text, folder)
    tables = hostile_tables(text)
    metrics = Metrics(problem, tables)
    judged = claims.judge(problem, metrics, "cuda")
    return Page(problem, metrics, judged, hostile_provenance(text, problem), tables, folder)
