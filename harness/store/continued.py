"""A run that goes on from a published report.

Its folder holds that report, as ``report/``, which stands for the cells that the report has.
"""

from pathlib import Path

from harness.evidence import capture_list, provenance
from harness.evidence.provenance import EvidenceProvenance, Provenance
from harness.ground import files
from harness.ground.errors import StoreError
from harness.store.run_folder import REPORT, Run, copied


class OfReport(Run):
    """A published report as the run that goes on; nothing is written into its folder."""

    @property
    def recorded(self) -> Provenance:
        """Return the run of the report; StoreError or EvidenceError if its record is damaged."""
        return provenance.load(self.folder / "evidence").run

    @property
    def report(self) -> Path:
        """Return the report's folder."""
        return self.folder

    @property
    def unsealed(self) -> tuple[str, ...]:
        """Return nothing: a report's records are sealed."""
        return ()

    def begun(self, runs: Path) -> Run:
        """Return the report's run, whose new folder has a copy of the report.

        Raises StoreError if a folder of this run is there or the report lists no captures,
        CaptureError if a capture differs from the one that was published.
        """
        evidence = provenance.load(self.folder / "evidence")
        problem, name = evidence.run.problem, evidence.run.id
        run = Run(runs / files.safe_name(problem) / files.safe_name(name))
        if not files.filled_folder(run.folder, lambda folder: self._copy(evidence, folder)):
            remedy = f"go on with it: harness run --resume {run.folder}"
            raise StoreError("the run of this report is there", where=run.folder, remedy=remedy)
        return run

    def _copy(self, evidence: EvidenceProvenance, folder: Path) -> None:
        listed = capture_list.read(self.folder / "evidence")
        if listed is None:
            what = "an earlier harness wrote this report: it does not list its captures"
            raise StoreError(what, where=self.folder, remedy="make a new run")
        Run(folder).note(evidence.run)
        tables = [f"{files.safe_name(name)}.parquet" for name in evidence.tables]
        captures = [capture.name for capture in listed.captures if capture.in_git]
        (folder / REPORT).mkdir()
        names = (provenance.FILE, capture_list.NAME, *tables)
        copied(self.folder / "evidence", names, folder / REPORT)
        copied(self.folder / "captures", captures, folder / REPORT)
        for name in captures:
            capture_list.check(folder / REPORT / "captures" / name)


def opened(folder: Path) -> Run:
    """Open a run's folder, or a report as its run; StoreError if it is neither."""
    if (folder / "run.json").is_file():
        return Run.open(folder)
    if (folder / "evidence" / provenance.FILE).is_file():
        return OfReport(folder.resolve())
    what = f"neither a run's folder, with run.json, nor a report's, with evidence/{provenance.FILE}"
    raise StoreError(what, where=folder)
