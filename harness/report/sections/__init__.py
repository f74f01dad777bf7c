"""The sections that a worklog's template can ask for, by name: ``{{ w.kernels(...) }}``.

A section is a function of a :class:`harness.report.page.Page` and the template's arguments, which
returns Markdown. A new one is a file beside this one, and a line here; one that serves a single
study lies there (:mod:`harness.report.own_sections`). What draws its figure is imported where it
draws.
"""

from collections.abc import Callable
from typing import Concatenate

from harness.report.page import Page
from harness.report.sections import (
    advice,
    audit,
    ceilings,
    changed,
    claims,
    concludes,
    conditions,
    counters,
    details,
    diagnosis,
    excerpts,
    gpu_timeline,
    inventory,
    kernels,
    memory_pools,
    memory_timeline,
    model,
    operators,
    overhead,
    parts,
    processes,
    reference,
    regions,
    sass,
    scatter,
    short,
    sweep,
    tally,
    values,
    variants,
    waterfall,
)

Section = Callable[Concatenate[Page, ...], object]
"""Returns text, or plain data for the template, for a page and a template's arguments."""

SECTIONS: dict[str, Section] = {
    "m": values.metric,
    "spread": values.spread,
    "ratio": values.ratio,
    "has": values.has,
    "says": values.fact,
    "captured": inventory.captured,
    "measured": inventory.measured,
    "repeats": values.repeats,
    "verdict_line": claims.verdict_line,
    "claims": claims.claims,
    "advice": advice.advice,
    "concludes": concludes.concludes,
    "holds": concludes.holds,
    "asked": short.asked,
    "advised": short.advised,
    "judged": short.judged,
    "elsewhere": short.elsewhere,
    "left_out": short.left_out,
    "reference": reference.reference,
    "variants": variants.variants,
    "parts": parts.parts,
    "parts_changed": parts.parts_changed,
    "kernels": kernels.kernels,
    "operators": operators.operators,
    "counters": counters.counters,
    "sass": sass.sass,
    "opcodes": sass.opcodes,
    "timeline": memory_timeline.timeline,
    "filled": memory_pools.filled,
    "model_table": model.model_table,
    "processes": processes.processes,
    "sweep": sweep.sweep,
    "shares": sweep.shares,
    "regions": regions.regions,
    "tally": tally.tally,
    "scatter": scatter.scatter,
    "region_bars": regions.region_bars,
    "gpu_timeline": gpu_timeline.gpu_timeline,
    "waterfall": waterfall.waterfall,
    "changed": changed.changed,
    "diagnosis": diagnosis.diagnosis,
    "diagnosed": diagnosis.diagnosed,
    "audit": audit.audit,
    "ledger": audit.ledger,
    "median_error": audit.median_error,
    "ceilings": ceilings.ceilings,
    "source": excerpts.source,
    "docstring": excerpts.docstring,
    "kept": excerpts.kept,
    "details": details.details,
    "overhead": overhead.overhead,
    "timed_on": conditions.timed_on,
    "conditions": conditions.conditions,
}
