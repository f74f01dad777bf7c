"""Which calls of ``harness run`` measured what a claim reads.

A run that is gone on with may have a claim that its first call did not know. That call saw nothing
of it, unless it measured one of the claim's cells.
"""

from collections.abc import Sequence
from datetime import datetime

from harness.analysis.metrics import Metrics
from harness.evidence.provenance import Origin, Provenance
from harness.problem import needs
from harness.problem.model import AnyClaim, Problem


def of_claim(
    problem: Problem, claim: AnyClaim, metrics: Metrics, run: Provenance
) -> Sequence[Origin]:
    """Return the calls in which the claim's cells began, all where that is not known.

    It is not known of an earlier harness's cells, nor of jobs of a cluster, which run side by side.
    """
    spots = needs.uses(problem, [claim], run.target.device)
    began = [at for spot in spots for at in metrics.started(*spot)]
    calls = [(_seconds(call), call) for call in run.origins]
    times = [at for at, _ in calls if at is not None]
    known = [at for at in began if at is not None]
    is_known = len(known) == len(began) > 0 and len(times) == len(calls)
    if not is_known or any(call.job for call in run.origins) or min(known) < min(times):
        return run.origins
    of_cells = {max(at for at in times if at <= cell) for cell in known}
    return [call for at, call in calls if at in of_cells]


def _seconds(call: Origin) -> float | None:
    """Return when a call began, in whole seconds since 1970, None if it did not say."""
    return datetime.fromisoformat(call.started).timestamp() if call.started else None
