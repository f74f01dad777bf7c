"""The audit of a variant in a case, from all captures that a run has of it."""

from harness.analysis.audit.conclude import Audit, audit
from harness.analysis.metrics import Metrics
from harness.evidence.capture import Capture
from harness.evidence.kinds import KINDS, filling
from harness.evidence.tables import Tables


def audited(metrics: Metrics, whole: Tables, variant: str, case: str) -> Audit | None:
    """Return the audit, None without a capture that says what launched the GPU's work.

    ``whole`` are the run's tables, whose ceilings are those of all its cells.
    """
    tables_of = {kind: metrics.capture_of(kind, variant, case) for kind in KINDS}
    captures = [
        Capture(f"{case}.{variant}", tables | {"ceilings": whole["ceilings"]}, {}, kind)
        for kind, tables in tables_of.items()
        if tables is not None
    ]
    traces = [each for each in captures if each.kind in filling("origins")]
    return audit(captures) if any(each.tables["gpu_ops"].height for each in traces) else None
