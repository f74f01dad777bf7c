"""Which calls of ``harness run`` measured a run's cells."""

from collections.abc import Sequence
from datetime import datetime

from harness.evidence.provenance import EvidenceProvenance, Origin, Provenance


def of_evidence(evidence: EvidenceProvenance) -> Sequence[Origin]:
    """Return the calls in which a cell of the evidence began, all where that is not known.

    A call is left out where later ones ran all of its cells again, after a script changed.
    """
    return behind(evidence.run, [cell.started for cell in evidence.cells])


def behind(run: Provenance, began: Sequence[float | None]) -> Sequence[Origin]:
    """Return the calls in which cells began, all where that is not known: see of_cells."""
    found = of_cells(run, began)
    if found is None:
        return run.origins
    times = {call.started for call in found}  # calls of one second are not told apart
    return [call for call in run.origins if call.started in times]


def of_cells(run: Provenance, began: Sequence[float | None]) -> list[Origin] | None:
    """Return the call in which each cell began, by when it did (seconds since 1970).

    None where that is not known: of no cell, of an earlier harness's cells, and of jobs of a
    cluster, which run side by side.
    """
    calls = [(at, call) for call in run.origins if (at := _seconds(call)) is not None]
    known = [at for at in began if at is not None]
    is_known = len(known) == len(began) > 0 and len(calls) == len(run.origins)
    if not is_known or any(call.job for call in run.origins):
        return None
    if min(known) < min(at for at, _ in calls):
        return None
    return [_latest(calls, cell) for cell in known]


def _latest(calls: Sequence[tuple[float, Origin]], cell: float) -> Origin:
    """Return the latest of the calls that began before the cell did."""
    return max((pair for pair in calls if pair[0] <= cell), key=lambda pair: pair[0])[1]


def _seconds(call: Origin) -> float | None:
    """Return when a call began, in whole seconds since 1970, None if it did not say."""
    try:
        return datetime.fromisoformat(call.started or "").timestamp()
    except ValueError:
        return None
