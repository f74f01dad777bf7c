"""The sections that a worklog's template can ask for, by name: ``{{ w.bars(...) }}``.

A section is a function of a :class:`harness.report.page.Page` and the template's arguments, which
returns Markdown. A new one is a file beside this one, and a line here.
"""

SECTIONS = {
    "m": "harness.report.sections.values:metric",
    "ratio": "harness.report.sections.values:ratio",
    "has": "harness.report.sections.values:has",
    "says": "harness.report.sections.values:fact",
    "repeats": "harness.report.sections.values:repeats",
    "verdict_line": "harness.report.sections.claims:verdict_line",
    "claims": "harness.report.sections.claims:claims",
    "refuted": "harness.report.sections.claims:refuted",
    "reference": "harness.report.sections.reference:reference",
    "variants": "harness.report.sections.variants:variants",
    "bars": "harness.report.sections.bars:bars",
    "parts": "harness.report.sections.parts:parts",
    "families": "harness.report.sections.families:families",
    "kernels": "harness.report.sections.kernels:kernels",
    "operators": "harness.report.sections.operators:operators",
    "counters": "harness.report.sections.counters:counters",
    "sass": "harness.report.sections.sass:sass",
    "opcodes": "harness.report.sections.sass:opcodes",
    "timeline": "harness.report.sections.memory_timeline:timeline",
    "filled": "harness.report.sections.memory_pools:filled",
    "memory_changed": "harness.report.sections.memory_pools:changed",
    "model": "harness.report.sections.model:model",
    "model_table": "harness.report.sections.model:model_table",
    "sweep": "harness.report.sections.sweep:sweep",
    "sweep_table": "harness.report.sections.sweep:sweep_table",
    "shares": "harness.report.sections.sweep:shares",
    "regions": "harness.report.sections.regions:regions",
    "region_bars": "harness.report.sections.regions:region_bars",
    "gpu_timeline": "harness.report.sections.gpu_timeline:gpu_timeline",
    "waterfall": "harness.report.sections.waterfall:waterfall",
    "changed": "harness.report.sections.changed:changed",
    "limits_changed": "harness.report.sections.changed:limits_changed",
    "roofline": "harness.report.sections.roofline:roofline",
    "ceilings": "harness.report.sections.ceilings:ceilings",
    "source": "harness.report.sections.excerpts:source",
    "kept": "harness.report.sections.excerpts:kept",
    "details": "harness.report.sections.details:details",
    "overhead": "harness.report.sections.overhead:overhead",
    "timed_on": "harness.report.sections.conditions:timed_on",
    "conditions": "harness.report.sections.conditions:conditions",
}
"""The name in a template to ``"module:function"``; the module is loaded when it is asked for."""
