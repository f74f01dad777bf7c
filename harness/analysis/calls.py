"""Which calls of ``harness run`` measured what a claim reads.

A run that is gone on with may have a claim that its first call did not know. That call saw nothing
of it, unless it measured one of the claim's cells.
"""

from collections.abc import Sequence

from harness.analysis.metrics import Metrics
from harness.evidence import calls
from harness.evidence.provenance import Origin, Provenance
from harness.problem import needs
from harness.problem.model import AnyClaim, Problem


def of_claim(
    problem: Problem, claim: AnyClaim, metrics: Metrics, run: Provenance
) -> Sequence[Origin]:
    """Return the calls in which the claim's cells began, all where that is not known."""
    spots = needs.uses(problem, [claim], run.target.device)
    return calls.behind(run, [at for spot in spots for at in metrics.started(*spot)])
