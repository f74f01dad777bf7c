"""What the calls of ``harness run`` behind a committed report began with, recomputed from git.

    python -m tests.support.begun

That writes claims and state into the provenance of each committed report, for runs that an earlier
harness made. A test holds the reports to it.
"""

import functools
import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

from harness.evidence import provenance
from harness.evidence.provenance import Origin, StartedClaim
from harness.problem import history, manifest, started
from harness.problem.state import state
from tests.support.paths import ROOT
from tests.support.reports import COMMITTED


@functools.cache
def begun(problem: str, commit: str) -> tuple[dict[str, StartedClaim], dict[str, str]]:
    """Return claims and state of a problem as they stood at a commit of this checkout."""
    call = ["git", "-C", str(ROOT), "-c", "safe.directory=*", "archive", commit, "problems"]
    done = subprocess.run(call, check=False, capture_output=True)
    assert done.returncode == 0, f"{commit} is not in the history of {ROOT}: {done.stderr!r}"
    with (
        tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive,
        tempfile.TemporaryDirectory() as folder,
    ):
        archive.extractall(folder, filter="data")
        study = manifest.load(Path(folder) / "problems" / problem)
        versions = history.versions(ROOT / "problems" / problem, commit)
        return started.since(started.started(study), versions), state(study)


def with_begun(origin: Origin) -> Origin:
    """Return an origin of a clean checkout with the claims and state that it began with."""
    assert origin.git.commit and origin.git.changed is False
    claims, parts = begun(origin.problem, origin.git.commit)
    return origin.model_copy(update={"claims": claims, "state": parts})


def write(report: Path) -> None:
    """Record in a report's provenance what each call of its run began with."""
    known = provenance.load(report / "evidence")
    first, *others = map(with_begun, known.run.origins)
    run = known.run.model_copy(
        update={"claims": first.claims, "state": first.state, "resumed": tuple(others)}
    )
    provenance.write(report / "evidence", known.model_copy(update={"run": run}))


if __name__ == "__main__":
    for committed in COMMITTED:
        write(committed)
