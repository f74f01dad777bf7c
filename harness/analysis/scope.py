"""Which claims a run was to judge: the others need another device, or the full run."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.claims import ClaimResult
from harness.evidence.provenance import Provenance
from harness.problem.model import Problem
from harness.problem.needs import can_judge


@dataclass(frozen=True)
class Scope:
    """A problem's claims by whether a run was to judge them, each in the manifest's order.

    ``elsewhere``: those that need a device which the run had not, and ``lacks`` says which;
    ``left_out``: those outside of the short path, of a run that was asked for no more.
    """

    judged: tuple[ClaimResult, ...]
    elsewhere: tuple[ClaimResult, ...]
    lacks: str
    left_out: tuple[ClaimResult, ...]


def scope(problem: Problem, results: Sequence[ClaimResult], run: Provenance) -> Scope:
    """Divide the results of a run's claims."""
    device = run.target.device
    here = [result for result in results if can_judge(problem, result.claim, device)]
    return Scope(
        judged=tuple(result for result in here if result.claim.headline or not run.is_short),
        elsewhere=tuple(result for result in results if result not in here),
        lacks=f"needs a {'GPU' if device == 'cpu' else 'CPU'}",
        left_out=tuple(result for result in here if run.is_short and not result.claim.headline),
    )
